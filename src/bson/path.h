/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_PATH_H
#define ASH_BSON_PATH_H

/* Dotted paths, as queries and indexes walk them: "a.b.0.c" goes into documents by name, into
 * arrays both by position and through every element that is a document. */

#include "bson/value.h"

typedef struct ash_path_hit {
    ash_value value;    /* may be missing */
    bool through_array; /* an array was expanded on the way here */
    int32_t
        array_index; /* index in the OUTERMOST array expanded, or -1: what `$` in an update names */
    bool is_element; /* value is an element of the array at the path's end (expanded leaf) */
} ash_path_hit;

/* Called for every place the path leads to, in document order; return false to stop.
 *
 * Where the path leads nowhere in the root, or in an array's element that is a document, the hit's
 * value is missing.  Elements that are no documents say nothing: "a.b" gives one missing hit for
 * {a: 1} and for {a: [{}, 1]}, none for {a: []} and {a: [1]}.
 *
 * An element named by its position ("a.1") is no expansion: it neither sets array_index nor, being
 * an array at the path's end, is it expanded; with more path behind it ("a.1.b") an array inside
 * the array is walked like any other.  A number is tried both as a name in each element and as a
 * position.
 *
 * expand_leaf: for an array at the very end first every element (is_element), then the array
 * itself. */
typedef bool (*ash_path_visit)(void *ctx, const ash_path_hit *hit);

/* false if the visitor stopped it, or this thread's budget (base/budget.h) is used up: the caller
 * looks at that. */
bool ash__path_walk(ash_doc doc, const char *path, bool expand_leaf, ash_path_visit visit,
                    void *ctx);

/* Plain: by names and array positions, never through elements; missing if it leads nowhere. */
ash_value ash__path_get(ash_doc doc, const char *path);

/* "a.b" is "a" or lies below it (or the other way round): two updates of both conflict. */
bool ash__path_overlaps(const char *a, const char *b);

/* Length of the path's first part; *rest: what follows its dot, or NULL. */
size_t ash__path_part(const char *path, const char **rest);

/* The part is a position in an array: digits without a leading zero. */
bool ash__path_index(const char *part, size_t len, uint32_t *index);

ash_value ash__array_at(ash_doc array, uint32_t index); /* missing beyond its end */

/* A path an index or update may use: not empty, no empty part. ASH_EINVAL (56). */
int ash__path_check(const char *path, ash_error *err);

#endif
