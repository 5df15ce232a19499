/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include "unsure.h"

#include <stdlib.h>
#include <string.h>

void model_clear(model *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        bson_destroy(m->docs[i]);
    for (uint32_t i = 0; i < m->index_count; i++)
        bson_destroy(m->indexes[i]);
    free(m->docs);
    memset(m, 0, sizeof *m);
}

void model_copy(model *to, const model *from)
{
    *to = *from;
    to->capacity = from->count + 1;
    to->docs = malloc(to->capacity * sizeof(bson_t *));
    for (uint32_t i = 0; i < from->count; i++)
        to->docs[i] = bson_copy(from->docs[i]);
    for (uint32_t i = 0; i < from->index_count; i++)
        to->indexes[i] = bson_copy(from->indexes[i]);
}

static void delete (model *m, uint32_t at)
{
    bson_destroy(m->docs[at]);
    memmove(&m->docs[at], &m->docs[at + 1], (m->count - at - 1) * sizeof(bson_t *));
    m->count--;
}

/* A capped collection lets the oldest ones go. */
static void append(model *m, const mv *doc)
{
    if (m->count == m->capacity) {
        m->capacity = m->capacity * 2 + 16;
        m->docs = realloc(m->docs, m->capacity * sizeof(bson_t *));
    }
    m->docs[m->count++] = mv_bson(doc);
    if (m->most > 0 && m->count > m->most)
        delete (m, 0);
}

static void replace(model *m, uint32_t at, const mv *doc)
{
    bson_destroy(m->docs[at]);
    m->docs[at] = mv_bson(doc);
}

/* ---- indexes ---- */

static bool flag(const mv *spec, const char *name)
{
    const mv *v = mv_get(spec, name);
    return v != NULL && (v->type != BSON_TYPE_BOOL || v->i != 0);
}

static bool is_hashed(const mv *spec)
{
    return mv_get(spec, "key")->items[0]->type == BSON_TYPE_UTF8;
}

/* The keys of one document in an index; -1: it is none of its documents. */
static int index_keys(const mv *spec, const mv *doc, keys *out)
{
    const mv *key = mv_get(spec, "key"), *partial = mv_get(spec, "partialFilterExpression");
    out->count = 0;
    if (partial != NULL && !naive_match(doc, partial, NULL))
        return -1;
    int code = naive_keys(doc, key->names, key->count, out);
    if (code == 0 && is_hashed(spec)) {
        parts p = path_parts(key->names[0]);
        const mv *at = doc;
        for (uint32_t i = 0; i < p.count && at != NULL; i++) {
            at = mv_get(at, p.at[i]);
            if (at != NULL && at->type == BSON_TYPE_ARRAY)
                return 16766;
        }
    }
    return code;
}

static bool share_key(const mv *spec, const keys *a, const keys *b)
{
    bool sparse = flag(spec, "sparse");
    for (uint32_t i = 0; i < a->count; i++) {
        for (uint32_t k = 0; k < b->count; k++) {
            bool same = !sparse || (a->found[i] && b->found[k]);
            for (uint32_t f = 0; f < a->width && same; f++)
                same = naive_compare(a->tuples[i][f], b->tuples[k][f]) == 0;
            if (same)
                return true;
        }
    }
    return false;
}

/* May this document stand at this place (count: be a new one)?  0 or a code. */
static int index_refuses(const model *m, const mv *spec, uint32_t at, const mv *doc)
{
    keys own, other;
    int code = index_keys(spec, doc, &own);
    if (code != 0 || !flag(spec, "unique"))
        return code > 0 ? code : 0;
    for (uint32_t i = 0; i < m->count; i++) {
        if (i != at && index_keys(spec, mv_parse(m->docs[i]), &other) == 0 &&
            share_key(spec, &own, &other))
            return 11000;
    }
    return 0;
}

static int refuses(const model *m, uint32_t at, const mv *doc, answer *a)
{
    int first = 0;
    const mv *id = mv_get(doc, "_id");
    for (uint32_t i = 0; i < m->count; i++) {
        if (i != at && naive_compare(mv_get(mv_parse(m->docs[i]), "_id"), id) == 0)
            first = 11000;
    }
    for (uint32_t i = 0; i < m->index_count; i++) {
        int code = index_refuses(m, mv_parse(m->indexes[i]), at, doc);
        if (code != 0)
            first = first == 0 || first == code ? code : -1;
        if (code != 0 && m->index_on[i] != COPIES) {
            naive_unsure |= a->only >= 0 || a->n > 0;
            a->only = (int)m->index_on[i];
        }
    }
    return first;
}

