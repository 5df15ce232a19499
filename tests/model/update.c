/* SPDX-License-Identifier: Apache-2.0 */
#include "update.h"

#include "unsure.h"

#include <stdlib.h>
#include <string.h>

typedef struct modifier {
    const char *op, *path;
    parts p;
    mv *operand;
} modifier;

void update_fail(change *c, int code)
{
    if (!c->failed) {
        c->failed = true;
        c->code = code;
    }
}

/* These leave a document alone whose path leads through something that is no container. */
static bool may_miss(const char *op)
{
    return strcmp(op, "$unset") == 0 || strncmp(op, "$pull", 5) == 0 || strcmp(op, "$pop") == 0;
}

static void apply(change *c, mv *node, const modifier *m, uint32_t at);

/* The value at one place is replaced by what the modifier makes of it. */
static void apply_here(change *c, mv *node, const modifier *m, uint32_t at, int place)
{
    mv *old = place >= 0 ? node->items[place] : NULL;
    if (at + 1 < m->p.count) {
        apply(c, old, m, at + 1);
        return;
    }
    mv *new = update_value(c, m->op, m->operand, old);
    if (new != NULL)
        node->items[place] = new;
    else if (node->type == BSON_TYPE_ARRAY)
        node->items[place] = mv_new(BSON_TYPE_NULL);
    else
        mv_remove(node, (uint32_t)place);
}

static bool passes(const change *c, const char *id, const mv *item)
{
    size_t len = strlen(id);
    for (uint32_t i = 0; c->array_filters != NULL && i < c->array_filters->count; i++) {
        const mv *filter = c->array_filters->items[i];
        const char *name = filter->names[0];
        if (strncmp(name, id, len) != 0 || (name[len] != '\0' && name[len] != '.'))
            continue;
        mv *box = mv_new(BSON_TYPE_DOCUMENT);
        mv_put(box, id, mv_copy(item));
        return naive_match(box, filter, NULL);
    }
    return false;
}

/* $[] and $[id] */
static void apply_items(change *c, mv *node, const modifier *m, uint32_t at)
{
    const char *part = m->p.at[at];
    char id[32] = "";
    if (node == NULL || node->type != BSON_TYPE_ARRAY) {
        update_fail(c, 2);
        return;
    }
    memcpy(id, part + 2, strlen(part) - 3);
    for (uint32_t i = 0; i < node->count && !c->failed; i++) {
        if (id[0] == '\0' || passes(c, id, node->items[i]))
            apply_here(c, node, m, at, (int)i);
    }
}

/* What is missing from here on is made of documents. */
static mv *create(change *c, const modifier *m, uint32_t at)
{
    if (at == m->p.count)
        return update_value(c, m->op, m->operand, NULL);
    if (m->p.at[at][0] == '$') {
        update_fail(c, 2);
        return NULL;
    }
    mv *inner = create(c, m, at + 1);
    if (inner == NULL)
        return NULL;
    mv *v = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(v, m->p.at[at], inner);
    return v;
}

static void apply_missing(change *c, mv *node, const modifier *m, uint32_t at, const char *name)
{
    uint32_t index = 0;
    mv *v = create(c, m, at + 1);
    if (v == NULL || c->failed)
        return;
    if (node->type == BSON_TYPE_DOCUMENT) {
        mv_put(node, name, v);
        return;
    }
    is_index(name, &index);
    while (node->count < index)
        mv_put(node, "", mv_new(BSON_TYPE_NULL));
    mv_put(node, "", v);
}

static void apply(change *c, mv *node, const modifier *m, uint32_t at)
{
    const char *name = m->p.at[at];
    uint32_t index;
    if (name[0] == '$' && name[1] == '[') {
        apply_items(c, node, m, at);
        return;
    }
    if (strcmp(name, "$") == 0) {
        if (c->position < 0) {
            update_fail(c, 2);
            return;
        }
        name = pool_print("%d", c->position);
    }
    if (!mv_is_container(node) || (node->type == BSON_TYPE_ARRAY && !is_index(name, &index))) {
        bool list = false;
        for (uint32_t i = at; i < m->p.count; i++)
            list |= m->p.at[i][0] == '$';
        if (list || !may_miss(m->op))
            update_fail(c, list ? 0 : 28);
        return;
    }
    int place = mv_find(node, name);
    if (place >= 0)
        apply_here(c, node, m, at, place);
    else
        apply_missing(c, node, m, at, name);
}

/* ---- $rename ---- */

/* The container of the last part; NULL when it is missing or an array is on the way. */
static mv *plain_parent(change *c, mv *doc, const parts *p)
{
    for (uint32_t i = 0; i + 1 < p->count; i++) {
        mv *next = mv_get(doc, p->at[i]);
        if (next == NULL || next->type == BSON_TYPE_ARRAY) {
            naive_unsure |= next != NULL;
            return NULL;
        }
        if (next->type != BSON_TYPE_DOCUMENT) {
            (void)c;
            return NULL;
        }
        doc = next;
    }
    return doc;
}

