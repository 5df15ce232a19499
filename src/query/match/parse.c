/* SPDX-License-Identifier: Apache-2.0 */
/* From BSON to the tree.  What is added to a list belongs to it at once, so that after an error
 * freeing the root frees everything. */
#include "query/match/node.h"

#include <string.h>

/* {$op: …, …} on path (NULL: on the bare value); adds what it gives to list. */
static int parse_ops(ash_match_parser *p, const char *path, ash_doc ops, int depth,
                     ash_match_node *list);

bool ash__match_is_operators(ash_value v, bool allow_partial_dbref)
{
    if (v.type != BSON_TYPE_DOCUMENT)
        return false;
    ash_doc doc = ash__value_doc(v);
    ash_doc_iter it = ash__doc_iter(doc);
    if (!ash__doc_iter_next(&it) || it.name[0] != '$')
        return false;
    /* {$ref, $id} is a reference, which is a value; in an $elemMatch one of its fields is
     * enough. */
    bool has_ref = !ash__value_is_missing(ash__doc_get(doc, "$ref"));
    bool has_id = !ash__value_is_missing(ash__doc_get(doc, "$id"));
    bool has_db = !ash__value_is_missing(ash__doc_get(doc, "$db"));
    return allow_partial_dbref ? !(has_ref || has_id || has_db) : !(has_ref && has_id);
}

bool ash__match_is_value_operators(ash_value v, bool allow_partial_dbref)
{
    if (!ash__match_is_operators(v, allow_partial_dbref))
        return false;
    ash_doc_iter first = ash__doc_iter(ash__value_doc(v));
    return ash__doc_iter_next(&first) && strcmp(first.name, "$and") != 0 &&
           strcmp(first.name, "$or") != 0 && strcmp(first.name, "$nor") != 0 &&
           strcmp(first.name, "$where") != 0;
}

static int check_depth(ash_match_parser *p, int depth)
{
    /* Of filters in filters: testing goes as deep, for each document. */
    if (depth <= ASH_MATCH_MAX_DEPTH)
        return 0;
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                            "exceeded maximum query tree depth of %d", ASH_MATCH_MAX_DEPTH);
}

/* $and, $or and $nor: a list of filters. */
static int parse_list(ash_match_parser *p, enum ash_condition_kind kind, const char *op,
                      ash_value arg, int depth, ash_match_node *list)
{
    if (arg.type != BSON_TYPE_ARRAY)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "%s must be an array", op);
    ash_doc items = ash__value_doc(arg);
    if (ash__doc_is_empty(items))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "%s argument must be a non-empty array", op);
    ash_match_node *node = ash__match_node_new(kind, NULL);
    ash__match_node_add(list, node);
    for (ash_doc_iter it = ash__doc_iter(items); ash__doc_iter_next(&it);) {
        if (it.value.type != BSON_TYPE_DOCUMENT)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "%s argument's entries must be objects", op);
        ash_match_node *child = NULL;
        int rc = ash__match_parse_doc(p, ash__value_doc(it.value), depth + 1, &child);
        if (rc != 0)
            return rc;
        ash__match_node_add(node, child);
    }
    return 0;
}

static int parse_schema(ash_match_parser *p, ash_value arg, ash_match_node *list)
{
    ash_match_node *node = ash__match_node_new(ASH_COND_SCHEMA, NULL);
    ash__match_node_add(list, node);
    return ash__schema_new(arg, 1, &node->schema, p->err);
}

static int parse_always(ash_match_parser *p, const char *op, ash_value arg, ash_match_node *list)
{
    int64_t one;
    if (!ash__value_as_int64(arg, &one) || one != 1)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "%s must be an integer value of 1", op);
    bool is_true = strcmp(op, "$alwaysTrue") == 0;
    /* {$alwaysTrue: 1} is the empty list. */
    if (!is_true)
        ash__match_node_add(list, ash__match_node_new(ASH_COND_NEVER, NULL));
    return 0;
}

static int refuse_top_level(ash_match_parser *p, const char *op)
{
    /* With the codes that a server has for a query which it cannot serve. */
    if (strcmp(op, "$where") == 0)
        return ash__fail_server(p->err, ASH_EUNSUPPORTED, ASH_MONGO_BAD_VALUE,
                                "$where is not supported: there is no JavaScript engine");
    if (strcmp(op, "$text") == 0)
        return ash__fail_server(p->err, ASH_EUNSUPPORTED, ASH_MONGO_INDEX_NOT_FOUND,
                                "text index required for $text query, and there are none");
    if (strcmp(op, "$sampleRate") == 0)
        return ash__fail_server(p->err, ASH_EUNSUPPORTED, ASH_MONGO_NOT_IMPLEMENTED,
                                "$sampleRate is not supported");
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                            "unknown top level operator: %s. If you have a field name that starts "
                            "with a '$' symbol, consider using $getField or $setField",
                            op);
}

