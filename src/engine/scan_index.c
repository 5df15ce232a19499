/* SPDX-License-Identifier: Apache-2.0 */
/* Scans of indexes.  Short entries are in order as LMDB has them.  Long entries that share their
 * first 483 bytes lie in the order of their hashes: such a group is gathered, sorted and given out
 * before the cursor goes on.  Backward, a run of equal keys is entered at its start, since equal
 * keys come in ascending record order in both directions. */
#include "engine/scan.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { GROUP_KEY = 4 + ASH_LONG_PREFIX };

ash_scan *ash__scan_index(ash_snapshot *snap, const ash_index *i, const ash_scan_range *range,
                          const ash_scan_hit *after)
{
    ash_scan *s = ash__new(ash_scan);
    s->snap = snap;
    s->index = i;
    s->backward = range->backward;
    ash__put_be32(s->prefix, i->id);
    ash__buffer_append(&s->from, range->from.data, range->from.len);
    ash__buffer_append(&s->to, range->to.data, range->to.len);
    if (after != NULL) {
        ash__buffer_append(&s->last_key, after->key.data, after->key.len);
        s->last_rid = after->rid;
        s->has_last = true;
    }
    return s;
}

static ash_doc view_of(const ash_buffer *b)
{
    return (ash_doc){b->data, b->len};
}

static bool below_from(const ash_scan *s, ash_doc key)
{
    return ash__bytes_compare(key, view_of(&s->from)) < 0;
}

static bool beyond_to(const ash_scan *s, ash_doc key)
{
    return s->to.len > 0 && ash__bytes_compare(key, view_of(&s->to)) >= 0;
}

static void emit(ash_scan *s, ash_doc key, uint64_t rid, ash_scan_hit *hit)
{
    ash__buffer_clear(&s->last_key);
    ash__buffer_append(&s->last_key, key.data, key.len);
    s->last_rid = rid;
    s->has_last = true;
    hit->rid = rid;
    hit->key = view_of(&s->last_key);
}

/* Index id and the first bytes of an encoding. */
static ash_doc bound_key(const ash_scan *s, ash_doc key, uint8_t out[ASH_KEY_MAX])
{
    size_t len = key.len < ASH_LONG_PREFIX ? key.len : ASH_LONG_PREFIX;
    memcpy(out, s->prefix, 4);
    if (len > 0)
        memcpy(out + 4, key.data, len);
    return (ash_doc){out, 4 + len};
}

static int seek(ash_scan *s, ash_doc key, ash_row *at, ash_error *err)
{
    at->key = ash__val(key.data, key.len);
    return ash__scan_move(s, MDB_SET_RANGE, at, err);
}

static int decode(const ash_scan *s, const ash_row *at, ash_doc *key, uint64_t *rid, ash_error *err)
{
    return ash__entry_decode(s->index, at->key, at->value, key, rid, err);
}

static int order_forward(const void *a, const void *b)
{
    const ash_member *x = a, *y = b;
    int order = ash__bytes_compare(x->key, y->key);
    return order != 0 ? order : (x->rid > y->rid) - (x->rid < y->rid);
}

static int order_backward(const void *a, const void *b)
{
    const ash_member *x = a, *y = b;
    int order = ash__bytes_compare(y->key, x->key);
    return order != 0 ? order : (x->rid > y->rid) - (x->rid < y->rid);
}

static void group_add(ash_scan *s, ash_doc key, uint64_t rid)
{
    if (s->group_count == s->group_capacity) {
        s->group_capacity = s->group_capacity * 2 + 64;
        s->group = ash__realloc_array(s->group, s->group_capacity, sizeof *s->group);
    }
    s->group[s->group_count++] = (ash_member){key, rid};
}

/* Gather the group whose first entry is *at, as far as it is within the bounds and behind the last
 * hit, and sort it.  *at is left behind the group.  *outside: the scan ends before this group. */
static int gather(ash_scan *s, ash_row *at, bool *outside, ash_error *err)
{
    uint8_t group_key[GROUP_KEY];
    int (*order)(const void *, const void *) = s->backward ? order_backward : order_forward;
    ash_member last = {view_of(&s->last_key), s->last_rid};
    int rc = 0;
    memcpy(group_key, at->key.mv_data, sizeof group_key);
    s->group_count = s->group_at = 0;
    *outside = true;
    while (rc == 0 && at->found && at->key.mv_size == ASH_KEY_MAX &&
           memcmp(at->key.mv_data, group_key, sizeof group_key) == 0) {
        ash_member m;
        rc = decode(s, at, &m.key, &m.rid, err);
        if (rc != 0)
            break;
        bool below = below_from(s, m.key), beyond = beyond_to(s, m.key);
        /* One entry on the scan's side of its end is enough to go on: the others may lie beyond,
         * and those of the next group before it. */
        if (s->backward ? !below : !beyond)
            *outside = false;
        if (!below && !beyond && (!s->has_last || order(&m, &last) > 0))
            group_add(s, m.key, m.rid);
        rc = ash__scan_move(s, MDB_NEXT, at, err);
    }
    /* As large as there are entries with the same 483 bytes, and those are rare. */
    if (rc == 0 && s->group_count > 1)
        qsort(s->group, s->group_count, sizeof *s->group, order);
    return rc;
}

