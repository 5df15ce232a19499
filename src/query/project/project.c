/* SPDX-License-Identifier: Apache-2.0 */
/* find's language of projections.  Inclusion or exclusion is decided by the first field that says
 * so, and the others must agree with it. */
#include "query/project/node.h"

#include "base/budget.h"
#include "base/mem.h"
#include "bson/path.h"

#include <string.h>

enum mode { MODE_OPEN, MODE_INCLUSION, MODE_EXCLUSION };

typedef struct parser {
    const ash_query_env *env;
    ash_error *err;
    ash_project_node *root;
    enum mode mode;
    bool has_slice;
    bool has_elem_match;
    bool has_positional;
    bool id_included;
    bool id_excluded;
} parser;

static int parse_field(parser *p, const char *path, ash_value v, int depth);

static int set_mode(parser *p, enum mode mode, const char *path)
{
    if (p->mode == MODE_OPEN)
        p->mode = mode;
    if (p->mode == mode)
        return 0;
    if (mode == MODE_INCLUSION)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_INCLUSION_IN_EXCLUSION,
                                "Cannot do inclusion on field %s in exclusion projection", path);
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_EXCLUSION_IN_INCLUSION,
                            "Cannot do exclusion on field %s in inclusion projection", path);
}

/* The path's node, which must be new: no path may end at, above or below another one. */
static int add_path(parser *p, const char *path, ash_project_node **out)
{
    ash_project_node *at = p->root;
    const char *part = path;
    int rc = ash__path_check(path, p->err);
    if (rc != 0)
        return rc;
    for (;;) {
        size_t len = strcspn(part, ".");
        bool is_last = part[len] == 0;
        /* The fields of a reference may be named. */
        if (part[0] == '$' && strncmp(part, "$id", len) != 0 && strncmp(part, "$ref", len) != 0 &&
            strncmp(part, "$db", len) != 0)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_FIELD_PATH_DOLLAR_NAME,
                                    "FieldPath field names may not start with '$': %s", path);
        ash_project_node *next = ash__project_node_find(at, part, len);
        if (next != NULL && is_last)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_PATH_COLLISION,
                                    "Path collision at %s", path);
        if (next != NULL && next->kind != ASH_PROJECT_TREE)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_PATH_COLLISION_BELOW,
                                    "Path collision at %s remaining portion %s", path,
                                    part + len + 1);
        if (next == NULL) {
            next = ash__project_node_new(part, len);
            ash__project_node_add(at, next);
        }
        at = next;
        if (is_last)
            break;
        part += len + 1;
    }
    *out = at;
    return 0;
}

/* Each node on the way, so that the walk knows below which fields something is to be done. */
static void mark_path(ash_project_node *root, const char *path, bool positional, bool computed)
{
    ash_project_node *at = root;
    for (const char *part = path; at != NULL;) {
        size_t len = strcspn(part, ".");
        at = ash__project_node_find(at, part, len);
        if (at != NULL) {
            at->positional |= positional;
            at->has_computed |= computed;
        }
        if (part[len] == 0)
            break;
        part += len + 1;
    }
}

static int parse_positional(parser *p, const char *path, ash_value v)
{
    size_t len = strlen(path) - 2;
    if (v.type == BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_POSITIONAL_WITH_EXPRESSION,
                                "positional projection cannot be used with an expression or sub "
                                "object: %s",
                                path);
    if (!ash__value_is_number(v) && v.type != BSON_TYPE_BOOL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_POSITIONAL_WITH_LITERAL,
                                "positional projection cannot be used with a literal: %s", path);
    if (!ash__value_truthy(v))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_POSITIONAL_IN_EXCLUSION,
                                "positional projection cannot be used with exclusion: %s", path);
    if (p->has_positional)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_POSITIONAL_TWICE,
                                "Cannot specify more than one positional projection per query");
    if (p->has_elem_match)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_POSITIONAL_WITH_ELEM_MATCH,
                                "Cannot specify positional operator and $elemMatch");
    p->has_positional = true;
    int rc = set_mode(p, MODE_INCLUSION, path);
    if (rc != 0)
        return rc;
    /* The path without its ".$". */
    char *plain = ash__strndup(path, len);
    ash_project_node *node;
    rc = add_path(p, plain, &node);
    if (rc == 0) {
        node->kind = ASH_PROJECT_INCLUDE;
        mark_path(p->root, plain, true, false);
    }
    ash__free(plain);
    return rc;
}

static int parse_flag(parser *p, const char *path, bool include)
{
    ash_project_node *node;
    /* _id may go against all others, so it does not decide which kind of projection this is. */
    if (strcmp(path, "_id") == 0) {
        p->id_included = include;
        p->id_excluded = !include;
    } else {
        int rc = set_mode(p, include ? MODE_INCLUSION : MODE_EXCLUSION, path);
        if (rc != 0)
            return rc;
    }
    int rc = add_path(p, path, &node);
    if (rc == 0)
        node->kind = include ? ASH_PROJECT_INCLUDE : ASH_PROJECT_EXCLUDE;
    return rc;
}

