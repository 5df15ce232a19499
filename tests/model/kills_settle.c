/* SPDX-License-Identifier: Apache-2.0 */
#include "kills.h"

#include "care.h"
#include "crash/checked.h"
#include "parcels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is in the store ---- */

enum { MOST_INDEXES = 72 };

typedef struct sight {
    bson_t **docs; /* in insertion order */
    uint32_t count;
    char *indexes[MOST_INDEXES]; /* names, but for _id_ */
    uint32_t index_count;
} sight;

static void forget(sight *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        bson_destroy(s->docs[i]);
    for (uint32_t i = 0; i < s->index_count; i++)
        free(s->indexes[i]);
    free(s->docs);
    memset(s, 0, sizeof *s);
}

static bool see_indexes(sight *s, ash_collection *c, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    int code = ash_collection_list_indexes(c, NULL, &cursor, err);
    if (code == ASH_ENOTFOUND)
        return true;
    while (code == 0 && (code = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        bson_t spec;
        bson_iter_t name;
        if (bson_init_static(&spec, doc.data, doc.len) &&
            bson_iter_init_find(&name, &spec, "name") &&
            strcmp(bson_iter_utf8(&name, NULL), "_id_") != 0 && s->index_count < MOST_INDEXES)
            s->indexes[s->index_count++] = strdup(bson_iter_utf8(&name, NULL));
    }
    ash_cursor_free(cursor);
    return code == 0;
}

static bool see(sight *s, real *r, uint32_t copy, ash_error *err)
{
    const mv *docs = real_documents(r, copy);
    s->docs = malloc((docs->count + 1) * sizeof(bson_t *));
    for (; s->count < docs->count; s->count++)
        s->docs[s->count] = mv_bson(docs->items[s->count]);
    pool_empty();
    return see_indexes(s, r->copies[copy], err);
}

/* ---- is it what it may be? ---- */

static const char *index_name(const model *m, uint32_t i)
{
    bson_iter_t name;
    return bson_iter_init_find(&name, m->indexes[i], "name") ? bson_iter_utf8(&name, NULL) : "";
}

static bool is_on(const model *m, uint32_t i, uint32_t copy)
{
    return m->index_on[i] == COPIES || m->index_on[i] == copy;
}

static bool has_index(const sight *s, const char *name)
{
    uint32_t i = 0;
    while (i < s->index_count && strcmp(s->indexes[i], name) != 0)
        i++;
    return i < s->index_count;
}

static bool same_indexes(const model *m, uint32_t copy, const sight *s)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->index_count; i++) {
        if (!is_on(m, i, copy))
            continue;
        count++;
        if (!has_index(s, index_name(m, i)))
            return false;
    }
    return count == s->index_count;
}

static bool is_just(const model *m, uint32_t copy, const sight *s)
{
    bool same = m->count == s->count && same_indexes(m, copy, s);
    for (uint32_t i = 0; same && i < m->count; i++)
        same = bson_equal(m->docs[i], s->docs[i]);
    return same;
}

/* A write to many documents is not one unit: each of them is as before or as after. */
static bool is_between(const model *before, const model *after, uint32_t copy, const sight *s)
{
    uint32_t at = 0, kept = 0;
    if (!same_indexes(after, copy, s))
        return false;
    if (before->count == after->count) {
        bool same = s->count == before->count;
        for (; same && at < s->count; at++)
            same = bson_equal(before->docs[at], s->docs[at]) ||
                   bson_equal(after->docs[at], s->docs[at]);
        return same;
    }
    for (uint32_t i = 0; i < before->count; i++) { /* some were removed */
        bool stays = kept < after->count && bson_equal(before->docs[i], after->docs[kept]);
        bool there = at < s->count && bson_equal(before->docs[i], s->docs[at]);
        if (stays && !there)
            return false;
        kept += stays;
        at += there;
    }
    return at == s->count && kept == after->count;
}

/* ---- the steps again, until the model is where the store is ---- */

