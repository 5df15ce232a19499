/* SPDX-License-Identifier: Apache-2.0 */
/* From operators to leaves of the tree: comparisons, $regex, $type, $size, $mod; the rest by
 * name. */
#include "query/match/node.h"

#include "base/mem.h"

#include <string.h>

static ash_match_node *add_leaf(ash_match_node *list, enum ash_condition_kind kind,
                                const char *path, ash_value operand)
{
    ash_match_node *node = ash__match_node_new(kind, path);
    node->cond.operand = operand;
    ash__match_node_add(list, node);
    return node;
}

static int compile_regex(ash_match_parser *p, const char *pattern, const char *options,
                         ash_match_node *node)
{
    return ash__regex_new(pattern, options, &node->regex, p->err);
}

int ash__match_parse_equal(ash_match_parser *p, const char *path, ash_value arg,
                           ash_match_node *list)
{
    if (arg.type == BSON_TYPE_UNDEFINED)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "cannot compare to undefined");
    if (arg.type != BSON_TYPE_REGEX) {
        add_leaf(list, ASH_COND_EQ, path, arg);
        return 0;
    }
    const char *options;
    const char *pattern = ash__value_regex(arg, &options);
    return compile_regex(p, pattern, options, add_leaf(list, ASH_COND_REGEX, path, arg));
}

static int check_text(ash_match_parser *p, const char *op, ash_value arg)
{
    uint32_t len = 0;
    if (arg.type != BSON_TYPE_UTF8)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "%s has to be a string",
                                op);
    /* Patterns and options go on as C strings. */
    if (strlen(ash__value_string(arg, &len)) != len)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "%s cannot hold a null byte", op);
    return 0;
}

int ash__match_parse_regex(ash_match_parser *p, const char *path, ash_value regex, ash_doc ops,
                           ash_match_node *list)
{
    ash_value given = ash__doc_get(ops, "$options");
    const char *options = "";
    const char *pattern;
    uint32_t len;
    if (!ash__value_is_missing(given)) {
        int rc = check_text(p, "$options", given);
        if (rc != 0)
            return rc;
    }
    if (regex.type == BSON_TYPE_REGEX) {
        pattern = ash__value_regex(regex, &options);
        if (!ash__value_is_missing(given) && options[0] != 0)
            return ash__fail_server(p->err, ASH_EINVAL,
                                    ASH_MONGO_LOCATION_QUERY_REGEX_OPTIONS_TWICE,
                                    "options set in both $regex and $options");
    } else {
        int rc = check_text(p, "$regex", regex);
        if (rc != 0)
            return rc;
        pattern = ash__value_string(regex, &len);
    }
    if (!ash__value_is_missing(given))
        options = ash__value_string(given, &len);
    ash_match_node *node = add_leaf(list, ASH_COND_REGEX, path, regex);
    /* As the value that a stored regular expression would be, which it matches by being equal. */
    size_t pattern_bytes = strlen(pattern) + 1, options_bytes = strlen(options) + 1;
    node->regex_value = ash__alloc(pattern_bytes + options_bytes);
    memcpy(node->regex_value, pattern, pattern_bytes);
    memcpy(node->regex_value + pattern_bytes, options, options_bytes);
    node->cond.operand =
        (ash_value){BSON_TYPE_REGEX, node->regex_value, (uint32_t)(pattern_bytes + options_bytes)};
    return compile_regex(p, pattern, options, node);
}

static int parse_compare(ash_match_parser *p, enum ash_condition_kind kind, const char *path,
                         ash_value arg, ash_match_node *list)
{
    if (arg.type == BSON_TYPE_UNDEFINED)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "cannot compare to undefined");
    if (kind != ASH_COND_EQ && arg.type == BSON_TYPE_REGEX)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Can't have RegEx as arg to predicate over field '%s'",
                                path == NULL ? "" : path);
    add_leaf(list, kind, path, arg);
    return 0;
}

