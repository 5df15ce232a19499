/* SPDX-License-Identifier: Apache-2.0 */
/* Intervals of key bytes with the values that explain shows for them. */
#include "query/plan/interval.h"

#include "base/mem.h"
#include "bson/keycode.h"

#include <stdlib.h>
#include <string.h>

void *ash__scrap_alloc(ash_scrap *s, size_t size_bytes)
{
    s->items = ash__realloc_array(s->items, s->count + 1, sizeof *s->items);
    s->items[s->count] = ash__alloc(size_bytes);
    return s->items[s->count++];
}

void ash__scrap_release(ash_scrap *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        ash__free(s->items[i]);
    ash__free(s->items);
    memset(s, 0, sizeof *s);
}

void ash__bounds_release(ash_bounds *b)
{
    for (uint32_t i = 0; i < b->count; i++) {
        ash__buffer_release(&b->items[i].from);
        ash__buffer_release(&b->items[i].to);
    }
    ash__free(b->items);
    memset(b, 0, sizeof *b);
}

void ash__bounds_move(ash_bounds *to, ash_bounds *from)
{
    ash__bounds_release(to);
    *to = *from;
    memset(from, 0, sizeof *from);
}

static ash_interval *add_interval(ash_bounds *b)
{
    if (b->count == b->capacity) {
        b->capacity = b->capacity == 0 ? 2 : 2 * b->capacity;
        b->items = ash__realloc_array(b->items, b->capacity, sizeof *b->items);
    }
    ash_interval *i = &b->items[b->count++];
    memset(i, 0, sizeof *i);
    return i;
}

static void finish_point(ash_interval *i, ash_value v)
{
    /* All keys of this value, and no others, begin with its encoding: they end where the next bytes
     * begin. */
    ash__buffer_append(&i->to, i->from.data, i->from.len);
    ash__keycode_successor(&i->to);
    i->low = i->high = (ash_interval_end){v, true};
    i->is_point = true;
}

void ash__bounds_add_point(ash_bounds *b, ash_value v, const ash_collation *c)
{
    ash_interval *i = add_interval(b);
    ash__keycode_append(&i->from, v, false, c);
    finish_point(i, v);
}

void ash__bounds_add_hash(ash_bounds *b, ash_value v, const ash_collation *c)
{
    ash_interval *i = add_interval(b);
    ash__keycode_append_hash(&i->from, v, false, c);
    finish_point(i, v);
}

void ash__bounds_add_empty_array(ash_bounds *b)
{
    ash_interval *i = add_interval(b);
    ash__keycode_append_empty_array(&i->from, false);
    finish_point(i, (ash_value){BSON_TYPE_UNDEFINED, NULL, 0});
}

/* The place before all keys of the value, or behind them. */
static void append_cut(ash_buffer *out, ash_value v, bool behind, const ash_collation *c)
{
    ash__keycode_append(out, v, false, c);
    if (behind)
        ash__keycode_successor(out);
}

void ash__bounds_add_range(ash_bounds *b, ash_interval_end low, ash_interval_end high,
                           const ash_collation *c)
{
    ash_interval *i = add_interval(b);
    append_cut(&i->from, low.value, !low.closed, c);
    append_cut(&i->to, high.value, high.closed, c);
    i->low = low;
    i->high = high;
}

/* What explain shows as the limits of a bracket. */
struct limits {
    uint8_t type;
    ash_interval_end low, high;
};

/* Little-endian, as BSON has them. */
static const uint8_t negative_infinity[8] = {0, 0, 0, 0, 0, 0, 0xf0, 0xff};
static const uint8_t positive_infinity[8] = {0, 0, 0, 0, 0, 0, 0xf0, 0x7f};
static const uint8_t empty_text[5] = {1, 0, 0, 0, 0};
static const uint8_t empty_doc[5] = {5, 0, 0, 0, 0};
static const uint8_t empty_binary[5] = {0};
static const uint8_t zeros[12] = {0};
static const uint8_t ones[12] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                                 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
static const uint8_t lowest_int64[8] = {0, 0, 0, 0, 0, 0, 0, 0x80};
static const uint8_t highest_int64[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f};
static const uint8_t truth[1] = {1};