static int parse_top_level(ash_match_parser *p, const char *op, ash_value arg, int depth,
                           ash_match_node *list)
{
    if (strcmp(op, "$and") == 0)
        return parse_list(p, ASH_COND_AND, op, arg, depth, list);
    if (strcmp(op, "$or") == 0)
        return parse_list(p, ASH_COND_OR, op, arg, depth, list);
    if (strcmp(op, "$nor") == 0)
        return parse_list(p, ASH_COND_NOR, op, arg, depth, list);
    if (strcmp(op, "$comment") == 0)
        return 0;
    if (strcmp(op, "$expr") == 0)
        return ash__match_parse_expr(p, arg, list);
    if (strcmp(op, "$jsonSchema") == 0)
        return parse_schema(p, arg, list);
    if (strcmp(op, "$alwaysTrue") == 0 || strcmp(op, "$alwaysFalse") == 0)
        return parse_always(p, op, arg, list);
    /* Fields of a reference, as in an $elemMatch over references. */
    if (ash__name_is_reference(op))
        return ash__match_parse_equal(p, op, arg, list);
    return refuse_top_level(p, op);
}

int ash__match_parse_doc(ash_match_parser *p, ash_doc doc, int depth, ash_match_node **out)
{
    ash_match_node *list = ash__match_node_new(ASH_COND_AND, NULL);
    int rc = check_depth(p, depth);
    for (ash_doc_iter it = ash__doc_iter(doc); rc == 0 && ash__doc_iter_next(&it);) {
        if (it.name[0] == '$')
            rc = parse_top_level(p, it.name, it.value, depth, list);
        else if (ash__match_is_operators(it.value, false))
            rc = parse_ops(p, it.name, ash__value_doc(it.value), depth, list);
        else
            rc = ash__match_parse_equal(p, it.name, it.value, list);
    }
    if (rc != 0) {
        ash__match_node_free(list);
        list = NULL;
    }
    *out = list == NULL ? NULL : ash__match_node_simplify(list);
    return rc;
}

static int parse_not(ash_match_parser *p, const char *path, ash_value arg, int depth,
                     ash_match_node *list)
{
    ash_match_node *node = ash__match_node_new(ASH_COND_NOT, NULL);
    ash__match_node_add(list, node);
    /* $not is over all conditions of the field together: some of them may hold. */
    ash_match_node *inner = ash__match_node_new(ASH_COND_AND, NULL);
    ash__match_node_add(node, inner);
    if (arg.type == BSON_TYPE_REGEX)
        return ash__match_parse_equal(p, path, arg, inner);
    if (arg.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "$not needs a regex or a document");
    if (ash__doc_is_empty(ash__value_doc(arg)))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "$not cannot be empty");
    return parse_ops(p, path, ash__value_doc(arg), depth + 1, inner);
}

/* $ne and $nin say no to the whole field, so they are a $not around the plain operator. */
static int parse_negated(ash_match_parser *p, const char *path, const char *op, ash_value arg,
                         ash_match_node *list)
{
    ash_match_node *node = ash__match_node_new(ASH_COND_NOT, NULL);
    ash__match_node_add(list, node);
    if (strcmp(op, "$nin") == 0) {
        ash_match_node *in = NULL;
        int rc = ash__match_parse_in(p, path, op, arg, &in);
        if (rc == 0)
            ash__match_node_add(node, in);
        return rc;
    }
    if (arg.type == BSON_TYPE_REGEX)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Can't have regex as arg to $ne");
    bool known;
    return ash__match_parse_leaf(p, path, "$eq", arg, node, &known);
}