static int parse_type(ash_match_parser *p, const char *path, ash_value arg, ash_match_node *list)
{
    return ash__type_set_parse(arg, &add_leaf(list, ASH_COND_TYPE, path, arg)->types, p->err);
}

static int parse_size(ash_match_parser *p, const char *path, ash_value arg, ash_match_node *list)
{
    int64_t size;
    if (!ash__value_is_number(arg))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Failed to parse $size. Expected a number");
    if (!ash__value_as_int64(arg, &size))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Failed to parse $size. Expected an integer");
    if (size < 0)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Failed to parse $size. Expected a non-negative number");
    add_leaf(list, ASH_COND_SIZE, path, arg)->size = size;
    return 0;
}

/* Doubles are cut toward zero, as the server has done since 4.0. */
static int mod_number(ash_match_parser *p, ash_value v, const char *what, int64_t *out)
{
    ash_value_box whole;
    ash_error inner = ASH_ERROR_INIT;
    if (!ash__value_is_number(v))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "malformed mod, %s not a number", what);
    if (ash__number_convert(v, BSON_TYPE_INT64, &whole, &inner) != 0)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "malformed mod, %s value is invalid :: caused by :: %s", what,
                                inner.text);
    *out = ash__value_int64(whole.value);
    return 0;
}

static int parse_mod(ash_match_parser *p, const char *path, ash_value arg, ash_match_node *list)
{
    if (arg.type != BSON_TYPE_ARRAY)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "malformed mod, needs to be an array");
    ash_doc items = ash__value_doc(arg);
    uint32_t count = ash__doc_count(items);
    if (count != 2)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "malformed mod, %s elements",
                                count < 2 ? "not enough" : "too many");
    ash_match_node *node = add_leaf(list, ASH_COND_MOD, path, arg);
    ash_doc_iter it = ash__doc_iter(items);
    ash__doc_iter_next(&it);
    int rc = mod_number(p, it.value, "divisor", &node->divisor);
    ash__doc_iter_next(&it);
    if (rc == 0)
        rc = mod_number(p, it.value, "remainder", &node->remainder);
    /* After it was cut to an integer: 0.5 is none either. */
    if (rc == 0 && node->divisor == 0)
        rc = ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "divisor cannot be 0");
    return rc;
}

int ash__match_parse_leaf(ash_match_parser *p, const char *path, const char *op, ash_value arg,
                          ash_match_node *list, bool *known)
{
    static const struct {
        const char *name;
        enum ash_condition_kind kind;
    } compares[] = {{"$eq", ASH_COND_EQ},
                    {"$gt", ASH_COND_GT},
                    {"$gte", ASH_COND_GTE},
                    {"$lt", ASH_COND_LT},
                    {"$lte", ASH_COND_LTE}};
    *known = true;
    for (size_t i = 0; i < ASH_ARRAY_LEN(compares); i++)
        if (strcmp(op, compares[i].name) == 0)
            return parse_compare(p, compares[i].kind, path, arg, list);
    if (strcmp(op, "$in") == 0) {
        ash_match_node *in = NULL;
        int rc = ash__match_parse_in(p, path, op, arg, &in);
        if (rc == 0)
            ash__match_node_add(list, in);
        return rc;
    }
    if (strcmp(op, "$exists") == 0) {
        add_leaf(list, ASH_COND_EXISTS, path, arg)->wanted = ash__value_truthy(arg);
        return 0;
    }
    if (strcmp(op, "$type") == 0)
        return parse_type(p, path, arg, list);
    if (strcmp(op, "$size") == 0)
        return parse_size(p, path, arg, list);
    if (strcmp(op, "$mod") == 0)
        return parse_mod(p, path, arg, list);
    if (strncmp(op, "$bits", 5) == 0)
        return ash__match_parse_bits(p, path, op, arg, list);
    if (strcmp(op, "$comment") == 0)
        return 0;
    *known = false;
    return 0;
}