static void rename_field(change *c, const modifier *m)
{
    parts from = path_parts(m->path), to = path_parts((const char *)m->operand->data);
    mv *parent = plain_parent(c, c->doc, &from);
    int place = parent == NULL ? -1 : mv_find(parent, from.at[from.count - 1]);
    if (place < 0)
        return;
    for (uint32_t i = 1; i < to.count; i++) {
        mv *on_way = c->doc;
        for (uint32_t k = 0; k < i && on_way != NULL; k++)
            on_way = mv_get(on_way, to.at[k]);
        naive_unsure |= on_way != NULL && on_way->type == BSON_TYPE_ARRAY;
    }
    modifier set = {"$set", NULL, to, mv_copy(parent->items[place])};
    apply(c, c->doc, &set, 0);
    place = mv_find(parent, from.at[from.count - 1]);
    if (!c->failed && place >= 0)
        mv_remove(parent, (uint32_t)place);
}

/* ---- all modifiers ---- */

static int order_part(const char *a, const char *b)
{
    uint32_t x, y;
    bool p = is_index(a, &x), q = is_index(b, &y);
    if (p && q)
        return (x > y) - (x < y);
    return p != q ? (p ? -1 : 1) : strcmp(a, b);
}

static parts place_of(const modifier *m)
{
    return strcmp(m->op, "$rename") == 0 ? path_parts((const char *)m->operand->data) : m->p;
}

/* Fields are made in the order of their names, numbers by value. */
static int by_path(const void *a, const void *b)
{
    parts p = place_of(a), q = place_of(b);
    for (uint32_t i = 0; i < p.count && i < q.count; i++) {
        int c = order_part(p.at[i], q.at[i]);
        if (c != 0)
            return c;
    }
    return (p.count > q.count) - (p.count < q.count);
}

static bool overlap(const parts *p, const parts *q)
{
    for (uint32_t i = 0; i < p->count && i < q->count; i++) {
        bool items = strncmp(p->at[i], "$[", 2) == 0;
        if (items != (strncmp(q->at[i], "$[", 2) == 0))
            return true; /* all items of an array beside a field or a place */
        if (strcmp(p->at[i], q->at[i]) != 0)
            return false;
    }
    return true;
}

static bool conflicts(const modifier *all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        parts to = place_of(&all[i]);
        if (strcmp(all[i].op, "$rename") == 0 && overlap(&all[i].p, &to))
            return true;
        for (uint32_t k = 0; k < i; k++) {
            parts p = place_of(&all[i]), q = place_of(&all[k]);
            if (overlap(&p, &q) || overlap(&all[i].p, &all[k].p) || overlap(&p, &all[k].p) ||
                overlap(&all[i].p, &q))
                return true;
        }
    }
    return false;
}

/* Items that a filter chooses, and all items: whether they conflict depends on the document, which
 * the modifiers here, one after the other, do not notice. */
static bool may_meet(const parts *p, const parts *q)
{
    bool differs = false;
    for (uint32_t i = 0; i < p->count && i < q->count; i++) {
        bool items = strncmp(p->at[i], "$[", 2) == 0 && strncmp(q->at[i], "$[", 2) == 0;
        bool same = strcmp(p->at[i], q->at[i]) == 0;
        if (!same && !items)
            return false;
        differs |= !same;
    }
    return differs;
}

static bool some_may_meet(const modifier *all, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < i; k++) {
            if (may_meet(&all[i].p, &all[k].p))
                return true;
        }
    }
    return false;
}

static void replace_whole(change *c, const mv *update)
{
    mv *id = mv_get(c->doc, "_id"), *new_id = mv_get(update, "_id");
    mv *doc = mv_new(BSON_TYPE_DOCUMENT);
    if (id != NULL && new_id != NULL && !mv_same_bytes(mv_get(c->doc, "_id"), new_id) &&
        naive_compare(id, new_id) != 0)
        update_fail(c, 66);
    if (id != NULL || new_id != NULL)
        mv_put(doc, "_id", id != NULL ? id : mv_copy(new_id));
    for (uint32_t i = 0; i < update->count; i++) {
        if (strcmp(update->names[i], "_id") != 0)
            mv_put(doc, update->names[i], mv_copy(update->items[i]));
    }
    c->doc = doc;
}

static uint32_t list_modifiers(const mv *update, modifier *all)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < update->count; i++) {
        const mv *fields = update->items[i];
        for (uint32_t k = 0; k < fields->count; k++) {
            const char *path = fields->names[k];
            all[count++] = (modifier){update->names[i], path, path_parts(path), fields->items[k]};
        }
    }
    return count;
}

