/* SPDX-License-Identifier: Apache-2.0 */
#include "scenario.h"

#include "unsure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CAPPED_DOCS = 10 };

/* ---- comparing ---- */

static bool same_list(const mv *a, const mv *b)
{
    if (a->count != b->count)
        return false;
    for (uint32_t i = 0; i < a->count; i++) {
        if (!mv_same_bytes(a->items[i], b->items[i]))
            return false;
    }
    return true;
}

/* As sets; values of distinct may be any of those that compare equal. */
static bool same_set(const mv *a, const mv *b, bool by_order)
{
    if (a->count != b->count)
        return false;
    bool *used = pool_get(b->count + 1);
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t k = 0;
        while (k < b->count && (used[k] || !(by_order ? naive_compare(a->items[i], b->items[k]) == 0
                                                      : mv_same_bytes(a->items[i], b->items[k]))))
            k++;
        if (k == b->count)
            return false;
        used[k] = true;
    }
    return true;
}

static bool same_answer(const mv *step, const answer *want, const answer *got)
{
    if (want->failed != got->failed)
        return false;
    if (want->failed)
        return want->code == 0 || want->code == got->code;
    bool numbers = strcmp(step->names[0], "modify") != 0 && strcmp(step->names[0], "find") != 0;
    if (numbers && (want->n != got->n || want->modified != got->modified))
        return false;
    return want->ordered ? same_list(want->docs, got->docs)
                         : same_set(want->docs, got->docs, step->names[0][0] == 'd');
}

static void print_answer(const char *who, const answer *a, const char *text)
{
    printf("# %s: ", who);
    if (a->failed)
        printf("error %d %s\n", a->code, text);
    else
        printf("n %lld, modified %lld, %u documents%s\n", (long long)a->n, (long long)a->modified,
               a->docs->count, a->ordered ? " in order" : "");
    for (uint32_t i = 0; i < a->docs->count; i++)
        printf("#     %s\n", mv_text(a->docs->items[i]));
}

bool scenario_check(scenario *s, const mv *step, const answer *want, uint32_t copy,
                    const char *hint)
{
    char text[400];
    if (want->natural && hint == NULL)
        hint = "$natural";
    answer got = real_step(&s->r, copy, step, hint, text, sizeof text);
    s->compared++;
    got.ordered = want->ordered;
    if (same_answer(step, want, &got))
        return true;
    if (s->loud) {
        printf("# step %s\n# on copy %u, hint %s\n", mv_text(step), copy,
               hint == NULL ? "none" : hint);
        print_answer("model", want, "");
        print_answer("store", &got, text);
    }
    return false;
}

static bool check_documents(scenario *s, uint32_t copy)
{
    mv *docs = real_documents(&s->r, copy), *want = mv_new(BSON_TYPE_ARRAY);
    for (uint32_t i = 0; i < s->m.count; i++)
        mv_put(want, "", mv_parse(s->m.docs[i]));
    if (same_list(want, docs))
        return true;
    if (s->loud) {
        printf("# afterwards copy %u differs\n", copy);
        for (uint32_t i = 0; i < want->count || i < docs->count; i++) {
            const mv *x = i < want->count ? want->items[i] : NULL;
            const mv *y = i < docs->count ? docs->items[i] : NULL;
            if (x == NULL || y == NULL || !mv_same_bytes(x, y))
                printf("#     model %s\n#     store %s\n", mv_text(x), mv_text(y));
        }
    }
    return false;
}

/* ---- steps ---- */

/* Indexes that hold every document can be made to serve every query. */
static bool holds_all(const mv *spec)
{
    return mv_get(spec, "sparse") == NULL && mv_get(spec, "partialFilterExpression") == NULL &&
           mv_get(spec, "key")->items[0]->type != BSON_TYPE_UTF8;
}