static void fail(answer *a, int code)
{
    a->failed = true;
    a->code = code > 0 ? code : 0;
}

static void create_index(model *m, const mv *step, answer *a)
{
    const mv *spec = mv_get(step, "index");
    if (m->index_count == sizeof m->indexes / sizeof m->indexes[0]) {
        naive_unsure = true;
        return;
    }
    for (uint32_t i = 0; i < m->index_count; i++)
        naive_unsure |= mv_same_bytes(mv_get(mv_parse(m->indexes[i]), "key"), mv_get(spec, "key"));
    for (uint32_t i = 0; i < m->count && !naive_unsure; i++) {
        const mv *doc = mv_parse(m->docs[i]);
        keys own;
        int code = index_keys(spec, doc, &own);
        if (code == 0)
            code = index_refuses(m, spec, i, doc);
        if (code > 0) {
            a->code = !a->failed || a->code == code ? code : 0;
            a->failed = true;
        }
    }
    if (a->failed || naive_unsure)
        return;
    m->index_on[m->index_count] = flag(spec, "unique") ? COPIES : (uint32_t)mv_get(step, "on")->i;
    m->indexes[m->index_count++] = mv_bson(spec);
}

static void drop_index(model *m, const mv *step)
{
    uint32_t at = (uint32_t)mv_get(step, "drop")->i;
    if (at >= m->index_count)
        return;
    bson_destroy(m->indexes[at]);
    m->index_count--;
    memmove(&m->indexes[at], &m->indexes[at + 1], (m->index_count - at) * sizeof(bson_t *));
    memmove(&m->index_on[at], &m->index_on[at + 1], (m->index_count - at) * sizeof(uint32_t));
}

/* ---- reading ---- */

typedef struct hit {
    uint32_t at;
    int position;
    mv *doc, **key;
} hit;

static uint32_t hits(const model *m, const mv *filter, const mv *sort, hit *out, answer *a)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        hit h = {.at = i, .position = -1, .doc = mv_parse(m->docs[i])};
        if (!naive_match(h.doc, filter, &h.position))
            continue;
        if (sort != NULL && sort->count > 0 && (h.key = naive_sort_key(h.doc, sort)) == NULL)
            fail(a, 2);
        uint32_t k = count++;
        for (; k > 0 && !a->failed && h.key != NULL &&
               naive_sort_compare(out[k - 1].key, h.key, sort) > 0;
             k--)
            out[k] = out[k - 1];
        out[k] = h;
    }
    naive_unsure |= a->failed && count == 1; /* one document needs no sorting */
    return a->failed ? 0 : count;
}

static int64_t whole(const mv *step, const char *name, int64_t none)
{
    const mv *v = mv_get(step, name);
    return v == NULL ? none : v->i;
}

static void find(const model *m, const mv *step, answer *a)
{
    const mv *sort = mv_get(step, "sort"), *projection = mv_get(step, "projection");
    hit *all = pool_get((m->count + 1) * sizeof *all);
    uint32_t count = hits(m, mv_get(step, "find"), sort, all, a);
    int64_t skip = whole(step, "skip", 0), limit = whole(step, "limit", INT64_MAX);
    a->ordered = sort != NULL && sort->count > 0;
    a->natural = !a->ordered && (skip != 0 || limit != INT64_MAX);
    for (int64_t i = skip; i < (int64_t)count && i - skip < limit; i++) {
        mv *doc = all[i].doc;
        if (projection != NULL && projection->count > 0)
            doc = naive_project(doc, projection, all[i].position);
        if (doc != NULL)
            mv_put(a->docs, "", doc);
        else
            fail(a, 51246);
    }
}

static void distinct(const model *m, const mv *step, answer *a)
{
    hit *all = pool_get((m->count + 1) * sizeof *all);
    uint32_t count = hits(m, mv_get(step, "distinct"), NULL, all, a);
    mv *values = mv_new(BSON_TYPE_ARRAY);
    for (uint32_t i = 0; i < count; i++)
        naive_distinct(all[i].doc, (const char *)mv_get(step, "key")->data, values);
    for (uint32_t i = 0; i < values->count; i++) {
        mv *doc = mv_new(BSON_TYPE_DOCUMENT);
        mv_put(doc, "v", values->items[i]);
        mv_put(a->docs, "", doc);
    }
}

