/* SPDX-License-Identifier: Apache-2.0 */
/* $jsonSchema: one struct with what all keywords say, most of it absent. */
#include "query/match/schema.h"

#include "base/budget.h"
#include "base/mem.h"
#include "bson/builder.h"
#include "bson/compare.h"
#include "query/kit/utf8.h"
#include "query/match/node.h"

#include <stdlib.h>
#include <string.h>

typedef struct property {
    const char *name;
    ash_schema *schema;
} property;

struct ash_schema {
    uint32_t types; /* 0: any */
    ash_value minimum, maximum;
    bool exclusive_minimum, exclusive_maximum;
    ash_value required; /* an array, or missing */
    bool has_enum;
    ash_match_set allowed; /* views sorted */
    ash_buffer sorted;
    property *properties;
    uint32_t property_count;
    bool no_additional;
    ash_schema *items;
    ash_regex *pattern;
    int64_t min_length, max_length; /* code points; -1: any */
    int64_t min_items, max_items;
};

static int wrong(ash_error *err, const char *keyword, const char *need)
{
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                            "$jsonSchema keyword '%s' must be %s", keyword, need);
}

static int parse_json_type(ash_schema *s, ash_value v, ash_error *err)
{
    static const struct {
        const char *name;
        uint8_t type;
    } names[] = {{"object", BSON_TYPE_DOCUMENT},
                 {"array", BSON_TYPE_ARRAY},
                 {"string", BSON_TYPE_UTF8},
                 {"boolean", BSON_TYPE_BOOL},
                 {"null", BSON_TYPE_NULL}};
    uint32_t len;
    if (v.type == BSON_TYPE_ARRAY) {
        int rc = 0;
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v));
             rc == 0 && ash__doc_iter_next(&it);)
            rc = it.value.type == BSON_TYPE_UTF8 ? parse_json_type(s, it.value, err)
                                                 : wrong(err, "type", "strings");
        return rc;
    }
    if (v.type != BSON_TYPE_UTF8)
        return wrong(err, "type", "a string or an array of strings");
    const char *name = ash__value_string(v, &len);
    if (strcmp(name, "integer") == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$jsonSchema type 'integer' is not supported: use bsonType 'int' "
                                "or 'long'");
    if (strcmp(name, "number") == 0) {
        /* JSON has one type of numbers. */
        s->types |= ASH_TYPE_BITS_NUMBER;
        return 0;
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++)
        if (strcmp(name, names[i].name) == 0) {
            s->types |= ash__type_bit(names[i].type);
            return 0;
        }
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "Unknown type name alias: %s",
                            name);
}

static int parse_array(ash_value *out, const char *keyword, ash_value v, bool of_strings,
                       ash_error *err)
{
    if (v.type != BSON_TYPE_ARRAY)
        return wrong(err, keyword, "an array");
    if (ash__doc_is_empty(ash__value_doc(v)))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$jsonSchema keyword '%s' cannot be an empty array", keyword);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);)
        if (of_strings && it.value.type != BSON_TYPE_UTF8)
            return wrong(err, keyword, "an array of strings");
    *out = v;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    const ash_doc_iter *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    /* Of one name as they came: qsort is not stable, and equal documents have to come out equal. */
    return order != 0 ? order : (x->name > y->name) - (x->name < y->name);
}

static void append_sorted(ash_builder *b, const char *name, ash_value v);

static void append_sorted_doc(ash_builder *b, const char *name, ash_doc doc)
{
    uint32_t count = 0;
    ash_doc_iter *fields = ash__alloc_array(ash__doc_count(doc) + 1, sizeof *fields);
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);)
        fields[count++] = it;
    qsort(fields, count, sizeof *fields, by_name);
    ash__builder_begin_doc(b, name);
    for (uint32_t i = 0; i < count; i++)
        append_sorted(b, fields[i].name, fields[i].value);
    ash__builder_end(b);
    ash__free(fields);
}

