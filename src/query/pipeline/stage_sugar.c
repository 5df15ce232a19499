/* SPDX-License-Identifier: Apache-2.0 */
/* Stages that are others in short: $count $sortByCount $bucket. */
#include "query/pipeline/stage.h"

#include <string.h>

/* What was built, kept for as long as the pipeline. */
static ash_value keep(ash_stage_parser *p, ash_builder *b)
{
    ash__builder_end(b);
    ash_doc doc = ash__arena_adopt(p->pipeline->arena, &b->buf);
    ash__builder_release(b);
    return ash__value_of_doc(doc);
}

/* {$group: {_id: null, <name>: {$sum: 1}}}, {$project: {_id: 0}}: without documents no group, and
 * no zero comes out, as of the server. */
static int parse_count(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    ash_builder b = ASH_BUILDER_INIT;
    uint32_t len = 0;
    (void)op;
    const char *name = spec.type == BSON_TYPE_UTF8 ? ash__value_string(spec, &len) : "";
    if (len == 0)
        return ash__fail_server(p->err, ASH_EINVAL,
                                spec.type == BSON_TYPE_UTF8 ? ASH_MONGO_LOCATION_COUNT_EMPTY
                                                            : ASH_MONGO_LOCATION_COUNT_NOT_STRING,
                                "the count field must be a non-empty string");
    if (name[0] == '$' || strlen(name) != len || strchr(name, '.') != NULL)
        return ash__fail_server(p->err, ASH_EINVAL,
                                name[0] == '$'        ? ASH_MONGO_LOCATION_COUNT_DOLLAR
                                : strlen(name) != len ? ASH_MONGO_LOCATION_COUNT_NUL
                                                      : ASH_MONGO_LOCATION_COUNT_DOT,
                                "the count field cannot be a $-prefixed path, hold a null byte or "
                                "contain '.'");
    ash__builder_begin(&b);
    ash__builder_null(&b, "_id");
    ash__builder_begin_doc(&b, name);
    ash__builder_int32(&b, "$sum", 1);
    ash__builder_end(&b);
    int rc = ash__stage_parse(p, "$group", keep(p, &b));
    if (rc != 0)
        return rc;
    ash__builder_begin(&b);
    ash__builder_bool(&b, "_id", false);
    return ash__stage_parse(p, "$project", keep(p, &b));
}

/* {$group: {_id: <spec>, count: {$sum: 1}}}, {$sort: {count: -1}} */
static int parse_sort_by_count(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    ash_builder b = ASH_BUILDER_INIT;
    uint32_t len;
    bool path = spec.type == BSON_TYPE_UTF8 && ash__value_string(spec, &len)[0] == '$';
    bool expression = false;
    (void)op;
    if (spec.type == BSON_TYPE_DOCUMENT) {
        ash_doc_iter it = ash__doc_iter(ash__value_doc(spec));
        expression = ash__doc_iter_next(&it) && it.name[0] == '$';
    }
    if (!path && !expression)
        return ash__fail_server(p->err, ASH_EINVAL,
                                spec.type == BSON_TYPE_UTF8
                                    ? ASH_MONGO_LOCATION_SORT_BY_COUNT_PATH_WITHOUT_DOLLAR
                                : spec.type == BSON_TYPE_DOCUMENT
                                    ? ASH_MONGO_LOCATION_SORT_BY_COUNT_OBJECT_NO_EXPRESSION
                                    : ASH_MONGO_LOCATION_SORT_BY_COUNT_NOT_STRING_OR_OBJECT,
                                "the sortByCount field must be defined as a $-prefixed path or an "
                                "expression inside an object");
    ash__builder_begin(&b);
    ash__builder_value(&b, "_id", spec);
    ash__builder_begin_doc(&b, "count");
    ash__builder_int32(&b, "$sum", 1);
    ash__builder_end(&b);
    int rc = ash__stage_parse(p, "$group", keep(p, &b));
    if (rc != 0)
        return rc;
    ash__builder_begin(&b);
    ash__builder_int32(&b, "count", -1);
    return ash__stage_parse(p, "$sort", keep(p, &b));
}

struct bucket {
    ash_value group_by, boundaries, fallback, output;
};

static int read_bucket(ash_stage_parser *p, ash_value spec, struct bucket *out)
{
    ash_value *slot;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_BUCKET_NOT_OBJECT,
                                "Argument to $bucket stage must be an object, but found type: %s",
                                ash__type_text(spec));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it);) {
        slot = strcmp(it.name, "groupBy") == 0      ? &out->group_by
               : strcmp(it.name, "boundaries") == 0 ? &out->boundaries
               : strcmp(it.name, "default") == 0    ? &out->fallback
               : strcmp(it.name, "output") == 0     ? &out->output
                                                    : NULL;
        if (slot == NULL)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_BUCKET_UNKNOWN_OPTION,
                                    "Unrecognized option to $bucket: %s.", it.name);
        *slot = it.value;
    }
    if (ash__value_is_missing(out->group_by) || ash__value_is_missing(out->boundaries))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_BUCKET_MISSING_OPTION,
                                "$bucket requires 'groupBy' and 'boundaries' to be specified.");
    if (out->boundaries.type != BSON_TYPE_ARRAY ||
        ash__doc_count(ash__value_doc(out->boundaries)) < 2)
        return ash__fail_server(p->err, ASH_EINVAL,
                                out->boundaries.type == BSON_TYPE_ARRAY
                                    ? ASH_MONGO_LOCATION_BUCKET_TOO_FEW_BOUNDARIES
                                    : ASH_MONGO_LOCATION_BUCKET_BOUNDARIES_NOT_ARRAY,
                                "The $bucket 'boundaries' field must be an array with at least 2 "
                                "values");
    return 0;
}