/* ---- writing ---- */

static void insert(model *m, const mv *step, answer *a)
{
    const mv *doc = mv_get(step, "insert"), *id = mv_get(doc, "_id");
    if (id == NULL) {
        naive_unsure = true;
        return;
    }
    int code = refuses(m, m->count, doc, a);
    if (id->type == BSON_TYPE_ARRAY || id->type == BSON_TYPE_REGEX)
        fail(a, 0);
    else if (code != 0)
        fail(a, code);
    else
        append(m, doc);
    a->n = !a->failed;
}

static void upsert(model *m, const mv *filter, const mv *step, answer *a, mv **after)
{
    change c = {.position = -1, .is_insert = true, .array_filters = mv_get(step, "arrayFilters")};
    c.doc = naive_upsert_seed(filter, &c.code);
    if (c.doc == NULL) {
        fail(a, c.code);
        return;
    }
    naive_update(&c, mv_get(step, "u"));
    const mv *id = mv_get(c.doc, "_id");
    naive_unsure |= id == NULL && !c.failed; /* generated */
    if (c.failed || naive_unsure) {
        fail(a, c.code);
        return;
    }
    mv *doc = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(doc, "_id", mv_copy(id));
    for (uint32_t i = 0; i < c.doc->count; i++) {
        if (strcmp(c.doc->names[i], "_id") != 0)
            mv_put(doc, c.doc->names[i], c.doc->items[i]);
    }
    int code = refuses(m, m->count, doc, a);
    if (id->type == BSON_TYPE_ARRAY || id->type == BSON_TYPE_REGEX)
        code = -1;
    if (code != 0) {
        fail(a, code);
        return;
    }
    append(m, doc);
    *after = doc;
}

static bool same_length(const mv *a, const mv *b)
{
    bson_t *x = mv_bson(a), *y = mv_bson(b);
    bool same = x->len == y->len;
    bson_destroy(x);
    bson_destroy(y);
    return same;
}

/* Changes one document; what it was and is. */
static bool change_one(model *m, const hit *h, const mv *step, answer *a, mv **after)
{
    change c = {.doc = mv_copy(h->doc),
                .position = h->position,
                .array_filters = mv_get(step, "arrayFilters")};
    naive_update(&c, mv_get(step, "u"));
    if (naive_unsure)
        return false;
    int code = c.failed ? c.code : 0;
    if (!c.failed && m->most > 0 && !same_length(h->doc, c.doc))
        code = 10003; /* capped */
    else if (!c.failed)
        code = refuses(m, h->at, c.doc, a);
    if (c.failed || code != 0) {
        fail(a, code);
        return false;
    }
    a->n++;
    if (!mv_same_bytes(h->doc, c.doc)) {
        a->modified++;
        replace(m, h->at, c.doc);
    }
    *after = c.doc;
    return true;
}

/* A place for `$` is only sure where one plain condition chose it. */
static void check_position(const mv *step, const hit *h)
{
    const mv *u = mv_get(step, "u"), *filter = step->items[0];
    bool used = false;
    for (uint32_t i = 0; u != NULL && u->type == BSON_TYPE_DOCUMENT && i < u->count; i++) {
        for (uint32_t k = 0; u->names[i][0] == '$' && k < u->items[i]->count; k++)
            used |= strstr(u->items[i]->names[k], ".$") != NULL &&
                    strstr(u->items[i]->names[k], ".$[") == NULL;
    }
    const mv *only = filter->count == 1 ? filter->items[0] : NULL;
    if (used && h->position >= 0)
        naive_unsure |= only == NULL || only->count > 1;
}

static bool has_unique(const model *m)
{
    for (uint32_t i = 0; i < m->index_count; i++) {
        if (m->index_on[i] == COPIES)
            return true;
    }
    return false;
}