/* In `enum` documents are equal in whatever order their fields come, so they are compared with
 * their fields sorted.  What is nested deeper than a document may be stays as it is. */
static void append_sorted(ash_builder *b, const char *name, ash_value v)
{
    if (b->depth > ASH_DOC_MAX_DEPTH) {
        ash__builder_value(b, name, v);
    } else if (v.type == BSON_TYPE_DOCUMENT) {
        append_sorted_doc(b, name, ash__value_doc(v));
    } else if (v.type == BSON_TYPE_ARRAY) {
        ash__builder_begin_array(b, name);
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);)
            append_sorted(b, it.name, it.value);
        ash__builder_end(b);
    } else {
        ash__builder_value(b, name, v);
    }
}

static int parse_enum(ash_schema *s, ash_value v, ash_error *err)
{
    ash_value items;
    ash_builder b = ASH_BUILDER_INIT;
    int rc = parse_array(&items, "enum", v, false, err);
    if (rc != 0)
        return rc;
    ash__builder_begin(&b);
    append_sorted(&b, "enum", items);
    ash__builder_end(&b);
    ash_doc allowed = ash__value_doc(ash__doc_get(ash__builder_doc(&b), "enum"));
    s->has_enum = true;
    /* The set views it, so it is kept instead of the builder. */
    s->sorted = b.buf;
    ash__match_set_init(&s->allowed, ash__doc_count(allowed));
    for (ash_doc_iter it = ash__doc_iter(allowed); ash__doc_iter_next(&it);)
        ash__match_set_add(&s->allowed, it.value, NULL);
    return 0;
}

