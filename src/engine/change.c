/* SPDX-License-Identifier: Apache-2.0 */
/* Inserting, replacing and deleting records with their index entries.  Everything that can refuse
 * is asked before the first change; what fails after that is LMDB, and then the batch is given up.
 */
#include "engine/internal.h"

#include "base/log.h"
#include "base/mem.h"

#include <string.h>

static void reserve_key_sets(ash_writer *w, size_t count)
{
    /* They stay with the writer, so that a change allocates nothing once the first ones have. */
    if (count <= w->key_sets)
        return;
    w->old_keys = ash__realloc_array(w->old_keys, count, sizeof *w->old_keys);
    w->new_keys = ash__realloc_array(w->new_keys, count, sizeof *w->new_keys);
    memset(w->old_keys + w->key_sets, 0, (count - w->key_sets) * sizeof *w->old_keys);
    memset(w->new_keys + w->key_sets, 0, (count - w->key_sets) * sizeof *w->new_keys);
    w->key_sets = count;
}

void ash__key_sets_release(ash_writer *w)
{
    for (size_t i = 0; i < w->key_sets; i++) {
        ash__key_set_release(&w->old_keys[i]);
        ash__key_set_release(&w->new_keys[i]);
    }
    ash__free(w->old_keys);
    ash__free(w->new_keys);
    w->key_sets = 0;
}

uint64_t ash__storage_of(size_t len, bool is_inline)
{
    if (is_inline)
        return len + ASH_RECORD_HEAD_BYTES + ASH_RECORD_KEY_BYTES;
    return (uint64_t)ash__segment_blocks_for(len) * ASH_BLOCK_BYTES;
}

static int extract_all(ash_writer *w, const ash_coll *c, ash_doc doc, ash_key_set *sets,
                       ash_error *err)
{
    int rc = 0;
    /* Of all indexes, also of those that are being built: what has passed already is not looked at
     * again. */
    for (uint32_t i = 0; rc == 0 && i < c->index_count; i++)
        rc = ash__index_keys(&c->indexes[i], w->engine, doc, &sets[i], err);
    return rc;
}

static int refuse_duplicate(const ash_coll *c, const ash_index *i, uint64_t rid, ash_duplicate *dup,
                            ash_error *err)
{
    if (dup != NULL)
        *dup = (ash_duplicate){i, rid};
    return ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_DUPLICATE_KEY,
                            "duplicate key in %s.%s, index %s", c->db, c->name, i->name);
}

/* The record other than rid that has a key of the set which nobody else may have; 0: none has. */
static int find_owner(const ash_snapshot *snap, const ash_index *i, const ash_key_set *set,
                      uint64_t rid, uint64_t *owner, ash_error *err)
{
    int rc = 0;
    *owner = 0;
    for (uint32_t k = 0; i->guarded && rc == 0 && *owner == 0 && k < set->count; k++) {
        uint64_t who;
        bool found, has = false;
        /* A duplicate from before the index was guarded may keep its key. */
        if (!i->unique)
            rc = ash__index_has(snap, i, ash__key_set_at(set, k), rid, &has, err);
        if (rc != 0 || has)
            continue;
        rc = ash__index_lookup(snap, i, ash__key_set_at(set, k), &who, &found, err);
        if (rc == 0 && found && who != rid)
            *owner = who;
    }
    return rc;
}

/* May the record have the new keys?  rid 0: it is a new one. */
static int check_unique(ash_writer *w, const ash_coll *c, uint64_t rid, ash_duplicate *dup,
                        ash_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < c->index_count; i++) {
        uint64_t owner;
        rc = find_owner(&w->snap, &c->indexes[i], &w->new_keys[i], rid, &owner, err);
        if (rc == 0 && owner != 0)
            rc = refuse_duplicate(c, &c->indexes[i], owner, dup, err);
    }
    return rc;
}

/* Put what is only in `fresh`, delete what is only in `old`; both are sorted. */
static int change_entries(ash_writer *w, const ash_index *i, const ash_key_set *old,
                          const ash_key_set *fresh, uint64_t rid, ash_error *err)
{
    uint32_t a = 0, b = 0;
    int64_t n = 0, total = 0;
    int rc = 0;
    while (rc == 0 && (a < old->count || b < fresh->count)) {
        uint64_t bytes = 0;
        int order = a == old->count ? 1
                    : b == fresh->count
                        ? -1
                        : ash__bytes_compare(ash__key_set_at(old, a), ash__key_set_at(fresh, b));
        if (order < 0) {
            rc = ash__index_delete(w, i, ash__key_set_at(old, a), rid, &bytes, err);
            n -= bytes > 0;
            total -= (int64_t)bytes;
        } else if (order > 0) {
            rc = ash__index_put(w, i, ash__key_set_at(fresh, b), rid, &bytes, err);
            n += bytes > 0;
            total += (int64_t)bytes;
        }
        a += order <= 0;
        b += order >= 0;
    }
    if (rc == 0 && (n != 0 || total != 0))
        rc = ash__counts_add(w, 'X', i->id, n, total, err);
    return rc;
}

