/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include "base/error.h"

#include <string.h>

/* ---- databases ---- */

static void on_collection(runner *r, entity *e, ash_doc args, outcome *out, bool create)
{
    ash_collection *c = NULL;
    const char *name = spec_text(args, "collection");
    if (name == NULL) {
        ash__fail(&out->err, ASH_EINVAL, "operation without a collection");
        return;
    }
    if (ash_collection_new(r->store, e->db, name, &c, &out->err) != 0)
        return;
    if (create)
        ash_collection_create(c, NULL, NULL, &out->err);
    else if (ash_collection_drop(c, NULL, &out->err) == ASH_ENOTFOUND)
        out->err = (ash_error)ASH_ERROR_INIT;
    ash_collection_free(c);
}

static void list_collections(runner *r, entity *e, ash_doc args, outcome *out)
{
    ash_cursor *cursor = NULL;
    bson_t filter;
    bson_t array = BSON_INITIALIZER;
    spec_doc(args, "filter", &filter);
    int rc = ash_store_list_collections(r->store, e->db, &filter, NULL, &cursor, &out->err);
    if (rc == 0)
        rc = spec_collect(cursor, &array, &out->err);
    if (rc == 0)
        spec_return_array(out, &array);
    ash_cursor_free(cursor);
    bson_destroy(&array);
}

enum call spec_database_op(runner *r, entity *e, const char *name, ash_doc args, outcome *out)
{
    if (strcmp(name, "createCollection") == 0)
        on_collection(r, e, args, out, true);
    else if (strcmp(name, "dropCollection") == 0)
        on_collection(r, e, args, out, false);
    else if (strcmp(name, "listCollections") == 0)
        list_collections(r, e, args, out);
    else
        return UNKNOWN_OPERATION;
    return CALLED;
}

/* ---- the test runner's own ---- */

/* Lists what `list` opens and looks for a document whose name is `wanted`. */
static bool is_listed(runner *r, ash_cursor *cursor, const char *wanted, bool *out)
{
    ash_error err = ASH_ERROR_INIT;
    *out = false;
    for (;;) {
        ash_doc doc;
        if (ash_cursor_next(cursor, &doc, &err) != 0)
            return spec_fail(r, "cannot list: %s", err.text);
        if (doc.data == NULL)
            return true;
        const char *name = spec_text(doc, "name");
        if (name != NULL && strcmp(name, wanted) == 0)
            *out = true;
    }
}

static bool collection_exists(runner *r, const char *db, const char *name, bool *out)
{
    ash_error err = ASH_ERROR_INIT;
    ash_cursor *cursor = NULL;
    bson_t all = BSON_INITIALIZER;
    if (ash_store_list_collections(r->store, db, &all, NULL, &cursor, &err) != 0)
        return spec_fail(r, "cannot list collections: %s", err.text);
    bool ok = is_listed(r, cursor, name, out);
    ash_cursor_free(cursor);
    return ok;
}

static bool index_exists(runner *r, const char *db, const char *name, const char *index, bool *out)
{
    ash_error err = ASH_ERROR_INIT;
    ash_cursor *cursor = NULL;
    ash_collection *c = NULL;
    bool ok = true;
    *out = false;
    if (ash_collection_new(r->store, db, name, &c, &err) != 0)
        return spec_fail(r, "%s", err.text);
    int rc = ash_collection_list_indexes(c, NULL, &cursor, &err);
    if (rc == 0)
        ok = is_listed(r, cursor, index, out);
    else if (rc != ASH_ENOTFOUND)
        ok = spec_fail(r, "cannot list indexes: %s", err.text);
    ash_cursor_free(cursor);
    ash_collection_free(c);
    return ok;
}

static bool create_entities(runner *r, ash_doc args)
{
    ash_value list = ash__doc_get(args, "entities");
    bool ok = list.type == BSON_TYPE_ARRAY || spec_fail(r, "createEntities without entities");
    for (ash_doc_iter it = ash__doc_iter(ok ? ash__value_doc(list) : ash__doc_empty);
         ok && ash__doc_iter_next(&it);)
        ok = it.value.type == BSON_TYPE_DOCUMENT ? spec_entity_create(r, ash__value_doc(it.value))
                                                 : spec_fail(r, "entity is no document");
    return ok;
}

enum call spec_runner_op(runner *r, const char *name, ash_doc args, enum verdict *verdict)
{
    const char *db = spec_text(args, "databaseName");
    const char *collection = spec_text(args, "collectionName");
    const char *index = spec_text(args, "indexName");
    bool wanted = strstr(name, "NotExists") == NULL;
    bool exists = false;
    bool ok;
    if (strcmp(name, "createEntities") == 0) {
        *verdict = create_entities(r, args) ? PASSED : FAILED;
        return CALLED;
    }
    if (db == NULL || collection == NULL || strncmp(name, "assert", 6) != 0)
        return UNKNOWN_OPERATION;
    if (strcmp(name, "assertCollectionExists") == 0 ||
        strcmp(name, "assertCollectionNotExists") == 0)
        ok = collection_exists(r, db, collection, &exists);
    else if (index != NULL &&
             (strcmp(name, "assertIndexExists") == 0 || strcmp(name, "assertIndexNotExists") == 0))
        ok = index_exists(r, db, collection, index, &exists);
    else
        return UNKNOWN_OPERATION;
    if (ok && exists != wanted)
        ok = spec_fail(r, "%s: it does%s exist", name, exists ? "" : " not");
    *verdict = ok ? PASSED : FAILED;
    return CALLED;
}
