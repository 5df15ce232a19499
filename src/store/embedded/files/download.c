/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of one file as they were when its cursor was opened: where each lies is noted and
 * held, its bytes are read when their turn comes. */

#include "store/embedded/files/download.h"

#include "base/mem.h"
#include "store/embedded/kit/kept_snapshot.h"

#include <stdlib.h>
#include <string.h>

#define INLINE_MAX_BYTES ((size_t)16 * 1024 * 1024)
#define TICKS_PER_CHECK  100

/* One chunk.  place.segment 0: not in a segment; then place.block says where it is instead. */
enum { IN_MEMORY = 0, IN_SNAPSHOT = 1 };
typedef struct entry {
    ash_pointer place; /* IN_MEMORY: sequence is the offset; IN_SNAPSHOT: sequence is the rid */
    int32_t n;         /* the chunk's number for error messages; -1: not known */
    uint32_t piece;    /* its layout's, once it was looked at in its segment */
} entry;
_Static_assert(sizeof(entry) <= 32, "a download's memory for each chunk");

/* While the chunks are collected in an order their index does not give. */
typedef struct sort_item {
    entry e;
    uint64_t rid;
    const uint8_t *key;
    size_t key_len;
} sort_item;

struct ash_download {
    ash_embedded *store;
    ash_value file; /* its own copy, for messages; or missing */
    ash_pins *pins;
    ash_kept_snapshot *kept; /* or NULL */
    uint32_t coll_id;
    char *coll;
    ash_buffer memory; /* documents that were copied */
    ash_arena *arena;  /* documents of the batch read through the kept snapshot; NULL: none yet */
    entry *entries;
    size_t count;
    size_t capacity;
    size_t at;
    size_t batch_from; /* `at` when the batch began */
};

typedef struct collector {
    ash_download *d;
    ash_request *request;
    ash_snapshot *snap;
    ash_scan_plan scan;
    bool sorting;
    sort_item *items; /* sorting: instead of d->entries */
    size_t item_count;
    size_t item_capacity;
    ash_arena *keys;
    ash_buffer key;
} collector;

static int64_t number_of(collector *c)
{
    ash_doc key = c->scan.has_hit ? c->scan.hit.key : (ash_doc){NULL, 0};
    return ash__chunks_number(c->request->plan, c->d->file, key, &c->key);
}

static void keep(ash_download *d, ash_snapshot *snap, const ash_record *r, int64_t n, entry *e)
{
    /* Only messages need it, and it has 32 bits here. */
    e->n = n > INT32_MAX ? -1 : (int32_t)n;
    e->piece = 0;
    /* Three ways to hold a chunk, by what it costs: a pin, a copy, and last the whole snapshot. */
    if (r->place.segment != 0) {
        e->place = r->place;
        ash__pins_add(d->pins, snap, &r->place);
    } else if (d->memory.len + r->doc.len <= INLINE_MAX_BYTES) {
        e->place = (ash_pointer){0, IN_MEMORY, (uint32_t)r->doc.len, d->memory.len};
        ash__buffer_append(&d->memory, r->doc.data, r->doc.len);
    } else {
        /* The last resort: it keeps metadata from being used again for as long as it is held. */
        e->place = (ash_pointer){0, IN_SNAPSHOT, (uint32_t)r->doc.len, r->rid};
    }
}

static entry *add_entry(ash_download *d)
{
    if (d->count == d->capacity) {
        d->capacity = d->capacity < 8 ? 8 : d->capacity + d->capacity / 2;
        d->entries = ash__realloc_array(d->entries, d->capacity, sizeof *d->entries);
    }
    return &d->entries[d->count++];
}

