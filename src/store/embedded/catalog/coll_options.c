/* SPDX-License-Identifier: Apache-2.0 */
/* Which options of `create` are kept, ignored or refused, in one table.  What collMod changes goes
 * through the same checks. */

#include "store/embedded/catalog/coll_options.h"

#include "bson/builder.h"
#include "query/match/match.h"
#include "query/pipeline/pipeline.h"
#include "store/embedded/kit/give.h"

#include <string.h>

enum option_fate {
    KEEP_BOOL,
    KEEP_NUMBER,
    KEEP_DOC,
    KEEP_TEXT,
    KEEP_NAME,
    KEEP_STAGES,
    KEEP_IMAGES,
    IGNORE,
    REFUSE
};

static const struct {
    const char *name;
    enum option_fate fate;
} options[] = {
    {"capped", KEEP_BOOL},
    {"size", KEEP_NUMBER},
    {"max", KEEP_NUMBER},
    {"validator", KEEP_DOC},
    {"validationLevel", KEEP_TEXT},
    {"validationAction", KEEP_TEXT},
    {"collation", KEEP_DOC},
    {"changeStreamPreAndPostImages", KEEP_IMAGES},
    /* Tools send these along; nothing here depends on them. */
    {"storageEngine", IGNORE},
    {"indexOptionDefaults", IGNORE},
    {"autoIndexId", IGNORE},
    {"idIndex", IGNORE},
    {"flags", IGNORE},
    {"temp", IGNORE},
    {"viewOn", KEEP_NAME},
    {"pipeline", KEEP_STAGES},
    /* To ignore these would give another collection than the one asked for. */
    {"timeseries", REFUSE},
    {"expireAfterSeconds", REFUSE},
    {"clusteredIndex", REFUSE},
    {"encryptedFields", REFUSE},
};

static int check_validator(ash_value v, ash_error *err)
{
    ash_query_env env = {0};
    /* Compiled only for its refusals; the engine does so again when it keeps it. */
    ash_matcher *m = NULL;
    bson_t filter;
    if (v.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "validator must be an object, not %s", ash__type_name(v.type));
    ash__doc_to_bson(ash__value_doc(v), &filter);
    int rc = ash__matcher_new(&filter, &env, &m, err);
    ash__matcher_free(m);
    return rc;
}

static int check_text(const char *name, ash_value v, ash_error *err)
{
    static const char *const levels[] = {"off", "moderate", "strict", "error", "warn"};
    /* One list: the first three are levels, the rest actions. */
    bool is_level = strcmp(name, "validationLevel") == 0;
    uint32_t len;
    if (v.type != BSON_TYPE_UTF8)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH, "%s must be a string",
                                name);
    const char *text = ash__value_string(v, &len);
    for (size_t i = is_level ? 0 : 3; i < (is_level ? 3 : ASH_ARRAY_LEN(levels)); i++)
        if (strcmp(text, levels[i]) == 0)
            return 0;
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                            "Enumeration value '%s' for field 'create.%s' is "
                            "not a valid value.",
                            text, name);
}

static int check_doc(const char *name, ash_value v, ash_error *err)
{
    ash_collation parsed;
    bool is_simple;
    bson_t spec;
    if (strcmp(name, "validator") == 0)
        return check_validator(v, err);
    if (v.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH, "%s must be an object",
                                name);
    ash__doc_to_bson(ash__value_doc(v), &spec);
    return ash__collation_parse(&spec, &parsed, &is_simple, err);
}

/* {enabled: bool}; *enabled: what it says. */
static int check_images(ash_value v, bool *enabled, ash_error *err)
{
    static const char *const name = "create.changeStreamPreAndPostImages";
    ash_value on = ASH_VALUE_MISSING;
    if (v.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "BSON field '%s' is the wrong type '%s', expected type 'object'",
                                name, ash__type_name(v.type));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "enabled") != 0)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                                    "BSON field '%s.%s' is an unknown field.", name, it.name);
        on = it.value;
    }
    if (ash__value_is_missing(on))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MISSING_FIELD,
                                "BSON field '%s.enabled' is missing but a required field", name);
    if (on.type != BSON_TYPE_BOOL && !ash__value_is_number(on))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "BSON field '%s.enabled' is the wrong type '%s', expected type "
                                "'bool'",
                                name, ash__type_name(on.type));
    *enabled = ash__value_truthy(on);
    return 0;
}

