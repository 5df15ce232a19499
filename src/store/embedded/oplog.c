/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/oplog.h"

#include "base/clock.h"

static int append_document(ash_writer *w, const ash_change *change, ash_builder *b, ash_error *err)
{
    ash_record r;
    bool found = false;
    int rc = ash__record_locate(ash__writer_view(w), change->coll, change->rid, &r, &found, err);
    if (rc != 0)
        return rc;
    if (!found || r.place.segment == 0) {
        ash__builder_doc_value(b, "f", change->doc);
        return 0;
    }
    ash__builder_int64(b, "r", (int64_t)change->rid);
    ash__builder_int64(b, "s", (int64_t)r.place.sequence);
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