static int parse_elem_match(ash_match_parser *p, const char *path, ash_value arg, int depth,
                            ash_match_node *list)
{
    if (arg.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "$elemMatch needs an Object");
    ash_doc doc = ash__value_doc(arg);
    /* {$gt: 1} tests the items themselves, {a: 1} the documents among them. */
    bool is_value = ash__match_is_value_operators(arg, true);
    ash_match_node *node =
        ash__match_node_new(is_value ? ASH_COND_ELEM_MATCH_VALUE : ASH_COND_ELEM_MATCH_DOC, path);
    ash__match_node_add(list, node);
    if (is_value) {
        ash_match_node *inner = ash__match_node_new(ASH_COND_AND, NULL);
        ash__match_node_add(node, inner);
        return parse_ops(p, NULL, doc, depth + 1, inner);
    }
    ash_match_node *inner = NULL;
    int rc = ash__match_parse_doc(p, doc, depth + 1, &inner);
    if (rc == 0)
        ash__match_node_add(node, inner);
    return rc;
}

static int parse_all(ash_match_parser *p, const char *path, ash_value arg, int depth,
                     ash_match_node *list)
{
    if (arg.type != BSON_TYPE_ARRAY)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "$all needs an array");
    ash_doc items = ash__value_doc(arg);
    if (ash__doc_is_empty(items)) {
        /* Not "all of none": the server matches nothing. */
        ash__match_node_add(list, ash__match_node_new(ASH_COND_NEVER, NULL));
        return 0;
    }
    int rc = 0;
    bool first_is_elem = false;
    bool at_start = true;
    for (ash_doc_iter it = ash__doc_iter(items); rc == 0 && ash__doc_iter_next(&it);) {
        ash_value inner = it.value.type == BSON_TYPE_DOCUMENT
                              ? ash__doc_get(ash__value_doc(it.value), "$elemMatch")
                              : ASH_VALUE_MISSING;
        bool is_elem = !ash__value_is_missing(inner);
        if (at_start)
            first_is_elem = is_elem;
        at_start = false;
        if (is_elem != first_is_elem)
            rc = ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                  "$all/$elemMatch has to be consistent");
        else if (is_elem)
            rc = parse_elem_match(p, path, inner, depth, list);
        else if (ash__match_is_operators(it.value, false))
            rc = ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                  "no $ expressions in $all");
        else
            rc = ash__match_parse_equal(p, path, it.value, list);
    }
    return rc;
}

static int unknown_operator(ash_match_parser *p, const char *op)
{
    if (strcmp(op, "$near") == 0 || strcmp(op, "$nearSphere") == 0 || strcmp(op, "$geoNear") == 0)
        return ash__fail_server(p->err, ASH_EUNSUPPORTED, ASH_MONGO_NO_QUERY_EXECUTION_PLANS,
                                "unable to find index for %s query: geospatial queries are not "
                                "supported",
                                op);
    if (strcmp(op, "$geoWithin") == 0 || strcmp(op, "$geoIntersects") == 0 ||
        strcmp(op, "$within") == 0)
        return ash__fail_server(p->err, ASH_EUNSUPPORTED, ASH_MONGO_NOT_IMPLEMENTED,
                                "%s is not supported: there are no geospatial queries", op);
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "unknown operator: %s", op);
}

static int parse_op(ash_match_parser *p, const char *path, ash_doc ops, const ash_doc_iter *it,
                    int depth, ash_match_node *list)
{
    const char *op = it->name;
    if (strcmp(op, "$not") == 0)
        return parse_not(p, path, it->value, depth, list);
    if (strcmp(op, "$ne") == 0 || strcmp(op, "$nin") == 0)
        return parse_negated(p, path, op, it->value, list);
    if (strcmp(op, "$elemMatch") == 0)
        return parse_elem_match(p, path, it->value, depth, list);
    if (strcmp(op, "$all") == 0)
        return parse_all(p, path, it->value, depth, list);
    if (strcmp(op, "$regex") == 0)
        return ash__match_parse_regex(p, path, it->value, ops, list);
    /* It is read together with its $regex, wherever it stands. */
    if (strcmp(op, "$options") == 0) {
        if (ash__value_is_missing(ash__doc_get(ops, "$regex")))
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "$options needs a $regex");
        return 0;
    }
    bool known;
    int rc = ash__match_parse_leaf(p, path, op, it->value, list, &known);
    return known ? rc : unknown_operator(p, op);
}

static int parse_ops(ash_match_parser *p, const char *path, ash_doc ops, int depth,
                     ash_match_node *list)
{
    int rc = check_depth(p, depth);
    for (ash_doc_iter it = ash__doc_iter(ops); rc == 0 && ash__doc_iter_next(&it);)
        rc = parse_op(p, path, ops, &it, depth, list);
    return rc;
}
