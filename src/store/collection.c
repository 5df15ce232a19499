/* SPDX-License-Identifier: Apache-2.0 */
/* Collections and their indexes: each call checks what no backend could make sense of, then asks
 * one slot. */

#include "store/call.h"

#include "base/error.h"
#include "base/mem.h"

int ash_collection_new(ash_store *store, const char *db, const char *name, ash_collection **out,
                       ash_error *err)
{
    int rc;

    *out = NULL;
    if (db == NULL)
        db = store->default_db;
    rc = ash__namespace_check(db, name, err);
    if (rc != 0)
        return rc;
    /* No backend is asked: a collection is a name, and need not be there. */
    *out = ash__new(ash_collection);
    (*out)->store = store;
    (*out)->db = ash__strdup(db);
    (*out)->name = ash__strdup(name);
    return 0;
}

void ash_collection_free(ash_collection *c)
{
    if (c == NULL)
        return;
    ash__free(c->db);
    ash__free(c->name);
    ash__free(c);
}

const char *ash_collection_db(const ash_collection *c)
{
    return c->db;
}

const char *ash_collection_name(const ash_collection *c)
{
    return c->name;
}

ash_store *ash_collection_store(const ash_collection *c)
{
    return c->store;
}

int ash_collection_create(ash_collection *c, const bson_t *options, const ash_op *op,
                          ash_error *err)
{
    ash_op o;
    int rc = ash__call_write_op(c->store, op, &o, err);
    if (rc != 0)
        return rc;
    return c->store->ops->create(c->store, ash__ns_of(c), ash__bson_or_empty(options), &o, err);
}

int ash_collection_drop(ash_collection *c, const ash_op *op, ash_error *err)
{
    ash_op o;
    int rc = ash__call_write_op(c->store, op, &o, err);
    if (rc != 0)
        return rc;
    return c->store->ops->drop(c->store, ash__ns_of(c), &o, err);
}

int ash_collection_rename(ash_collection *c, const char *to_db, const char *to_name,
                          bool drop_target, const ash_op *op, ash_error *err)
{
    ash_op o;
    int rc = ash__call_write_op(c->store, op, &o, err);
    if (to_db == NULL)
        to_db = c->db;
    if (rc == 0)
        rc = ash__namespace_check(to_db, to_name, err);
    if (rc != 0)
        return rc;
    return c->store->ops->rename(c->store, ash__ns_of(c), (ash_ns){to_db, to_name}, drop_target, &o,
                                 err);
}

int ash_collection_modify(ash_collection *c, const bson_t *changes, const ash_op *op,
                          bson_t *old_values, ash_error *err)
{
    ash_op o;
    ash_error why = ASH_ERROR_INIT;
    bson_t unwanted;
    int rc = ash__call_write_op(c->store, op, &o, err);
    if (rc != 0)
        return rc;
    /* Into an error of our own, since the caller's may be NULL and the slot's code decides whether
     * there are old values to destroy. */
    rc = c->store->ops->modify(c->store, ash__ns_of(c), ash__bson_or_empty(changes), &o,
                               old_values != NULL ? old_values : &unwanted, &why);
    if ((rc == 0 || ash_error_server_code(&why) == ASH_MONGO_CANNOT_CONVERT_INDEX_TO_UNIQUE) &&
        old_values == NULL)
        bson_destroy(&unwanted);
    if (rc != 0 && err != NULL)
        *err = why;
    return rc;
}

int ash_collection_create_indexes(ash_collection *c, const bson_t *specs, const ash_op *op,
                                  bson_t *reply, ash_error *err)
{
    ash_op o;
    bson_t unwanted;
    int rc = ash__call_write_op(c->store, op, &o, err);
    if (rc != 0)
        return rc;
    /* An empty list is nearly always a list that was built wrongly. */
    if (specs == NULL || bson_empty(specs))
        return ash__fail(err, ASH_EINVAL, "no index to create was given");
    rc = c->store->ops->create_indexes(c->store, ash__ns_of(c), specs, &o,
                                       reply != NULL ? reply : &unwanted, err);
    if (rc == 0 && reply == NULL)
        bson_destroy(&unwanted);
    return rc;
}

int ash_collection_list_indexes(ash_collection *c, const ash_op *op, ash_cursor **out,
                                ash_error *err)
{
    ash_op o;
    int rc = ash__call_read_op(c->store, op, &o, err);
    *out = NULL;
    if (rc != 0)
        return rc;
    rc = c->store->ops->list_indexes(c->store, ash__ns_of(c), &o, out, err);
    if (rc == 0)
        (*out)->in_transaction = o.transaction != NULL;
    return rc;
}

int ash_collection_drop_indexes(ash_collection *c, const bson_value_t *index, const ash_op *op,
                                ash_error *err)
{
    ash_op o;
    int rc = ash__call_write_op(c->store, op, &o, err);
    if (rc != 0)
        return rc;
    if (index == NULL ||
        (index->value_type != BSON_TYPE_UTF8 && index->value_type != BSON_TYPE_DOCUMENT &&
         index->value_type != BSON_TYPE_ARRAY))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "index to drop must be a name, a key document or an array of "
                                "names");
    return c->store->ops->drop_indexes(c->store, ash__ns_of(c), index, &o, err);
}
