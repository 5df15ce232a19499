/* SPDX-License-Identifier: Apache-2.0 */
/* Reading records: the row in LMDB, and for large ones the payload in the segments that the row
 * points at. */
#include "engine/internal.h"

#include "base/fault.h"

#include <string.h>

ash_extent ash__pointer_extent(const ash_pointer *p)
{
    return (ash_extent){p->segment, p->block, ash__segment_blocks_for(p->len)};
}

int ash__record_parse(MDB_val key, MDB_val value, ash_pointer *place, ash_doc *doc, ash_error *err)
{
    const uint8_t *at = value.mv_data;
    memset(place, 0, sizeof *place);
    *doc = (ash_doc){NULL, 0};
    /* Also of keys: the row may be one of a damaged page. */
    if (key.mv_size != ASH_RECORD_KEY_BYTES || value.mv_size < ASH_RECORD_HEAD_BYTES)
        return ash__fail(err, ASH_ECORRUPT, "the record is cut off");
    const uint8_t *body = at + ASH_RECORD_HEAD_BYTES;
    size_t len = value.mv_size - ASH_RECORD_HEAD_BYTES;
    if (ash__get_le64(at + 1) != ash__row_sum(key.mv_data, key.mv_size, body, len))
        return ash__fail(err, ASH_ECORRUPT, "the record has a wrong checksum");
    /* The sum does not cover the kind, so that the kind alone is not believed. */
    if (at[0] == ASH_RECORD_INLINE && len >= 5) {
        *doc = (ash_doc){body, len};
    } else if (at[0] == ASH_RECORD_POINTER && len == ASH_POINTER_BYTES) {
        place->segment = ash__get_le32(body);
        place->block = ash__get_le32(body + 4);
        place->len = ash__get_le32(body + 8);
        place->sequence = ash__get_le64(body + 12);
    } else {
        return ash__fail(err, ASH_ECORRUPT, "the record is of an unknown kind");
    }
    return 0;
}

typedef struct validating {
    ash_doc doc;
    bool sound;
} validating;

static void validate(void *ctx)
{
    validating *v = ctx;
    v->sound = ash__bson_validate(v->doc.data, v->doc.len, 2 * ASH_DOC_MAX_DEPTH, NULL) == 0;
}

bool ash__payload_is_sound(ash_doc doc)
{
    validating v = {.doc = doc};
    return ash__fault_try(validate, &v) && v.sound;
}

/* Without the payload's checksum its structure is checked, so that walking it is safe. */
static int read_payload(ash_engine *e, uint32_t coll_id, const ash_pointer *p, bool verify,
                        ash_doc *doc, ash_error *err)
{
    ash_place place = {p->segment, p->block, p->len, p->sequence};
    /* The length is the pointer's, whose row has a checksum; the header must say the same. */
    int rc = ash__segments_read(e->segments, &place, coll_id, verify, &doc->data, err);
    doc->len = p->len;
    if (rc == 0 && !verify && !ash__payload_is_sound(*doc))
        rc = ash__fail(err, ASH_ECORRUPT, "a damaged document in segment %08x at offset %llu",
                       (unsigned)p->segment, (unsigned long long)p->block * ASH_BLOCK_BYTES);
    return rc;
}

/* The record's row; row->key is in key. */
static int find_row(const ash_snapshot *snap, const ash_coll *c, uint64_t rid,
                    uint8_t key[ASH_RECORD_KEY_BYTES], ash_row *row, ash_error *err)
{
    ash__record_key(key, c->id, rid);
    row->key = ash__val(key, ASH_RECORD_KEY_BYTES);
    return ash__row_get(snap, ASH_DB_RECORDS, ash__bytes(key, ASH_RECORD_KEY_BYTES), &row->value,
                        &row->found, err);
}

static int decode(ash_snapshot *snap, const ash_coll *c, const ash_row *row, bool verify_payload,
                  ash_record *out, ash_error *err)
{
    int rc = ash__record_parse(row->key, row->value, &out->place, &out->doc, err);
    ash__soundness_doubt(snap->engine, rc);
    out->rid = ash__get_be64((const uint8_t *)row->key.mv_data + 4);
    if (rc == 0 && out->place.segment != 0)
        rc = read_payload(snap->engine, c->id, &out->place, verify_payload, &out->doc, err);
    if (rc != 0)
        ash__error_prefix(err, "%s.%s, record %llu", c->db, c->name, (unsigned long long)out->rid);
    return rc;
}

int ash__record_get(ash_snapshot *snap, const ash_coll *c, uint64_t rid, ash_record *out,
                    bool *found, ash_error *err)
{
    uint8_t key[ASH_RECORD_KEY_BYTES];
    ash_row row;
    int rc = find_row(snap, c, rid, key, &row, err);
    *found = row.found;
    return rc == 0 && row.found ? decode(snap, c, &row, true, out, err) : rc;
}

int ash__record_get_unread(ash_snapshot *snap, const ash_coll *c, uint64_t rid, ash_record *out,
                           bool *found, ash_error *err)
{
    uint8_t key[ASH_RECORD_KEY_BYTES];
    ash_row row;
    int rc = find_row(snap, c, rid, key, &row, err);
    *found = row.found;
    return rc == 0 && row.found ? decode(snap, c, &row, false, out, err) : rc;
}

int ash__record_locate(ash_snapshot *snap, const ash_coll *c, uint64_t rid, ash_record *out,
                       bool *found, ash_error *err)
{
    uint8_t key[ASH_RECORD_KEY_BYTES];
    ash_row row;
    int rc = find_row(snap, c, rid, key, &row, err);
    *found = row.found;
    if (rc != 0 || !row.found)
        return rc;
    out->rid = rid;
    rc = ash__record_parse(row.key, row.value, &out->place, &out->doc, err);
    if (rc != 0)
        ash__error_prefix(err, "%s.%s, record %llu", c->db, c->name, (unsigned long long)rid);
    return rc;
}

int ash__record_find_id(ash_snapshot *snap, const ash_coll *c, ash_value id, ash_record *out,
                        bool *found, ash_error *err)
{
    ash_buffer key = ASH_BUFFER_INIT;
    const ash_index *i = &c->indexes[0];
    const ash_collation *collation = i->pattern.has_collation ? &i->pattern.collation : NULL;
    uint64_t rid;
    ash__keycode_append(&key, id, i->pattern.parts[0].descending, collation);
    int rc = ash__index_lookup(snap, i, (ash_doc){key.data, key.len}, &rid, found, err);
    if (rc == 0 && *found) {
        rc = ash__record_get(snap, c, rid, out, found, err);
        /* An entry that leads to another document is damage, not an answer. */
        if (rc == 0 && (!*found || !ash__value_equal(ash__doc_get(out->doc, "_id"), id, collation)))
            rc = ash__fail(err, ASH_ECORRUPT,
                           "%s.%s, record %llu: the index on _id leads to another document", c->db,
                           c->name, (unsigned long long)rid);
    }
    ash__buffer_release(&key);
    return rc;
}
