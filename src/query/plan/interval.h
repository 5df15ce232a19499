/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PLAN_INTERVAL_H
#define ASH_QUERY_PLAN_INTERVAL_H

/* Intervals of one index part, as ascending encodings: from <= key < to.  The values beside them
 * are what explain shows; they are views into the filter, constants or scrap. */

#include "base/buffer.h"
#include "bson/compare.h"

typedef struct ash_interval_end {
    ash_value value;
    bool closed; /* the value itself is inside */
} ash_interval_end;

/* As an argument: the end of all values of a type's bracket. */
#define ASH_BRACKET_END ((ash_interval_end){ASH_VALUE_MISSING, true})

typedef struct ash_interval {
    ash_buffer from;
    ash_buffer to;
    ash_interval_end low, high;
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
/* Both ends of one bracket. */
void ash__bounds_add_range(ash_bounds *b, ash_interval_end low, ash_interval_end high,
                           const ash_collation *c);
/* Either end may be ASH_BRACKET_END. */
void ash__bounds_add_bracket(ash_bounds *b, uint8_t type, ash_interval_end low,
                             ash_interval_end high, const ash_collation *c);
void ash__bounds_normalise(ash_bounds *b);
/* Both hold: keeps exact only if both are. */
void ash__bounds_intersect(ash_bounds *into, const ash_bounds *other);
bool ash__bounds_all_points(const ash_bounds *b);

/* "[1, 5)" appended; reversed: as a scan from high to low meets it. */
void ash__interval_text(ash_buffer *out, const ash_interval *i, bool reversed);

#endif
