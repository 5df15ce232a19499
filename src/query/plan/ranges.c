/* SPDX-License-Identifier: Apache-2.0 */
/* Bounds become ranges of whole keys: each combination of the leading parts' points is a prefix,
 * which each interval of the last part goes on from. */
#include "query/plan/bounds.h"

#include "base/mem.h"

#include <string.h>

static void append_inverted(ash_buffer *out, const ash_buffer *bytes)
{
    for (size_t i = 0; i < bytes->len; i++)
        ash__buffer_append_byte(out, (uint8_t)~bytes->data[i]);
}

/* What stands in the key of a part, from and to in the part's direction.  In a descending part the
 * keys at or above `from` are those whose inverted bytes do not lie behind from's inverted bytes.
 */
static void append_from(ash_buffer *out, const ash_interval *i, bool descending)
{
    if (!descending) {
        ash__buffer_append(out, i->from.data, i->from.len);
    } else if (i->is_point) {
        append_inverted(out, &i->from);
    } else {
        ash_buffer end = ASH_BUFFER_INIT;
        append_inverted(&end, &i->to);
        /* The end itself is outside, and so is all that begins with it. */
        ash__keycode_successor(&end);
        ash__buffer_append(out, end.data, end.len);
        ash__buffer_release(&end);
    }
}

/* Behind all keys of the last value: that of a point, or in a descending part the interval's
 * lowest, which comes last there. */
static void append_to(ash_buffer *out, const ash_interval *i, bool descending)
{
    size_t start = out->len;
    if (i->is_point || descending) {
        if (descending)
            append_inverted(out, &i->from);
        else
            ash__buffer_append(out, i->from.data, i->from.len);
        ash_buffer end = ASH_BUFFER_INIT;
        ash__buffer_append(&end, out->data + start, out->len - start);
        ash__keycode_successor(&end);
        out->len = start;
        ash__buffer_append(out, end.data, end.len);
        ash__buffer_release(&end);
    } else {
        ash__buffer_append(out, i->to.data, i->to.len);
    }
}

static const ash_interval *interval_at(const ash_bounds *b, uint32_t i, bool descending)
{
    return &b->items[descending ? b->count - 1 - i : i];
}

struct product {
    const ash_key_pattern *pattern;
    const ash_index_bounds *bounds;
    ash_plan *plan;
    uint32_t merge_from;
    ash_buffer prefix;
    size_t before_merge; /* bytes of the prefix */
};

/* "Less than {}" is a range without a key. */
static void drop_if_empty(ash_plan *plan)
{
    ash_key_range *last = &plan->ranges[plan->range_count - 1];
    size_t shared = last->from.len < last->to.len ? last->from.len : last->to.len;
    int order = memcmp(last->from.data, last->to.data, shared);
    if (order < 0 || (order == 0 && last->from.len < last->to.len))
        return;
    ash__buffer_release(&last->from);
    ash__buffer_release(&last->to);
    plan->range_count--;
}

static void add_ranges(struct product *p, uint32_t part)
{
    const ash_bounds *b = &p->bounds->parts[part];
    bool descending = p->pattern->parts[part].descending;
    size_t prefix_len = p->prefix.len;
    if (part == p->merge_from)
        p->before_merge = prefix_len;
    for (uint32_t i = 0; i < b->count; i++) {
        /* Backwards in a descending part, so that the ranges come out ascending. */
        const ash_interval *interval = interval_at(b, i, descending);
        p->prefix.len = prefix_len;
        if (part + 1 < p->bounds->used) {
            append_from(&p->prefix, interval, descending);
            add_ranges(p, part + 1);
            continue;
        }
        ash_key_range *range = &p->plan->ranges[p->plan->range_count++];
        ash__buffer_append(&range->from, p->prefix.data, prefix_len);
        append_from(&range->from, interval, descending);
        range->prefix_len = p->merge_from > part ? range->from.len : p->before_merge;
        ash__buffer_append(&range->to, p->prefix.data, prefix_len);
        append_to(&range->to, interval, descending);
        drop_if_empty(p->plan);
    }
    p->prefix.len = prefix_len;
}

/* Every key: what a scan for a sort alone goes through. */
static void add_everything(const ash_key_pattern *pattern, ash_plan *plan)
{
    plan->ranges = ash__alloc_array(1, sizeof *plan->ranges);
    plan->range_count = 1;
    bool descending = pattern->parts[0].descending;
    uint8_t first = descending ? (uint8_t)BSON_TYPE_MAXKEY : (uint8_t)BSON_TYPE_MINKEY;
    uint8_t last = descending ? (uint8_t)BSON_TYPE_MINKEY : (uint8_t)BSON_TYPE_MAXKEY;
    ash__keycode_append_bracket_start(&plan->ranges[0].from, first, descending);
    ash__keycode_append_bracket_end(&plan->ranges[0].to, last, descending);
}

uint64_t ash__index_range_count(const ash_index_bounds *b)
{
    uint64_t count = 1;
    for (uint32_t i = 0; i < b->used; i++)
        count *= b->parts[i].count;
    return count;
}

uint32_t ash__index_range_interval(const ash_key_pattern *pattern, const ash_index_bounds *b,
                                   uint32_t part, uint32_t at)
{
    /* Ranges are numbered like the product, the last part fastest. */
    for (uint32_t i = b->used; i > part + 1; i--)
        at /= b->parts[i - 1].count;
    at %= b->parts[part].count;
    return pattern->parts[part].descending ? b->parts[part].count - 1 - at : at;
}

void ash__index_ranges(const ash_key_pattern *pattern, const ash_index_bounds *b,
                       uint32_t merge_from, ash_plan *plan)
{
    if (b->used == 0) {
        add_everything(pattern, plan);
        return;
    }
    plan->ranges = ash__alloc_array((size_t)ash__index_range_count(b), sizeof *plan->ranges);
    struct product p = {.pattern = pattern, .bounds = b, .plan = plan, .merge_from = merge_from};
    add_ranges(&p, 0);
    ash__buffer_release(&p.prefix);
}