bool scenario_check_read(scenario *s, const mv *step, const answer *want)
{
    bool hinted = strcmp(step->names[0], "find") == 0 && !want->natural;
    for (uint32_t copy = 0; copy < COPIES; copy++) {
        if (!scenario_check(s, step, want, copy, NULL))
            return false;
    }
    if (!hinted)
        return true;
    const mv *sort = mv_get(step, "sort");
    if (mv_get(step, "projection") == NULL && (sort == NULL || sort->count > 0) &&
        !scenario_check(s, step, want, 2, REAL_PIPELINE))
        return false;
    if (!scenario_check(s, step, want, 1, "_id_") || !scenario_check(s, step, want, 2, "$natural"))
        return false;
    for (uint32_t i = 0; i < s->m.index_count; i++) {
        const mv *spec = mv_parse(s->m.indexes[i]);
        uint32_t copy = s->m.index_on[i] == COPIES ? 1 : s->m.index_on[i];
        if (holds_all(spec) &&
            !scenario_check(s, step, want, copy, (const char *)mv_get(spec, "name")->data))
            return false;
    }
    return true;
}

uint32_t scenario_copies(const model *m, const mv *step, const answer *want)
{
    const uint32_t all = (1U << COPIES) - 1;
    const mv *index = mv_get(step, "index");
    if (strcmp(step->names[0], "drop") == 0) {
        int64_t at = step->items[0]->i;
        if (at >= (int64_t)m->index_count)
            return 0;
        return m->index_on[at] == COPIES ? all : 1U << m->index_on[at];
    }
    uint32_t copies = want->only >= 0 ? 1U << want->only : all;
    if (index != NULL && mv_get(index, "unique") == NULL)
        copies &= 1U << mv_get(step, "on")->i;
    return copies;
}

static bool check_write(scenario *s, const mv *step, const answer *want)
{
    uint32_t copies = scenario_copies(&s->m, step, want);
    for (uint32_t copy = 0; copy < COPIES; copy++) {
        if ((copies >> copy & 1) != 0 && !scenario_check(s, step, want, copy, NULL))
            return false;
    }
    for (uint32_t copy = 0; copy < COPIES; copy++) {
        if (!check_documents(s, copy))
            return false;
    }
    return true;
}

static bool drop_index(scenario *s, const mv *step)
{
    uint32_t copies = scenario_copies(&s->m, step, NULL);
    if (copies != 0) {
        const mv *spec = mv_parse(s->m.indexes[step->items[0]->i]);
        const char *name = (const char *)mv_get(spec, "name")->data;
        for (uint32_t copy = 0; copy < COPIES; copy++) {
            if ((copies >> copy & 1) != 0 && !real_drop_index(&s->r, copy, name)) {
                if (s->loud)
                    printf("# cannot drop index %s of copy %u\n", name, copy);
                return false;
            }
        }
    }
    model_step(&s->m, step);
    return true;
}

bool scenario_is_read(const mv *step)
{
    const char *kind = step->names[0];
    return strcmp(kind, "find") == 0 || strcmp(kind, "count") == 0 || strcmp(kind, "distinct") == 0;
}

bool scenario_step(scenario *s, const bson_t *bytes)
{
    const mv *step = mv_parse(bytes);
    const char *kind = step->names[0];
    bool same;
    if (strcmp(kind, "drop") == 0) {
        same = drop_index(s, step);
    } else if (strcmp(kind, "reopen") == 0) {
        char text[400];
        same = !real_step(&s->r, 0, step, NULL, text, sizeof text).failed;
    } else {
        answer want = model_step(&s->m, step);
        if (naive_unsure) {
            s->left_open++;
            same = true;
        } else if (scenario_is_read(step)) {
            same = scenario_check_read(s, step, &want);
        } else {
            same = check_write(s, step, &want);
        }
    }
    pool_empty();
    return same;
}

bool scenario_reset(scenario *s)
{
    model_clear(&s->m);
    s->m.most = s->capped ? CAPPED_DOCS : 0;
    return real_reset(&s->r, s->m.most);
}

int scenario_run(scenario *s, bson_t **steps, uint32_t count)
{
    if (!scenario_reset(s))
        return -1;
    for (uint32_t i = 0; i < count; i++) {
        if (!scenario_step(s, steps[i]))
            return (int)i;
    }
    return -1;
}
