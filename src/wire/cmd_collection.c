/* SPDX-License-Identifier: Apache-2.0 */
/* Collections and databases: made, dropped, renamed, changed, listed, measured.  Options go to the
 * store as the client gave them, and errors come from there. */
#include "wire/cmd.h"

#include "base/mem.h"
#include "store/ops.h"

#include <string.h>

/* The command's own arguments as a document, without what every command may carry. */
static void own_arguments(const ash_command *c, ash_builder *out)
{
    ash__builder_begin(out);
    /* Where the command has none of a name, that appends nothing. */
    for (const ash_argument *a = c->info->arguments; a->name != NULL; a++)
        ash__builder_value(out, a->name, ash__doc_get(c->body, a->name));
    ash__builder_end(out);
}

int ash__run_create(ash_command *c, ash_error *err)
{
    ash_builder options = ASH_BUILDER_INIT;
    bson_t doc;
    ash_collection *coll = NULL;
    int rc = ash__command_collection(c, &coll, err);
    if (rc != 0)
        return rc;
    own_arguments(c, &options);
    ash__doc_to_bson(ash__builder_doc(&options), &doc);
    rc = ash_collection_create(coll, &doc, &c->op, err);
    ash_collection_free(coll);
    ash__builder_release(&options);
    return rc;
}

int ash__run_drop(ash_command *c, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    ash_collection *coll = NULL;
    int rc = ash__command_collection(c, &coll, err);
    if (rc != 0)
        return rc;
    /* An error of its own, because one of its errors is none. */
    rc = ash_collection_drop(coll, &c->op, &own);
    ash_collection_free(coll);
    /* Since MongoDB 7.0 there need not be anything to drop. */
    if (rc == ASH_ENOTFOUND)
        return 0;
    if (rc != 0) {
        *err = own;
        return rc;
    }
    ash__gridfs_dropped(c);
    char *ns = ash__sprintf("%s.%s", c->db, c->coll);
    ash__builder_text(&c->reply->body, "ns", ns);
    ash__free(ns);
    return 0;
}

int ash__run_drop_database(ash_command *c, ash_error *err)
{
    int rc = ash_store_drop_database(c->server->store, c->db, &c->op, err);
    if (rc == 0)
        ash__builder_text(&c->reply->body, "dropped", c->db);
    return rc;
}

/* "db.coll" into a database, to be freed, and the rest. */
static int split_namespace(const char *ns, char **db, const char **coll, ash_error *err)
{
    const char *dot = ns != NULL ? strchr(ns, '.') : NULL;
    if (dot == NULL || dot == ns || dot[1] == '\0')
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                "Invalid namespace: '%.200s'", ns != NULL ? ns : "");
    *db = ash__strndup(ns, (size_t)(dot - ns));
    *coll = dot + 1;
    return 0;
}

int ash__run_rename_collection(ash_command *c, ash_error *err)
{
    char *db = NULL, *to_db = NULL;
    const char *name, *to_name;
    ash_collection *coll = NULL;
    const char *to = ash__arg_string(c, "to", NULL);
    uint32_t to_len = 0;
    if (to != NULL)
        ash__value_string(ash__arg(c, "to"), &to_len);
    /* A missing one is split_namespace's to refuse. */
    int rc = to != NULL ? ash__check_namespace(to, to_len, err) : 0;
    if (rc == 0)
        rc = split_namespace(c->coll, &db, &name, err);
    if (rc == 0)
        rc = split_namespace(to, &to_db, &to_name, err);
    if (rc == 0)
        rc = ash__check_system_name(to_db, to_name, err);
    if (rc == 0)
        rc = ash_collection_new(c->server->store, db, name, &coll, err);
    if (rc == 0)
        rc = ash_collection_rename(coll, to_db, to_name, ash__arg_bool(c, "dropTarget", false),
                                   &c->op, err);
    ash_collection_free(coll);
    ash__free(db);
    ash__free(to_db);
    return rc;
}

