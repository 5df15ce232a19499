/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over tree and document. */
#include "query/update/node.h"

#include "base/budget.h"
#include "base/mem.h"
#include "query/kit/value_text.h"

#include <stdlib.h>
#include <string.h>

/* The server's limit. */
#define MAX_PADDING 1500000

/* The branches of the tree that lead to one place. */
struct set {
    const ash_update_node **nodes;
    uint32_t count;
};

/* A name below a set, with the branches behind it. */
struct group {
    const char *name;
    struct set set;
    bool seen;
};

struct groups {
    struct group *list;
    uint32_t count;
};

static int apply_at(ash_update_run *r, struct set s, const char *name, uint32_t name_len,
                    ash_value old);

/* Does any branch of the set make a field where it is missing?  A $rename looks through the whole
 * document for that. */
static int set_creates(const ash_update_run *r, struct set s, bool *creates)
{
    int rc = 0;
    *creates = false;
    for (uint32_t i = 0; rc == 0 && !*creates && i < s.count; i++) {
        const ash_update_node *n = s.nodes[i];
        rc = ash__budget_step(r->err);
        *creates = n->kind == ASH_UPDATE_ITEMS ||
                   (rc == 0 && n->kind == ASH_UPDATE_LEAF && ash__mod_creates(n->mod, r));
        for (uint32_t k = 0; rc == 0 && !*creates && k < n->count; k++) {
            const ash_update_node *child = n->children[k];
            rc = set_creates(r, (struct set){&child, 1}, creates);
        }
    }
    return rc;
}

static void add_to_group(ash_update_run *r, struct group *g, const ash_update_node *n)
{
    uint32_t count = g->set.count;
    /* Room for the next power of two; a full list is copied. */
    if ((count & (count - 1)) == 0) {
        size_t room = count == 0 ? 1 : 2 * (size_t)count;
        const ash_update_node **nodes = ash__arena_alloc(r->arena, room * sizeof *nodes);
        if (count > 0)
            memcpy(nodes, g->set.nodes, count * sizeof *nodes);
        g->set.nodes = nodes;
    }
    g->set.nodes[g->set.count++] = n;
}

static int by_name(const void *a, const void *b)
{
    const struct group *x = a, *y = b;
    return ash__field_order(x->name, y->name);
}

static int position_name(ash_update_run *r, const char **out)
{
    char buf[12];
    if (r->position < 0)
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The positional operator did not find the match needed from the "
                                "query.");
    const char *name = ash__index_name((uint32_t)r->position, buf);
    *out = ash__arena_text(r->arena, name, strlen(name));
    return 0;
}

/* Equal names next to each other become one group. */
static void merge_groups(ash_update_run *r, struct groups *g)
{
    uint32_t kept = 0;
    qsort(g->list, g->count, sizeof *g->list, by_name);
    for (uint32_t i = 0; i < g->count; i++) {
        if (kept > 0 && strcmp(g->list[kept - 1].name, g->list[i].name) == 0)
            add_to_group(r, &g->list[kept - 1], g->list[i].set.nodes[0]);
        else
            g->list[kept++] = g->list[i];
    }
    g->count = kept;
}

/* The names below all nodes of a set, in the order in which new fields are made. */
static int collect_groups(ash_update_run *r, struct set s, struct groups *out)
{
    uint32_t total = 0;
    /* The names of one node are in order; a `$` gets its place only when its position is known. */
    bool sorted = s.count == 1;
    for (uint32_t i = 0; i < s.count; i++)
        total += s.nodes[i]->count;
    *out = (struct groups){ash__arena_alloc(r->arena, total * sizeof *out->list), 0};
    for (uint32_t i = 0; i < s.count; i++) {
        const ash_update_node *n = s.nodes[i];
        for (uint32_t k = 0; k < n->count; k++) {
            const char *name = n->names[k];
            if (strcmp(name, "$") == 0) {
                int rc = position_name(r, &name);
                if (rc != 0)
                    return rc;
                sorted = false;
            }
            struct group *g = &out->list[out->count++];
            *g = (struct group){.name = name};
            add_to_group(r, g, n->children[k]);
        }
    }
    if (!sorted)
        merge_groups(r, out);
    return 0;
}

