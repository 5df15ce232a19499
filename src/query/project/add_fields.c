/* SPDX-License-Identifier: Apache-2.0 */
/* A tree of names, walked together with the document: what the tree does not name is copied as it
 * is. */
#include "query/project/add_fields.h"

#include "base/budget.h"
#include "base/mem.h"
#include "bson/path.h"

#include <string.h>

struct node {
    char *name;
    ash_expr *expr; /* NULL: children */
    struct node **children;
    uint32_t count;
};

struct ash_add_fields {
    struct node *root;
};

struct run {
    ash_doc root;
    ash_arena *arena;
    ash_builder *out;
    ash_error *err;
};

struct parser {
    const char *stage;
    const ash_query_env *env;
    ash_error *err;
};

static void free_node(struct node *n)
{
    if (n == NULL)
        return;
    for (uint32_t i = 0; i < n->count; i++)
        free_node(n->children[i]);
    ash__expr_free(n->expr);
    ash__free(n->children);
    ash__free(n->name);
    ash__free(n);
}

static struct node *find_child(const struct node *n, const char *name, size_t len)
{
    for (uint32_t i = 0; i < n->count; i++) {
        if (strncmp(n->children[i]->name, name, len) == 0 && n->children[i]->name[len] == '\0')
            return n->children[i];
    }
    return NULL;
}

static struct node *add_child(struct node *n, const char *name, size_t len)
{
    struct node *child = ash__new(struct node);
    child->name = ash__strndup(name, len);
    n->children = ash__realloc_array(n->children, n->count + 1, sizeof(struct node *));
    n->children[n->count++] = child;
    return child;
}

static int collision(struct parser *p, const char *path)
{
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_ADD_FIELDS_CONFLICT,
                            "Invalid %s :: caused by :: specification contains two conflicting "
                            "paths. Cannot specify both '%s' and a path above or below it",
                            p->stage, path);
}

static int parse_fields(struct parser *p, struct node *at, ash_doc spec, int depth);

/* A document that is no expression is a set of fields of its own. */
static int parse_value(struct parser *p, struct node *n, ash_value v, int depth)
{
    if (v.type == BSON_TYPE_DOCUMENT) {
        /* An empty document is a value. */
        ash_doc_iter it = ash__doc_iter(ash__value_doc(v));
        if (ash__doc_iter_next(&it) && it.name[0] != '$')
            return parse_fields(p, n, ash__value_doc(v), depth + 1);
    }
    return ash__expr_new(v, p->env, &n->expr, p->err);
}

static int parse_path(struct parser *p, struct node *at, const char *path, ash_value v, int depth)
{
    int rc = ash__budget_step(p->err);
    if (rc == 0)
        rc = ash__path_check(path, p->err);
    for (const char *part = path; rc == 0;) {
        size_t len = strcspn(part, ".");
        bool last = part[len] == '\0';
        if (part[0] == '$')
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_FIELD_PATH_DOLLAR_NAME,
                                    "Invalid %s :: caused by :: FieldPath field names may not "
                                    "start with '$'. Consider using $getField or $setField.",
                                    p->stage);
        struct node *next = find_child(at, part, len);
        bool nested = v.type == BSON_TYPE_DOCUMENT;
        /* {"a.b": 1, a: {c: 2}} may share a; {a: 1, "a.b": 2} contradicts itself. */
        if (next != NULL && (next->expr != NULL || (last && !nested)))
            return collision(p, path);
        at = next != NULL ? next : add_child(at, part, len);
        if (last) {
            rc = parse_value(p, at, v, depth);
            if (rc == 0 && at->expr != NULL && at->count > 0)
                return collision(p, path);
            return rc;
        }
        part += len + 1;
        if (++depth > ASH_DOC_MAX_DEPTH)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_OVERFLOW, "%s is nested too deep",
                                    p->stage);
    }
    return rc;
}

static int parse_fields(struct parser *p, struct node *at, ash_doc spec, int depth)
{
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(spec); rc == 0 && ash__doc_iter_next(&it);)
        rc = parse_path(p, at, it.name, it.value, depth);
    return rc;
}

int ash__add_fields_new(const char *stage, ash_value spec, const ash_query_env *env,
                        ash_add_fields **out, ash_error *err)
{
    struct parser p = {stage, env, err};
    *out = NULL;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_ADD_FIELDS_NOT_OBJECT,
                                "%s specification stage must be an object, got %s", stage,
                                spec.type == 0 ? "missing" : ash__type_name(spec.type));
    if (ash__doc_is_empty(ash__value_doc(spec)))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_ADD_FIELDS_EMPTY,
                                "Invalid %s :: caused by :: specification must have at least one "
                                "field",
                                stage);
    ash_add_fields *f = ash__new(ash_add_fields);
    f->root = ash__new(struct node);
    int rc = parse_fields(&p, f->root, ash__value_doc(spec), 1);
    if (rc == 0)
        *out = f;
    else
        ash__add_fields_free(f);
    return rc;
}

void ash__add_fields_free(ash_add_fields *f)
{
    if (f == NULL)
        return;
    free_node(f->root);
    ash__free(f);
}

static int apply_doc(struct run *r, const struct node *n, ash_doc doc);

/* The paths, the document's arrays and the values decide how deep and how large it becomes. */
static int may_grow(const struct run *r)
{
    return ash__builder_check(r->out, "a stage", r->err);
}

static int apply_field(struct run *r, const struct node *n, const char *name, ash_value old)
{
    ash_value v;
    uint32_t index = 0;
    int rc = 0;
    if (n->expr != NULL) {
        rc = ash__expr_eval(n->expr, r->root, NULL, r->arena, &v, r->err);
        if (rc != 0)
            return rc;
        ash__builder_value(r->out, name, v);
        return may_grow(r);
    }
    if ((rc = may_grow(r)) != 0)
        return rc;
    /* What is no document gives way to one. */
    if (old.type != BSON_TYPE_ARRAY) {
        ash__builder_begin_doc(r->out, name);
        rc = apply_doc(r, n, old.type == BSON_TYPE_DOCUMENT ? ash__value_doc(old) : ash__doc_empty);
        ash__builder_end(r->out);
        return rc;
    }
    ash__builder_begin_array(r->out, name);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(old));
         rc == 0 && ash__doc_iter_next(&it);) {
        char item[12];
        rc = apply_field(r, n, ash__index_name(index++, item), it.value);
    }
    ash__builder_end(r->out);
    return rc;
}

static int apply_doc(struct run *r, const struct node *n, ash_doc doc)
{
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(doc); rc == 0 && ash__doc_iter_next(&it);) {
        const struct node *child = find_child(n, it.name, it.name_len);
        /* Each field is looked for among all names of the tree, which may be as many. */
        rc = ash__budget_step(r->err);
        if (rc != 0)
            return rc;
        if (child == NULL)
            ash__builder_element(r->out, &it);
        else
            rc = apply_field(r, child, it.name, it.value);
    }
    /* New fields come behind, in the order in which the stage names them. */
    for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
        rc = ash__budget_step(r->err);
        if (rc == 0 && ash__value_is_missing(ash__doc_get(doc, n->children[i]->name)))
            rc = apply_field(r, n->children[i], n->children[i]->name, ASH_VALUE_MISSING);
    }
    return rc;
}

int ash__add_fields_apply(const ash_add_fields *f, ash_doc doc, ash_arena *arena, ash_builder *out,
                          ash_error *err)
{
    struct run r = {doc, arena, out, err};
    ash__builder_begin(out);
    int rc = apply_doc(&r, f->root, doc);
    ash__builder_end(out);
    return rc;
}