static int parse_properties(ash_schema *s, ash_value v, int depth, ash_error *err)
{
    if (v.type != BSON_TYPE_DOCUMENT)
        return wrong(err, "properties", "an object");
    ash_doc doc = ash__value_doc(v);
    s->properties = ash__alloc_array(ash__doc_count(doc) + 1, sizeof *s->properties);
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        property *p = &s->properties[s->property_count++];
        p->name = it.name;
        int rc = ash__schema_new(it.value, depth + 1, &p->schema, err);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int parse_count(int64_t *out, const char *keyword, ash_value v, ash_error *err)
{
    if (!ash__value_is_number(v) || !ash__value_as_int64(v, out) || *out < 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$jsonSchema keyword '%s' must be a non-negative integer", keyword);
    return 0;
}

static int parse_bool(bool *out, const char *keyword, ash_value v, ash_error *err)
{
    if (v.type != BSON_TYPE_BOOL)
        return wrong(err, keyword, "a boolean");
    *out = ash__value_bool(v);
    return 0;
}

static int parse_number(ash_value *out, const char *keyword, ash_value v, ash_error *err)
{
    if (!ash__value_is_number(v))
        return wrong(err, keyword, "a number");
    *out = v;
    return 0;
}

static int parse_pattern(ash_schema *s, ash_value v, ash_error *err)
{
    uint32_t len;
    if (v.type != BSON_TYPE_UTF8)
        return wrong(err, "pattern", "a string");
    return ash__regex_new(ash__value_string(v, &len), "", &s->pattern, err);
}

static int parse_limit(ash_schema *s, const char *keyword, ash_value v, ash_error *err)
{
    if (strcmp(keyword, "minimum") == 0)
        return parse_number(&s->minimum, keyword, v, err);
    if (strcmp(keyword, "maximum") == 0)
        return parse_number(&s->maximum, keyword, v, err);
    if (strcmp(keyword, "exclusiveMinimum") == 0)
        return parse_bool(&s->exclusive_minimum, keyword, v, err);
    if (strcmp(keyword, "exclusiveMaximum") == 0)
        return parse_bool(&s->exclusive_maximum, keyword, v, err);
    if (strcmp(keyword, "minLength") == 0)
        return parse_count(&s->min_length, keyword, v, err);
    if (strcmp(keyword, "maxLength") == 0)
        return parse_count(&s->max_length, keyword, v, err);
    if (strcmp(keyword, "minItems") == 0)
        return parse_count(&s->min_items, keyword, v, err);
    if (strcmp(keyword, "maxItems") == 0)
        return parse_count(&s->max_items, keyword, v, err);
    if (strcmp(keyword, "title") == 0 || strcmp(keyword, "description") == 0)
        return v.type == BSON_TYPE_UTF8 ? 0 : wrong(err, keyword, "a string");
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                            "$jsonSchema keyword '%s' is not supported", keyword);
}

static int parse_keyword(ash_schema *s, const char *keyword, ash_value v, int depth, ash_error *err)
{
    if (strcmp(keyword, "type") == 0)
        return parse_json_type(s, v, err);
    if (strcmp(keyword, "bsonType") == 0)
        return ash__type_set_parse(v, &s->types, err);
    if (strcmp(keyword, "required") == 0)
        return parse_array(&s->required, keyword, v, true, err);
    if (strcmp(keyword, "enum") == 0)
        return parse_enum(s, v, err);
    if (strcmp(keyword, "properties") == 0)
        return parse_properties(s, v, depth, err);
    if (strcmp(keyword, "pattern") == 0)
        return parse_pattern(s, v, err);
    if (strcmp(keyword, "items") == 0 && v.type == BSON_TYPE_DOCUMENT)
        return ash__schema_new(v, depth + 1, &s->items, err);
    if (strcmp(keyword, "additionalProperties") == 0 && v.type == BSON_TYPE_BOOL) {
        s->no_additional = !ash__value_bool(v);
        return 0;
    }
    return parse_limit(s, keyword, v, err);
}

static int check_pairs(const ash_schema *s, ash_doc doc, ash_error *err)
{
    if (s->exclusive_minimum && ash__value_is_missing(s->minimum))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$jsonSchema keyword 'minimum' must be present if "
                                "exclusiveMinimum is");
    if (s->exclusive_maximum && ash__value_is_missing(s->maximum))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$jsonSchema keyword 'maximum' must be present if "
                                "exclusiveMaximum is");
    if (!ash__value_is_missing(ash__doc_get(doc, "type")) &&
        !ash__value_is_missing(ash__doc_get(doc, "bsonType")))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "cannot specify both $jsonSchema keywords 'type' and 'bsonType'");
    return 0;
}

int ash__schema_new(ash_value spec, int depth, ash_schema **out, ash_error *err)
{
    *out = NULL;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "$jsonSchema must be an object");
    if (depth > ASH_MATCH_MAX_DEPTH)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "$jsonSchema is nested too deep");
    ash_schema *s = ash__new(ash_schema);
    s->min_length = s->max_length = s->min_items = s->max_items = -1;
    ash_doc doc = ash__value_doc(spec);
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(doc); rc == 0 && ash__doc_iter_next(&it);)
        /* The first field of that name is another one. */
        rc = ash__doc_get(doc, it.name).data != it.value.data
                 ? ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                    "Duplicate $jsonSchema keyword: %s", it.name)
                 : parse_keyword(s, it.name, it.value, depth, err);
    if (rc == 0)
        rc = check_pairs(s, doc, err);
    if (rc != 0) {
        ash__schema_free(s);
        s = NULL;
    }
    *out = s;
    return rc;
}

void ash__schema_free(ash_schema *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->property_count; i++)
        ash__schema_free(s->properties[i].schema);
    ash__free(s->properties);
    ash__match_set_release(&s->allowed);
    ash__buffer_release(&s->sorted);
    ash__schema_free(s->items);
    ash__regex_free(s->pattern);
    ash__free(s);
}