static struct group *find_group(struct groups *g, const char *name)
{
    struct group key = {.name = name};
    return bsearch(&key, g->list, g->count, sizeof *g->list, by_name);
}

static int apply_fields(ash_update_run *r, struct groups *g, ash_doc old)
{
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(old); rc == 0 && ash__doc_iter_next(&it);) {
        struct group *hit = find_group(g, it.name);
        /* Of several fields of one name only the first changes. */
        if (hit == NULL || hit->seen) {
            ash__builder_element(r->out, &it);
            continue;
        }
        hit->seen = true;
        rc = apply_at(r, hit->set, it.name, it.name_len, it.value);
    }
    for (uint32_t i = 0; rc == 0 && i < g->count; i++) {
        struct group *fresh = &g->list[i];
        if (!fresh->seen)
            rc = apply_at(r, fresh->set, fresh->name, (uint32_t)strlen(fresh->name),
                          ASH_VALUE_MISSING);
    }
    return rc;
}

/* A position: digits without leading zeros. */
static bool as_index(const char *name, int64_t *out)
{
    size_t len = strlen(name);
    if (len == 0 || len > 9 || strspn(name, "0123456789") != len || (len > 1 && name[0] == '0'))
        return false;
    *out = strtol(name, NULL, 10);
    return true;
}

/* An element of an array: removing it leaves null, so that the others keep their places. */
static int apply_item(ash_update_run *r, struct set s, uint32_t index, ash_value old)
{
    char buf[12];
    size_t before = r->out->buf.len;
    const char *name = ash__index_name(index, buf);
    int rc = apply_at(r, s, name, (uint32_t)strlen(name), old);
    if (rc == 0 && r->out->buf.len == before)
        ash__builder_null(r->out, name);
    return rc;
}

static int cannot_create(ash_update_run *r, const char *field, const char *name, ash_value old)
{
    char text[ASH_TEXT_BYTES];
    return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_PATH_NOT_VIABLE,
                            "Cannot create field '%s' in element %s", field,
                            ash__element_text(name, old, text, sizeof text));
}

/* One value may go to many places, so the result is looked at while it grows. */
static int check_growth(const ash_update_run *r)
{
    if (r->out->buf.len <= ASH_DOC_MAX_BYTES + ASH_DOC_SLACK_BYTES)
        return 0;
    return ash__fail_server(r->err, ASH_ETOOBIG, ASH_MONGO_LOCATION_UPDATED_DOCUMENT_TOO_LARGE,
                            "Resulting document after update is larger than %d", ASH_DOC_MAX_BYTES);
}

static int grow_array(ash_update_run *r, struct group *g, uint32_t *len)
{
    int64_t index;
    char name[12];
    bool creates;
    as_index(g->name, &index);
    int rc = set_creates(r, g->set, &creates);
    if (rc != 0 || !creates)
        return rc;
    if (index - *len > MAX_PADDING)
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "can't backfill more than %d elements, requested %lld", MAX_PADDING,
                                (long long)(index - *len));
    while (*len < index)
        ash__builder_null(r->out, ash__index_name((*len)++, name));
    rc = check_growth(r);
    if (rc != 0)
        return rc;
    (*len)++;
    return apply_item(r, g->set, (uint32_t)index, ASH_VALUE_MISSING);
}

