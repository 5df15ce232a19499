/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the change log, written in the apply of the change that they tell of; so neither is
 * there without the other. */

#include "store/embedded/kit/oplog.h"

#include "base/clock.h"
#include "base/hash.h"
#include "store/ops.h"

enum { CHUNK_BYTES = 64 };

/* Chunks are written once, and their bytes twice would be half of what a small file costs. */
static bool is_small_chunk(const ash_change *change)
{
    return change->doc.len >= CHUNK_BYTES && ash__name_ends_with(change->coll->name, ".chunks");
}

static int append_document(ash_writer *w, const ash_change *change, ash_builder *b, ash_error *err)
{
    ash_record r;
    bool found = false;
    int rc =
        ash__record_locate(ash__writer_snapshot(w), change->coll, change->rid, &r, &found, err);
    if (rc != 0)
        return rc;
    /* The place tells that version from a later one under the same record. */
    bool large = found && r.place.segment != 0;
    if (!large && !is_small_chunk(change)) {
        ash__builder_doc_value(b, "f", change->doc);
        return 0;
    }
    ash__builder_int64(b, "r", (int64_t)change->rid);
    if (large)
        ash__builder_int64(b, "s", (int64_t)r.place.sequence);
    else
        ash__builder_int64(b, "h", (int64_t)ash__checksum(change->doc.data, change->doc.len));
    return 0;
}

static int build_entry(ash_writer *w, const ash_change *change, ash_builder *b, ash_error *err)
{
    int rc = 0;
    ash__builder_begin(b);
    ash__builder_int32(b, "o", (int32_t)change->kind);
    ash__builder_text(b, "d", change->db);
    if (change->coll != NULL) {
        ash__builder_text(b, "c", change->coll->name);
        ash__builder_int64(b, "i", change->coll->id);
        ash__builder_binary(b, "u", BSON_SUBTYPE_UUID, change->coll->uuid, 16);
    }
    /* Beside the entry's time, which is its key and may run ahead of the clock. */
    ash__builder_date(b, "w", ash__clock_wall_ms());
    if (!ash__value_is_missing(change->id)) {
        ash__builder_begin_doc(b, "k");
        ash__builder_value(b, "_id", change->id);
        ash__builder_end(b);
    }
    if (change->doc.data != NULL)
        rc = append_document(w, change, b, err);
    if (change->changes.data != NULL)
        ash__builder_doc_value(b, "x", change->changes);
    if (change->before.data != NULL)
        ash__builder_doc_value(b, "b", change->before);
    if (change->after.data != NULL)
        ash__builder_doc_value(b, "f", change->after);
    if (change->details.data != NULL)
        ash__builder_doc_value(b, "e", change->details);
    if (change->to_db != NULL) {
        ash__builder_text(b, "td", change->to_db);
        ash__builder_text(b, "tc", change->to_coll);
    }
    ash__builder_end(b);
    return rc;
}

int ash__oplog_write(ash_writer *w, const ash_change *change, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    uint64_t time;
    int rc = build_entry(w, change, &b, err);
    if (rc == 0)
        rc = ash__oplog_append(w, ash__builder_doc(&b), &time, err);
    ash__builder_release(&b);
    return rc;
}

int ash__oplog_write_mark(ash_writer *w, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    uint64_t time;
    ash__builder_begin(&b);
    ash__builder_int32(&b, "o", ASH_CHANGE_NOTHING);
    ash__builder_date(&b, "w", ash__clock_wall_ms());
    ash__builder_end(&b);
    int rc = ash__oplog_append(w, ash__builder_doc(&b), &time, err);
    ash__builder_release(&b);
    return rc;
}

int ash__oplog_create(ash_writer *w, ash_ns ns, const bson_t *options, const ash_coll **out,
                      ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    int rc = ash__namespace_check_new(ns.db, ns.coll, err);
    if (rc == 0)
        rc = ash__catalog_create(w, ns.db, ns.coll, options, out, err);
    if (rc != 0)
        return rc;
    ash__builder_begin(&b);
    ash__builder_elements(&b, ash__doc_from_bson(&(*out)->options));
    /* Expanded streams show it with the options. */
    ash__builder_doc_value(&b, "idIndex", ash__doc_from_bson(&(*out)->indexes[0].spec));
    ash__builder_end(&b);
    ash_change change = {
        .kind = ASH_CHANGE_CREATE, .db = ns.db, .coll = *out, .details = ash__builder_doc(&b)};
    rc = ash__oplog_write(w, &change, err);
    ash__builder_release(&b);
    return rc;
}

int ash__oplog_write_index(ash_writer *w, enum ash_change_kind kind, const ash_coll *c,
                           const ash_index *index, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_begin_array(&b, "indexes");
    ash__builder_doc_value(&b, "0", ash__doc_from_bson(&index->spec));
    ash__builder_end(&b);
    ash__builder_end(&b);
    ash_change change = {.kind = kind, .db = c->db, .coll = c, .details = ash__builder_doc(&b)};
    int rc = ash__oplog_write(w, &change, err);
    ash__builder_release(&b);
    return rc;
}
