/* SPDX-License-Identifier: Apache-2.0 */
/* $mergeObjects $getField $setField $unsetField $objectToArray $arrayToObject. */
#include "query/expr/node.h"

#include "base/budget.h"
#include "query/kit/merge.h"

#include <string.h>

/* How many of them have about as many fields as the first one. */
static uint32_t next_batch(const ash_value *docs, uint32_t count)
{
    /* Some thousands more, so that small documents are not merged one by one. */
    uint32_t wanted = ash__doc_count(ash__value_doc(docs[0])) + 4096, fields = 0, n = 1;
    while (n < count && fields < wanted)
        fields += ash__doc_count(ash__value_doc(docs[n++]));
    return n;
}

/* The first ones become one document, which is then the first of the rest; batches as large as what
 * is there already keep the work linear. */
static int merge_all(ash_eval *e, ash_value *docs, uint32_t count, ash_value *out)
{
    ash_builder merged = ASH_BUILDER_INIT;
    uint32_t from = 0;
    int rc = 0;
    ash__builder_begin(&merged);
    ash__builder_end(&merged);
    while (rc == 0 && from < count) {
        ash_builder b = ASH_BUILDER_INIT;
        uint32_t n = next_batch(docs + from, count - from);
        ash__builder_begin(&b);
        ash__docs_merge(&b, docs + from, n);
        ash__builder_end(&b);
        ash__builder_release(&merged);
        merged = b;
        from += n;
        if (from < count)
            /* The place of the last one that was merged is free. */
            docs[--from] = ash__value_of_doc(ash__builder_doc(&merged));
        rc = ash__check_size(e, merged.buf.len);
        if (rc == 0)
            rc = ash__budget_step(e->err);
    }
    if (rc == 0)
        *out = ash__value_of_doc(ash__arena_adopt(e->arena, &merged.buf));
    ash__builder_release(&merged);
    return rc;
}

static int eval_merge(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *v, list;
    int rc = ash__eval_args(n, e, &v);
    if (rc != 0)
        return rc;
    uint32_t count = n->count;
    if (count == 1 && v[0].type == BSON_TYPE_ARRAY) {
        list = v[0];
        v = ash__array_items(e->arena, list, &count);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (ash__nullish(v[i]))
            continue;
        if (v[i].type != BSON_TYPE_DOCUMENT)
            return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_MERGE_OBJECTS_NOT_OBJECT,
                                    "$mergeObjects requires object inputs, but input %u is of "
                                    "type %s",
                                    i, ash__type_text(v[i]));
        v[kept++] = v[i];
    }
    return merge_all(e, v, kept, out);
}

/* {field: constant string, input: expr}, or the string alone for a field of $$CURRENT. */
static int parse_get_field(ash_parse *p, ash_value spec, ash_node *n)
{
    static const ash_op_param params[] = {{"field", ASH_MONGO_LOCATION_GET_FIELD_WITHOUT_FIELD},
                                          {"input", ASH_MONGO_LOCATION_GET_FIELD_WITHOUT_INPUT},
                                          {NULL}};
    static const ash_expr_op named = {.name = "$getField",
                                      .params = params,
                                      .object_code = ASH_MONGO_LOCATION_GET_FIELD_NOT_OBJECT,
                                      .unknown_code =
                                          ASH_MONGO_LOCATION_GET_FIELD_UNKNOWN_ARGUMENT};
    bool is_named = spec.type == BSON_TYPE_DOCUMENT &&
                    !ash__value_is_missing(ash__doc_get(ash__value_doc(spec), "field"));
    if (is_named)
        return ash__expr_parse_params(p, &named, spec, n);
    n->count = 1;
    n->args = ash__arena_alloc(p->arena, sizeof *n->args);
    return ash__expr_parse(p, spec, &n->args[0]);
}

static int field_name(const ash_node *n, ash_eval *e, int32_t code, const char **name)
{
    ash_value v;
    uint32_t len;
    int rc = ash__eval_arg(n, 0, e, &v);
    if (rc != 0)
        return rc;
    if (!ash__is_string(v))
        return ash__fail_server(e->err, ASH_EINVAL, code,
                                "%s requires 'field' to evaluate to type string, but got %s",
                                n->op->name, ash__type_text(v));
    *name = ash__value_string(v, &len);
    if (strlen(*name) != len)
        return ash__fail_server(e->err, ASH_EINVAL, code, "%s requires 'field' without a NUL byte",
                                n->op->name);
    return 0;
}

static int eval_get_field(const ash_node *n, ash_eval *e, ash_value *out)
{
    const char *name;
    ash_value input = ash__value_of_doc(e->root);
    int rc = field_name(n, e, ASH_MONGO_LOCATION_GET_FIELD_NAME_ILLEGAL, &name);
    if (rc == 0 && n->count > 1)
        rc = ash__eval_arg(n, 1, e, &input);
    if (rc != 0)
        return rc;
    if (input.type == BSON_TYPE_DOCUMENT)
        *out = ash__doc_get(ash__value_doc(input), name);
    else
        *out = ash__nullish(input) && !ash__value_is_missing(input) ? ash__make_null()
                                                                    : ASH_VALUE_MISSING;
    return 0;
}

static const ash_op_param set_params[] = {{"field", ASH_MONGO_LOCATION_SET_FIELD_WITHOUT_FIELD},
                                          {"input", ASH_MONGO_LOCATION_SET_FIELD_WITHOUT_INPUT},
                                          {"value", ASH_MONGO_LOCATION_SET_FIELD_WITHOUT_VALUE},
                                          {NULL}};