static int change_indexes(ash_writer *w, const ash_coll *c, const ash_key_set *old,
                          const ash_key_set *fresh, uint64_t rid, ash_error *err)
{
    static const ash_key_set none = ASH_KEY_SET_INIT;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < c->index_count; i++) {
        const ash_index *index = &c->indexes[i];
        rc = change_entries(w, index, old != NULL ? &old[i] : &none,
                            fresh != NULL ? &fresh[i] : &none, rid, err);
        if (rc == 0 && fresh != NULL &&
            ((fresh[i].multikey && !index->multikey) || (fresh[i].kinds & ~index->kinds) != 0))
            rc = ash__catalog_widen_index(w, c, index, fresh[i].multikey, fresh[i].kinds, err);
    }
    return rc;
}

/* The payload to use: the one that came, or one made here for a large document that came without,
 * or whose payload was written for a collection that has been dropped since. */
static int choose_payload(ash_writer *w, const ash_coll *c, const ash_content *content,
                          ash_staged **out, ash_error *err)
{
    const ash_staged *given = content->staged;
    *out = content->staged;
    if (given != NULL ? given->coll_id == c->id : content->doc.len <= ASH_INLINE_MAX)
        return 0;
    return ash__staged_write_here(w, c->id, content->doc, out, err);
}

/* After the change: what is not used goes back, the rest belongs to the record. */
static void settle_payload(ash_writer *w, ash_staged *given, ash_staged *used, bool success)
{
    if (used != given)
        ash__staged_free(w->engine, success ? given : used);
    if (!success || used == NULL)
        return;
    ash__writer_use(w, &used->placed);
    ash__free(used);
}

static int write_record(ash_writer *w, const ash_coll *c, uint64_t rid, ash_doc doc,
                        ash_staged *staged, ash_error *err)
{
    uint8_t key[ASH_RECORD_KEY_BYTES], head[ASH_RECORD_HEAD_BYTES], pointer[ASH_POINTER_BYTES];
    ash_doc body = doc;
    ash__record_key(key, c->id, rid);
    head[0] = staged != NULL ? ASH_RECORD_POINTER : ASH_RECORD_INLINE;
    if (staged != NULL) {
        const ash_placed *p = &staged->placed;
        ash_assert(p->len == doc.len);
        ash__put_le32(pointer, p->extent.segment);
        ash__put_le32(pointer + 4, p->extent.block);
        ash__put_le32(pointer + 8, p->len);
        ash__put_le64(pointer + 12, p->sequence);
        body = (ash_doc){pointer, sizeof pointer};
    }
    /* Without the kind byte: keys.h. */
    ash__put_le64(head + 1, ash__row_sum(key, sizeof key, body.data, body.len));
    return ash__row_put2(w, ASH_DB_RECORDS, ash__bytes(key, sizeof key),
                         ash__bytes(head, sizeof head), body, err);
}

static int trim_capped(ash_writer *w, const ash_coll *c, ash_error *err)
{
    ash_counts counts;
    uint8_t from[ASH_RECORD_KEY_BYTES];
    int rc = ash__counts_get(&w->snap, c->id, &counts, err);
    ash__record_key(from, c->id, 1);
    while (rc == 0 && counts.count > 1 &&
           ((c->capped_bytes > 0 && counts.data_bytes > (uint64_t)c->capped_bytes) ||
            (c->capped_docs > 0 && counts.count > (uint64_t)c->capped_docs))) {
        ash_row row;
        rc = ash__row_seek(&w->snap, ASH_DB_RECORDS, ash__bytes(from, sizeof from), &row, err);
        if (rc != 0 || !row.found || memcmp(row.key.mv_data, from, 4) != 0)
            break;
        rc = ash__record_delete(w, c, ash__get_be64((const uint8_t *)row.key.mv_data + 4), err);
        if (rc == 0)
            rc = ash__counts_get(&w->snap, c->id, &counts, err);
    }
    return rc;
}