int naive_update_check(const mv *update, const mv *array_filters)
{
    modifier all[32];
    bool used = false;
    if (update->type == BSON_TYPE_ARRAY)
        return 0;
    if (update->count == 0 || update->names[0][0] != '$')
        return array_filters != NULL ? 9 : 0;
    uint32_t count = list_modifiers(update, all);
    for (uint32_t i = 0; i < count; i++)
        used |= strstr(all[i].path, "$[x]") != NULL;
    if (array_filters != NULL && !used)
        return 9;
    return conflicts(all, count) ? 40 : 0;
}

void naive_update(change *c, const mv *update)
{
    modifier all[32];
    if (update->type == BSON_TYPE_ARRAY) {
        naive_pipeline(c, update);
        return;
    }
    if (update->count == 0 || update->names[0][0] != '$') {
        replace_whole(c, update);
        return;
    }
    uint32_t count = list_modifiers(update, all);
    mv *id = mv_get(c->doc, "_id") == NULL ? NULL : mv_copy(mv_get(c->doc, "_id"));
    naive_unsure |= some_may_meet(all, count);
    qsort(all, count, sizeof all[0], by_path);
    for (uint32_t i = 0; i < count && !c->failed; i++) {
        if (strcmp(all[i].op, "$setOnInsert") == 0 && !c->is_insert) {
            naive_unsure |= strchr(all[i].path, '$') != NULL;
            continue;
        }
        if (strcmp(all[i].op, "$rename") == 0)
            rename_field(c, &all[i]);
        else
            apply(c, c->doc, &all[i], 0);
    }
    mv *new_id = mv_get(c->doc, "_id");
    if (!c->failed && id != NULL && (new_id == NULL || !mv_same_bytes(id, new_id)))
        naive_compare(id, new_id == NULL ? mv_new(BSON_TYPE_NULL) : new_id) == 0
            ? (void)(naive_unsure = true)
            : update_fail(c, 66);
    if (c->failed && count > 1)
        c->code = 0; /* which of several comes first is nowhere said */
}

/* ---- upserts ---- */

typedef struct seeds {
    change c;
    const char *paths[32];
    const mv *values[32];
    uint32_t count;
} seeds;

/* Each path is given once, and none below another. */
static void seed_field(seeds *s, const char *path, mv *v)
{
    modifier m = {"$set", path, path_parts(path), mv_copy(v)};
    for (uint32_t i = 0; i < s->count; i++) {
        parts other = path_parts(s->paths[i]);
        if (overlap(&m.p, &other)) {
            naive_unsure |= naive_compare(v, s->values[i]) == 0; /* twice the same */
            update_fail(&s->c, 54);
        }
    }
    if (s->c.failed || s->count == 32)
        return;
    s->values[s->count] = v;
    s->paths[s->count++] = path;
    apply(&s->c, s->c.doc, &m, 0);
}

static void seed_operators(seeds *s, const char *path, const mv *conditions)
{
    for (uint32_t i = 0; i < conditions->count; i++) {
        const char *op = conditions->names[i];
        mv *v = conditions->items[i];
        if (strcmp(op, "$eq") == 0)
            seed_field(s, path, v);
        else if (strcmp(op, "$in") == 0)
            naive_unsure |= v->count == 1;
        for (uint32_t k = 0; strcmp(op, "$all") == 0 && k < v->count; k++) {
            for (uint32_t j = 0; j < k; j++)
                naive_unsure |= naive_compare(v->items[j], v->items[k]) == 0;
            if (v->items[k]->type != BSON_TYPE_REGEX && !naive_is_operators(v->items[k]))
                seed_field(s, path, v->items[k]);
        }
    }
}

static void seed(seeds *s, const mv *filter)
{
    for (uint32_t i = 0; i < filter->count; i++) {
        mv *v = filter->items[i];
        const char *name = filter->names[i];
        if (strcmp(name, "$and") == 0) {
            for (uint32_t k = 0; k < v->count; k++)
                seed(s, v->items[k]);
        } else if (name[0] == '$') {
            naive_unsure |= strcmp(name, "$or") == 0 && v->count == 1;
        } else if (naive_is_operators(v)) {
            seed_operators(s, name, v);
        } else if (v->type != BSON_TYPE_REGEX) {
            seed_field(s, name, v);
        }
    }
}

mv *naive_upsert_seed(const mv *filter, int *code)
{
    seeds s = {.c = {.doc = mv_new(BSON_TYPE_DOCUMENT), .position = -1}};
    seed(&s, filter);
    *code = s.c.code;
    return s.c.failed ? NULL : s.c.doc;
}