static int parse_computed(parser *p, const char *path, ash_value v)
{
    ash_project_node *node;
    bool is_operator = v.type == BSON_TYPE_DOCUMENT;
    if (p->mode == MODE_EXCLUSION)
        return ash__fail_server(p->err, ASH_EINVAL,
                                is_operator ? ASH_MONGO_LOCATION_EXCLUSION_WITH_EXPRESSION
                                            : ASH_MONGO_LOCATION_EXCLUSION_WITH_LITERAL,
                                "Cannot use an expression in an exclusion projection: %s", path);
    int rc = set_mode(p, MODE_INCLUSION, path);
    if (rc == 0)
        rc = add_path(p, path, &node);
    if (rc != 0)
        return rc;
    node->kind = ASH_PROJECT_COMPUTED;
    mark_path(p->root, path, false, true);
    return ash__expr_new(v, p->env, &node->expr, p->err);
}

static int slice_number(parser *p, ash_value v, int64_t *out)
{
    double number;
    if (!ash__value_is_number(v) || !ash__value_as_double(v, &number) || number != number)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SLICE_FIRST_ILLEGAL,
                                "Invalid $slice syntax: its arguments must be numbers");
    /* As the server does; no array is so long. */
    *out = number >= INT32_MAX ? INT32_MAX : number <= -INT32_MAX ? -INT32_MAX : (int64_t)number;
    return 0;
}

/* [skip, limit] or a count, from the end when negative. */
static int parse_slice(parser *p, const char *path, ash_value v)
{
    ash_project_node *node;
    int rc = add_path(p, path, &node);
    if (rc != 0)
        return rc;
    p->has_slice = true;
    node->kind = ASH_PROJECT_SLICE;
    if (v.type != BSON_TYPE_ARRAY) {
        rc = slice_number(p, v, &node->limit);
        /* The last n are all from n before the end on. */
        node->skip = node->limit < 0 ? node->limit : 0;
        node->limit = node->limit < 0 ? -node->limit : node->limit;
        return rc;
    }
    ash_doc_iter it = ash__doc_iter(ash__value_doc(v));
    if (ash__doc_count(ash__value_doc(v)) != 2 || !ash__doc_iter_next(&it))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SLICE_FIRST_ILLEGAL,
                                "Invalid $slice syntax: it takes a number or [skip, limit]");
    rc = slice_number(p, it.value, &node->skip);
    ash__doc_iter_next(&it);
    if (rc == 0)
        rc = slice_number(p, it.value, &node->limit);
    if (rc == 0 && node->limit <= 0)
        rc = ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SLICE_FIRST_ILLEGAL,
                              "$slice limit must be positive");
    return rc;
}

/* A matcher of {path: {$elemMatch: v}}: its details say which element it is. */
static int new_elem_matcher(parser *p, const char *path, ash_value v, ash_matcher **out)
{
    ash_builder b = ASH_BUILDER_INIT;
    bson_t filter;
    ash__builder_begin(&b);
    ash__builder_begin_doc(&b, path);
    ash__builder_value(&b, "$elemMatch", v);
    ash__builder_end(&b);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &filter);
    int rc = ash__matcher_new(&filter, p->env, out, p->err);
    ash__builder_release(&b);
    return rc;
}

static int parse_elem_match(parser *p, const char *path, ash_value v)
{
    ash_project_node *node;
    if (v.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_ELEM_MATCH_NOT_OBJECT,
                                "elemMatch: Invalid argument, object required, but got %s",
                                ash__type_name(v.type));
    if (p->has_positional)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_ELEM_MATCH_WITH_POSITIONAL,
                                "Cannot specify positional operator and $elemMatch");
    if (strchr(path, '.') != NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_ELEM_MATCH_NESTED,
                                "Cannot use $elemMatch projection on a nested field: %s", path);
    int rc = add_path(p, path, &node);
    if (rc != 0)
        return rc;
    p->has_elem_match = true;
    node->kind = ASH_PROJECT_ELEM_MATCH;
    return new_elem_matcher(p, path, v, &node->elem_match);
}

/* [array, …] as the expression $slice takes it, not find's own form. */
static bool is_find_slice(ash_value v)
{
    if (v.type != BSON_TYPE_ARRAY)
        return ash__value_is_number(v);
    ash_doc_iter it = ash__doc_iter(ash__value_doc(v));
    return !ash__doc_iter_next(&it) || ash__value_is_number(it.value);
}

