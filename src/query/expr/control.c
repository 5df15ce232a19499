/* SPDX-License-Identifier: Apache-2.0 */
/* $cond $ifNull $switch $literal $let $type $isNumber $rand. */
#include "query/expr/node.h"

#include "base/hash.h"
#include "base/mem.h"

#include <string.h>

static const ash_op_param cond_params[] = {{"if", ASH_MONGO_LOCATION_COND_WITHOUT_IF},
                                           {"then", ASH_MONGO_LOCATION_COND_WITHOUT_THEN},
                                           {"else", ASH_MONGO_LOCATION_COND_WITHOUT_ELSE},
                                           {NULL}};

static int parse_cond(ash_parse *p, ash_value spec, ash_node *n)
{
    static const ash_expr_op named = {.name = "$cond",
                                      .params = cond_params,
                                      .object_code = ASH_MONGO_LOCATION_WRONG_ARGUMENT_COUNT,
                                      .unknown_code = ASH_MONGO_LOCATION_COND_UNKNOWN_ARGUMENT};
    static const ash_expr_op listed = {.name = "$cond", .min_args = 3, .max_args = 3};
    if (spec.type == BSON_TYPE_DOCUMENT)
        return ash__expr_parse_params(p, &named, spec, n);
    return ash__expr_parse_list(p, &listed, spec, n);
}

static int eval_cond(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value test;
    int rc = ash__eval_arg(n, 0, e, &test);
    /* The other branch is not evaluated: it may be there to be avoided. */
    return rc != 0 ? rc : ash__eval_arg(n, ash__value_truthy(test) ? 1 : 2, e, out);
}

static int eval_if_null(const ash_node *n, ash_eval *e, ash_value *out)
{
    for (uint32_t i = 0; i < n->count; i++) {
        int rc = ash__eval_arg(n, i, e, out);
        if (rc != 0 || !ash__nullish(*out))
            return rc;
    }
    return 0;
}

/* args: case, then, case, then, …, default (NULL when there is none). */
static int parse_branch(ash_parse *p, ash_value branch, ash_node **test, ash_node **then)
{
    static const ash_op_param params[] = {{"case", ASH_MONGO_LOCATION_SWITCH_BRANCH_WITHOUT_CASE},
                                          {"then", ASH_MONGO_LOCATION_SWITCH_BRANCH_WITHOUT_THEN},
                                          {NULL}};
    static const ash_expr_op op = {.name = "$switch branch",
                                   .params = params,
                                   .object_code = ASH_MONGO_LOCATION_SWITCH_BRANCH_NOT_OBJECT,
                                   .unknown_code =
                                       ASH_MONGO_LOCATION_SWITCH_BRANCH_UNKNOWN_ARGUMENT};
    ash_node holder = {.kind = ASH_NODE_OPERATOR};
    int rc = ash__expr_parse_params(p, &op, branch, &holder);
    if (rc == 0) {
        *test = holder.args[0];
        *then = holder.args[1];
    }
    return rc;
}

static int parse_branches(ash_parse *p, ash_value list, ash_node *n)
{
    uint32_t i = 0;
    if (list.type != BSON_TYPE_ARRAY)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SWITCH_BRANCHES_NOT_ARRAY,
                                "$switch expected an array for 'branches', found: %s",
                                ash__type_text(list));
    n->count = 2 * ash__doc_count(ash__value_doc(list)) + 1;
    n->args = ash__arena_alloc(p->arena, n->count * sizeof *n->args);
    n->args[n->count - 1] = NULL;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(list)); ash__doc_iter_next(&it); i += 2) {
        int rc = parse_branch(p, it.value, &n->args[i], &n->args[i + 1]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int parse_switch(ash_parse *p, ash_value spec, ash_node *n)
{
    int rc;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SWITCH_NOT_OBJECT,
                                "$switch requires an object as an argument, found: %s",
                                ash__type_text(spec));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "branches") != 0 && strcmp(it.name, "default") != 0)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SWITCH_UNKNOWN_ARGUMENT,
                                    "$switch found an unknown argument: %s", it.name);
    }
    ash_value branches = ash__doc_get(ash__value_doc(spec), "branches");
    ash_value fallback = ash__doc_get(ash__value_doc(spec), "default");
    if (ash__value_is_missing(branches) ||
        (branches.type == BSON_TYPE_ARRAY && ash__doc_is_empty(ash__value_doc(branches))))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SWITCH_WITHOUT_BRANCHES,
                                "$switch requires at least one branch.");
    rc = parse_branches(p, branches, n);
    if (rc == 0 && !ash__value_is_missing(fallback))
        rc = ash__expr_parse(p, fallback, &n->args[n->count - 1]);
    return rc;
}

static int eval_switch(const ash_node *n, ash_eval *e, ash_value *out)
{
    for (uint32_t i = 0; i + 1 < n->count; i += 2) {
        ash_value test;
        int rc = ash__eval_arg(n, i, e, &test);
        if (rc != 0)
            return rc;
        if (ash__value_truthy(test))
            return ash__eval_arg(n, i + 1, e, out);
    }
    if (n->args[n->count - 1] == NULL)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_SWITCH_NO_MATCH,
                                "$switch could not find a matching branch for an input, and no "
                                "default was specified.");
    return ash__eval_arg(n, n->count - 1, e, out);
}