static int apply_positions(ash_update_run *r, struct groups *g, const char *name, ash_value old)
{
    uint32_t len = 0;
    int64_t index;
    int rc = 0;
    for (uint32_t i = 0; i < g->count; i++) {
        bool creates = false;
        /* Before anything is written: an array has no fields, and none can be made in it. */
        if (!as_index(g->list[i].name, &index))
            rc = set_creates(r, g->list[i].set, &creates);
        if (rc != 0 || creates)
            return rc != 0 ? rc : cannot_create(r, g->list[i].name, name, old);
    }
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(old)); rc == 0 && ash__doc_iter_next(&it);
         len++) {
        char index_text[12];
        /* By the name that the position has here: the array's own names may be anything. */
        struct group *hit = find_group(g, ash__index_name(len, index_text));
        if (hit == NULL) {
            ash__builder_item(r->out, len, it.value);
        } else {
            hit->seen = true;
            rc = apply_item(r, hit->set, len, it.value);
        }
    }
    for (uint32_t i = 0; rc == 0 && i < g->count; i++) {
        if (!g->list[i].seen && as_index(g->list[i].name, &index))
            rc = grow_array(r, &g->list[i], &len);
    }
    return rc;
}

static int filter_matches(ash_update_run *r, const char *identifier, ash_value item, bool *hit)
{
    ash_builder b = ASH_BUILDER_INIT;
    *hit = identifier[0] == '\0';
    if (*hit)
        return 0;
    for (uint32_t i = 0; i < r->u->filter_count; i++) {
        const ash_array_filter *f = &r->u->filters[i];
        if (strcmp(f->name, identifier) != 0)
            continue;
        ash__builder_begin(&b);
        ash__builder_value(&b, identifier, item);
        ash__builder_end(&b);
        int rc = ash__matcher_check(f->matcher, ash__builder_doc(&b), NULL, hit, r->err);
        ash__builder_release(&b);
        return rc;
    }
    return 0;
}

/* Which branches of the set go on into an item. */
static int match_filters(ash_update_run *r, struct set s, ash_value item, struct group *hits)
{
    bool hit;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < s.count; i++) {
        for (uint32_t k = 0; rc == 0 && k < s.nodes[i]->count; k++) {
            rc = filter_matches(r, s.nodes[i]->names[k], item, &hit);
            if (rc == 0 && hit)
                /* An item that several filters meet gets the modifiers of all of them at once. */
                add_to_group(r, hits, s.nodes[i]->children[k]);
        }
    }
    return rc;
}

/* The way to where the update is at work, with dots; what does not fit is left out in front. */
static const char *dotted_place(const ash_update_run *r, char out[ASH_TEXT_BYTES])
{
    size_t at = ASH_TEXT_BYTES - 1;
    out[at] = 0;
    for (const ash_update_place *p = r->place; p != NULL; p = p->outer) {
        size_t len = strlen(p->name), dot = out[at] != 0;
        if (len + dot > at)
            break;
        at -= len + dot;
        memcpy(out + at, p->name, len);
        if (dot)
            out[at + len] = '.';
    }
    return out + at;
}

static int apply_items(ash_update_run *r, struct set s, const char *name, ash_value old)
{
    char text[ASH_TEXT_BYTES];
    uint32_t index = 0;
    int rc = 0;
    if (ash__value_is_missing(old))
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The path '%s' must exist in the document in order to apply array "
                                "updates.",
                                dotted_place(r, text));
    if (old.type != BSON_TYPE_ARRAY)
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Cannot apply array updates to non-array element %s: %s", name,
                                ash__value_text(old, text, sizeof text));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(old)); rc == 0 && ash__doc_iter_next(&it);
         index++) {
        struct group hits = {.name = name};
        rc = match_filters(r, s, it.value, &hits);
        if (rc == 0 && hits.set.count == 0)
            ash__builder_item(r->out, index, it.value);
        else if (rc == 0)
            rc = apply_item(r, hits.set, index, it.value);
    }
    return rc;
}