static const struct limits *limits_of(uint8_t type)
{
    static const struct limits table[] = {
        {BSON_TYPE_DOUBLE,
         {{BSON_TYPE_DOUBLE, negative_infinity, 8}, true},
         {{BSON_TYPE_DOUBLE, positive_infinity, 8}, true}},
        {BSON_TYPE_UTF8,
         {{BSON_TYPE_UTF8, empty_text, 5}, true},
         {{BSON_TYPE_DOCUMENT, empty_doc, 5}, false}},
        {BSON_TYPE_DOCUMENT,
         {{BSON_TYPE_DOCUMENT, empty_doc, 5}, true},
         {{BSON_TYPE_ARRAY, empty_doc, 5}, false}},
        {BSON_TYPE_BINARY,
         {{BSON_TYPE_BINARY, empty_binary, 5}, true},
         {{BSON_TYPE_OID, zeros, 12}, false}},
        {BSON_TYPE_OID, {{BSON_TYPE_OID, zeros, 12}, true}, {{BSON_TYPE_OID, ones, 12}, true}},
        {BSON_TYPE_BOOL, {{BSON_TYPE_BOOL, zeros, 1}, true}, {{BSON_TYPE_BOOL, truth, 1}, true}},
        {BSON_TYPE_DATE_TIME,
         {{BSON_TYPE_DATE_TIME, lowest_int64, 8}, true},
         {{BSON_TYPE_DATE_TIME, highest_int64, 8}, true}},
        {BSON_TYPE_TIMESTAMP,
         {{BSON_TYPE_TIMESTAMP, zeros, 8}, true},
         {{BSON_TYPE_TIMESTAMP, ones, 8}, true}},
    };
    static const struct limits other = {0,
                                        {{(uint8_t)BSON_TYPE_MINKEY, zeros, 0}, true},
                                        {{(uint8_t)BSON_TYPE_MAXKEY, zeros, 0}, true}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(table); i++)
        if (ash__type_bracket(table[i].type) == ash__type_bracket(type))
            return &table[i];
    return &other;
}

void ash__bounds_add_bracket(ash_bounds *b, uint8_t type, ash_interval_end low,
                             ash_interval_end high, const ash_collation *c)
{
    const struct limits *limits = limits_of(type);
    ash_interval *i = add_interval(b);
    if (!ash__value_is_missing(low.value)) {
        append_cut(&i->from, low.value, !low.closed, c);
        i->low = low;
    } else {
        ash__keycode_append_bracket_start(&i->from, type, false);
        /* NaN is the lowest number, but no other number's comparison finds it. */
        if (ash__type_bracket(type) == ash__type_bracket(BSON_TYPE_DOUBLE))
            ash__keycode_successor(&i->from);
        i->low = limits->low;
    }
    if (!ash__value_is_missing(high.value)) {
        append_cut(&i->to, high.value, high.closed, c);
        i->high = high;
    } else {
        ash__keycode_append_bracket_end(&i->to, type, false);
        i->high = limits->high;
    }
}

static int compare_buffers(const ash_buffer *a, const ash_buffer *b)
{
    size_t shared = a->len < b->len ? a->len : b->len;
    int order = shared == 0 ? 0 : memcmp(a->data, b->data, shared);
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static int compare_intervals(const void *a, const void *b)
{
    const ash_interval *x = a;
    const ash_interval *y = b;
    int order = compare_buffers(&x->from, &y->from);
    return order != 0 ? order : compare_buffers(&x->to, &y->to);
}

static void widen(ash_interval *kept, ash_interval *next)
{
    if (compare_buffers(&next->to, &kept->to) > 0) {
        /* Swapped and not copied: the caller releases what next then holds. */
        ash_buffer to = kept->to;
        kept->to = next->to;
        next->to = to;
        kept->high = next->high;
        kept->is_point = false;
    }
}

void ash__bounds_normalise(ash_bounds *b)
{
    uint32_t kept = 0;
    if (b->count > 1)
        qsort(b->items, b->count, sizeof *b->items, compare_intervals);
    for (uint32_t i = 0; i < b->count; i++) {
        ash_interval *next = &b->items[i];
        bool is_empty = compare_buffers(&next->from, &next->to) >= 0;
        bool overlaps = kept > 0 && compare_buffers(&next->from, &b->items[kept - 1].to) < 0;
        if (overlaps && !is_empty)
            widen(&b->items[kept - 1], next);
        if (overlaps || is_empty) {
            ash__buffer_release(&next->from);
            ash__buffer_release(&next->to);
        } else {
            b->items[kept++] = *next;
        }
    }
    b->count = kept;
}

static void add_common(ash_bounds *out, const ash_interval *a, const ash_interval *b)
{
    const ash_interval *low = compare_buffers(&a->from, &b->from) >= 0 ? a : b;
    const ash_interval *high = compare_buffers(&a->to, &b->to) <= 0 ? a : b;
    if (compare_buffers(&low->from, &high->to) >= 0)
        return;
    ash_interval *i = add_interval(out);
    ash__buffer_append(&i->from, low->from.data, low->from.len);
    ash__buffer_append(&i->to, high->to.data, high->to.len);
    i->low = low->low;
    i->high = high->high;
    i->is_point = a->is_point || b->is_point;
}

void ash__bounds_intersect(ash_bounds *into, const ash_bounds *other)
{
    ash_bounds out = {.exact = into->exact && other->exact,
                      .skips_missing = into->skips_missing || other->skips_missing};
    if (into->is_all || other->is_all) {
        into->exact = out.exact;
        into->skips_missing = out.skips_missing;
        return;
    }
    uint32_t i = 0, k = 0;
    while (i < into->count && k < other->count) {
        const ash_interval *a = &into->items[i];
        const ash_interval *b = &other->items[k];
        add_common(&out, a, b);
        /* The one that ends first meets nothing more. */
        if (compare_buffers(&a->to, &b->to) <= 0)
            i++;
        else
            k++;
    }
    ash__bounds_move(into, &out);
}

bool ash__bounds_all_points(const ash_bounds *b)
{
    for (uint32_t i = 0; i < b->count; i++)
        if (!b->items[i].is_point)
            return false;
    return !b->is_all;
}
