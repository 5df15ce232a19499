/* SPDX-License-Identifier: Apache-2.0 */
/* From BSON to nodes, all of which lie in the arena of their expression.  What is known while
 * parsing, such as $$NOW and the variables of the command, becomes a literal. */
#include "query/expr/node.h"

#include "base/budget.h"
#include "base/mem.h"
#include "query/kit/value_text.h"

#include <string.h>

static ash_node *new_node(ash_parse *p, enum ash_node_kind kind)
{
    ash_node *n = ash__arena_alloc(p->arena, sizeof *n);
    *n = (ash_node){.kind = kind};
    return n;
}

static ash_node *new_literal(ash_parse *p, ash_value v)
{
    ash_node *n = new_node(p, ASH_NODE_LITERAL);
    n->literal = ash__arena_value(p->arena, v);
    return n;
}

/* Field path syntax: no empty part, no '$' in front of a part. */
static int check_path(ash_parse *p, const char *path)
{
    if (*path == '\0')
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_FIELD_PATH_DOLLAR_ALONE,
                                "'$' by itself is not a valid FieldPath");
    for (const char *part = path;; part++) {
        size_t len = strcspn(part, ".");
        if (len == 0 && part[0] == '\0')
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_FIELD_PATH_ENDS_WITH_DOT,
                                    "FieldPath must not end with a '.'");
        if (len == 0)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_FIELD_PATH_EMPTY_NAME,
                                    "FieldPath field names may not be empty strings");
        if (part[0] == '$')
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_FIELD_PATH_DOLLAR_NAME,
                                    "FieldPath field names may not start with '$'. Consider using "
                                    "$getField or $setField");
        part += len;
        if (*part == '\0')
            return 0;
    }
}

int ash__expr_check_variable(const char *name, ash_error *err)
{
    bool starts_well = (name[0] >= 'a' && name[0] <= 'z') || (name[0] & 0x80) != 0;
    if (name[0] == '\0')
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "empty variable names are not allowed");
    if (!starts_well && strcmp(name, "CURRENT") != 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "'%s' starts with an invalid character for a user variable name",
                                name);
    for (const char *c = name; *c != '\0'; c++) {
        bool ok = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                  (*c >= '0' && *c <= '9') || *c == '_' || (*c & 0x80) != 0;
        if (!ok)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                    "'%s' contains an invalid character for a variable name: '%c'",
                                    name, *c);
    }
    return 0;
}

static bool in_scope(const ash_scope *scope, const char *name)
{
    for (; scope != NULL; scope = scope->outer) {
        if (strcmp(scope->name, name) == 0)
            return true;
    }
    return false;
}

/* A variable whose value is known while parsing; missing is a value too ($$REMOVE). */
static bool constant_variable(ash_parse *p, const char *name, ash_value *out)
{
    ash_value_box *box = ash__arena_alloc(p->arena, sizeof *box);
    *out = ASH_VALUE_MISSING;
    /* A field that is set to it vanishes: its value is missing. */
    if (strcmp(name, "REMOVE") == 0)
        return true;
    if (strcmp(name, "NOW") == 0) {
        *out = ash__box_date(box, p->env->now_ms);
        return true;
    }
    if (strcmp(name, "CLUSTER_TIME") == 0) {
        *out = ash__box_timestamp(box, p->env->cluster_time);
        return true;
    }
    /* The command's variables: their values were computed before anything is parsed. */
    if (p->env->let == NULL)
        return false;
    for (ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(p->env->let));
         ash__doc_iter_next(&it);) {
        if (strcmp(it.name, name) == 0) {
            if (it.value.type != BSON_TYPE_UNDEFINED)
                *out = it.value;
            return true;
        }
    }
    return false;
}

static ash_node *path_node(ash_parse *p, const char *path)
{
    ash_node *n = new_node(p, ASH_NODE_PATH);
    n->path = path;
    return n;
}

static ash_node *constant_node(ash_parse *p, ash_value v, const char *path)
{
    if (path == NULL)
        return new_literal(p, v);
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_value(&b, "v", v);
    ash__builder_end(&b);
    ash_doc holder = ash__arena_adopt(p->arena, &b.buf);
    ash__builder_release(&b);
    const char *full = path - 2; /* the caller's text reads "v.path" */
    return new_literal(p, ash__eval_path(holder, full, p->arena));
}