typedef struct search {
    model *m, before;
    sight seen[COPIES];
    uint64_t least, most; /* writes that were done */
    uint64_t at;          /* writes that the model has done, with all of the present step */
    uint32_t copies;      /* of the present step */
    bool as_one, is_many;
} search;

/* Is the store as it must be when the step was done to these copies, and being done to one more
 * (COPIES: none)? */
static bool stands(const search *s, uint32_t done, uint32_t amid)
{
    bool same = true;
    for (uint32_t copy = 0; same && copy < COPIES; copy++) {
        if (copy == amid)
            same = is_between(&s->before, s->m, copy, &s->seen[copy]);
        else
            same = is_just((done >> copy & 1) != 0 ? s->m : &s->before, copy, &s->seen[copy]);
    }
    return same;
}

/* Was the store left somewhere in this step?  s->at counts on. */
static bool stands_in_step(search *s, bool *untouched)
{
    uint32_t done = 0;
    *untouched = s->at >= s->least && stands(s, 0, COPIES);
    if (*untouched)
        return true;
    for (uint32_t copy = 0; copy < COPIES && s->at <= s->most; copy++) {
        if ((s->copies >> copy & 1) == 0)
            continue;
        if (s->is_many && !s->as_one && s->at >= s->least && stands(s, done, copy))
            return true;
        done = s->as_one ? s->copies : done | 1U << copy;
        if (++s->at >= s->least && stands(s, done, COPIES))
            return true;
        if (s->as_one)
            break;
    }
    return false;
}

static bool is_many(const mv *step)
{
    return mv_get(step, "multi") != NULL ||
           (strcmp(step->names[0], "remove") == 0 && mv_get(step, "one") == NULL);
}

static bool find_place(search *s, uint64_t seed)
{
    rng r = rng_for(seed, 1);
    bool found = false;
    for (int i = 0; !found && i < KILLS_DEEDS && s->at <= s->most; i++) {
        bool untouched = false;
        kills_deed d = kills_next(&r, s->m);
        model_copy(&s->before, s->m);
        const mv *step = mv_parse(d.step);
        kills_model(s->m, &d, step, &s->copies, &s->as_one);
        s->is_many = is_many(step);
        found = stands_in_step(s, &untouched);
        if (untouched) {
            model_clear(s->m);
            *s->m = s->before;
        } else {
            model_clear(&s->before);
        }
        bson_destroy(d.step);
        pool_empty();
    }
    return found;
}

/* ---- the rest of the step ---- */

static bool put_docs(const model *m, ash_collection *c, ash_error *err)
{
    bson_t all = BSON_INITIALIZER;
    ash_doc *docs = malloc((m->count + 1) * sizeof *docs);
    for (uint32_t i = 0; i < m->count; i++)
        docs[i] = (ash_doc){bson_get_data(m->docs[i]), m->docs[i]->len};
    int code = ash_collection_remove(c, &all, NULL, NULL, err);
    if (code == 0 && m->count > 0)
        code = ash_collection_insert(c, docs, m->count, NULL, NULL, err);
    free(docs);
    bson_destroy(&all);
    return code == 0;
}

static bool drop_others(const model *m, uint32_t copy, const sight *s, real *r)
{
    bool good = true;
    for (uint32_t i = 0; good && i < s->index_count; i++) {
        bool wanted = false;
        for (uint32_t k = 0; k < m->index_count; k++)
            wanted = wanted || (is_on(m, k, copy) && strcmp(index_name(m, k), s->indexes[i]) == 0);
        good = wanted || real_drop_index(r, copy, s->indexes[i]);
    }
    return good;
}

static bool add_missing(const model *m, uint32_t copy, const sight *s, real *r, ash_error *err)
{
    int code = 0;
    for (uint32_t i = 0; code == 0 && i < m->index_count; i++) {
        if (!is_on(m, i, copy) || has_index(s, index_name(m, i)))
            continue;
        bson_t specs = BSON_INITIALIZER;
        BSON_APPEND_DOCUMENT(&specs, "0", m->indexes[i]);
        code = ash_collection_create_indexes(r->copies[copy], &specs, NULL, NULL, err);
        bson_destroy(&specs);
    }
    return code == 0;
}

