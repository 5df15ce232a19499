/* SPDX-License-Identifier: Apache-2.0 */
/* 4, 5, 7, 9: records against their checksums, payloads, the keys they give and the counts; and who
 * owns which blocks (space.c). */
#include "engine/check/internal.h"

#include "base/mem.h"

#include <string.h>

enum { PROGRESS_EVERY = 1000, FIELD_MAX = 256 };

typedef struct walk {
    ash_check *k;
    const ash_coll *c;
    ash_counts counted;
    uint64_t *expected; /* entries of each index */
    uint64_t total;     /* records that the counts promise */
    ash_key_set keys;
    ash_error *err;
} walk;

static ash_builder *record_facts(const walk *w, uint64_t rid, const ash_pointer *place)
{
    ash_builder *facts = ash__check_coll_facts(w->c);
    ash__builder_int64(facts, "rid", (int64_t)rid);
    if (place->segment != 0) {
        ash__builder_int64(facts, "segment", place->segment);
        ash__builder_int64(facts, "offset", (int64_t)place->block * ASH_BLOCK_BYTES);
    }
    return facts;
}

/* What a damaged payload still says, for people to know what it was: its small fields. */
static void add_fields(ash_builder *facts, ash_doc doc)
{
    ash__builder_begin_doc(facts, "document");
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        /* A chunk's data would fill the pipe, and tells nobody what file it was. */
        if (it.value.len <= FIELD_MAX)
            ash__builder_element(facts, &it);
    }
    ash__builder_end(facts);
}

/* A damaged row that is a document all the same. */
static void add_row_fields(ash_builder *facts, MDB_val value)
{
    const uint8_t *row = value.mv_data;
    size_t len = value.mv_size;
    if (len < ASH_RECORD_HEAD_BYTES + 5 || row[0] != ASH_RECORD_INLINE)
        return;
    ash_doc doc = {row + ASH_RECORD_HEAD_BYTES, len - ASH_RECORD_HEAD_BYTES};
    if (ash__bson_validate(doc.data, doc.len, 2 * ASH_DOC_MAX_DEPTH, NULL) == 0)
        add_fields(facts, doc);
}

/* 7: all keys of the document are in the indexes. */
static void check_keys(walk *w, const ash_record *record)
{
    for (uint32_t i = 0; i < w->c->index_count; i++) {
        const ash_index *index = &w->c->indexes[i];
        ash_error why = ASH_ERROR_INIT;
        int rc = ash__index_keys(index, w->k->engine, record->doc, &w->keys, &why);
        for (uint32_t n = 0; rc == 0 && n < w->keys.count; n++) {
            bool has;
            rc = ash__index_has(w->k->snap, index, ash__key_set_at(&w->keys, n), record->rid, &has,
                                &why);
            if (rc == 0 && has)
                w->expected[i]++;
            else if (rc == 0 && index->ready) /* one that is being built lacks keys */
                rc = ash__fail(&why, ASH_ECORRUPT, "a key is missing");
        }
        if (rc == 0 && w->keys.multikey && !index->multikey && w->keys.count > 0)
            rc = ash__fail(&why, ASH_ECORRUPT, "it is not marked as multikey");
        if (rc == 0 && (w->keys.kinds & ~index->kinds) != 0)
            rc = ash__fail(&why, ASH_ECORRUPT, "a kind of value is not noted");
        if (rc != 0) {
            ash_builder *facts = record_facts(w, record->rid, &record->place);
            ash__builder_text(facts, "index", index->name);
            ash__check_found(w->k, 7, "index", facts, "%s.%s, record %llu, index %s: %s", w->c->db,
                             w->c->name, (unsigned long long)record->rid, index->name, why.text);
        }
    }
}

