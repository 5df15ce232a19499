/* SPDX-License-Identifier: Apache-2.0 */
/* $filter $map $reduce: an expression for every item.  $sortArray. */
#include "query/expr/node.h"

#include "query/kit/sort_value.h"

#include <stdio.h>
#include <string.h>

enum { INPUT, BODY, EXTRA, ARG_COUNT }; /* EXTRA: limit of $filter, initialValue of $reduce */

/* The fixed shape of these operators: names of the arguments and codes of their errors. */
struct loop_shape {
    const char *names[ARG_COUNT];
    int32_t missing[ARG_COUNT]; /* 0: optional */
    int32_t object_code;
    int32_t unknown_code;
    bool has_as;
};

static const struct loop_shape filter_shape = {
    {"input", "cond", "limit"},
    {ASH_MONGO_LOCATION_FILTER_WITHOUT_INPUT, ASH_MONGO_LOCATION_FILTER_WITHOUT_COND, 0},
    ASH_MONGO_LOCATION_FILTER_NOT_OBJECT,
    ASH_MONGO_LOCATION_FILTER_UNKNOWN_ARGUMENT,
    true};
static const struct loop_shape map_shape = {
    {"input", "in", ""},
    {ASH_MONGO_LOCATION_MAP_WITHOUT_INPUT, ASH_MONGO_LOCATION_MAP_WITHOUT_IN, 0},
    ASH_MONGO_LOCATION_MAP_NOT_OBJECT,
    ASH_MONGO_LOCATION_MAP_UNKNOWN_ARGUMENT,
    true};
static const struct loop_shape reduce_shape = {{"input", "in", "initialValue"},
                                               {ASH_MONGO_LOCATION_REDUCE_WITHOUT_INPUT,
                                                ASH_MONGO_LOCATION_REDUCE_WITHOUT_IN,
                                                ASH_MONGO_LOCATION_REDUCE_WITHOUT_INITIAL_VALUE},
                                               ASH_MONGO_LOCATION_REDUCE_NOT_OBJECT,
                                               ASH_MONGO_LOCATION_REDUCE_UNKNOWN_ARGUMENT,
                                               false};

static const ash_scope *push_name(ash_parse *p, const char *name)
{
    ash_scope *scope = ash__arena_alloc(p->arena, sizeof *scope);
    *scope = (ash_scope){name, p->scope};
    return scope;
}

static int loop_argument(const struct loop_shape *shape, const char *name)
{
    for (int i = 0; i < ARG_COUNT; i++) {
        if (strcmp(shape->names[i], name) == 0)
            return i;
    }
    return -1;
}

/* Sorts the arguments out; the variable's name goes to n->names[0]. */
static int split_arguments(ash_parse *p, const struct loop_shape *shape, ash_value spec,
                           ash_node *n, ash_value found[ARG_COUNT])
{
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, shape->object_code,
                                "%s only supports an object as its argument", n->op->name);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it);) {
        int i = loop_argument(shape, it.name);
        if (shape->has_as && strcmp(it.name, "as") == 0) {
            uint32_t len;
            if (!ash__is_string(it.value))
                return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                        "%s: 'as' must be a string", n->op->name);
            const char *name = ash__value_string(it.value, &len);
            if (ash__expr_check_variable(name, p->err) != 0)
                return ASH_EINVAL;
            n->names[0] = ash__arena_text(p->arena, name, strlen(name));
        } else if (i < 0) {
            return ash__fail_server(p->err, ASH_EINVAL, shape->unknown_code,
                                    "Unrecognized parameter to %s: %s", n->op->name, it.name);
        } else {
            found[i] = it.value;
        }
    }
    for (int i = 0; i < ARG_COUNT; i++) {
        if (shape->missing[i] != 0 && ash__value_is_missing(found[i]))
            return ash__fail_server(p->err, ASH_EINVAL, shape->missing[i],
                                    "Missing '%s' parameter to %s", shape->names[i], n->op->name);
    }
    return 0;
}