static void add_item(collector *c, const ash_record *r)
{
    if (c->item_count == c->item_capacity) {
        c->item_capacity = c->item_capacity == 0 ? 64 : 2 * c->item_capacity;
        c->items = ash__realloc_array(c->items, c->item_capacity, sizeof *c->items);
    }
    sort_item *item = &c->items[c->item_count++];
    keep(c->d, c->snap, r, number_of(c), &item->e);
    ash__buffer_clear(&c->key);
    /* The key is kept instead of the document, which may be megabytes. */
    ash__sort_key(c->request->sort, r->doc, &c->key);
    item->rid = r->rid;
    item->key_len = c->key.len;
    uint8_t *key = ash__arena_alloc(c->keys, c->key.len + 1);
    memcpy(key, c->key.data, c->key.len);
    item->key = key;
}

static int compare_items(const void *a, const void *b)
{
    const sort_item *x = a;
    const sort_item *y = b;
    size_t len = x->key_len < y->key_len ? x->key_len : y->key_len;
    int order = memcmp(x->key, y->key, len);
    if (order == 0)
        order = (x->key_len > y->key_len) - (x->key_len < y->key_len);
    return order != 0 ? order : (x->rid > y->rid) - (x->rid < y->rid);
}

static int collect(collector *c, const ash_download_spec *spec, ash_error *err)
{
    /* What is skipped is known only when all are in order. */
    int64_t skip = c->sorting ? 0 : spec->skip;
    int64_t limit = c->sorting || spec->limit == 0 ? INT64_MAX : spec->limit;
    while (limit > 0) {
        ash_record r;
        bool found = false;
        int rc = ash__scan_plan_next(&c->scan, &r, NULL, &found, err);
        if (rc != 0 || !found)
            return rc;
        if (skip-- > 0)
            continue;
        limit--;
        if (c->sorting)
            add_item(c, &r);
        else
            keep(c->d, c->snap, &r, number_of(c), add_entry(c->d));
    }
    return 0;
}

static void put_in_order(collector *c, const ash_download_spec *spec)
{
    size_t from = (uint64_t)spec->skip < c->item_count ? (size_t)spec->skip : c->item_count;
    size_t to = c->item_count;
    if (spec->limit > 0 && (uint64_t)spec->limit < to - from)
        to = from + (size_t)spec->limit;
    if (c->item_count > 0)
        qsort(c->items, c->item_count, sizeof *c->items, compare_items);
    for (size_t i = from; i < to; i++)
        *add_entry(c->d) = c->items[i].e;
}

static bool needs_snapshot(const ash_download *d)
{
    /* From the end, where the memory for copies was used up. */
    for (size_t i = d->count; i > 0; i--)
        if (d->entries[i - 1].place.segment == 0 && d->entries[i - 1].place.block == IN_SNAPSHOT)
            return true;
    return false;
}

static ash_download *make_download(ash_embedded *s, const ash_coll *coll, ash_value file)
{
    ash_download *d = ash__new(ash_download);
    d->store = s;
    d->pins = ash__pins_new(s->engine);
    d->coll_id = coll->id;
    d->coll = ash__strdup(coll->name);
    d->file = file;
    if (!ash__value_is_missing(file))
        /* The value is a view of the filter, which the caller may free. */
        d->file.data = ash__memdup(file.data, file.len);
    return d;
}

/* What could not be held otherwise is read from the snapshot, which is then taken over. */
static void hold_snapshot(ash_download *d, ash_reading *reading)
{
    /* In a look the snapshot is the lender's, and a dated one is nobody's to take. */
    ash_reading *owner = reading->owned ? reading : reading->lender;
    if (owner == NULL || !owner->owned || !needs_snapshot(d))
        return;
    d->kept = ash__kept_snapshot_new(d->store, owner->snap);
    owner->owned = false;
}

/* The download as it was collected, or its failure. */
static int hand_over(ash_download *d, ash_reading *reading, int rc, ash_download **out)
{
    if (rc != 0) {
        ash__download_free(d);
        return rc;
    }
    hold_snapshot(d, reading);
    *out = d;
    return 0;
}