static int parse_variable(ash_parse *p, const char *text, size_t len, ash_node **out)
{
    size_t name_len = strcspn(text, ".");
    const char *name = ash__arena_text(p->arena, text, name_len);
    const char *path = NULL;
    ash_value v;
    if (name_len < len) {
        char *copy = ash__arena_alloc(p->arena, len - name_len + 3);
        memcpy(copy, "v.", 2);
        memcpy(copy + 2, text + name_len + 1, len - name_len);
        path = copy + 2;
        if (check_path(p, path) != 0)
            return ASH_EINVAL;
    }
    if (name_len == 0)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "empty variable names are not allowed");
    if (in_scope(p->scope, name)) {
        *out = new_node(p, ASH_NODE_VARIABLE);
        (*out)->name = name;
        (*out)->path = path;
    } else if (strcmp(name, "ROOT") == 0 || strcmp(name, "CURRENT") == 0) {
        *out = path_node(p, path);
    } else if (constant_variable(p, name, &v)) {
        *out = constant_node(p, v, path);
    } else {
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNDEFINED_VARIABLE,
                                "Use of undefined variable: %s", name);
    }
    return 0;
}

static int parse_string(ash_parse *p, ash_value spec, ash_node **out)
{
    uint32_t len;
    const char *text = ash__value_string(spec, &len);
    if (len == 0 || text[0] != '$') {
        *out = new_literal(p, spec);
        return 0;
    }
    if (strlen(text) != len)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_FIELD_PATH_NUL,
                                "FieldPath field names may not contain '\\0'");
    if (len > 1 && text[1] == '$')
        return parse_variable(p, text + 2, len - 2, out);
    if (check_path(p, text + 1) != 0)
        return ASH_EINVAL;
    /* "$a" is short for "$$CURRENT.a", and somebody has defined CURRENT. */
    if (in_scope(p->scope, "CURRENT")) {
        *out = new_node(p, ASH_NODE_VARIABLE);
        (*out)->name = "CURRENT";
        (*out)->path = ash__arena_text(p->arena, text + 1, len - 1);
        return 0;
    }
    *out = path_node(p, ash__arena_text(p->arena, text + 1, len - 1));
    return 0;
}

static void reserve_args(ash_parse *p, ash_node *n, uint32_t count)
{
    n->count = count;
    n->args = ash__arena_alloc(p->arena, count * sizeof *n->args);
    memset(n->args, 0, count * sizeof *n->args);
}

static int arity_error(ash_parse *p, const ash_expr_op *op, uint32_t count)
{
    if (op->min_args == op->max_args)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_WRONG_ARGUMENT_COUNT,
                                "Expression %s takes exactly %d arguments. %u were passed in.",
                                op->name, op->min_args, count);
    if (op->max_args < 0)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_TOO_FEW_ARGUMENTS,
                                "%s needs at least %d arguments, had: %u", op->name, op->min_args,
                                count);
    return ash__fail_server(
        p->err, ASH_EINVAL, ASH_MONGO_LOCATION_ARGUMENT_COUNT_OUT_OF_RANGE,
        "Expression %s takes at least %d arguments, and at most %d, but %u were passed in.",
        op->name, op->min_args, op->max_args, count);
}