static int insert_all(ash_writer *w, const ash_coll *c, ash_doc doc, ash_staged *staged,
                      uint64_t *rid, ash_error *err)
{
    ash_counts counts;
    int rc = ash__counts_get(&w->snap, c->id, &counts, err);
    if (rc != 0)
        return rc;
    counts.count++;
    /* Never given twice, also after the record is gone: cursors go on behind it. */
    counts.last_rid++;
    counts.data_bytes += doc.len;
    counts.storage_bytes += ash__storage_of(doc.len, staged == NULL);
    *rid = counts.last_rid;
    rc = write_record(w, c, *rid, doc, staged, err);
    if (rc == 0)
        rc = change_indexes(w, c, NULL, w->new_keys, *rid, err);
    if (rc == 0)
        rc = ash__counts_put(w, c->id, &counts, err);
    return rc != 0 ? ash__writer_break(w, rc, err) : 0;
}

int ash__record_insert(ash_writer *w, const ash_coll *c, const ash_content *content, uint64_t *rid,
                       ash_duplicate *dup, ash_error *err)
{
    ash_staged *used = NULL;
    reserve_key_sets(w, c->index_count);
    int rc = extract_all(w, c, content->doc, w->new_keys, err);
    if (rc == 0)
        rc = check_unique(w, c, 0, dup, err);
    if (rc == 0)
        rc = choose_payload(w, c, content, &used, err);
    if (rc != 0)
        return rc;
    rc = insert_all(w, c, content->doc, used, rid, err);
    settle_payload(w, content->staged, used, rc == 0);
    if (rc != 0)
        return rc;
    /* The insertion stands, whatever becomes of the old ones; a broken batch alone takes it back.
     */
    if (c->capped && trim_capped(w, c, err) != 0) {
        if (w->broken != 0)
            return w->broken;
        ash__log(ASH_LOG_WARN, "%s.%s keeps a record over its limit that is damaged", c->db,
                 c->name);
    }
    return 0;
}

/* The record as it is, with its keys.  A large payload's checksum is not read for this; instead all
 * keys that its fields give must be there, else the payload is not what was stored. */
static int fetch_old(ash_writer *w, const ash_coll *c, uint64_t rid, ash_record *old,
                     ash_error *err)
{
    bool found, all = true;
    int rc = ash__record_get_unread(&w->snap, c, rid, old, &found, err);
    if (rc == 0 && !found)
        rc = ash__fail(err, ASH_ENOTFOUND, "%s.%s has no record %llu", c->db, c->name,
                       (unsigned long long)rid);
    if (rc == 0)
        rc = extract_all(w, c, old->doc, w->old_keys, err);
    for (uint32_t i = 0; rc == 0 && all && old->place.segment != 0 && i < c->index_count; i++) {
        for (uint32_t k = 0; rc == 0 && all && c->indexes[i].ready && k < w->old_keys[i].count; k++)
            rc = ash__index_has(&w->snap, &c->indexes[i], ash__key_set_at(&w->old_keys[i], k), rid,
                                &all, err);
    }
    /* A key is missing.  The checksum tells whether the payload is wrong or the index. */
    if (rc == 0 && !all)
        rc = ash__record_get(&w->snap, c, rid, old, &found, err);
    return rc;
}

static int release_extent(ash_writer *w, const ash_coll *c, const ash_record *old, ash_error *err)
{
    if (old->place.segment == 0)
        return 0;
    int rc = ash__writer_unuse(w, ash__pointer_extent(&old->place), err);
    if (rc != 0)
        ash__error_prefix(err, "%s.%s, record %llu", c->db, c->name, (unsigned long long)old->rid);
    return rc;
}

static int replace_all(ash_writer *w, const ash_coll *c, const ash_record *old, ash_doc doc,
                       ash_staged *staged, ash_error *err)
{
    ash_counts counts;
    uint64_t old_storage = ash__storage_of(old->doc.len, old->place.segment == 0);
    size_t old_len = old->doc.len;
    int rc = ash__counts_get(&w->snap, c->id, &counts, err);
    if (rc == 0)
        /* Before the first row is changed: a pointer to space that is free in the map is damage,
         * and refuses the change. */
        rc = release_extent(w, c, old, err);
    if (rc != 0)
        return rc;
    /* Unsigned, and right all the same when it becomes shorter. */
    counts.data_bytes += doc.len - old_len;
    counts.storage_bytes += ash__storage_of(doc.len, staged == NULL) - old_storage;
    rc = write_record(w, c, old->rid, doc, staged, err);
    if (rc == 0)
        rc = change_indexes(w, c, w->old_keys, w->new_keys, old->rid, err);
    if (rc == 0)
        rc = ash__counts_put(w, c->id, &counts, err);
    return rc != 0 ? ash__writer_break(w, rc, err) : 0;
}