static int check_boundaries(ash_stage_parser *p, ash_value boundaries)
{
    ash_value before = ASH_VALUE_MISSING;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(boundaries)); ash__doc_iter_next(&it);) {
        if (!ash__value_is_missing(before) &&
            ash__type_bracket(before.type) != ash__type_bracket(it.value.type))
            return ash__fail_server(p->err, ASH_EINVAL,
                                    ASH_MONGO_LOCATION_BUCKET_BOUNDARIES_OF_MANY_TYPES,
                                    "All values in the 'boundaries' option to $bucket must have "
                                    "the same type.");
        if (!ash__value_is_missing(before) &&
            ash__value_compare(before, it.value, &p->pipeline->env->collation) >= 0)
            return ash__fail_server(p->err, ASH_EINVAL,
                                    ASH_MONGO_LOCATION_BUCKET_BOUNDARIES_NOT_SORTED,
                                    "The 'boundaries' option to $bucket must be sorted.");
        before = it.value;
    }
    return 0;
}

/* {case: {$and: [{$gte: [key, {$literal: low}]}, {$lt: [key, {$literal: high}]}]}, then: low} */
static void add_branch(ash_builder *b, const char *name, ash_value key, ash_value low,
                       ash_value high)
{
    static const char *const ops[] = {"$gte", "$lt"};
    ash__builder_begin_doc(b, name);
    ash__builder_begin_doc(b, "case");
    ash__builder_begin_array(b, "$and");
    for (uint32_t i = 0; i < 2; i++) {
        ash__builder_begin_doc(b, i == 0 ? "0" : "1");
        ash__builder_begin_array(b, ops[i]);
        ash__builder_item(b, 0, key);
        ash__builder_begin_doc(b, "1");
        ash__builder_value(b, "$literal", i == 0 ? low : high);
        ash__builder_end(b);
        ash__builder_end(b);
        ash__builder_end(b);
    }
    ash__builder_end(b);
    ash__builder_end(b);
    ash__builder_begin_doc(b, "then");
    ash__builder_value(b, "$literal", low);
    ash__builder_end(b);
    ash__builder_end(b);
}

/* Boundaries and default are values, whatever they look like: hence $literal. */
static void add_bucket_id(ash_builder *b, const struct bucket *bucket)
{
    ash_value low = ASH_VALUE_MISSING;
    uint32_t n = 0;
    char name[12];
    ash__builder_begin_doc(b, "_id");
    ash__builder_begin_doc(b, "$switch");
    ash__builder_begin_array(b, "branches");
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(bucket->boundaries));
         ash__doc_iter_next(&it);) {
        if (!ash__value_is_missing(low))
            add_branch(b, ash__index_name(n++, name), bucket->group_by, low, it.value);
        low = it.value;
    }
    ash__builder_end(b);
    if (!ash__value_is_missing(bucket->fallback)) {
        ash__builder_begin_doc(b, "default");
        ash__builder_value(b, "$literal", bucket->fallback);
        ash__builder_end(b);
    }
    ash__builder_end(b);
    ash__builder_end(b);
}

/* {$group: {_id: {$switch: …}, …}}, {$sort: {_id: 1}} */
static int parse_bucket(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    struct bucket bucket = {.output = ASH_VALUE_MISSING};
    ash_builder b = ASH_BUILDER_INIT;
    (void)op;
    int rc = read_bucket(p, spec, &bucket);
    if (rc == 0)
        rc = check_boundaries(p, bucket.boundaries);
    if (rc == 0 && !ash__value_is_missing(bucket.output) &&
        bucket.output.type != BSON_TYPE_DOCUMENT)
        rc = ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_BUCKET_OUTPUT_NOT_OBJECT,
                              "The $bucket 'output' field must be an object");
    if (rc != 0)
        return rc;
    ash__builder_begin(&b);
    add_bucket_id(&b, &bucket);
    if (bucket.output.type == BSON_TYPE_DOCUMENT) {
        ash__builder_elements(&b, ash__value_doc(bucket.output));
    } else {
        ash__builder_begin_doc(&b, "count");
        ash__builder_int32(&b, "$sum", 1);
        ash__builder_end(&b);
    }
    rc = ash__stage_parse(p, "$group", keep(p, &b));
    if (rc != 0)
        return rc;
    ash__builder_begin(&b);
    ash__builder_int32(&b, "_id", 1);
    return ash__stage_parse(p, "$sort", keep(p, &b));
}

const ash_stage_op ash__stage_sugar_ops[] = {
    {"$count", 0, parse_count, NULL, NULL, NULL},
    {"$sortByCount", 0, parse_sort_by_count, NULL, NULL, NULL},
    {"$bucket", 0, parse_bucket, NULL, NULL, NULL},
    {NULL},
};