int ash__download_open(ash_embedded *s, ash_reading *reading, const ash_coll *coll,
                       const ash_download_spec *spec, ash_download **out, ash_error *err)
{
    ash_request *r = spec->request;
    collector c = {.request = r, .snap = reading->snap, .keys = ash__arena_new()};
    c.d = make_download(s, coll, ash__chunks_file_of(r->filter));
    c.sorting = !ash__sort_spec_is_empty(r->sort) && ash__sort_spec_natural(r->sort) == 0 &&
                !r->plan->provides_sort;
    /* Places only: the payload of a chunk is read when its turn comes. */
    ash__scan_plan_init(&c.scan, r, spec->op, c.sorting ? ASH_FETCH_DOC : ASH_FETCH_PLACE);
    int rc = ash__scan_plan_attach(&c.scan, reading->snap, coll, err);
    if (rc == 0)
        rc = collect(&c, spec, err);
    if (rc == 0 && c.sorting)
        put_in_order(&c, spec);
    ash__scan_plan_release(&c.scan);
    ash__arena_free(c.keys);
    ash__buffer_release(&c.key);
    ash__free(c.items);
    return hand_over(c.d, reading, rc, out);
}

/* file_bytes: of each key, those that are the file's id. */
static int collect_range(ash_download *d, ash_snapshot *snap, const ash_range_spec *spec,
                         ash_scan *scan, size_t file_bytes, ash_error *err)
{
    for (uint32_t ticks = 0;; ticks++) {
        ash_scan_hit hit;
        ash_record r;
        bool found = false;
        int rc = ticks % TICKS_PER_CHECK == 0 ? ash__op_check(spec->op, err) : 0;
        if (rc == 0)
            rc = ash__scan_next(scan, &hit, &found, err);
        if (rc != 0 || !found)
            return rc;
        rc = ash__record_locate(snap, spec->coll, hit.rid, &r, &found, err);
        if (rc != 0)
            return rc;
        if (found)
            keep(d, snap, &r, ash__chunk_key_number(hit.key, file_bytes, false), add_entry(d));
    }
}

int ash__download_open_range(ash_embedded *s, ash_reading *reading, const ash_range_spec *spec,
                             ash_download **out, ash_error *err)
{
    ash_buffer from = ASH_BUFFER_INIT, to = ASH_BUFFER_INIT;
    ash_download *d = make_download(s, spec->coll, spec->range->file);
    size_t file_bytes = ash__chunk_range_keys(spec->range, &from, &to);
    const ash_scan_range keys = {{from.data, from.len}, {to.data, to.len}, false};
    ash_scan *scan = ash__scan_index(reading->snap, spec->index, &keys, NULL);
    int rc = collect_range(d, reading->snap, spec, scan, file_bytes, err);
    ash__scan_free(scan);
    ash__buffer_release(&from);
    ash__buffer_release(&to);
    return hand_over(d, reading, rc, out);
}

static int read_held(ash_download *d, const entry *e, ash_doc *out, ash_error *err)
{
    const ash_coll *coll = NULL;
    ash_record r;
    bool found = false;
    ash_snapshot *snap = d->kept != NULL ? ash__kept_snapshot_borrow(d->kept) : NULL;
    if (snap == NULL)
        return ash__fail(err, ASH_ECURSOR, "the download rested too long, its snapshot was closed");
    int rc = ash__catalog_find_id(snap, d->coll_id, &coll, err);
    if (rc == 0 && coll != NULL)
        rc = ash__record_get(snap, coll, e->place.sequence, &r, &found, err);
    if (rc == 0 && !found)
        /* It was there in this very snapshot when the download was opened. */
        rc = ash__fail(err, ASH_EINTERNAL, "a record is missing from its own snapshot");
    if (rc == 0) {
        if (d->arena == NULL)
            d->arena = ash__arena_new();
        uint8_t *copy = ash__arena_alloc(d->arena, r.doc.len);
        memcpy(copy, r.doc.data, r.doc.len);
        *out = (ash_doc){copy, r.doc.len};
    }
    ash__kept_snapshot_give_back(d->kept);
    return rc;
}

