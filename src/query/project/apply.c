/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over tree and document.  Fields that are there come in the document's order, what is
 * computed and $elemMatch behind them, as the server has it. */
#include "query/project/node.h"

#include "base/budget.h"
#include "bson/path.h"

#include <string.h>

typedef struct run {
    const ash_projection *projection;
    ash_doc root;
    int32_t array_index;
    ash_arena *arena;
    ash_builder *out;
    ash_error *err;
} run;

static int apply_doc(run *r, const ash_project_node *n, ash_doc doc, bool cut);
static int apply_array(run *r, const ash_project_node *n, ash_doc items, bool cut);

/* Paths and computed values decide how deep and how large the result becomes. */
static int may_grow(const run *r)
{
    return ash__builder_check(r->out, "a projection", r->err);
}

static int append_computed(run *r, const char *name, const ash_project_node *n)
{
    ash_value v = ASH_VALUE_MISSING;
    int rc = ash__expr_eval(n->expr, r->root, NULL, r->arena, &v, r->err);
    if (rc != 0)
        return rc;
    ash__builder_value(r->out, name, v);
    return may_grow(r);
}

static void append_slice(run *r, const ash_project_node *n, const char *name, ash_doc items)
{
    int64_t count = ash__doc_count(items);
    int64_t skip = n->skip >= 0 ? n->skip : count + n->skip;
    /* Farther back than the array is long. */
    if (skip < 0)
        skip = 0;
    ash__builder_begin_array(r->out, name);
    int64_t at = 0;
    uint32_t kept = 0;
    for (ash_doc_iter it = ash__doc_iter(items); ash__doc_iter_next(&it); at++)
        if (at >= skip && kept < n->limit)
            ash__builder_item(r->out, kept++, it.value);
    ash__builder_end(r->out);
}

static bool element_at(ash_doc items, int32_t index, ash_value *out)
{
    *out = index < 0 ? ASH_VALUE_MISSING : ash__array_at(items, (uint32_t)index);
    return !ash__value_is_missing(*out);
}

static void append_one(run *r, const char *name, ash_value item)
{
    ash__builder_begin_array(r->out, name);
    ash__builder_item(r->out, 0, item);
    ash__builder_end(r->out);
}

/* Only fields of the root have $elemMatch. */
static int append_elem_match(run *r, const ash_project_node *n, ash_value v)
{
    ash_match_details details;
    ash_value item;
    bool matches = false;
    if (v.type != BSON_TYPE_ARRAY)
        return 0;
    int rc = ash__matcher_check(n->elem_match, r->root, &details, &matches, r->err);
    if (matches && element_at(ash__value_doc(v), details.array_index, &item))
        append_one(r, n->name, item);
    return rc;
}

static int matched_element(run *r, ash_doc items, ash_value *out)
{
    if (r->array_index < 0)
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_LOCATION_POSITIONAL_NO_MATCH,
                                "positional operator '.$' couldn't find a matching element in the "
                                "array");
    if (!element_at(items, r->array_index, out))
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_LOCATION_POSITIONAL_MISMATCH,
                                "positional operator '.$' element mismatch");
    return 0;
}

/* The positional array keeps one element, which the rest of the path then goes into. */
static int apply_cut(run *r, const ash_project_node *n, const char *name, ash_doc items)
{
    ash_value element;
    int rc = matched_element(r, items, &element);
    if (rc != 0)
        return rc;
    if (n->kind != ASH_PROJECT_TREE) {
        append_one(r, name, element);
        return 0;
    }
    /* The rest of the path takes arrays, so the element becomes one of one item. */
    ash_builder one = ASH_BUILDER_INIT;
    ash__builder_begin(&one);
    ash__builder_item(&one, 0, element);
    ash__builder_end(&one);
    ash__builder_begin_array(r->out, name);
    rc = apply_array(r, n, ash__builder_doc(&one), false);
    ash__builder_end(r->out);
    ash__builder_release(&one);
    return rc;
}