static void emit_member(ash_scan *s, ash_scan_hit *hit)
{
    const ash_member *m = &s->group[s->group_at++];
    emit(s, m->key, m->rid, hit);
}

static int forward_start(ash_scan *s, ash_row *at, ash_error *err)
{
    uint8_t bytes[ASH_KEY_MAX + 1];
    ash_entry_key entry;
    ash_doc last = view_of(&s->last_key);
    /* A long key's group is entered from its start: what lies before the last hit is left out when
     * the group is gathered. */
    if (!s->has_last || last.len > ASH_LONG_PREFIX) {
        ash_doc from = s->has_last ? last : view_of(&s->from);
        return seek(s, bound_key(s, from, bytes), at, err);
    }
    /* Each key has one entry here. */
    if (!s->index->rid_in_key) {
        ash_doc key = bound_key(s, last, bytes);
        bytes[key.len++] = 0; /* the key that follows directly */
        return seek(s, key, at, err);
    }
    ash__entry_key_make(&entry, s->index, last, s->last_rid + 1);
    return seek(s, ash__bytes(entry.bytes, entry.len), at, err);
}

static int forward_next(ash_scan *s, ash_scan_hit *hit, bool *found, ash_error *err)
{
    ash_row at = {.found = true};
    int rc = 0;
    if (!s->placed)
        rc = forward_start(s, &at, err);
    else if (s->at_next)
        rc = ash__scan_move(s, MDB_GET_CURRENT, &at, err);
    else
        rc = ash__scan_move(s, MDB_NEXT, &at, err);
    s->placed = true;
    s->at_next = false;
    while (rc == 0 && at.found && !*found) {
        ash_doc key;
        uint64_t rid;
        if (at.key.mv_size == ASH_KEY_MAX) {
            bool outside;
            rc = gather(s, &at, &outside, err);
            if (rc != 0 || outside)
                break;
            if (s->group_count > 0) {
                s->at_next = at.found;
                /* The cursor is behind the group already, and must not be moved once more when that
                 * is used up. */
                s->drained = !at.found;
                emit_member(s, hit);
                *found = true;
            }
            continue;
        }
        rc = decode(s, &at, &key, &rid, err);
        if (rc != 0 || beyond_to(s, key))
            break;
        if (below_from(s, key)) {
            rc = ash__scan_move(s, MDB_NEXT, &at, err);
            continue;
        }
        emit(s, key, rid, hit);
        *found = true;
    }
    return rc;
}

/* The last entry that may be below the upper end. */
static int before_to(ash_scan *s, ash_row *at, ash_error *err)
{
    uint8_t bytes[ASH_KEY_MAX];
    uint32_t id = s->index->id;
    if (s->to.len == 0 && id == UINT32_MAX)
        return ash__scan_move(s, MDB_LAST, at, err);
    if (s->to.len == 0) {
        ash__put_be32(bytes, id + 1);
        return ash__scan_seek_before(s, ash__bytes(bytes, 4), at, err);
    }
    ash_doc key = bound_key(s, view_of(&s->to), bytes);
    if (s->to.len > ASH_LONG_PREFIX) {
        /* Behind all entries that share the upper end's first bytes: which of them are below it,
         * their values tell. */
        memset(bytes + key.len, 0xFF, ASH_KEY_MAX - key.len);
        key.len = ASH_KEY_MAX;
    }
    return ash__scan_seek_before(s, key, at, err);
}

/* Before all entries with the last hit's key (for a long key: before its group). */
static int before_last(ash_scan *s, ash_row *at, ash_error *err)
{
    uint8_t bytes[ASH_KEY_MAX];
    return ash__scan_seek_before(s, bound_key(s, view_of(&s->last_key), bytes), at, err);
}

/* More entries of the last hit's key, or *at before them. */
static int continue_run(ash_scan *s, ash_row *at, ash_scan_hit *hit, bool *found, ash_error *err)
{
    ash_doc key;
    uint64_t rid;
    int rc = 0;
    s->in_run = false;
    if (at->found && at->key.mv_size < ASH_KEY_MAX) {
        rc = decode(s, at, &key, &rid, err);
        if (rc == 0 && ash__bytes_compare(key, view_of(&s->last_key)) == 0) {
            emit(s, key, rid, hit);
            s->in_run = *found = true;
            return 0;
        }
    }
    return rc == 0 ? before_last(s, at, err) : rc;
}

