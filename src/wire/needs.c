/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that need one thing or another by what they are asked. */
#include "wire/needs.h"

#include "base/mem.h"

#include <string.h>

/* ---- writing ---- */

int ash__need_update(ash_command *c, ash_error *err)
{
    ash_doc *updates = NULL;
    size_t count = 0;
    ash_actions actions = ASH_CAN(UPDATE) | ASH_CAN(FIND);
    int rc = ash__arg_docs(c, "updates", &updates, &count, err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        for (ash_doc_iter it = ash__doc_iter(updates[i]); ash__doc_iter_next(&it);)
            if (strcmp(it.name, "upsert") == 0 && ash__value_truthy(it.value))
                actions |= ASH_CAN(INSERT);
    ash__free(updates);
    return rc == 0 ? ash__require(c, c->db, c->coll, actions, err) : rc;
}

int ash__need_modify(ash_command *c, ash_error *err)
{
    ash_actions actions = ASH_CAN(FIND);
    actions |= ash__arg_bool(c, "remove", false) ? ASH_CAN(REMOVE) : ASH_CAN(UPDATE);
    if (ash__arg_bool(c, "upsert", false))
        actions |= ASH_CAN(INSERT);
    return ash__require(c, c->db, c->coll, actions, err);
}

/* ---- collections ---- */

/* Who makes a view could read by it what it is on. */
static int need_view(ash_command *c, ash_error *err)
{
    bson_t holder;
    const char *on = ash__arg_string(c, "viewOn", NULL);
    const bson_t *pipeline = ash__arg_bson(c, "pipeline", &holder);
    if (on == NULL && pipeline == NULL)
        return 0;
    if (on == NULL)
        return ash__deny(c, err);
    return ash__need_pipeline(c, on, ash__doc_from_bson(pipeline), err);
}

int ash__need_create(ash_command *c, ash_error *err)
{
    int rc = ash__require(c, c->db, c->coll, ASH_CAN(CREATE_COLLECTION), err);
    return rc == 0 ? need_view(c, err) : rc;
}

int ash__need_coll_mod(ash_command *c, ash_error *err)
{
    int rc = ash__require(c, c->db, c->coll, ASH_CAN(COLL_MOD), err);
    return rc == 0 ? need_view(c, err) : rc;
}

/* "db.coll" into two; false when it is none. */
static bool split(const char *ns, char db[ASH_DB_NAME_BYTES], const char **coll)
{
    const char *dot = strchr(ns, '.');
    if (dot == NULL || dot == ns || dot - ns >= ASH_DB_NAME_BYTES)
        return false;
    memcpy(db, ns, (size_t)(dot - ns));
    db[dot - ns] = '\0';
    *coll = dot + 1;
    return true;
}

/* Whoever may rename, but not read it, must not read it by its new name either. */
static bool may_rename(const ash_command *c, const char *db, const char *from, const char *to)
{
    return ash__may(c, db, from, ASH_CAN(RENAME_COLLECTION_SAME_DB)) &&
           ash__may(c, db, to, ASH_CAN(RENAME_COLLECTION_SAME_DB)) &&
           (ash__may(c, db, from, ASH_CAN(FIND)) || !ash__may(c, db, to, ASH_CAN(FIND)));
}

int ash__need_rename(ash_command *c, ash_error *err)
{
    char from_db[ASH_DB_NAME_BYTES], to_db[ASH_DB_NAME_BYTES];
    const char *from, *to;
    if (!split(c->coll, from_db, &from) || !split(ash__arg_string(c, "to", ""), to_db, &to))
        return ash__deny(c, err);
    ash_actions drop = ash__arg_bool(c, "dropTarget", false) ? ASH_CAN(DROP_COLLECTION) : 0;
    if (strcmp(from_db, to_db) == 0 && drop == 0 && may_rename(c, from_db, from, to))
        return 0;
    int rc = ash__require(c, from_db, from, ASH_CAN(FIND) | ASH_CAN(DROP_COLLECTION), err);
    return rc == 0 ? ash__require(c, to_db, to,
                                  ASH_CAN(INSERT) | ASH_CAN(CREATE_INDEX) |
                                      ASH_CAN(CREATE_COLLECTION) | drop,
                                  err)
                   : rc;
}

/* Whoever may not list them all gets the names of those that are its own to do something with, if
 * that is what it asks for. */
int ash__need_list_collections(ash_command *c, ash_error *err)
{
    if (ash__may(c, c->db, "", ASH_CAN(LIST_COLLECTIONS)))
        return 0;
    bool own = ash__arg_bool(c, "nameOnly", false) &&
               ash__arg_bool(c, "authorizedCollections", false) && ash__may_reach(c, c->db);
    return own ? 0 : ash__deny(c, err);
}

/* With admin the users would go, and the door would be open. */
int ash__need_drop_database(ash_command *c, ash_error *err)
{
    if (strcmp(c->db, "admin") == 0)
        return ash__deny(c, err);
    return ash__require(c, c->db, "", ASH_CAN(DROP_DATABASE), err);
}

int ash__need_filemd5(ash_command *c, ash_error *err)
{
    char *chunks = ash__sprintf("%s.chunks", ash__arg_string(c, "root", "fs"));
    int rc = ash__require(c, c->db, chunks, ASH_CAN(FIND), err);
    ash__free(chunks);
    return rc;
}

/* What was taken since the cursor was opened is gone from it, too.  Listings have nothing that
 * their first batch had not. */
int ash__need_get_more(ash_command *c, ash_error *err)
{
    int64_t id = 0;
    const char *coll = ash__arg_string(c, "collection", "");
    bool listing = strncmp(coll, "$cmd", strlen("$cmd")) == 0;
    ash_actions actions = ASH_CAN(FIND);
    if (ash__value_as_int64(c->value, &id) &&
        ash__cursors_is_change_stream(c->server->cursors, id)) {
        actions |= ASH_CAN(CHANGE_STREAM);
        /* Of everything, which is asked of admin. */
        if (listing && ash__may(c, "", "", actions))
            return 0;
        return ash__require(c, c->db, listing ? "" : coll, actions, err);
    }
    return listing ? 0 : ash__require(c, c->db, coll, actions, err);
}

/* ---- the server ---- */

int ash__need_current_op(ash_command *c, ash_error *err)
{
    if (ash__may_cluster(c, ASH_CAN(INPROG)) || ash__arg_bool(c, "$ownOps", false))
        return 0;
    return ash__deny(c, err);
}

/* ---- reading ---- */

int ash__need_aggregate(ash_command *c, ash_error *err)
{
    bson_t holder;
    const bson_t *stages = ash__arg_bson(c, "pipeline", &holder);
    return ash__need_pipeline(c, ash__value_utf8(c->value, NULL),
                              stages != NULL ? ash__doc_from_bson(stages) : ash__doc_empty, err);
}

/* Which of two fields of a name counts is not to be guessed. */
static bool has_twins(ash_doc body)
{
    for (ash_doc_iter it = ash__doc_iter(body); ash__doc_iter_next(&it);)
        if (ash__doc_get(body, it.name).data != it.value.data)
            return true;
    return false;
}

/* The command that is explained needs what it would need itself. */
int ash__need_explain(ash_command *c, ash_error *err)
{
    ash_doc body = c->value.type == BSON_TYPE_DOCUMENT ? ash__value_doc(c->value) : ash__doc_empty;
    ash_doc_iter it = ash__doc_iter(body);
    if (!ash__doc_iter_next(&it) || has_twins(body))
        return ash__deny(c, err);
    ash_command inner = *c;
    static const ash_request no_request;
    inner.info = ash__wire_command_find(it.name);
    inner.request = &no_request;
    inner.body = body;
    inner.value = it.value;
    inner.coll = ash__value_utf8(it.value, NULL);
    /* It is explained in this database, whatever it says. */
    if (inner.info == NULL || inner.info == c->info ||
        (inner.info->flags & ASH_COMMAND_TRANSACTION) == 0)
        return ash__deny(c, err);
    if (inner.coll == NULL && (inner.info->flags & ASH_COMMAND_COLLECTION) != 0)
        return ash__deny(c, err);
    return ash__access_check(&inner, err);
}