static int parse_loop(ash_parse *p, const struct loop_shape *shape, ash_value spec, ash_node *n)
{
    ash_value found[ARG_COUNT] = {ASH_VALUE_MISSING, ASH_VALUE_MISSING, ASH_VALUE_MISSING};
    const ash_scope *before = p->scope;
    n->names = ash__arena_alloc(p->arena, sizeof *n->names);
    n->names[0] = "this";
    n->count = ARG_COUNT;
    n->args = ash__arena_alloc(p->arena, ARG_COUNT * sizeof *n->args);
    memset(n->args, 0, ARG_COUNT * sizeof *n->args);
    int rc = split_arguments(p, shape, spec, n, found);
    for (int i = 0; rc == 0 && i < ARG_COUNT; i++) {
        if (ash__value_is_missing(found[i]))
            continue;
        /* Only here is the variable known: not in the input, nor in $reduce's initial value. */
        if (i == BODY) {
            p->scope = push_name(p, n->names[0]);
            if (shape == &reduce_shape)
                p->scope = push_name(p, "value");
        }
        rc = ash__expr_parse(p, found[i], &n->args[i]);
        p->scope = before;
    }
    return rc;
}

static int parse_filter(ash_parse *p, ash_value spec, ash_node *n)
{
    return parse_loop(p, &filter_shape, spec, n);
}

static int parse_map(ash_parse *p, ash_value spec, ash_node *n)
{
    return parse_loop(p, &map_shape, spec, n);
}

static int parse_reduce(ash_parse *p, ash_value spec, ash_node *n)
{
    return parse_loop(p, &reduce_shape, spec, n);
}

/* *null: the result is null without any loop. */
static int eval_input(const ash_node *n, ash_eval *e, ash_value *array, bool *null)
{
    char complaint[64];
    snprintf(complaint, sizeof complaint, "input to %s must be an array not ", n->op->name);
    return ash__eval_array(n, e, n->op->variant, complaint, array, null);
}

static int filter_limit(const ash_node *n, ash_eval *e, uint32_t *limit)
{
    ash_value v;
    int32_t wanted;
    int rc = ash__eval_arg(n, EXTRA, e, &v);
    *limit = UINT32_MAX;
    if (rc != 0 || ash__nullish(v))
        return rc;
    if (!ash__value_as_int32(v, &wanted) || wanted < 1)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_FILTER_LIMIT_ILLEGAL,
                                "$filter: limit must be a positive 32-bit integer");
    *limit = (uint32_t)wanted;
    return 0;
}

static int eval_filter(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value array, keep;
    uint32_t count, kept = 0, limit;
    bool null;
    int rc = eval_input(n, e, &array, &null);
    *out = ash__make_null();
    if (rc == 0)
        rc = filter_limit(n, e, &limit);
    if (rc != 0 || null)
        return rc;
    ash_value *items = ash__array_items(e->arena, array, &count);
    for (uint32_t i = 0; i < count && kept < limit; i++) {
        rc = ash__eval_with(n->args[BODY], e, n->names[0], items[i], &keep);
        if (rc != 0)
            return rc;
        /* In place: no more are kept than were read. */
        if (ash__value_truthy(keep))
            items[kept++] = items[i];
    }
    return ash__array_of(e, items, kept, out);
}

static int eval_map(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value array;
    uint32_t count;
    bool null;
    int rc = eval_input(n, e, &array, &null);
    *out = ash__make_null();
    if (rc != 0 || null)
        return rc;
    ash_value *items = ash__array_items(e->arena, array, &count);
    for (uint32_t i = 0; rc == 0 && i < count; i++)
        rc = ash__eval_with(n->args[BODY], e, n->names[0], items[i], &items[i]);
    return rc != 0 ? rc : ash__array_of(e, items, count, out);
}