/* 5: the record in its segment; 6: its blocks are its own. */
static int check_payload(walk *w, ash_record *record, ash_error *why)
{
    ash_check *k = w->k;
    const ash_pointer *p = &record->place;
    ash_place place = {p->segment, p->block, p->len, p->sequence};
    if (!ash__check_own(k, p)) {
        ash__check_found(k, 6, "space", record_facts(w, record->rid, p),
                         "%s.%s, record %llu: its blocks belong to another record too", w->c->db,
                         w->c->name, (unsigned long long)record->rid);
    }
    int rc =
        ash__segments_read(k->engine->segments, &place, w->c->id, false, &record->doc.data, why);
    record->doc.len = p->len;
    if (rc != 0)
        return rc;
    /* Before the checksum: what has a sound structure can be shown, though its bytes are damaged.
     */
    bool sound = ash__payload_is_sound(record->doc);
    if (k->opts->payloads) {
        k->report.payload_bytes += p->len;
        rc =
            ash__segments_read(k->engine->segments, &place, w->c->id, true, &record->doc.data, why);
    }
    if (rc == 0 && !sound)
        rc = ash__fail(why, ASH_ECORRUPT, "a damaged document");
    if (rc != 0 && sound) {
        ash_builder *facts = record_facts(w, record->rid, p);
        add_fields(facts, record->doc);
        ash__check_found(k, 5, "payload", facts, "%s.%s, record %llu: %s", w->c->db, w->c->name,
                         (unsigned long long)record->rid, why->text);
        return ASH_OK;
    }
    return rc;
}

/* 4 */
static void check_record(walk *w, MDB_val key, MDB_val value)
{
    ash_check *k = w->k;
    ash_error why = ASH_ERROR_INIT;
    ash_record record = {0};
    record.rid =
        key.mv_size == ASH_RECORD_KEY_BYTES ? ash__get_be64((const uint8_t *)key.mv_data + 4) : 0;
    int rc = ash__record_parse(key, value, &record.place, &record.doc, &why);
    bool is_inline = record.place.segment == 0;
    if (rc == 0 && is_inline)
        rc = ash__bson_validate(record.doc.data, record.doc.len, 2 * ASH_DOC_MAX_DEPTH, &why);
    /* Damaged ones, too: they are there, and were counted. */
    w->counted.count++;
    if (record.rid > w->counted.last_rid)
        w->counted.last_rid = record.rid;
    if (rc == 0)
        rc = is_inline ? 0 : check_payload(w, &record, &why);
    if (rc != 0) {
        ash_builder *facts = record_facts(w, record.rid, &record.place);
        if (is_inline)
            add_row_fields(facts, value);
        ash__check_found(k, is_inline ? 4 : 5, is_inline ? "record" : "payload", facts,
                         "%s.%s, record %llu: %s", w->c->db, w->c->name,
                         (unsigned long long)record.rid, why.text);
        return;
    }
    w->counted.data_bytes += record.doc.len;
    w->counted.storage_bytes += ash__storage_of(record.doc.len, is_inline);
    check_keys(w, &record);
    if (++k->report.records % PROGRESS_EVERY == 0)
        ash__check_progress(k, "records", k->report.records, w->total);
}

/* 9; only where all records could be read. */
static void check_counts(walk *w)
{
    ash_counts stored;
    if (ash__counts_get(w->k->snap, w->c->id, &stored, w->err) != 0 ||
        stored.count != w->counted.count || stored.data_bytes != w->counted.data_bytes ||
        stored.storage_bytes != w->counted.storage_bytes || stored.last_rid < w->counted.last_rid)
        ash__check_found(w->k, 9, "counts", ash__check_coll_facts(w->c),
                         "%s.%s has %llu records of %llu bytes, its counts say %llu of %llu",
                         w->c->db, w->c->name, (unsigned long long)w->counted.count,
                         (unsigned long long)w->counted.data_bytes,
                         (unsigned long long)stored.count, (unsigned long long)stored.data_bytes);
}