/* Not parsed at all: "$a" in it is a string. */
static int parse_literal(ash_parse *p, ash_value spec, ash_node *n)
{
    n->literal = ash__arena_value(p->arena, spec);
    return 0;
}

static int eval_literal(const ash_node *n, ash_eval *e, ash_value *out)
{
    (void)e;
    *out = n->literal;
    return 0;
}

/* args: the variables' values, then `in`; names: the variables. */
static int parse_let_vars(ash_parse *p, ash_value vars, ash_node *n)
{
    uint32_t i = 0;
    if (vars.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_LET_VARS_NOT_OBJECT,
                                "invalid parameter: expected an object (vars)");
    n->count = ash__doc_count(ash__value_doc(vars)) + 1;
    n->args = ash__arena_alloc(p->arena, n->count * sizeof *n->args);
    n->names = ash__arena_alloc(p->arena, n->count * sizeof *n->names);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(vars)); ash__doc_iter_next(&it); i++) {
        int rc = ash__expr_check_variable(it.name, p->err);
        n->names[i] = ash__arena_text(p->arena, it.name, it.name_len);
        if (rc == 0)
            rc = ash__expr_parse(p, it.value, &n->args[i]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int parse_let(ash_parse *p, ash_value spec, ash_node *n)
{
    const ash_scope *before = p->scope;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_LET_NOT_OBJECT,
                                "$let only supports an object as its argument");
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "vars") != 0 && strcmp(it.name, "in") != 0)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_LET_UNKNOWN_ARGUMENT,
                                    "Unrecognized parameter to $let: %s", it.name);
    }
    ash_value vars = ash__doc_get(ash__value_doc(spec), "vars");
    ash_value in = ash__doc_get(ash__value_doc(spec), "in");
    if (ash__value_is_missing(vars))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_LET_WITHOUT_VARS,
                                "Missing 'vars' parameter to $let");
    if (ash__value_is_missing(in))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_LET_WITHOUT_IN,
                                "Missing 'in' parameter to $let");
    /* Before their names are in scope: the variables of one $let do not see each other. */
    int rc = parse_let_vars(p, vars, n);
    for (uint32_t i = 0; rc == 0 && i + 1 < n->count; i++) {
        ash_scope *scope = ash__arena_alloc(p->arena, sizeof *scope);
        *scope = (ash_scope){n->names[i], p->scope};
        p->scope = scope;
    }
    if (rc == 0)
        rc = ash__expr_parse(p, in, &n->args[n->count - 1]);
    p->scope = before;
    return rc;
}

static int eval_let(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_eval inner = *e;
    ash_vars *vars = ash__arena_alloc(e->arena, n->count * sizeof *vars);
    for (uint32_t i = 0; i + 1 < n->count; i++) {
        vars[i] = (ash_vars){n->names[i], ASH_VALUE_MISSING, inner.vars};
        /* Outside of the scope that is being made, as it was parsed. */
        int rc = ash__eval_arg(n, i, e, &vars[i].value);
        if (rc != 0)
            return rc;
        inner.vars = &vars[i];
    }
    return ash__eval_arg(n, n->count - 1, &inner, out);
}

static int eval_type(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    int rc = ash__eval_arg(n, 0, e, &v);
    *out = ash__make_text(e->arena, ash__type_text(v));
    return rc;
}

static int eval_is_number(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value v;
    int rc = ash__eval_arg(n, 0, e, &v);
    *out = ash__make_bool(ash__value_is_number(v));
    return rc;
}

static int parse_rand(ash_parse *p, ash_value spec, ash_node *n)
{
    (void)n;
    bool nothing = (spec.type == BSON_TYPE_DOCUMENT || spec.type == BSON_TYPE_ARRAY) &&
                   ash__doc_count(ash__value_doc(spec)) == 0;
    return nothing ? 0
                   : ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_RAND_WITH_ARGUMENTS,
                                      "$rand does not currently accept arguments");
}

/* From 0 up to, not including, 1: as many bits as a double holds. */
static int eval_rand(const ash_node *n, ash_eval *e, ash_value *out)
{
    uint64_t bits;
    (void)n;
    ash__random(&bits, sizeof bits);
    *out = ash__make_double(e->arena, (double)(bits >> 11) / 9007199254740992.0);
    return 0;
}

const ash_expr_op ash__expr_control_ops[] = {
    {.name = "$cond", .eval = eval_cond, .parse = parse_cond},
    {"$ifNull", 2, -1, eval_if_null},
    {.name = "$switch", .eval = eval_switch, .parse = parse_switch},
    {.name = "$literal", .eval = eval_literal, .parse = parse_literal},
    {.name = "$const", .eval = eval_literal, .parse = parse_literal},
    {.name = "$let", .eval = eval_let, .parse = parse_let},
    {"$type", 1, 1, eval_type},
    {"$isNumber", 1, 1, eval_is_number},
    {.name = "$rand", .eval = eval_rand, .parse = parse_rand},
    {NULL},
};