int ash__record_replace(ash_writer *w, const ash_coll *c, uint64_t rid, const ash_content *content,
                        ash_duplicate *dup, ash_error *err)
{
    ash_record old;
    ash_staged *used = NULL;
    reserve_key_sets(w, c->index_count);
    int rc = fetch_old(w, c, rid, &old, err);
    if (rc == 0 && c->capped && old.doc.len != content->doc.len)
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_CANNOT_GROW_DOCUMENT_IN_CAPPED_NAMESPACE,
                              "cannot change the size of a document in the capped %s.%s", c->db,
                              c->name);
    if (rc == 0)
        rc = extract_all(w, c, content->doc, w->new_keys, err);
    if (rc == 0)
        rc = check_unique(w, c, rid, dup, err);
    if (rc == 0)
        rc = choose_payload(w, c, content, &used, err);
    if (rc != 0)
        return rc;
    rc = replace_all(w, c, &old, content->doc, used, err);
    settle_payload(w, content->staged, used, rc == 0);
    return rc;
}

int ash__record_delete(ash_writer *w, const ash_coll *c, uint64_t rid, ash_error *err)
{
    ash_record old;
    ash_counts counts;
    uint8_t key[ASH_RECORD_KEY_BYTES];
    reserve_key_sets(w, c->index_count);
    ash__record_key(key, c->id, rid);
    int rc = fetch_old(w, c, rid, &old, err);
    if (rc == 0)
        rc = ash__counts_get(&w->snap, c->id, &counts, err);
    if (rc == 0)
        rc = release_extent(w, c, &old, err);
    if (rc != 0)
        return rc;
    w->deletes = true;
    counts.count--;
    counts.data_bytes -= old.doc.len;
    counts.storage_bytes -= ash__storage_of(old.doc.len, old.place.segment == 0);
    /* The old document's bytes may go with the row; its keys were taken out of it above. */
    rc = ash__row_delete(w, ASH_DB_RECORDS, ash__bytes(key, sizeof key), err);
    if (rc == 0)
        rc = change_indexes(w, c, w->old_keys, NULL, rid, err);
    if (rc == 0)
        rc = ash__counts_put(w, c->id, &counts, err);
    return rc != 0 ? ash__writer_break(w, rc, err) : 0;
}

/* One record's keys, into new_keys[0] and the index. */
static int build_one(ash_writer *w, ash_index_build *b, ash_duplicate *dup, ash_error *err)
{
    static const ash_key_set none = ASH_KEY_SET_INIT;
    const ash_index *i = b->index;
    const ash_key_set *keys = &w->new_keys[0];
    ash_record record;
    uint64_t owner = 0;
    bool found;
    int rc = ash__record_get(&w->snap, b->coll, b->rid, &record, &found, err);
    if (rc == 0 && found)
        rc = ash__index_keys(i, w->engine, record.doc, &w->new_keys[0], err);
    if (rc == 0 && found && i->unique)
        rc = find_owner(&w->snap, i, keys, b->rid, &owner, err);
    if (rc == 0 && owner != 0)
        rc = refuse_duplicate(b->coll, i, owner, dup, err);
    if (rc != 0 || !found)
        return rc;
    rc = change_entries(w, i, &none, keys, b->rid, err);
    if (rc == 0 &&
        ((keys->multikey && !i->multikey) || (keys->kinds & ~(i->kinds | b->noted_kinds)) != 0))
        rc = ash__catalog_widen_index(w, b->coll, i, keys->multikey, keys->kinds, err);
    b->noted_kinds |= keys->kinds;
    return rc;
}

int ash__index_build(ash_writer *w, ash_index_build *b, uint64_t max_records, ash_duplicate *dup,
                     ash_error *err)
{
    int rc = 0;
    uint8_t from[ASH_RECORD_KEY_BYTES];
    reserve_key_sets(w, 1);
    for (uint64_t n = 0; rc == 0 && n < max_records; n++) {
        ash_row row;
        ash__record_key(from, b->coll->id, b->rid);
        rc = ash__row_seek(&w->snap, ASH_DB_RECORDS, ash__bytes(from, sizeof from), &row, err);
        if (rc != 0)
            break;
        if (!row.found || memcmp(row.key.mv_data, from, 4) != 0) {
            b->rid = 0;
            break;
        }
        b->rid = ash__get_be64((const uint8_t *)row.key.mv_data + 4);
        rc = build_one(w, b, dup, err);
        /* Also of a record that is gone: each turn seeks from here. */
        b->rid++;
    }
    return rc;
}
