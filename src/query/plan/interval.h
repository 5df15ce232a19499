/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PLAN_INTERVAL_H
#define ASH_QUERY_PLAN_INTERVAL_H

/* Intervals of one index part, as ascending encodings: from <= key < to.  The values beside them
 * are what explain shows; they are views into the filter, constants or scrap. */

#include "base/buffer.h"
#include "bson/compare.h"

typedef struct ash_interval {
    ash_buffer from;
    ash_buffer to;
    ash_value low, high;
    bool low_closed, high_closed;
    bool is_point; /* from is the one key's encoding */
} ash_interval;

typedef struct ash_bounds {
    ash_interval *items; /* ascending and disjoint once normalised */
    uint32_t count, capacity;
    bool is_all;        /* no limits; items are empty */
    bool exact;         /* a key inside is as good as testing the condition */
    bool skips_missing; /* no document without the field fulfils the condition */
} ash_bounds;

/* Memory for values made while planning. */
typedef struct ash_scrap {
    void **items;
    uint32_t count;
} ash_scrap;
void *ash__scrap_alloc(ash_scrap *s, size_t size_bytes);
void ash__scrap_release(ash_scrap *s);

void ash__bounds_release(ash_bounds *b);
void ash__bounds_move(ash_bounds *to, ash_bounds *from);
void ash__bounds_add_point(ash_bounds *b, ash_value v, const ash_collation *c);
void ash__bounds_add_hash(ash_bounds *b, ash_value v, const ash_collation *c);
void ash__bounds_add_empty_array(ash_bounds *b);
/* From before (closed) or behind low to behind (closed) or before high, of one bracket. */
void ash__bounds_add_range(ash_bounds *b, ash_value low, bool low_closed, ash_value high,
                           bool high_closed, const ash_collation *c);
/* A missing low or high stands for the bracket's own limit. */
void ash__bounds_add_bracket(ash_bounds *b, uint8_t type, ash_value low, bool low_closed,
                             ash_value high, bool high_closed, const ash_collation *c);
void ash__bounds_normalise(ash_bounds *b);
/* Both hold: keeps exact only if both are. */
void ash__bounds_intersect(ash_bounds *into, const ash_bounds *other);
bool ash__bounds_all_points(const ash_bounds *b);

/* "[1, 5)" appended; reversed: as a scan from high to low meets it. */
void ash__interval_text(ash_buffer *out, const ash_interval *i, bool reversed);
void ash__bound_text(ash_buffer *out, ash_value v, int depth);

#endif