/* The one loop in which nesting could grow with the data. */
static int check_depth(ash_eval *e, ash_value v)
{
    if (v.type != BSON_TYPE_DOCUMENT && v.type != BSON_TYPE_ARRAY)
        return 0;
    if (ash__bson_validate(v.data, v.len, ASH_EXPR_MAX_DEPTH, NULL) == 0)
        return 0;
    return ash__fail_server(e->err, ASH_ETOOBIG, ASH_MONGO_OVERFLOW,
                            "$reduce made a value nested deeper than %d", ASH_EXPR_MAX_DEPTH);
}

static int eval_reduce(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value array, value = ASH_VALUE_MISSING;
    uint32_t count;
    bool null;
    int rc = eval_input(n, e, &array, &null);
    *out = ash__make_null();
    if (rc != 0 || null)
        return rc;
    rc = ash__eval_arg(n, EXTRA, e, &value);
    ash_value *items = ash__array_items(e->arena, array, &count);
    for (uint32_t i = 0; rc == 0 && i < count; i++) {
        /* Two variables, so one scope more than ash__eval_with() makes. */
        ash_vars self = {"this", items[i], e->vars};
        ash_eval inner = *e;
        inner.vars = &self;
        rc = ash__eval_with(n->args[BODY], &inner, "value", value, &value);
        if (rc == 0)
            rc = check_depth(e, value);
    }
    *out = value;
    return rc;
}

static int parse_sort_array(ash_parse *p, ash_value spec, ash_node *n)
{
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SORT_ARRAY_NOT_OBJECT,
                                "$sortArray requires an object as an argument, found: %s",
                                ash__type_text(spec));
    ash_value input = ash__doc_get(ash__value_doc(spec), "input");
    ash_value by = ash__doc_get(ash__value_doc(spec), "sortBy");
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "input") != 0 && strcmp(it.name, "sortBy") != 0)
            return ash__fail_server(p->err, ASH_EINVAL,
                                    ASH_MONGO_LOCATION_SORT_ARRAY_UNKNOWN_ARGUMENT,
                                    "$sortArray found an unknown argument: %s", it.name);
    }
    if (ash__value_is_missing(input))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SORT_ARRAY_WITHOUT_INPUT,
                                "$sortArray requires 'input' to be specified");
    if (ash__value_is_missing(by))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SORT_ARRAY_WITHOUT_SORT_BY,
                                "$sortArray requires 'sortBy' to be specified");
    int rc = ash__sort_by_check(by, p->err);
    if (rc != 0)
        return rc;
    n->literal = ash__arena_value(p->arena, by);
    n->count = 1;
    n->args = ash__arena_alloc(p->arena, sizeof *n->args);
    return ash__expr_parse(p, input, &n->args[0]);
}

static int eval_sort_array(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    uint32_t count;
    bool null;
    int rc = ash__eval_array(
        n, e, ASH_MONGO_LOCATION_SORT_ARRAY_INPUT_NOT_ARRAY,
        "The input argument to $sortArray must be an array, but was of type: ", &v, &null);
    *out = ash__make_null();
    if (rc != 0 || null)
        return rc;
    ash_value *items = ash__array_items(e->arena, v, &count);
    ash__sort_values(items, count, n->literal, &e->env->collation);
    return ash__array_of(e, items, count, out);
}

const ash_expr_op ash__expr_loop_ops[] = {
    {.name = "$filter",
     .eval = eval_filter,
     .variant = ASH_MONGO_LOCATION_FILTER_INPUT_NOT_ARRAY,
     .parse = parse_filter},
    {.name = "$map",
     .eval = eval_map,
     .variant = ASH_MONGO_LOCATION_MAP_INPUT_NOT_ARRAY,
     .parse = parse_map},
    {.name = "$reduce",
     .eval = eval_reduce,
     .variant = ASH_MONGO_LOCATION_REDUCE_INPUT_NOT_ARRAY,
     .parse = parse_reduce},
    {.name = "$sortArray", .eval = eval_sort_array, .parse = parse_sort_array},
    {NULL},
};