static bool test_number(const ash_schema *s, ash_value v)
{
    if (!ash__value_is_missing(s->minimum)) {
        /* NaN is in no range. */
        int order = ash__value_is_nan(v) ? -1 : ash__number_compare(v, s->minimum);
        if (order < 0 || (order == 0 && s->exclusive_minimum))
            return false;
    }
    if (!ash__value_is_missing(s->maximum)) {
        int order = ash__value_is_nan(v) ? 1 : ash__number_compare(v, s->maximum);
        if (order > 0 || (order == 0 && s->exclusive_maximum))
            return false;
    }
    return true;
}

static bool in_limits(int64_t count, int64_t min, int64_t max)
{
    return count >= min && (max < 0 || count <= max);
}

static bool test_string(const ash_schema *s, ash_value v, ash_error *failed)
{
    uint32_t len;
    const char *text = ash__value_string(v, &len);
    if (!in_limits(ash__utf8_length(text, len), s->min_length, s->max_length))
        return false;
    return s->pattern == NULL || ash__regex_test(s->pattern, text, len, failed) == 1;
}

static bool is_property(const ash_schema *s, const char *name)
{
    for (uint32_t i = 0; i < s->property_count; i++)
        if (strcmp(s->properties[i].name, name) == 0)
            return true;
    return false;
}

static bool has_required(const ash_schema *s, ash_doc doc, ash_error *failed)
{
    uint32_t len;
    if (ash__value_is_missing(s->required))
        return true;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(s->required)); ash__doc_iter_next(&it);)
        if (ash__budget_step(failed) != 0 ||
            ash__value_is_missing(ash__doc_get(doc, ash__value_string(it.value, &len))))
            return false;
    return true;
}

/* Each property looks through the whole document, and each field through all properties. */
static bool test_object(const ash_schema *s, ash_doc doc, ash_error *failed)
{
    if (!has_required(s, doc, failed))
        return false;
    for (uint32_t i = 0; i < s->property_count; i++) {
        if (ash__budget_step(failed) != 0)
            return false;
        ash_value v = ash__doc_get(doc, s->properties[i].name);
        if (!ash__value_is_missing(v) && !ash__schema_test(s->properties[i].schema, v, failed))
            return false;
    }
    if (s->no_additional)
        for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);)
            if (ash__budget_step(failed) != 0 || !is_property(s, it.name))
                return false;
    return true;
}

static bool test_array(const ash_schema *s, ash_doc items, ash_error *failed)
{
    if (!in_limits(ash__doc_count(items), s->min_items, s->max_items))
        return false;
    if (s->items != NULL)
        for (ash_doc_iter it = ash__doc_iter(items); ash__doc_iter_next(&it);)
            if (!ash__schema_test(s->items, it.value, failed))
                return false;
    return true;
}

static bool is_allowed(const ash_schema *s, ash_value v)
{
    ash_builder b = ASH_BUILDER_INIT;
    /* Only in these can the order of fields differ. */
    if (!s->has_enum || (v.type != BSON_TYPE_DOCUMENT && v.type != BSON_TYPE_ARRAY))
        return !s->has_enum || ash__match_set_has(&s->allowed, v, NULL);
    ash__builder_begin(&b);
    append_sorted(&b, "v", v);
    ash__builder_end(&b);
    bool found = ash__match_set_has(&s->allowed, ash__doc_get(ash__builder_doc(&b), "v"), NULL);
    ash__builder_release(&b);
    return found;
}

bool ash__schema_test(const ash_schema *s, ash_value v, ash_error *failed)
{
    if (ash__budget_step(failed) != 0)
        return false;
    if (s->types != 0 && (s->types & ash__type_bit(v.type)) == 0)
        return false;
    if (!is_allowed(s, v))
        return false;
    /* A keyword for one type says nothing about values of another. */
    if (ash__value_is_number(v))
        return test_number(s, v);
    if (v.type == BSON_TYPE_UTF8)
        return test_string(s, v, failed);
    if (v.type == BSON_TYPE_DOCUMENT)
        return test_object(s, ash__value_doc(v), failed);
    if (v.type == BSON_TYPE_ARRAY)
        return test_array(s, ash__value_doc(v), failed);
    return true;
}