static int take_option(const ash_doc_iter *it, ash_builder *out, ash_error *err)
{
    double number;
    bool enabled = false;
    int rc = 0;
    size_t i = 0;
    while (i < ASH_ARRAY_LEN(options) && strcmp(options[i].name, it->name) != 0)
        i++;
    if (i == ASH_ARRAY_LEN(options))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                                "BSON field 'create.%s' is an unknown field.", it->name);
    switch (options[i].fate) {
    case IGNORE:
        return 0;
    case REFUSE:
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_NOT_IMPLEMENTED,
                                "create: option '%s' is not supported", it->name);
    case KEEP_BOOL:
        /* false is what it is without the option, and two such collections have to be equal. */
        if (ash__value_truthy(it->value))
            ash__builder_bool(out, it->name, true);
        return 0;
    case KEEP_NUMBER:
        if (!ash__value_as_double(it->value, &number))
            rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH, "%s must be a number",
                                  it->name);
        /* Up to here each whole number is exact as a double; NaN fails both. */
        else if (!(number >= 0 && number < 9e15))
            rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "%s is out of range",
                                  it->name);
        break;
    case KEEP_NAME:
        if (it->value.type != BSON_TYPE_UTF8)
            rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH, "%s must be a string",
                                  it->name);
        break;
    case KEEP_STAGES:
        if (it->value.type != BSON_TYPE_ARRAY)
            rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH, "%s must be an array",
                                  it->name);
        break;
    case KEEP_IMAGES:
        rc = check_images(it->value, &enabled, err);
        /* Off is the same as not given. */
        if (!enabled)
            return rc;
        break;
    case KEEP_TEXT:
        rc = check_text(it->name, it->value, err);
        break;
    case KEEP_DOC:
        rc = check_doc(it->name, it->value, err);
        break;
    }
    if (rc == 0)
        ash__builder_element(out, it);
    return rc;
}

/* {viewOn, pipeline}: a view keeps nothing of its own, and its stages only read. */
static int check_view(ash_doc view_options, ash_error *err)
{
    /* What only something that keeps documents can have. */
    static const char *const others[] = {"capped", "size", "max", "validator",
                                         "changeStreamPreAndPostImages"};
    ash_value stages = ash__doc_get(view_options, "pipeline");
    ash_query_env env = {0};
    ash_pipeline_host none = {0};
    ash_pipeline *p = NULL;
    bson_t view;
    if (ash__value_is_missing(ash__doc_get(view_options, "viewOn"))) {
        if (ash__value_is_missing(stages))
            return 0;
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "'pipeline' requires 'viewOn' to be given");
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(others); i++)
        if (!ash__value_is_missing(ash__doc_get(view_options, others[i])))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                    "a view cannot have the option '%s'", others[i]);
    if (ash__value_is_missing(stages))
        return 0;
    ash__doc_to_bson(ash__value_doc(stages), &view);
    /* Compiled to be refused now, instead of at each read; without a clock or other collections,
     * which no check needs. */
    int rc = ash__pipeline_new(&view, &env, &none, &p, err);
    if (rc == 0 &&
        (ash__pipeline_head(p)->has_write_out || ash__pipeline_head(p)->is_change_stream))
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_OPTION_NOT_SUPPORTED_ON_VIEW,
                              "a view's pipeline can neither write nor be a change stream");
    ash__pipeline_free(p);
    return rc;
}

int ash__coll_options_parse(const bson_t *given, bson_t *out, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    int rc = 0;
    ash__builder_begin(&b);
    ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(given));
    while (rc == 0 && ash__doc_iter_next(&it))
        rc = take_option(&it, &b, err);
    ash__builder_end(&b);
    ash_doc doc = ash__builder_doc(&b);
    double size = 0;
    if (rc == 0 && ash__value_truthy(ash__doc_get(doc, "capped")) &&
        !(ash__value_as_double(ash__doc_get(doc, "size"), &size) && size > 0))
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                              "the 'size' field is required when 'capped' is true");
    if (rc == 0)
        rc = check_view(doc, err);
    if (rc == 0) {
        ash__doc_give(doc, out);
    }
    ash__builder_release(&b);
    return rc;
}

bool ash__coll_options_equal(const bson_t *a, const bson_t *b)
{
    ash_doc x = ash__doc_from_bson(a);
    ash_doc y = ash__doc_from_bson(b);
    if (ash__doc_count(x) != ash__doc_count(y))
        return false;
    ash_doc_iter it = ash__doc_iter(x);
    while (ash__doc_iter_next(&it))
        if (!ash__value_equal(it.value, ash__doc_get(y, it.name), NULL))
            return false;
    return true;
}