static bool finish_step(const model *m, sight seen[COPIES], real *r, ash_error *err)
{
    bool good = true;
    for (uint32_t copy = 0; good && copy < COPIES; copy++) {
        if (is_just(m, copy, &seen[copy]))
            continue;
        good = drop_others(m, copy, &seen[copy], r) && put_docs(m, r->copies[copy], err) &&
               add_missing(m, copy, &seen[copy], r, err);
        forget(&seen[copy]);
        good = good && see(&seen[copy], r, copy, err) && is_just(m, copy, &seen[copy]);
    }
    return good;
}

/* ---- all of it ---- */

static void print_difference(const search *s)
{
    for (uint32_t copy = 0; copy < COPIES; copy++) {
        const sight *seen = &s->seen[copy];
        printf("# copy %u: %u documents, the model %u; indexes %s\n", copy, seen->count,
               s->m->count, same_indexes(s->m, copy, seen) ? "agree" : "differ");
        for (uint32_t i = 0; i < seen->count || i < s->m->count; i++) {
            const bson_t *a = i < seen->count ? seen->docs[i] : NULL;
            const bson_t *b = i < s->m->count ? s->m->docs[i] : NULL;
            if (a != NULL && b != NULL && bson_equal(a, b))
                continue;
            char *store = a == NULL ? NULL : bson_as_canonical_extended_json(a, NULL);
            char *want = b == NULL ? NULL : bson_as_canonical_extended_json(b, NULL);
            printf("#     model %s\n#     store %s\n", want == NULL ? "-" : want,
                   store == NULL ? "-" : store);
            bson_free(store);
            bson_free(want);
        }
    }
}

static bool settle_copies(model *m, real *r, const kills_round *round, const kills_page *page,
                          ash_error *err)
{
    search s = {.m = m, .most = atomic_load(&page->done)};
    bool good = true;
    s.least = round->strict ? s.most : atomic_load(&page->flushed);
    for (uint32_t copy = 0; good && copy < COPIES; copy++)
        good = see(&s.seen[copy], r, copy, err);
    if (good && !find_place(&s, round->seed)) {
        printf("# the store is as it was after none of the writes %llu to %llu\n",
               (unsigned long long)s.least, (unsigned long long)s.most + 1);
        print_difference(&s);
        good = false;
    }
    good = good && finish_step(m, s.seen, r, err);
    for (uint32_t copy = 0; copy < COPIES; copy++)
        forget(&s.seen[copy]);
    return good;
}

static bool settle_parcels(ash_store *store, const kills_round *round, const kills_page *page,
                           int64_t *next, ash_error *err)
{
    parcels p;
    const kills_token *token = &page->tokens[atomic_load(&page->newest)];
    int64_t most = round->parcels + (int64_t)atomic_load(&page->parcels_done);
    int64_t least = round->parcels + (int64_t)atomic_load(&page->parcels_flushed);
    bool good = parcels_open(&p, store) &&
                parcels_settle(&p, round->strict ? most : least, most, token->seen, next);
    *err = p.err;
    parcels_close(&p);
    return good;
}

bool kills_settle(model *m, const char *folder, const kills_round *round, const kills_page *page,
                  int64_t *next_parcel)
{
    real r = {0};
    ash_error err = ASH_ERROR_INIT;
    kills_round strict = {.strict = true};
    ash_store_options opts = kills_options(&strict);
    if (!real_open(&r, folder, &opts))
        return false;
    bool good = steps_check(r.store, &err) && settle_copies(m, &r, round, page, &err) &&
                settle_parcels(r.store, round, page, next_parcel, &err) &&
                care_rows_are_whole(r.store, &err);
    if (!good)
        printf("# %s\n", err.text);
    real_close(&r);
    return good;
}