static void update(model *m, const mv *step, answer *a)
{
    const mv *filter = mv_get(step, "update");
    bool multi = flag(step, "multi");
    hit *all = pool_get((m->count + 1) * sizeof *all);
    uint32_t count = hits(m, filter, NULL, all, a);
    mv *after = NULL;
    for (uint32_t i = 0; i < count && !naive_unsure && (multi || i == 0); i++) {
        check_position(step, &all[i]);
        if (!change_one(m, &all[i], step, a, &after))
            break;
    }
    /* Where one change may refuse another, their order counts. */
    a->natural = count > 1 && (!multi || a->failed || has_unique(m));
    if (count == 0 && flag(step, "upsert"))
        upsert(m, filter, step, a, &after);
}

static void modify(model *m, const mv *step, answer *a)
{
    const mv *filter = mv_get(step, "modify"), *sort = mv_get(step, "sort");
    const mv *projection = mv_get(step, "projection");
    hit *all = pool_get((m->count + 1) * sizeof *all);
    uint32_t count = hits(m, filter, sort, all, a);
    mv *after = NULL, *shown = count > 0 ? all[0].doc : NULL;
    bool new = flag(step, "new");
    a->natural = count > 1 && (sort == NULL || sort->count == 0);
    a->ordered = true;
    if (a->failed)
        return;
    if (mv_get(step, "u") == NULL) {
        if (count > 0)
            delete (m, all[0].at);
    } else if (count > 0) {
        check_position(step, &all[0]);
        if (!change_one(m, &all[0], step, a, &after))
            return;
        shown = new ? after : shown;
    } else if (flag(step, "upsert")) {
        upsert(m, filter, step, a, &after);
        shown = new ? after : NULL;
    }
    a->n = a->modified = 0;
    if (shown != NULL && !a->failed)
        mv_put(a->docs, "",
               projection != NULL && projection->count > 0 ? naive_project(shown, projection, -1)
                                                           : shown);
}

static void remove_docs(model *m, const mv *step, answer *a)
{
    hit *all = pool_get((m->count + 1) * sizeof *all);
    uint32_t count = hits(m, mv_get(step, "remove"), NULL, all, a);
    bool one = flag(step, "one");
    a->natural = one && count > 1;
    a->n = one && count > 1 ? 1 : count;
    for (uint32_t i = (uint32_t)a->n; i-- > 0;)
        delete (m, all[i].at);
}

/* ---- steps ---- */

static void dispatch(model *m, const mv *step, answer *a)
{
    const char *kind = step->names[0];
    if (strcmp(kind, "insert") == 0)
        insert(m, step, a);
    else if (strcmp(kind, "find") == 0)
        find(m, step, a);
    else if (strcmp(kind, "count") == 0) {
        hit *all = pool_get((m->count + 1) * sizeof *all);
        a->n = hits(m, mv_get(step, "count"), NULL, all, a);
    } else if (strcmp(kind, "distinct") == 0)
        distinct(m, step, a);
    else if (strcmp(kind, "update") == 0)
        update(m, step, a);
    else if (strcmp(kind, "modify") == 0)
        modify(m, step, a);
    else if (strcmp(kind, "remove") == 0)
        remove_docs(m, step, a);
    else if (strcmp(kind, "index") == 0)
        create_index(m, step, a);
    else if (strcmp(kind, "drop") == 0)
        drop_index(m, step);
}

/* All documents as they were, for a step that turns out to be undetermined halfway. */
static void restore(model *m, bson_t **docs, uint32_t count)
{
    for (uint32_t i = 0; i < m->count; i++)
        bson_destroy(m->docs[i]);
    free(m->docs);
    m->docs = docs;
    m->count = m->capacity = count;
}

answer model_step(model *m, const mv *step)
{
    answer a = {.docs = mv_new(BSON_TYPE_ARRAY), .only = -1};
    const mv *bad = mv_get(step, "bad");
    naive_unsure = false;
    if (bad != NULL) {
        fail(&a, (int)bad->i);
        return a;
    }
    const mv *u = mv_get(step, "u");
    int wrong = u == NULL ? 0 : naive_update_check(u, mv_get(step, "arrayFilters"));
    if (wrong != 0) {
        fail(&a, wrong);
        return a;
    }
    uint32_t count = m->count;
    bson_t **before = malloc((count + 1) * sizeof(bson_t *));
    for (uint32_t i = 0; i < count; i++)
        before[i] = bson_copy(m->docs[i]);
    dispatch(m, step, &a);
    if (naive_unsure) {
        restore(m, before, count);
    } else {
        for (uint32_t i = 0; i < count; i++)
            bson_destroy(before[i]);
        free(before);
    }
    return a;
}