static int walk_records(walk *w)
{
    uint8_t prefix[4];
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    ash__put_be32(prefix, w->c->id);
    key = ash__val(prefix, sizeof prefix);
    int rc = ash__lmdb_cursor_open(w->k->snap->txn, w->k->engine->dbi[ASH_DB_RECORDS], &cursor);
    if (rc == 0)
        rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (rc == 0 && key.mv_size > 4 && memcmp(key.mv_data, prefix, 4) == 0) {
        check_record(w, key, value);
        rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    return rc != 0 && rc != MDB_NOTFOUND ? ash__lmdb_fail(rc, w->err, "cannot walk the records")
                                         : 0;
}

static int check_coll(walk *w, const ash_coll *c)
{
    ash_coll_stats stats;
    uint64_t before = w->k->report.findings;
    w->c = c;
    memset(&w->counted, 0, sizeof w->counted);
    w->expected = ash__alloc_array(c->index_count, sizeof *w->expected);
    int rc = ash__coll_stats(w->k->snap, c, &stats, w->err);
    w->total += stats.count;
    if (rc == 0)
        rc = walk_records(w);
    /* What was found missing explains counts that differ. */
    if (rc == 0 && before == w->k->report.findings)
        check_counts(w);
    if (rc == 0)
        rc = ash__check_indexes(w->k, c, w->expected, w->err);
    ash__free(w->expected);
    return rc;
}

/* Rows that cannot be read have been reported; the other collections are checked all the same. */
static int check_colls(walk *w, bool *all)
{
    uint8_t from[ASH_KEY_MAX + 1] = {'N'};
    size_t from_len = 1;
    int rc = 0;
    *all = true;
    while (rc == 0) {
        ash_row row;
        const ash_coll *c = NULL;
        rc = ash__row_seek(w->k->snap, ASH_DB_CATALOG, ash__bytes(from, from_len), &row, w->err);
        if (rc != 0 || !row.found || row.key.mv_size > ASH_KEY_MAX ||
            *(uint8_t *)row.key.mv_data != 'N')
            break;
        memcpy(from, row.key.mv_data, row.key.mv_size);
        from_len = row.key.mv_size + 1;
        from[row.key.mv_size] = 0;
        if (ash__catalog_load(w->k->snap, row.key, row.value, &c, NULL) != 0)
            *all = false;
        else
            rc = check_coll(w, c);
        ash__snapshot_forget(w->k->snap);
    }
    return rc;
}

/* Records of dropped collections still own their blocks. */
static int own_dropped(ash_check *k, uint32_t id, ash_error *err)
{
    uint8_t prefix[4];
    MDB_cursor *cursor = NULL;
    MDB_val key, value;
    ash__put_be32(prefix, id);
    key = ash__val(prefix, sizeof prefix);
    int rc = ash__lmdb_cursor_open(k->snap->txn, k->engine->dbi[ASH_DB_RECORDS], &cursor);
    if (rc == 0)
        rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_SET_RANGE);
    while (rc == 0 && key.mv_size > 4 && memcmp(key.mv_data, prefix, 4) == 0) {
        ash_pointer place;
        ash_doc doc;
        if (ash__record_parse(key, value, &place, &doc, NULL) == 0 && place.segment != 0)
            ash__check_own(k, &place);
        rc = ash__lmdb_cursor_get(cursor, &key, &value, MDB_NEXT);
    }
    return rc != 0 && rc != MDB_NOTFOUND ? ash__lmdb_fail(rc, err, "cannot walk the records") : 0;
}

static int own_all_dropped(ash_check *k, ash_error *err)
{
    ash_row row;
    uint8_t from[5];
    int rc = 0;
    for (uint64_t id = 0; rc == 0 && id <= UINT32_MAX; id++) {
        ash__letter_key(from, 'R', (uint32_t)id);
        rc = ash__row_seek(k->snap, ASH_DB_DROPS, ash__bytes(from, sizeof from), &row, err);
        if (rc != 0 || !row.found || row.key.mv_size != 5 ||
            *(const uint8_t *)row.key.mv_data != 'R')
            break;
        id = ash__get_be32((const uint8_t *)row.key.mv_data + 1);
        rc = own_dropped(k, (uint32_t)id, err);
    }
    return rc;
}

int ash__check_documents(ash_check *k, int argument, ash_error *err)
{
    walk w = {.k = k, .keys = ASH_KEY_SET_INIT, .err = err};
    bool all;
    (void)argument;
    int rc = check_colls(&w, &all);
    ash__key_set_release(&w.keys);
    /* Without the whole catalogue nobody can say what belongs to no collection. */
    if (rc != 0 || !all)
        return rc;
    rc = own_all_dropped(k, err);
    if (rc == 0)
        rc = ash__check_strays(k, ASH_DB_RECORDS, err);
    if (rc == 0)
        rc = ash__check_strays(k, ASH_DB_INDEX, err);
    if (rc == 0)
        rc = ash__check_space(k, err);
    return rc;
}
