/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/write.h"

#include "tree/content/heal.h"
#include "tree/content/use.h"

/* The end of a writer, in the transaction of its file.  Nothing in memory counts as done: the
 * function may be run again, and then finds the writer as it was sealed. */

static void append_list(bson_t *doc, const char *field, const bson_value_t *owner)
{
    bson_t list;
    bson_append_array_begin(doc, field, -1, &list);
    bson_append_value(&list, "0", 1, owner);
    bson_append_array_end(doc, &list);
}

static void append_owner(bson_t *owners, const bson_value_t *owner)
{
    append_list(owners, "refs", owner);
    append_list(owners, "refHistory", owner);
}

/* Somebody else was faster. */
static int say_came(const ash_content_writer *w, ash_error *err)
{
    return ash__content_fail(err, ASH_ECONFLICT, &w->id, "came since it was looked for");
}

static int insert_new(ash_content_writer *w, const bson_t *owners, const ash_op *op, ash_error *err)
{
    ash_documents files = {0}, chunks = {0};
    bson_t *doc = bson_new();
    if (w->pieces != NULL) {
        ash__pieces_document(w, doc);
    } else {
        ash__content_document(w, &w->plan, &w->id, w->length, doc);
        ash__documents_add_chunks(&chunks, w->c, &w->id, &w->plan);
    }
    bson_concat(doc, owners);
    ash__documents_add(&files, doc);
    int rc = ash__documents_insert(&chunks, w->c->chunks, op, err);
    if (rc == 0)
        rc = ash__documents_insert(&files, w->c->files, op, err);
    ash__documents_release(&chunks);
    ash__documents_release(&files);
    return rc == ASH_EEXISTS ? say_came(w, err) : rc;
}

/* The document that the bucket made gets what it cannot say. */
static int amend(ash_content_writer *w, const bson_t *owners, const ash_op *op, ash_error *err)
{
    static const char *const fields[] = {"store", "size", "base", "depth", "features", "sketch"};
    bson_t whole = BSON_INITIALIZER, update = BSON_INITIALIZER, set, filter = BSON_INITIALIZER;
    bson_iter_t it;
    int64_t matched = 0;
    ash__content_document(w, &w->plan, &w->id, w->length, &whole);
    bson_append_document_begin(&update, "$set", 4, &set);
    for (size_t i = 0; w->plan.data != NULL && i < sizeof fields / sizeof fields[0]; i++)
        if (bson_iter_init_find(&it, &whole, fields[i]))
            bson_append_iter(&set, NULL, 0, &it);
    bson_concat(&set, owners);
    bson_append_document_end(&update, &set);
    ash__append_id(&filter, "_id", &w->id);
    int rc = ash__change_many(w->c->files, &(ash_content_change){&filter, &update, false}, op,
                              &matched, err);
    if (rc == 0 && matched != 1)
        rc = say_came(w, err);
    bson_destroy(&filter);
    bson_destroy(&update);
    bson_destroy(&whole);
    return rc;
}

static int finish_upload(ash_content_writer *w, const bson_t *owners, const ash_op *op,
                         ash_error *err)
{
    ash_finish_options o = ASH_FINISH_OPTIONS_INIT;
    bson_value_t id = {.value_type = BSON_TYPE_BINARY};
    id.value.v_binary.data = w->id.bytes;
    id.value.v_binary.data_len = w->id.len;
    o.id = &id;
    o.transaction = op->transaction;
    int rc = ash_upload_finish_with(w->upload, &o, NULL, NULL, err);
    if (rc == ASH_EEXISTS)
        return say_came(w, err);
    return rc == 0 ? amend(w, owners, op, err) : rc;
}

static int rely_on_bases(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    if (w->pieces != NULL)
        return ash__pieces_rely_on(w, op, err);
    return w->plan.part_count > 0 ? ash__contents_rely_on(w->c, &w->plan.parts[0].id, 1, op, err)
                                  : 0;
}

/* In the place of a damaged one it has the owners of that, too. */
static int store_new(ash_content_writer *w, const bson_value_t *owner, const ash_op *op,
                     ash_error *err)
{
    const ash_content_use use = {w->id, owner};
    bson_t owners = BSON_INITIALIZER;
    int rc = w->damaged ? ash__content_make_way(w->c, &w->id, &owners, op, err) : 0;
    bool inherits = !bson_empty(&owners);
    if (!inherits)
        append_owner(&owners, owner);
    if (rc == 0)
        rc = w->upload != NULL ? finish_upload(w, &owners, op, err)
                               : insert_new(w, &owners, op, err);
    if (rc == 0 && inherits)
        rc = ash__contents_hold(w->c, &use, 1, op, err);
    if (rc == 0 && w->has_heirs)
        rc = ash__content_give_to_heirs(w->c, &w->id, op, err);
    bson_destroy(&owners);
    return rc;
}

int ash__content_writer_store(ash_content_writer *w, const bson_value_t *owner, const ash_op *op,
                              ash_error *err)
{
    ash_op own;
    int rc = ash__contents_op(op, &own, err);
    if (rc == 0 && (!w->sealed || own.transaction == NULL))
        rc = ash__fail(err, ASH_ESTATE, "contents are sealed, and then stored in a transaction");
    if (rc != 0 || w->in_file)
        return rc;
    if (w->exists) {
        const ash_content_use use = {w->id, owner};
        return ash__contents_hold_dated(w->c, &use, w->exists_date_ms, &own, err);
    }
    rc = rely_on_bases(w, &own, err);
    if (rc == 0)
        rc = store_new(w, owner, &own, err);
    if (rc == 0 && w->plan.sketched)
        ash__recent_add(&w->c->recent, &w->id, &w->plan.sketch);
    return rc;
}
