/* SPDX-License-Identifier: Apache-2.0 */
/* The four steps of intent.h, each one operation on one document. */
#include "bucket/intent.h"

static const char FIELD[] = "ashlar_intent";
static const char MARK[] = "ashlar_intent.mark";

bool ash__intent_needed(const ash_fence_copy *f, ash_transaction *t)
{
    return f->given && t == NULL;
}

void ash__intent_init(ash_intent *i, const bson_value_t *id, bool makes)
{
    *i = (ash_intent){.id = id, .makes = makes};
    bson_oid_init(&i->mark, NULL);
}

void ash__intent_append(const ash_intent *i, bson_t *files_doc)
{
    BCON_APPEND(files_doc, FIELD, "{", "mark", BCON_OID(&i->mark), "makes", BCON_BOOL(i->makes),
                "}");
}

void ash__intent_append_end(const bson_t *operators, bson_t *out)
{
    bson_iter_t it;
    bson_t unset = BSON_INITIALIZER, old;
    bson_copy_to_excluding_noinit(operators, out, "$unset", NULL);
    if (bson_iter_init_find(&it, operators, "$unset") && BSON_ITER_HOLDS_DOCUMENT(&it)) {
        uint32_t len;
        const uint8_t *data;
        bson_iter_document(&it, &len, &data);
        if (bson_init_static(&old, data, len))
            bson_concat(&unset, &old);
    }
    BSON_APPEND_UTF8(&unset, FIELD, "");
    BSON_APPEND_DOCUMENT(out, "$unset", &unset);
    bson_destroy(&unset);
}

static void marked(const ash_intent *i, bson_t *filter)
{
    bson_init(filter);
    ash__filter_id(filter, "_id", i->id);
    BSON_APPEND_OID(filter, MARK, &i->mark);
}

static int lost(ash_error *err)
{
    return ash__fail(err, ASH_ELOST, "lock was taken over just before the change");
}

int ash__intent_mark(const ash_work *work, const ash_intent *i, bool *found, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t operators = BSON_INITIALIZER;
    bson_t set;
    int64_t matched = 0;
    ash_update_options o = ash__work_update_options(work);
    /* An older mark gives way, and whoever set it fails at step 3. */
    ash__filter_id(&filter, "_id", i->id);
    BSON_APPEND_DOCUMENT_BEGIN(&operators, "$set", &set);
    ash__intent_append(i, &set);
    bson_append_document_end(&operators, &set);
    int rc = ash__collection_change(work->bucket->files, &filter, &operators, &o, &matched, err);
    bson_destroy(&filter);
    bson_destroy(&operators);
    *found = matched > 0;
    return rc;
}

/* As if nothing had been begun. */
static void take_back(const ash_work *work, const ash_intent *i)
{
    bson_t filter;
    ash_update_options o = ash__work_update_options(work);
    marked(i, &filter);
    if (i->makes) {
        (void)ash__collection_remove_all(work->bucket->files, &filter, &o.op, NULL, NULL);
    } else {
        bson_t *unset = BCON_NEW("$unset", "{", FIELD, BCON_UTF8(""), "}");
        (void)ash__collection_change(work->bucket->files, &filter, unset, &o, NULL, NULL);
        bson_destroy(unset);
    }
    bson_destroy(&filter);
}

int ash__intent_announce(const ash_work *work, const ash_fence_copy *f, const ash_intent *i,
                         ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t operators = BSON_INITIALIZER;
    bson_t push;
    bson_t entry;
    int64_t held = 0;
    ash_update_options o = ash__work_update_options(work);
    /* The look at the lock and the announcement are one operation: no grant fits between. */
    ash__fence_filter(f, &filter);
    BSON_APPEND_DOCUMENT_BEGIN(&operators, "$push", &push);
    BSON_APPEND_DOCUMENT_BEGIN(&push, "pending", &entry);
    BSON_APPEND_UTF8(&entry, "files", ash_collection_name(work->bucket->files));
    BSON_APPEND_VALUE(&entry, "id", i->id);
    BSON_APPEND_OID(&entry, "mark", &i->mark);
    BSON_APPEND_BOOL(&entry, "makes", i->makes);
    bson_append_document_end(&push, &entry);
    bson_append_document_end(&operators, &push);
    int rc = ash__collection_change(f->locks, &filter, &operators, &o, &held, err);
    if (rc == 0 && held == 0)
        rc = lost(err);
    if (rc != 0)
        take_back(work, i);
    bson_destroy(&filter);
    bson_destroy(&operators);
    return rc;
}

int ash__intent_update(const ash_work *work, const ash_intent *i, const bson_t *update,
                       ash_error *err)
{
    bson_t filter;
    int64_t matched = 0;
    ash_update_options o = ash__work_update_options(work);
    marked(i, &filter);
    int rc = ash__collection_change(work->bucket->files, &filter, update, &o, &matched, err);
    bson_destroy(&filter);
    return rc == 0 && matched == 0 ? lost(err) : rc;
}

int ash__intent_remove(const ash_work *work, const ash_intent *i, ash_error *err)
{
    bson_t filter;
    int64_t removed = 0;
    ash_op op = ash__work_write_op(work);
    marked(i, &filter);
    int rc = ash__collection_remove_all(work->bucket->files, &filter, &op, &removed, err);
    bson_destroy(&filter);
    return rc == 0 && removed == 0 ? lost(err) : rc;
}

void ash__intent_settle(const ash_work *work, const ash_fence_copy *f, const ash_intent *i)
{
    bson_t filter = BSON_INITIALIZER;
    ash_update_options o = ash__work_update_options(work);
    bson_t *pull = BCON_NEW("$pull", "{", "pending", "{", "mark", BCON_OID(&i->mark), "}", "}");
    ash__filter_id(&filter, "_id", &f->lock_id);
    (void)ash__collection_change(f->locks, &filter, pull, &o, NULL, NULL);
    bson_destroy(pull);
    bson_destroy(&filter);
}

/* A mark begins with the time at which it was made. */
static void marked_before(int64_t before_s, bool makes, bson_t *filter)
{
    bson_oid_t bound = {{0}};
    uint32_t seconds = before_s < 0             ? 0
                       : before_s >= UINT32_MAX ? UINT32_MAX
                                                : (uint32_t)(before_s + 1);
    for (int k = 0; k < 4; k++)
        bound.bytes[k] = (uint8_t)(seconds >> (24 - 8 * k));
    bson_init(filter);
    BSON_APPEND_BOOL(filter, "ashlar_intent.makes", makes);
    BCON_APPEND(filter, MARK, "{", "$lt", BCON_OID(&bound), "}");
}

int ash__intents_sweep(const ash_work *work, int64_t before_s, ash_error *err)
{
    bson_t filter;
    bson_t *unset = BCON_NEW("$unset", "{", FIELD, BCON_UTF8(""), "}");
    ash_update_options o = ash__work_update_options(work);
    o.multi = true;
    /* Files that never got a name, as nobody finds them; then marks in files that stay. */
    marked_before(before_s, true, &filter);
    int rc = ash__collection_remove_all(work->bucket->files, &filter, &o.op, NULL, err);
    bson_destroy(&filter);
    marked_before(before_s, false, &filter);
    if (rc == 0)
        rc = ash__collection_change(work->bucket->files, &filter, unset, &o, NULL, err);
    bson_destroy(&filter);
    bson_destroy(unset);
    return rc;
}