static int parse_expression(parser *p, const char *path, const char *op, ash_value v)
{
    /* find has a code of its own for an unknown operator. */
    ash_error inner = ASH_ERROR_INIT;
    ash_error *outer = p->err;
    p->err = &inner;
    int rc = parse_computed(p, path, v);
    p->err = outer;
    if (rc == 0)
        return 0;
    if (inner.server_code == ASH_MONGO_INVALID_PIPELINE_OPERATOR && strstr(inner.text, op) != NULL)
        return ash__fail_server(outer, ASH_EINVAL, ASH_MONGO_LOCATION_PROJECT_UNKNOWN_EXPRESSION,
                                "Unknown expression %s", op);
    if (outer != NULL)
        *outer = inner;
    return rc;
}

static int parse_operator(parser *p, const char *path, ash_value v)
{
    ash_doc_iter it = ash__doc_iter(ash__value_doc(v));
    ash__doc_iter_next(&it);
    if (strcmp(it.name, "$slice") == 0 && is_find_slice(it.value))
        return parse_slice(p, path, it.value);
    if (strcmp(it.name, "$elemMatch") == 0)
        return parse_elem_match(p, path, it.value);
    if (strcmp(it.name, "$meta") == 0)
        return ash__fail_server(p->err, ASH_EUNSUPPORTED, ASH_MONGO_LOCATION_META_NOT_AVAILABLE,
                                "query requires $meta metadata for '%s', but it is not available",
                                path);
    return parse_expression(p, path, it.name, v);
}

static int parse_nested(parser *p, const char *path, ash_doc doc, int depth)
{
    if (ash__doc_is_empty(doc))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_PROJECT_EMPTY_BELOW,
                                "An empty sub-projection is not a valid value. Found empty object "
                                "at path: %s",
                                path);
    if (depth > ASH_DOC_MAX_DEPTH)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "projection is nested too deep");
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(doc); rc == 0 && ash__doc_iter_next(&it);) {
        /* {a: {b: 1}} is {"a.b": 1}, and is checked like it. */
        char *longer = ash__sprintf("%s.%s", path, it.name);
        rc = parse_field(p, longer, it.value, depth + 1);
        ash__free(longer);
    }
    return rc;
}

static int parse_field(parser *p, const char *path, ash_value v, int depth)
{
    size_t len = strlen(path);
    int rc = ash__budget_step(p->err);
    if (rc != 0)
        return rc;
    if (len > 2 && strcmp(path + len - 2, ".$") == 0)
        return parse_positional(p, path, v);
    if (strstr(path, ".$.") != NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_POSITIONAL_IN_MIDDLE,
                                "it is illegal to specify a positional operator in the middle of "
                                "a path: %s",
                                path);
    if (ash__value_is_number(v) || v.type == BSON_TYPE_BOOL)
        return parse_flag(p, path, ash__value_truthy(v));
    if (v.type != BSON_TYPE_DOCUMENT)
        return parse_computed(p, path, v);
    ash_doc_iter it = ash__doc_iter(ash__value_doc(v));
    /* Any other document is a projection of the fields below. */
    if (ash__doc_iter_next(&it) && it.name[0] == '$' && ash__doc_count(ash__value_doc(v)) == 1)
        return parse_operator(p, path, v);
    return parse_nested(p, path, ash__value_doc(v), depth);
}

/* {_id: 0} and {a: {$slice: …}} alone leave everything else in. */
static bool is_exclusion(const parser *p)
{
    if (p->mode != MODE_OPEN)
        return p->mode == MODE_EXCLUSION;
    if (p->has_slice)
        return !p->id_included;
    return p->id_excluded && !p->has_elem_match;
}

/* Without a word about _id it comes along. */
static void include_id(parser *p)
{
    if (ash__project_node_find(p->root, "_id", 3) != NULL)
        return;
    ash_project_node *id = ash__project_node_new("_id", 3);
    id->kind = ASH_PROJECT_INCLUDE;
    ash__project_node_add(p->root, id);
}

static ash_projection *projection_of(parser *p)
{
    ash_projection *projection = ash__new(ash_projection);
    projection->exclusion = is_exclusion(p);
    if (!projection->exclusion)
        include_id(p);
    /* The tree goes over to the projection. */
    projection->root = p->root;
    projection->needs_details = p->has_positional;
    for (uint32_t i = 0; i < p->root->count; i++)
        projection->has_computed |= p->root->children[i]->has_computed;
    return projection;
}

int ash__projection_new(const bson_t *spec, const ash_query_env *env, ash_projection **out,
                        ash_error *err)
{
    *out = NULL;
    ash_doc doc = ash__doc_from_bson(spec);
    if (ash__doc_is_empty(doc))
        return 0;
    parser p = {.env = env, .err = err, .root = ash__project_node_new("", 0)};
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(doc); rc == 0 && ash__doc_iter_next(&it);)
        rc = parse_field(&p, it.name, it.value, 1);
    if (rc == 0)
        *out = projection_of(&p);
    else
        ash__project_node_free(p.root);
    return rc;
}