static int backward_start(ash_scan *s, ash_row *at, ash_scan_hit *hit, bool *found, ash_error *err)
{
    ash_entry_key entry;
    uint8_t bytes[ASH_KEY_MAX];
    bool outside;
    ash_doc last = view_of(&s->last_key);
    if (!s->has_last)
        return before_to(s, at, err);
    if (last.len > ASH_LONG_PREFIX) {
        ash_doc group = bound_key(s, last, bytes);
        int rc = seek(s, group, at, err);
        if (rc == 0 && at->found && at->key.mv_size == ASH_KEY_MAX &&
            memcmp(at->key.mv_data, group.data, group.len) == 0)
            rc = gather(s, at, &outside, err);
        if (rc == 0 && s->group_count > 0) {
            emit_member(s, hit);
            *found = true;
        }
        return rc == 0 && !*found ? ash__scan_seek_before(s, group, at, err) : rc;
    }
    if (!s->index->rid_in_key)
        return before_last(s, at, err);
    ash__entry_key_make(&entry, s->index, last, s->last_rid + 1);
    int rc = seek(s, ash__bytes(entry.bytes, entry.len), at, err);
    return rc == 0 ? continue_run(s, at, hit, found, err) : rc;
}

/* Where a backward step begins: an entry to look at, or a hit already. */
static int backward_step(ash_scan *s, ash_row *at, ash_scan_hit *hit, bool *found, ash_error *err)
{
    int rc;
    if (!s->placed)
        return backward_start(s, at, hit, found, err);
    if (s->in_run) {
        rc = ash__scan_move(s, MDB_NEXT, at, err);
        return rc == 0 ? continue_run(s, at, hit, found, err) : rc;
    }
    /* The cursor stood behind the group when it was gathered. */
    if (s->last_key.len > ASH_LONG_PREFIX)
        return before_last(s, at, err);
    return ash__scan_move(s, MDB_PREV, at, err);
}

/* *at is some entry of a group: give out the group from its end. */
static int enter_group(ash_scan *s, ash_row *at, ash_scan_hit *hit, bool *found, bool *outside,
                       ash_error *err)
{
    uint8_t group_key[GROUP_KEY];
    memcpy(group_key, at->key.mv_data, sizeof group_key);
    int rc = seek(s, ash__bytes(group_key, sizeof group_key), at, err);
    if (rc == 0)
        rc = gather(s, at, outside, err);
    if (rc == 0 && s->group_count > 0) {
        emit_member(s, hit);
        *found = true;
        return 0;
    }
    return rc == 0 ? ash__scan_seek_before(s, ash__bytes(group_key, sizeof group_key), at, err)
                   : rc;
}

static int backward_next(ash_scan *s, ash_scan_hit *hit, bool *found, ash_error *err)
{
    ash_row at = {.found = true};
    int rc = backward_step(s, &at, hit, found, err);
    s->placed = true;
    while (rc == 0 && at.found && !*found) {
        ash_doc key;
        uint64_t rid;
        bool outside = false;
        if (at.key.mv_size == ASH_KEY_MAX) {
            rc = enter_group(s, &at, hit, found, &outside, err);
            if (outside && !*found)
                break;
            continue;
        }
        rc = decode(s, &at, &key, &rid, err);
        if (rc != 0 || below_from(s, key))
            break;
        if (beyond_to(s, key)) {
            rc = ash__scan_move(s, MDB_PREV, &at, err);
            continue;
        }
        /* Backward the cursor came to the last of the equal keys: on to the first. */
        if (s->index->rid_in_key) {
            uint8_t bytes[ASH_KEY_MAX];
            rc = seek(s, bound_key(s, key, bytes), &at, err);
            if (rc == 0)
                rc = decode(s, &at, &key, &rid, err);
            s->in_run = true;
        }
        if (rc == 0) {
            emit(s, key, rid, hit);
            *found = true;
        }
    }
    return rc;
}

int ash__scan_index_next(ash_scan *s, ash_scan_hit *hit, bool *found, ash_error *err)
{
    int rc = ash__scan_enter(s, err);
    if (!s->placed)
        s->group_count = s->group_at = 0;
    if (rc == 0 && s->group_at < s->group_count) {
        emit_member(s, hit);
        *found = true;
    } else if (rc == 0 && !s->drained) {
        rc = s->backward ? backward_next(s, hit, found, err) : forward_next(s, hit, found, err);
    }
    ash__scan_leave(s);
    if (s->snap->is_writer)
        /* Its cursor is closed after each call, so the next begins behind the last hit. */
        s->in_run = s->at_next = s->drained = false;
    return rc;
}
