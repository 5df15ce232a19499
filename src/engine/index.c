/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of indexes, as keys.h lays them out. */
#include "engine/internal.h"

#include "base/mem.h"

#include <string.h>

int ash__bytes_compare(ash_doc a, ash_doc b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len > 0 ? memcmp(a.data, b.data, len) : 0;
    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

void ash__entry_key_make(ash_entry_key *out, const ash_index *i, ash_doc key, uint64_t rid)
{
    uint8_t *at = out->bytes + 4;
    out->is_long = key.len > ASH_LONG_PREFIX;
    ash__put_be32(out->bytes, i->id);
    memcpy(at, key.data, out->is_long ? ASH_LONG_PREFIX : key.len);
    at += out->is_long ? ASH_LONG_PREFIX : key.len;
    /* The hash keeps entries apart that share their first bytes; their order is made when they are
     * read (scan_index.c). */
    if (out->is_long) {
        ash__checksum128(key.data, key.len, at);
        at += ASH_LONG_HASH;
    }
    /* Long ones of unique indexes, too: two different keys could have the same first bytes and
     * hash. */
    if (out->is_long || i->rid_in_key) {
        ash__put_be64(at, rid);
        at += ASH_RID_BYTES;
    }
    out->len = (size_t)(at - out->bytes);
}

static uint32_t entry_check(const void *key, size_t key_len, const void *value, size_t len)
{
    return (uint32_t)ash__row_sum(key, key_len, value, len);
}

bool ash__entry_is_whole(MDB_val key, MDB_val value)
{
    size_t body = value.mv_size - ASH_CHECK_BYTES;
    const uint8_t *v = value.mv_data;
    return value.mv_size >= ASH_CHECK_BYTES && key.mv_size > 4 &&
           ash__get_le32(v + body) == entry_check(key.mv_data, key.mv_size, v, body);
}

int ash__entry_decode(const ash_index *i, MDB_val key, MDB_val value, ash_doc *encoding,
                      uint64_t *rid, ash_error *err)
{
    const uint8_t *k = key.mv_data, *v = value.mv_data;
    bool is_long = key.mv_size == ASH_KEY_MAX;
    bool rid_in_key = is_long || i->rid_in_key;
    size_t body = value.mv_size - ASH_CHECK_BYTES;
    if (key.mv_size <= 4 + (rid_in_key ? ASH_RID_BYTES : 0) || value.mv_size < ASH_CHECK_BYTES ||
        (!is_long && body != (i->rid_in_key ? 0 : ASH_RID_BYTES)) ||
        ash__get_le32(v + body) != entry_check(k, key.mv_size, v, body))
        return ash__fail(err, ASH_ECORRUPT, "index %s has a damaged entry", i->name);
    *rid = ash__get_be64(rid_in_key ? k + key.mv_size - ASH_RID_BYTES : v);
    if (is_long)
        *encoding = (ash_doc){v, body};
    else
        *encoding = (ash_doc){k + 4, key.mv_size - 4 - (rid_in_key ? ASH_RID_BYTES : 0)};
    return 0;
}

/* Where entries end with their records: the first of that key.  Long ones share first bytes and
 * hash only, so their whole encodings are compared. */
static int lookup_any(const ash_snapshot *snap, const ash_index *i, ash_doc key, uint64_t *rid,
                      bool *found, ash_error *err)
{
    ash_entry_key from;
    MDB_val k, value;
    MDB_cursor *cursor = NULL;
    int result = 0;
    *found = false;
    ash__entry_key_make(&from, i, key, 0);
    int rc = ash__lmdb_cursor_open(snap->txn, snap->engine->dbi[ASH_DB_INDEX], &cursor);
    k = ash__val(from.bytes, from.len);
    if (rc == 0)
        rc = ash__lmdb_cursor_get(cursor, &k, &value, MDB_SET_RANGE);
    while (rc == 0 && result == 0 && !*found && k.mv_size == from.len &&
           memcmp(k.mv_data, from.bytes, from.len - ASH_RID_BYTES) == 0) {
        ash_doc whole;
        result = ash__entry_decode(i, k, value, &whole, rid, err);
        *found = result == 0 && ash__bytes_compare(whole, key) == 0;
        rc = ash__lmdb_cursor_get(cursor, &k, &value, MDB_NEXT);
    }
    if (cursor != NULL)
        mdb_cursor_close(cursor);
    if (rc != 0 && rc != MDB_NOTFOUND)
        return ash__read_fail(snap, rc, err, "cannot read an index");
    if (result == 0 && !*found) {
        uint8_t end[ASH_KEY_MAX];
        memcpy(end, from.bytes, from.len);
        memset(end + from.len - ASH_RID_BYTES, 0xFF, ASH_RID_BYTES);
        result = ash__soundness_absent(snap, ASH_DB_INDEX, (ash_doc){from.bytes, from.len},
                                       (ash_doc){end, from.len}, err);
    }
    if (result == 0 && !*found)
        result = ash__beside(snap, ASH_DB_INDEX, (ash_doc){from.bytes, from.len}, err);
    return result;
}

int ash__index_lookup(const ash_snapshot *snap, const ash_index *i, ash_doc key, uint64_t *rid,
                      bool *found, ash_error *err)
{
    ash_entry_key entry;
    ash_doc whole;
    MDB_val value;
    /* Elsewhere a key has any number of owners. */
    ash_assert(i->guarded);
    if (key.len > ASH_LONG_PREFIX || i->rid_in_key)
        return lookup_any(snap, i, key, rid, found, err);
    ash__entry_key_make(&entry, i, key, 0);
    int rc =
        ash__row_get(snap, ASH_DB_INDEX, ash__bytes(entry.bytes, entry.len), &value, found, err);
    if (rc == 0 && *found)
        return ash__entry_decode(i, ash__val(entry.bytes, entry.len), value, &whole, rid, err);
    return rc == 0 ? ash__beside(snap, ASH_DB_INDEX, ash__bytes(entry.bytes, entry.len), err) : rc;
}

int ash__index_has(const ash_snapshot *snap, const ash_index *i, ash_doc key, uint64_t rid,
                   bool *has, ash_error *err)
{
    ash_entry_key entry;
    ash_doc whole;
    MDB_val value;
    uint64_t owner;
    ash__entry_key_make(&entry, i, key, rid);
    int rc = ash__row_get(snap, ASH_DB_INDEX, ash__bytes(entry.bytes, entry.len), &value, has, err);
    if (rc == 0 && *has) {
        rc = ash__entry_decode(i, ash__val(entry.bytes, entry.len), value, &whole, &owner, err);
        /* The key has a rid in it or the value has: both are compared with the one that was asked
         * for. */
        *has = rc == 0 && owner == rid && ash__bytes_compare(whole, key) == 0;
    }
    return rc;
}

int ash__index_keys(const ash_index *i, const ash_engine *e, ash_doc doc, ash_key_set *out,
                    ash_error *err)
{
    bool is_in = true;
    int rc = i->partial != NULL ? e->opts.filters.test(i->partial, doc, &is_in, err) : 0;
    if (rc != 0 || !is_in) {
        out->count = 0;
        out->multikey = false;
        out->kinds = 0;
        return rc;
    }
    return ash__keys_extract(&i->pattern, doc, out, err);
}

int ash__index_put(ash_writer *w, const ash_index *i, ash_doc key, uint64_t rid, uint64_t *bytes,
                   ash_error *err)
{
    ash_entry_key entry;
    uint8_t owner[ASH_RID_BYTES], check[ASH_CHECK_BYTES];
    ash_doc body = {NULL, 0};
    bool there;
    *bytes = 0;
    int rc = ash__index_has(&w->snap, i, key, rid, &there, err);
    /* An index that is being built meets records whose keys were put when they were inserted. */
    if (rc != 0 || there)
        return rc != 0 ? ash__writer_break(w, rc, err) : 0;
    ash__entry_key_make(&entry, i, key, rid);
    ash__put_be64(owner, rid);
    if (entry.is_long)
        body = key;
    else if (!i->rid_in_key)
        body = (ash_doc){owner, sizeof owner};
    ash__put_le32(check, entry_check(entry.bytes, entry.len, body.data, body.len));
    *bytes = entry.len + body.len + sizeof check;
    return ash__row_put2(w, ASH_DB_INDEX, ash__bytes(entry.bytes, entry.len), body,
                         ash__bytes(check, sizeof check), err);
}

int ash__index_delete(ash_writer *w, const ash_index *i, ash_doc key, uint64_t rid, uint64_t *bytes,
                      ash_error *err)
{
    ash_entry_key entry;
    bool there;
    *bytes = 0;
    int rc = ash__index_has(&w->snap, i, key, rid, &there, err);
    if (rc != 0 || !there)
        return rc != 0 ? ash__writer_break(w, rc, err) : 0;
    ash__entry_key_make(&entry, i, key, rid);
    *bytes = entry.len + ASH_CHECK_BYTES;
    if (entry.is_long)
        *bytes += key.len;
    else if (!i->rid_in_key)
        *bytes += ASH_RID_BYTES;
    return ash__row_delete(w, ASH_DB_INDEX, ash__bytes(entry.bytes, entry.len), err);
}