static int apply_tree(run *r, const ash_project_node *n, const char *name, ash_value v, bool cut)
{
    int rc = may_grow(r);
    if (rc != 0)
        return rc;
    if (v.type == BSON_TYPE_DOCUMENT) {
        ash__builder_begin_doc(r->out, name);
        rc = apply_doc(r, n, ash__value_doc(v), cut);
        ash__builder_end(r->out);
    } else if (v.type == BSON_TYPE_ARRAY) {
        ash__builder_begin_array(r->out, name);
        rc = apply_array(r, n, ash__value_doc(v), cut);
        ash__builder_end(r->out);
    } else if (n->has_computed) {
        /* What is to be computed below needs a document around it. */
        ash__builder_begin_doc(r->out, name);
        rc = apply_doc(r, n, ash__doc_empty, cut);
        ash__builder_end(r->out);
    } else if (r->projection->exclusion) {
        /* There is nothing below it that could be left out. */
        ash__builder_value(r->out, name, v);
    }
    return rc;
}

/* An existing field, where the document has it. */
static int apply_field(run *r, const ash_project_node *n, const char *name, ash_value v, bool cut)
{
    bool is_array = v.type == BSON_TYPE_ARRAY;
    /* The first array on the way is the one that the position belongs to. */
    if (cut && n->positional && is_array)
        return apply_cut(r, n, name, ash__value_doc(v));
    switch (n->kind) {
    case ASH_PROJECT_TREE:
        return apply_tree(r, n, name, v, cut && n->positional);
    case ASH_PROJECT_INCLUDE:
        ash__builder_value(r->out, name, v);
        return 0;
    case ASH_PROJECT_SLICE:
        if (is_array)
            append_slice(r, n, name, ash__value_doc(v));
        else
            ash__builder_value(r->out, name, v);
        return 0;
    default: /* excluded, or appended behind the existing fields */
        return 0;
    }
}

/* Array items that are no documents are left out of an inclusion, and replaced where something is
 * computed below them. */
static int apply_array(run *r, const ash_project_node *n, ash_doc items, bool cut)
{
    uint32_t at = 0;
    int rc = 0;
    char name[12];
    for (ash_doc_iter it = ash__doc_iter(items); rc == 0 && ash__doc_iter_next(&it);) {
        bool is_nested = it.value.type == BSON_TYPE_DOCUMENT || it.value.type == BSON_TYPE_ARRAY;
        if (is_nested || n->has_computed || r->projection->exclusion)
            rc = apply_tree(r, n, ash__index_name(at++, name), it.value, cut);
    }
    return rc;
}

static int append_late(run *r, const ash_project_node *n, ash_doc doc)
{
    int rc = 0;
    for (uint32_t i = 0; i < n->count; i++) {
        const ash_project_node *child = n->children[i];
        if (rc == 0)
            rc = ash__budget_step(r->err);
        if (rc != 0)
            return rc;
        if (child->kind == ASH_PROJECT_COMPUTED) {
            rc = append_computed(r, child->name, child);
        } else if (child->kind == ASH_PROJECT_ELEM_MATCH) {
            rc = append_elem_match(r, child, ash__doc_get(doc, child->name));
        } else if (child->has_computed && ash__value_is_missing(ash__doc_get(doc, child->name))) {
            if ((rc = may_grow(r)) != 0)
                return rc;
            ash__builder_begin_doc(r->out, child->name);
            rc = apply_doc(r, child, ash__doc_empty, false);
            ash__builder_end(r->out);
        }
    }
    return rc;
}

static int apply_doc(run *r, const ash_project_node *n, ash_doc doc, bool cut)
{
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(doc); rc == 0 && ash__doc_iter_next(&it);) {
        const ash_project_node *child = ash__project_node_find(n, it.name, it.name_len);
        rc = ash__budget_step(r->err);
        if (rc != 0)
            return rc;
        if (child != NULL)
            rc = apply_field(r, child, it.name, it.value, cut);
        else if (r->projection->exclusion)
            ash__builder_element(r->out, &it);
    }
    return rc == 0 ? append_late(r, n, doc) : rc;
}

int ash__projection_apply(const ash_projection *p, ash_doc doc, const ash_match_details *details,
                          ash_builder *out, ash_error *err)
{
    run r = {.projection = p,
             .root = doc,
             .array_index = details == NULL ? -1 : details->array_index,
             .out = out,
             .err = err};
    if (p->has_computed)
        r.arena = ash__arena_new();
    ash__builder_begin(out);
    int rc = apply_doc(&r, p->root, doc, p->needs_details);
    /* After a failure the builder may be left inside a document. */
    while (out->depth > 0)
        ash__builder_end(out);
    ash__arena_free(r.arena);
    return rc;
}
