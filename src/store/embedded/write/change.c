/* SPDX-License-Identifier: Apache-2.0 */
/* One document changed, on the writer: whatever may refuse comes first, then the record, then its
 * entry in the change log, all in one commit. */

#include "store/embedded/write/change.h"

#include "store/embedded/kit/give.h"
#include "store/embedded/kit/oplog.h"

static int refused(ash_changer *c, const ash_duplicate *dup, ash_doc doc, int rc, ash_error *err)
{
    if (rc == ASH_EEXISTS && dup->index != NULL)
        return ash__duplicate_fail(c->coll, dup, doc, c->details, err);
    return rc;
}

/* Which rule refused: the one operator of the validator, or all of it. */
static void append_rule(const ash_coll *c, ash_builder *b)
{
    bson_iter_t it;
    const uint8_t *data = NULL;
    uint32_t len = 0;
    if (!bson_iter_init_find(&it, &c->options, "validator") || !BSON_ITER_HOLDS_DOCUMENT(&it))
        return;
    bson_iter_document(&it, &len, &data);
    ash_doc rule = {data, len};
    /* MongoDB names the operator that refused; of a validator with several, this names their $and.
     */
    ash_doc_iter first = ash__doc_iter(rule);
    bool one = ash__doc_iter_next(&first) && ash__doc_count(rule) == 1;
    const char *name = one && first.name[0] == '$' ? first.name : "$and";
    ash_doc_iter op =
        ash__doc_iter(one && first.value.type == BSON_TYPE_DOCUMENT ? ash__value_doc(first.value)
                                                                    : ash__doc_empty);
    if (one && first.name[0] != '$')
        name = ash__doc_iter_next(&op) && op.name[0] == '$' ? op.name : "$eq";
    ash__builder_begin_doc(b, "details");
    ash__builder_text(b, "operatorName", name);
    ash__builder_doc_value(b, "specifiedAs", rule);
    ash__builder_end(b);
}

static int validate(ash_changer *c, ash_doc doc, ash_doc old, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    int rc = ash__coll_validate(c->coll, doc, old, c->op, err);
    if (rc == 0 || c->details == NULL)
        return rc;
    ash__builder_begin(&b);
    ash__builder_begin_doc(&b, "errInfo");
    ash__builder_value(&b, "failingDocumentId", ash__doc_get(doc, "_id"));
    append_rule(c->coll, &b);
    ash__builder_end(&b);
    ash__builder_end(&b);
    ash__doc_give_instead(ash__builder_doc(&b), c->details);
    ash__builder_release(&b);
    return rc;
}

int ash__change_insert(ash_changer *c, ash_doc doc, ash_staged *staged, uint64_t *rid,
                       ash_error *err)
{
    ash_duplicate dup = {0};
    int rc = validate(c, doc, (ash_doc){NULL, 0}, err);
    if (rc == 0)
        /* Behind the validator, which is cheaper: this may walk through all chunks of a file. */
        rc = c->store->files->inserting(c->store, ash__writer_snapshot(c->writer), c->coll, doc,
                                        err);
    if (rc != 0)
        return rc;
    rc = ash__record_insert(c->writer, c->coll, &(ash_content){doc, staged}, rid, &dup, err);
    if (rc != 0)
        return refused(c, &dup, doc, rc, err);
    /* Behind the record, whose place the entry names when the document is too large to be copied.
     */
    ash_change change = {.kind = ASH_CHANGE_INSERT,
                         .db = c->coll->db,
                         .coll = c->coll,
                         .id = ash__doc_get(doc, "_id"),
                         .doc = doc,
                         .rid = *rid};
    return ash__oplog_write(c->writer, &change, err);
}

bool ash__change_keeps_images(const ash_coll *c)
{
    return bson_has_field(&c->options, "changeStreamPreAndPostImages");
}

/* A record's view ends with its change. */
static void keep_before(const ash_changer *c, const ash_record *r, ash_buffer *kept)
{
    if (ash__change_keeps_images(c->coll))
        ash__buffer_append(kept, r->doc.data, r->doc.len);
}

int ash__change_update(ash_changer *c, const ash_update *u, const ash_match *m, ash_builder *after,
                       bool *modified, ash_error *err)
{
    const ash_record *r = &m->record;
    ash_duplicate dup = {0};
    ash_builder changes = ASH_BUILDER_INIT;
    ash_buffer before = ASH_BUFFER_INIT;
    bool is_replace = ash__update_kind(u) == ASH_UPDATE_REPLACE;
    uint64_t rid = r->rid;
    /* Empty, should the update describe nothing. */
    ash__builder_begin(&changes);
    ash__builder_end(&changes);
    const ash_update_subject subject = {.doc = r->doc, .details = &m->details};
    int rc = ash__update_apply(u, &subject, after, modified, is_replace ? NULL : &changes, err);
    /* What changes nothing is no change: no write, no entry, no event. */
    if (rc != 0 || !*modified)
        goto out;
    ash_doc doc = ash__builder_doc(after);
    keep_before(c, r, &before);
    rc = validate(c, doc, r->doc, err);
    if (rc == 0) {
        rc = ash__record_replace(c->writer, c->coll, rid, &(ash_content){.doc = doc}, &dup, err);
        rc = rc != 0 ? refused(c, &dup, doc, rc, err) : 0;
    }
    if (rc != 0)
        goto out;
    ash_change change = {.kind = is_replace ? ASH_CHANGE_REPLACE : ASH_CHANGE_UPDATE,
                         .db = c->coll->db,
                         .coll = c->coll,
                         .id = ash__doc_get(doc, "_id"),
                         .rid = rid,
                         .before = {before.data, (uint32_t)before.len}};
    /* An event of an update shows the document as it is now, or as it was then; only the log knows
     * the latter. */
    if (before.len > 0 && !is_replace)
        change.after = doc;
    if (is_replace)
        change.doc = doc;
    else
        change.changes = ash__builder_doc(&changes);
    rc = ash__oplog_write(c->writer, &change, err);
out:
    ash__buffer_release(&before);
    ash__builder_release(&changes);
    return rc;
}

int ash__change_delete(ash_changer *c, const ash_record *r, ash_error *err)
{
    /* The record's view ends with the deletion, the log entry needs its key. */
    ash_value id = ash__doc_get(r->doc, "_id");
    uint8_t *copy = id.len > 0 ? ash__memdup(id.data, id.len) : NULL;
    ash_buffer before = ASH_BUFFER_INIT;
    keep_before(c, r, &before);
    int rc = ash__record_delete(c->writer, c->coll, r->rid, err);
    if (rc == 0) {
        id.data = copy;
        ash_change change = {.kind = ASH_CHANGE_DELETE,
                             .db = c->coll->db,
                             .coll = c->coll,
                             .id = id,
                             .before = {before.data, (uint32_t)before.len}};
        rc = ash__oplog_write(c->writer, &change, err);
    }
    ash__buffer_release(&before);
    ash__free(copy);
    return rc;
}
