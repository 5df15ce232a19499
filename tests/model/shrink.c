/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Leaving out whole steps first, in ever smaller groups, then parts of steps. */

static uint32_t without(scenario *s, bson_t **steps, uint32_t count, uint32_t from, uint32_t size)
{
    bson_t **fewer = malloc(count * sizeof(bson_t *));
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i < from || i >= from + size)
            fewer[kept++] = steps[i];
    }
    int differs = kept == 0 ? -1 : scenario_run(s, fewer, kept);
    if (differs >= 0) {
        memcpy(steps, fewer, kept * sizeof(bson_t *));
        count = (uint32_t)differs + 1;
    }
    free(fewer);
    return count;
}

static uint32_t fewer_steps(scenario *s, bson_t **steps, uint32_t count)
{
    for (uint32_t size = count / 2; size > 0; size /= 2) {
        for (uint32_t from = 0; from + size < count;) {
            uint32_t left = without(s, steps, count, from, size);
            if (left == count)
                from += size;
            count = left;
        }
    }
    return count;
}

/* ---- parts of steps ---- */

enum part_kind {
    PART_FIXED,
    PART_TOP,
    PART_FIELDS,
    PART_FILTER,
    PART_LIST,
    PART_UPDATE,
    PART_MODIFIER,
    PART_STAGES /* whole ones: an empty stage is none */
};

/* What may be left out where, so that a step stays well formed. */
static enum part_kind kind_below(enum part_kind kind, const char *name, const mv *v)
{
    bool list = v->type == BSON_TYPE_ARRAY, fields = v->type == BSON_TYPE_DOCUMENT;
    switch (kind) {
    case PART_FILTER:
        if (list && name[0] == '$' && (name[1] == 'a' || name[1] == 'o' || name[1] == 'n') &&
            strcmp(name, "$all") != 0 && strcmp(name, "$nin") != 0)
            return PART_LIST;
        if (fields && mv_get(v, "$regex") == NULL && v->count > 0 &&
            (v->names[0][0] == '$' || name[0] == '$'))
            return PART_FILTER;
        return list && (strcmp(name, "$in") == 0 || strcmp(name, "$nin") == 0) ? PART_FIELDS
                                                                               : PART_FIXED;
    case PART_LIST:
        return PART_FILTER;
    case PART_UPDATE:
        return fields && strcmp(name, "$bit") != 0 ? PART_MODIFIER : PART_FIXED;
    case PART_MODIFIER:
        return fields || list ? (v->count > 0 && v->names[0][0] == '$' ? PART_FIXED : PART_FIELDS)
                              : PART_FIXED;
    case PART_FIELDS:
        return fields || list ? PART_FIELDS : PART_FIXED;
    default:
        return PART_FIXED;
    }
}

static enum part_kind kind_of(const char *name, const mv *v)
{
    if (strcmp(name, "sort") == 0 || strcmp(name, "projection") == 0)
        return PART_TOP;
    if (strcmp(name, "insert") == 0)
        return PART_FIELDS;
    if (strcmp(name, "u") == 0 && v->type == BSON_TYPE_ARRAY)
        return PART_STAGES;
    if (strcmp(name, "u") == 0)
        return v->count > 0 && v->names[0][0] == '$' ? PART_UPDATE : PART_FIELDS;
    if (strcmp(name, "find") == 0 || strcmp(name, "count") == 0 || strcmp(name, "update") == 0 ||
        strcmp(name, "modify") == 0 || strcmp(name, "remove") == 0 || strcmp(name, "distinct") == 0)
        return PART_FILTER;
    return PART_FIXED;
}

/* Removes the n-th removable part, counted through the whole tree; false when there are fewer. */
static bool remove_part(mv *v, enum part_kind kind, uint32_t *n, const char *own_name)
{
    uint32_t least = kind == PART_LIST || kind == PART_UPDATE || kind == PART_MODIFIER ||
                             kind == PART_STAGES || (kind == PART_FILTER && own_name[0] != '\0')
                         ? 1
                         : 0;
    for (uint32_t i = 0; kind != PART_FIXED && i < v->count; i++) {
        if (v->count > least && (strcmp(v->names[i], "_id") != 0 || kind != PART_FIELDS)) {
            if (*n == 0) {
                mv_remove(v, i);
                return true;
            }
            --*n;
        }
        if (mv_is_container(v->items[i]) &&
            remove_part(v->items[i], kind_below(kind, v->names[i], v->items[i]), n, v->names[i]))
            return true;
    }
    return false;
}

static bson_t *smaller_step(const bson_t *step, uint32_t n)
{
    mv *v = mv_parse(step);
    bson_t *out = NULL;
    for (uint32_t i = 0; i < v->count && out == NULL; i++) {
        bool optional = i > 0 && strcmp(v->names[i], "u") != 0 && strcmp(v->names[i], "key") != 0 &&
                        strcmp(v->names[i], "on") != 0 &&
                        strcmp(v->names[i], "arrayFilters") != 0 && strcmp(v->names[i], "bad") != 0;
        if (optional && n == 0) {
            mv_remove(v, i);
            out = mv_bson(v);
            break;
        }
        n -= optional;
        if (mv_is_container(v->items[i]) &&
            remove_part(v->items[i], kind_of(v->names[i], v->items[i]), &n, ""))
            out = mv_bson(v);
    }
    pool_empty();
    return out;
}

static uint32_t smaller_steps(scenario *s, bson_t **steps, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t n = 0;; n++) {
            bson_t *old = steps[i], *smaller = smaller_step(old, n);
            if (smaller == NULL)
                break;
            steps[i] = smaller;
            int differs = scenario_run(s, steps, count);
            if (differs < 0) {
                steps[i] = old;
                bson_destroy(smaller);
                continue;
            }
            count = (uint32_t)differs + 1; /* what is cut off or replaced is the caller's no more */
            n--;
            if (i >= count)
                break;
        }
    }
    return count;
}

uint32_t scenario_shrink(scenario *s, bson_t **steps, uint32_t count)
{
    uint32_t before;
    s->loud = false;
    do {
        before = count;
        count = fewer_steps(s, steps, count);
        count = smaller_steps(s, steps, count);
    } while (count < before);
    return count;
}