int ash__run_coll_mod(ash_command *c, ash_error *err)
{
    ash_builder changes = ASH_BUILDER_INIT;
    bson_t doc, old;
    ash_collection *coll = NULL;
    int rc = ash__command_collection(c, &coll, err);
    if (rc != 0)
        return rc;
    own_arguments(c, &changes);
    ash__doc_to_bson(ash__builder_doc(&changes), &doc);
    rc = ash_collection_modify(coll, &doc, &c->op, &old, err);
    ash_collection_free(coll);
    ash__builder_release(&changes);
    if (rc == 0) {
        ash__reply_fields(c, &old);
        bson_destroy(&old);
        /* The store tells which documents are in the way. */
    } else if (ash_error_server_code(err) == ASH_MONGO_CANNOT_CONVERT_INDEX_TO_UNIQUE) {
        ash__reply_details(c, &old);
        bson_destroy(&old);
    }
    return rc;
}

int64_t ash__listing_batch_size(const ash_command *c)
{
    /* Everything at once, unless the client says otherwise: listings are short. */
    int64_t batch_size = INT32_MAX;
    ash_value options = ash__arg(c, "cursor");
    if (options.type == BSON_TYPE_DOCUMENT)
        ash__value_as_int64(ash__doc_get(ash__value_doc(options), "batchSize"), &batch_size);
    return batch_size;
}

/* {name, type} of those with which the user may do anything, all at once. */
static int reply_own_collections(ash_command *c, ash_cursor *cursor, const char *ns, ash_error *err)
{
    ash_builder *b = &c->reply->body;
    ash_doc doc = ash__doc_empty;
    char index[12];
    uint32_t count = 0;
    int rc = 0;
    ash__builder_begin_doc(b, "cursor");
    ash__builder_begin_array(b, "firstBatch");
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        if (!ash__may_any(c, c->db, ash__doc_utf8(doc, "name", "")))
            continue;
        rc = ash__builder_check(b, "listCollections", err);
        ash__builder_begin_doc(b, ash__index_name(count++, index));
        ash__builder_value(b, "name", ash__doc_get(doc, "name"));
        ash__builder_value(b, "type", ash__doc_get(doc, "type"));
        ash__builder_end(b);
    }
    ash__builder_end(b);
    ash__builder_int64(b, "id", 0);
    ash__builder_text(b, "ns", ns);
    ash__builder_end(b);
    ash_cursor_free(cursor);
    return rc;
}

int ash__run_list_collections(ash_command *c, ash_error *err)
{
    bson_t filter;
    bool name_only = ash__arg_bool(c, "nameOnly", false);
    ash_cursor *cursor = NULL;
    int64_t batch_size = ash__listing_batch_size(c);
    int rc = ash_store_list_collections(c->server->store, c->db,
                                        ash__arg_bson(c, "filter", &filter), &c->op, &cursor, err);
    if (rc != 0)
        return rc;
    char *ns = ash__sprintf("%s.$cmd.listCollections", c->db);
    ash_first_batch how = {.ns = ns, .batch_size = batch_size, .name_only = name_only};
    if (name_only && ash__arg_bool(c, "authorizedCollections", false))
        rc = reply_own_collections(c, cursor, ns, err);
    else
        rc = ash__reply_first_batch(c, cursor, &how, err);
    ash__free(ns);
    return rc;
}

/* check_database_filter() has let nothing else through. */
static bool is_wanted_name(ash_doc filter, ash_value name)
{
    ash_value wanted = ash__doc_get(filter, "name");
    if (wanted.type == BSON_TYPE_UTF8)
        return ash__value_identical(wanted, name);
    if (wanted.type != BSON_TYPE_DOCUMENT)
        return true;
    ash_value in = ash__doc_get(ash__value_doc(wanted), "$in");
    if (in.type != BSON_TYPE_ARRAY)
        return true;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(in)); ash__doc_iter_next(&it);)
        if (ash__value_identical(it.value, name))
            return true;
    return false;
}

/* Filters that this command understands: {}, {name: text}, {name: {$in: [texts]}}. */
static int check_database_filter(ash_doc filter, ash_error *err)
{
    for (ash_doc_iter it = ash__doc_iter(filter); ash__doc_iter_next(&it);) {
        bool known = strcmp(it.name, "name") == 0 && it.value.type == BSON_TYPE_UTF8;
        if (strcmp(it.name, "name") == 0 && it.value.type == BSON_TYPE_DOCUMENT) {
            ash_doc ops = ash__value_doc(it.value);
            known = ash__doc_count(ops) == 1 && ash__doc_get(ops, "$in").type == BSON_TYPE_ARRAY;
        }
        if (!known)
            return ash__fail(err, ASH_EUNSUPPORTED,
                             "listDatabases: a filter on '%.60s' is not supported by this server; "
                             "{name: text} and {name: {$in: […]}} are",
                             it.name);
    }
    return 0;
}