int ash__expr_parse_list(ash_parse *p, const ash_expr_op *op, ash_value spec, ash_node *n)
{
    /* One argument need not stand in an array. */
    bool is_list = spec.type == BSON_TYPE_ARRAY;
    uint32_t count = is_list ? ash__doc_count(ash__value_doc(spec)) : 1;
    if (count < (uint32_t)op->min_args || (op->max_args >= 0 && count > (uint32_t)op->max_args))
        return arity_error(p, op, count);
    reserve_args(p, n, count);
    if (!is_list)
        return ash__expr_parse(p, spec, &n->args[0]);
    uint32_t i = 0;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it); i++) {
        int rc = ash__expr_parse(p, it.value, &n->args[i]);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int find_param(const ash_op_param *params, const char *name)
{
    for (int i = 0; params[i].name != NULL; i++) {
        if (strcmp(params[i].name, name) == 0)
            return i;
    }
    return -1;
}

int ash__expr_parse_params(ash_parse *p, const ash_expr_op *op, ash_value spec, ash_node *n)
{
    uint32_t count = 0;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, op->object_code,
                                "%s only supports an object as its argument", op->name);
    while (op->params[count].name != NULL)
        count++;
    reserve_args(p, n, count);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it);) {
        int i = find_param(op->params, it.name);
        if (i < 0)
            return ash__fail_server(p->err, ASH_EINVAL, op->unknown_code,
                                    "Unrecognized argument to %s: %s", op->name, it.name);
        int rc = ash__expr_parse(p, it.value, &n->args[i]);
        if (rc != 0)
            return rc;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (n->args[i] == NULL && op->params[i].required_code != 0)
            return ash__fail_server(p->err, ASH_EINVAL, op->params[i].required_code,
                                    "Missing '%s' parameter to %s", op->params[i].name, op->name);
    }
    return 0;
}

static int parse_operator(ash_parse *p, const char *name, ash_value spec, ash_node **out)
{
    const ash_expr_op *op = ash__expr_op_find(name);
    if (op == NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_INVALID_PIPELINE_OPERATOR,
                                "Unrecognized expression '%s'", name);
    ash_node *n = new_node(p, ASH_NODE_OPERATOR);
    n->op = op;
    *out = n;
    if (op->parse != NULL)
        return op->parse(p, spec, n);
    if (op->params != NULL)
        return ash__expr_parse_params(p, op, spec, n);
    return ash__expr_parse_list(p, op, spec, n);
}

static int parse_object(ash_parse *p, ash_value spec, ash_node **out)
{
    ash_doc doc = ash__value_doc(spec);
    uint32_t count = ash__doc_count(doc);
    uint32_t i = 0;
    ash_node *n = new_node(p, ASH_NODE_OBJECT);
    char text[ASH_TEXT_BYTES];
    reserve_args(p, n, count);
    n->names = ash__arena_alloc(p->arena, count * sizeof *n->names);
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it); i++) {
        /* A document of one operator is that operator's expression, any other one makes a
         * document. */
        if (it.name[0] == '$' && count == 1)
            return parse_operator(p, it.name, it.value, out);
        if (it.name[0] == '$')
            return ash__fail_server(
                p->err, ASH_EINVAL, ASH_MONGO_LOCATION_EXPRESSION_NOT_ONE_FIELD,
                "an object representing an expression must have exactly one field: %s",
                ash__value_text(spec, text, sizeof text));
        if (strchr(it.name, '.') != NULL)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_FIELD_PATH_DOT,
                                    "FieldPath field names may not contain '.'");
        n->names[i] = ash__arena_text(p->arena, it.name, it.name_len);
        int rc = ash__expr_parse(p, it.value, &n->args[i]);
        if (rc != 0)
            return rc;
    }
    *out = n;
    return 0;
}

static int parse_array(ash_parse *p, ash_value spec, ash_node **out)
{
    static const ash_expr_op any_count = {.name = "array", .max_args = -1};
    *out = new_node(p, ASH_NODE_ARRAY);
    return ash__expr_parse_list(p, &any_count, spec, *out);
}

int ash__expr_parse(ash_parse *p, ash_value spec, ash_node **out)
{
    int rc = ash__budget_step(p->err);
    if (rc != 0)
        return rc;
    if (++p->depth > ASH_EXPR_MAX_DEPTH)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_OVERFLOW,
                                "expression is nested deeper than %d", ASH_EXPR_MAX_DEPTH);
    switch (spec.type) {
    case BSON_TYPE_UTF8:
        rc = parse_string(p, spec, out);
        break;
    case BSON_TYPE_DOCUMENT:
        rc = parse_object(p, spec, out);
        break;
    case BSON_TYPE_ARRAY:
        rc = parse_array(p, spec, out);
        break;
    default:
        *out = new_literal(p, spec);
    }
    p->depth--;
    return rc;
}