static const ash_op_param unset_params[] = {{"field", ASH_MONGO_LOCATION_SET_FIELD_WITHOUT_FIELD},
                                            {"input", ASH_MONGO_LOCATION_SET_FIELD_WITHOUT_INPUT},
                                            {NULL}};

/* $setField, and $unsetField with a value that is always missing. */
static int eval_set_field(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    const char *name;
    ash_value input, value;
    bool seen = false;
    int rc = field_name(n, e, ASH_MONGO_LOCATION_SET_FIELD_NAME_ILLEGAL, &name);
    if (rc == 0)
        rc = ash__eval_arg(n, 1, e, &input);
    if (rc == 0)
        rc = ash__eval_arg(n, 2, e, &value);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(input))
        return 0;
    if (input.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_SET_FIELD_INPUT_NOT_OBJECT,
                                "%s requires 'input' to evaluate to type Object", n->op->name);
    ash__builder_begin(&b);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(input)); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, name) != 0) {
            ash__builder_element(&b, &it);
        } else if (!seen) {
            /* The first of that name is replaced, others are dropped. */
            seen = true;
            ash__builder_value(&b, name, value);
        }
    }
    if (!seen)
        ash__builder_value(&b, name, value);
    return ash__make_doc(e, &b, out);
}

static int eval_object_to_array(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_value v;
    uint32_t count = 0;
    int rc = ash__eval_arg(n, 0, e, &v);
    if (rc != 0)
        return rc;
    *out = ash__make_null();
    if (ash__nullish(v))
        return 0;
    if (v.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_OBJECT_TO_ARRAY_NOT_OBJECT,
                                "$objectToArray requires a document input, found: %s",
                                ash__type_text(v));
    ash__builder_begin(&b);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);) {
        char index[12];
        ash__builder_begin_doc(&b, ash__index_name(count++, index));
        ash__builder_string(&b, "k", it.name, it.name_len);
        ash__builder_value(&b, "v", it.value);
        ash__builder_end(&b);
    }
    return ash__make_array(e, &b, out);
}

/* One item: {k, v} or [k, v]. */
static int read_pair(ash_eval *e, ash_value item, ash_value *key, ash_value *value)
{
    uint32_t count;
    if (item.type == BSON_TYPE_ARRAY) {
        ash_value *pair = ash__array_items(e->arena, item, &count);
        if (count != 2)
            return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ARRAY_TO_OBJECT_NOT_PAIR,
                                    "$arrayToObject requires an array of size 2 arrays, found "
                                    "array of size: %u",
                                    count);
        *key = pair[0];
        *value = pair[1];
    } else if (item.type == BSON_TYPE_DOCUMENT) {
        *key = ash__doc_get(ash__value_doc(item), "k");
        *value = ash__doc_get(ash__value_doc(item), "v");
        if (ash__doc_count(ash__value_doc(item)) != 2 || ash__value_is_missing(*key) ||
            ash__value_is_missing(*value))
            return ash__fail_server(e->err, ASH_EINVAL,
                                    ASH_MONGO_LOCATION_ARRAY_TO_OBJECT_NOT_K_AND_V,
                                    "$arrayToObject requires an object with keys 'k' and 'v'");
    } else {
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ARRAY_TO_OBJECT_ITEM_ILLEGAL,
                                "Unrecognised input type format for $arrayToObject: %s",
                                ash__type_text(item));
    }
    uint32_t len;
    if (!ash__is_string(*key))
        return ash__fail_server(
            e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ARRAY_TO_OBJECT_KEY_NOT_STRING,
            "$arrayToObject requires keys of type string, found: %s", ash__type_text(*key));
    if (strlen(ash__value_string(*key, &len)) != len)
        return ash__fail_server(e->err, ASH_EINVAL, ASH_MONGO_LOCATION_ARRAY_TO_OBJECT_KEY_NUL,
                                "Key field cannot contain an embedded null byte");
    return 0;
}

static int eval_array_to_object(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_value v, key, value;
    uint32_t len;
    bool null;
    int rc = ash__eval_array(n, e, ASH_MONGO_LOCATION_ARRAY_TO_OBJECT_NOT_ARRAY,
                             "$arrayToObject requires an array input, found: ", &v, &null);
    *out = ash__make_null();
    if (rc != 0 || null)
        return rc;
    ash__builder_begin(&b);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);) {
        rc = read_pair(e, it.value, &key, &value);
        if (rc != 0) {
            ash__builder_release(&b);
            return rc;
        }
        ash__builder_value(&b, ash__value_string(key, &len), value);
    }
    rc = ash__make_doc(e, &b, &v);
    if (rc != 0)
        return rc;
    /* The last of several equal keys wins and keeps the first one's place. */
    ash__builder_begin(&b);
    ash__doc_merge(&b, ash__doc_empty, ash__value_doc(v));
    return ash__make_doc(e, &b, out);
}

const ash_expr_op ash__expr_object_ops[] = {
    {"$mergeObjects", 0, -1, eval_merge},
    {.name = "$getField", .eval = eval_get_field, .parse = parse_get_field},
    {"$setField", 0, 0, eval_set_field, 0, set_params, ASH_MONGO_LOCATION_SET_FIELD_NOT_OBJECT,
     ASH_MONGO_LOCATION_SET_FIELD_UNKNOWN_ARGUMENT},
    {"$unsetField", 0, 0, eval_set_field, 0, unset_params,
     ASH_MONGO_LOCATION_UNSET_FIELD_NOT_OBJECT, ASH_MONGO_LOCATION_UNSET_FIELD_UNKNOWN_ARGUMENT},
    {"$objectToArray", 1, 1, eval_object_to_array},
    {"$arrayToObject", 1, 1, eval_array_to_object},
    {NULL},
};