int ash__download_peek(ash_download *d, ash_doc *out, ash_error *err)
{
    int rc = 0;
    *out = (ash_doc){NULL, 0};
    if (d->at == d->count)
        return 0;
    const entry *e = &d->entries[d->at];
    if (e->place.segment != 0)
        rc = ash__pins_read(d->pins, &e->place, out, err);
    else if (e->place.block == IN_MEMORY)
        *out = (ash_doc){d->memory.data + e->place.sequence, e->place.len};
    else
        rc = read_held(d, e, out, err);
    if (rc != 0)
        ash__chunk_error(d->coll, d->file, e->n, err);
    return rc;
}

int ash__download_look(ash_download *d, ash_payload *payload, ash_doc *out, ash_error *err)
{
    *payload = (ash_payload){.record = NULL};
    /* What is not in a segment comes verified, and there is no payload to look at. */
    if (d->at == d->count || d->entries[d->at].place.segment == 0)
        return ash__download_peek(d, out, err);
    entry *e = &d->entries[d->at];
    int rc = ash__pins_open(d->pins, &e->place, payload, err);
    if (rc == 0) {
        e->piece = payload->layout.piece;
        *out = (ash_doc){ash__payload_data(payload), payload->len};
    } else {
        ash__chunk_error(d->coll, d->file, e->n, err);
    }
    return rc;
}

int ash__download_verify(ash_download *d, size_t index, const ash_payload *payload, size_t *from,
                         size_t *to, ash_error *err)
{
    const entry *e = &d->entries[index];
    /* Copied and held documents were verified as they were read. */
    if (payload->record == NULL) {
        *from = 0;
        *to = e->place.len;
        return 0;
    }
    int rc = ash__segments_verify(payload, from, to, err);
    if (rc != 0)
        ash__chunk_error(d->coll, d->file, e->n, err);
    return rc;
}

int ash__download_look_again(ash_download *d, size_t index, ash_payload *payload, ash_error *err)
{
    const entry *e = &d->entries[index];
    ash_assert(ash__download_lasts(d, index));
    /* Lapsed pins let the bytes be used again, so that what is there may be another file's. */
    if (!ash__pins_touch(d->pins))
        return ash__fail(err, ASH_ECURSOR, "the cursor was idle for too long");
    int rc = ash__pins_open_again(d->pins, &e->place, e->piece, payload, err);
    if (rc != 0)
        ash__chunk_error(d->coll, d->file, e->n, err);
    return rc;
}

bool ash__download_lasts(const ash_download *d, size_t index)
{
    return index < d->count && d->entries[index].place.segment != 0;
}

bool ash__download_seek(ash_download *d, size_t index)
{
    if (index >= d->count)
        return false;
    d->at = index;
    return true;
}

size_t ash__download_batch_from(const ash_download *d)
{
    return d->batch_from;
}

bool ash__download_at_end(const ash_download *d)
{
    return d->at == d->count;
}

void ash__download_advance(ash_download *d)
{
    d->at++;
}

bool ash__download_begin_batch(ash_download *d)
{
    if (d->arena != NULL)
        ash__arena_reset(d->arena);
    d->batch_from = d->at;
    return ash__pins_touch(d->pins);
}

ash_pins *ash__download_pins(ash_download *d)
{
    return d->pins;
}

void ash__download_free(ash_download *d)
{
    if (d == NULL)
        return;
    ash__kept_snapshot_free(d->kept);
    ash__pins_free(d->pins);
    ash__arena_free(d->arena);
    ash__buffer_release(&d->memory);
    ash__free(d->entries);
    ash__free(d->coll);
    ash__free((void *)(uintptr_t)d->file.data);
    ash__free(d);
}