static void reply_databases(ash_command *c, ash_doc list, ash_doc filter, bool name_only)
{
    char index[12];
    uint32_t count = 0;
    int64_t total = 0, size;
    ash_builder *b = &c->reply->body;
    /* Who may not list them all sees those in which he may do something. */
    bool all = ash__may_cluster(c, ASH_CAN(LIST_DATABASES)) &&
               !ash__arg_bool(c, "authorizedDatabases", false);
    ash__builder_begin_array(b, "databases");
    ash_doc databases = ash__value_doc(ash__doc_get(list, "databases"));
    for (ash_doc_iter it = ash__doc_iter(databases); ash__doc_iter_next(&it);) {
        ash_doc database = ash__value_doc(it.value);
        ash_value name = ash__doc_get(database, "name");
        if (!is_wanted_name(filter, name) ||
            (!all && !ash__may_reach(c, ash__value_utf8(name, ""))))
            continue;
        if (ash__value_as_int64(ash__doc_get(database, "sizeOnDisk"), &size))
            total += size;
        ash__builder_begin_doc(b, ash__index_name(count++, index));
        if (name_only)
            ash__builder_value(b, "name", name);
        else
            ash__builder_elements(b, database);
        ash__builder_end(b);
    }
    ash__builder_end(b);
    if (!name_only) {
        ash__builder_int64(b, "totalSize", total);
        ash__builder_int64(b, "totalSizeMb", total / (1024 * 1024));
    }
}

int ash__run_list_databases(ash_command *c, ash_error *err)
{
    bson_t out, filter_doc;
    ash_doc filter = ash__doc_from_bson(ash__arg_bson(c, "filter", &filter_doc));
    int rc = check_database_filter(filter, err);
    if (rc == 0)
        rc = ash_store_list_databases(c->server->store, &c->op, &out, err);
    if (rc != 0)
        return rc;
    reply_databases(c, ash__doc_from_bson(&out), filter, ash__arg_bool(c, "nameOnly", false));
    bson_destroy(&out);
    return 0;
}

static int reply_stats(ash_command *c, const char *coll, ash_error *err)
{
    bson_t out;
    int64_t scale = ash__arg_int64(c, "scale", 1);
    if (scale < 1)
        return ash__fail(err, ASH_EINVAL, "scale has to be >= 1");
    int rc = ash_store_stats(c->server->store, c->db, coll, scale, &c->op, &out, err);
    if (rc == 0) {
        ash__reply_fields(c, &out);
        bson_destroy(&out);
    }
    return rc;
}

int ash__run_coll_stats(ash_command *c, ash_error *err)
{
    return reply_stats(c, c->coll, err);
}

int ash__run_db_stats(ash_command *c, ash_error *err)
{
    return reply_stats(c, NULL, err);
}

/* Maintenance of one collection: {<action>: "db.coll", full?}. */
static int maintain_collection(ash_command *c, const char *action, ash_error *err)
{
    ash_builder request = ASH_BUILDER_INIT;
    bson_t view, out;
    char *ns = ash__sprintf("%s.%s", c->db, c->coll);
    ash__builder_begin(&request);
    ash__builder_text(&request, action, ns);
    if (ash__arg_bool(c, "full", false))
        ash__builder_bool(&request, "full", true);
    ash__builder_end(&request);
    ash__doc_to_bson(ash__builder_doc(&request), &view);
    int rc = ash__command_maintain(c, &view, &out, err);
    if (rc == 0)
        ash__reply_fields(c, &out);
    /* A report comes with damage, too. */
    if (rc == 0 || rc == ASH_ECORRUPT)
        bson_destroy(&out);
    ash__builder_release(&request);
    ash__free(ns);
    return rc;
}

int ash__run_validate(ash_command *c, ash_error *err)
{
    if (ash__arg_bool(c, "full", false) && ash__arg_bool(c, "background", false))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "validate cannot be full and in the background at once");
    return maintain_collection(c, "validate", err);
}

int ash__run_compact(ash_command *c, ash_error *err)
{
    return maintain_collection(c, "compact", err);
}