static int apply_leaf(ash_update_run *r, const ash_mod *m, const char *name, uint32_t name_len,
                      ash_value old)
{
    ash_value v = old;
    int rc = ash__budget_step(r->err);
    if (rc == 0)
        rc = m->op->apply(m, r, old, &v);
    /* Modifiers allocate without asking; this is looked at after each. */
    if (rc == 0 && ash__arena_used(r->arena) > ASH_EXPR_MAX_ARENA_BYTES)
        return ash__fail_server(r->err, ASH_ENOMEM, ASH_MONGO_EXCEEDED_MEMORY_LIMIT,
                                "update takes too much memory");
    if (rc != 0 || ash__value_is_missing(v))
        return rc;
    ash__builder_value_n(r->out, name, name_len, v);
    return check_growth(r);
}

/* Several branches at one place: none may end there unless it is alone. */
static int check_set(ash_update_run *r, struct set s)
{
    char text[ASH_TEXT_BYTES];
    for (uint32_t i = 0; i < s.count; i++) {
        if (s.nodes[i]->kind == ASH_UPDATE_LEAF || s.nodes[i]->kind != s.nodes[0]->kind)
            return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_CONFLICTING_UPDATE_OPERATORS,
                                    "Update created a conflict at '%s'", dotted_place(r, text));
    }
    return 0;
}

/* Below a field that is there and no array, or that has to be made. */
static int apply_document(ash_update_run *r, struct set s, const char *name, ash_value old)
{
    struct groups groups;
    int rc = collect_groups(r, s, &groups);
    if (rc != 0)
        return rc;
    if (old.type == BSON_TYPE_ARRAY) {
        ash__builder_begin_array(r->out, name);
        rc = apply_positions(r, &groups, name, old);
    } else {
        ash__builder_begin_doc(r->out, name);
        rc = apply_fields(r, &groups,
                          old.type == BSON_TYPE_DOCUMENT ? ash__value_doc(old) : ash__doc_empty);
    }
    ash__builder_end(r->out);
    return rc;
}

static int apply_here(ash_update_run *r, struct set s, const char *name, uint32_t name_len,
                      ash_value old)
{
    int rc = s.count > 1 ? check_set(r, s) : 0;
    if (rc != 0)
        return rc;
    if (s.nodes[0]->kind == ASH_UPDATE_LEAF)
        return apply_leaf(r, s.nodes[0]->mod, name, name_len, old);
    if (s.nodes[0]->kind == ASH_UPDATE_ITEMS) {
        ash__builder_begin_array(r->out, name);
        rc = apply_items(r, s, name, old);
        ash__builder_end(r->out);
        return rc;
    }
    if (old.type == BSON_TYPE_DOCUMENT || old.type == BSON_TYPE_ARRAY)
        return apply_document(r, s, name, old);
    bool creates;
    rc = set_creates(r, s, &creates);
    if (rc != 0)
        return rc;
    /* Nothing is made below, so that what stands in the way may stay. */
    if (!creates) {
        ash__builder_value_n(r->out, name, name_len, old);
        return 0;
    }
    if (ash__value_is_missing(old))
        return apply_document(r, s, name, old);
    /* A `$` without a position is the first thing to complain of. */
    struct groups groups;
    rc = collect_groups(r, s, &groups);
    return rc != 0 ? rc : cannot_create(r, groups.list[0].name, name, old);
}

static int apply_at(ash_update_run *r, struct set s, const char *name, uint32_t name_len,
                    ash_value old)
{
    /* On the stack: a chain of places that costs nothing unless a message asks for it. */
    ash_update_place place = {r->place, name};
    r->place = &place;
    int rc = apply_here(r, s, name, name_len, old);
    r->place = place.outer;
    return rc;
}

int ash__update_apply_tree(ash_update_run *r, const ash_update_node *root)
{
    struct groups groups;
    int rc = collect_groups(r, (struct set){&root, 1}, &groups);
    ash__builder_begin(r->out);
    if (rc == 0)
        rc = apply_fields(r, &groups, r->doc);
    /* After a failure the builder may be left inside a document. */
    while (r->out->depth > 0)
        ash__builder_end(r->out);
    return rc;
}
