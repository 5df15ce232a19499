/* SPDX-License-Identifier: Apache-2.0 */
/* $project, $addFields and the like behind one interface; each is a projection, a tree of added
 * fields or an expression for the root. */
#include "query/project/reshape.h"

#include "base/mem.h"
#include "query/kit/value_text.h"
#include "query/project/add_fields.h"
#include "query/project/project.h"

#include <string.h>

/* More than in a stored document: a later stage may take the depth away again. */
#define MAX_RESULT_DEPTH 200

struct ash_reshape {
    ash_projection *projection; /* exactly one of the three */
    ash_add_fields *add;
    ash_expr *root;
    const char *stage;
};

static const char *const stage_names[] = {"$project", "$addFields",   "$set",
                                          "$unset",   "$replaceRoot", "$replaceWith"};

static const char *stage_name(const char *name)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(stage_names); i++) {
        if (strcmp(stage_names[i], name) == 0)
            return stage_names[i];
    }
    return NULL;
}

bool ash__reshape_is_stage(const char *name)
{
    return stage_name(name) != NULL;
}

/* `$` as a part of a path: in a find it stands for the item that the filter met, and a stage has no
 * filter. */
static int check_name(const char *name, ash_error *err)
{
    size_t len = strlen(name);
    if (len > 2 && strcmp(name + len - 2, ".$") == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_POSITIONAL_IN_AGGREGATION,
                                "Invalid $project :: caused by :: Cannot use positional "
                                "projection in aggregation projection");
    if (strstr(name, ".$.") != NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_POSITIONAL_IN_MIDDLE,
                                "Invalid $project :: caused by :: it is illegal to specify a "
                                "positional operator in the middle of a path: %s",
                                name);
    if (strstr(name, ".$") != NULL || strcmp(name, "$") == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_FIELD_PATH_DOLLAR_NAME,
                                "Invalid $project :: caused by :: FieldPath field names may "
                                "not start with '$'. Consider using $getField or $setField.");
    return 0;
}

/* What find's projection allows and the stage does not. */
static int check_project(ash_doc spec, int depth, ash_error *err)
{
    for (ash_doc_iter it = ash__doc_iter(spec); ash__doc_iter_next(&it);) {
        int rc = check_name(it.name, err);
        if (rc != 0)
            return rc;
        if (it.value.type != BSON_TYPE_DOCUMENT || depth > ASH_DOC_MAX_DEPTH)
            continue;
        ash_doc_iter inner = ash__doc_iter(ash__value_doc(it.value));
        bool any = ash__doc_iter_next(&inner);
        if (any && (strcmp(inner.name, "$elemMatch") == 0 || strcmp(inner.name, "$meta") == 0))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_PIPELINE_OPERATOR,
                                    "Invalid $project :: caused by :: Unrecognized expression "
                                    "'%s'",
                                    inner.name);
        /* find's $slice takes a number; of the expression that is one argument too few. */
        if (any && strcmp(inner.name, "$slice") == 0 && inner.value.type != BSON_TYPE_ARRAY)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_ARGUMENT_COUNT_OUT_OF_RANGE,
                                    "Invalid $project :: caused by :: Expression $slice takes at "
                                    "least 2 arguments, and at most 3, but 1 were passed in.");
        if (any && inner.name[0] != '$') {
            rc = check_project(ash__value_doc(it.value), depth + 1, err);
            if (rc != 0)
                return rc;
        }
    }
    return 0;
}

static int new_project(ash_reshape *s, ash_value spec, const ash_query_env *env, ash_error *err)
{
    bson_t b;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_PROJECT_NOT_OBJECT,
                                "$project specification must be an object");
    if (ash__doc_is_empty(ash__value_doc(spec)))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_PROJECT_EMPTY,
                                "Invalid $project :: caused by :: projection specification must "
                                "have at least one field");
    int rc = check_project(ash__value_doc(spec), 0, err);
    if (rc != 0)
        return rc;
    ash__doc_to_bson(ash__value_doc(spec), &b);
    rc = ash__projection_new(&b, env, &s->projection, err);
    if (rc != 0)
        ash__error_prefix(err, "Invalid $project :: caused by :");
    return rc;
}

static int unset_name(ash_builder *b, ash_value v, ash_error *err)
{
    uint32_t len;
    if (v.type != BSON_TYPE_UTF8)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNSET_ITEM_NOT_STRING,
                                "$unset specification must be a string or an array containing "
                                "only string values");
    const char *name = ash__value_string(v, &len);
    if (len == 0 || name[0] == '$' || strstr(name, ".$") != NULL)
        return ash__fail_server(err, ASH_EINVAL,
                                len == 0 ? ASH_MONGO_LOCATION_FIELD_PATH_EMPTY
                                         : ASH_MONGO_LOCATION_FIELD_PATH_DOLLAR_NAME,
                                "Invalid $unset :: caused by :: '%s' is no valid FieldPath", name);
    /* $unset is an exclusion. */
    ash__builder_bool(b, name, false);
    return 0;
}

static int new_unset(ash_reshape *s, ash_value spec, const ash_query_env *env, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    bson_t projection;
    int rc = 0;
    ash__builder_begin(&b);
    if (spec.type == BSON_TYPE_ARRAY) {
        if (ash__doc_is_empty(ash__value_doc(spec)))
            rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNSET_EMPTY,
                                  "$unset specification must be a string or an array with at "
                                  "least one field");
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec));
             rc == 0 && ash__doc_iter_next(&it);)
            rc = unset_name(&b, it.value, err);
    } else if (spec.type == BSON_TYPE_UTF8) {
        rc = unset_name(&b, spec, err);
    } else {
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNSET_NOT_STRING_OR_ARRAY,
                              "$unset specification must be a string or an array");
    }
    ash__builder_end(&b);
    if (rc == 0) {
        ash__doc_to_bson(ash__builder_doc(&b), &projection);
        rc = ash__projection_new(&projection, env, &s->projection, err);
    }
    ash__builder_release(&b);
    return rc;
}

static int new_root(ash_reshape *s, ash_value spec, const ash_query_env *env, ash_error *err)
{
    if (strcmp(s->stage, "$replaceWith") == 0)
        return ash__expr_new(spec, env, &s->root, err);
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_REPLACE_ROOT_NOT_OBJECT,
                                "expected an object as specification for $replaceRoot stage, got "
                                "%s",
                                ash__type_name(spec.type));
    ash_value root = ASH_VALUE_MISSING;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "newRoot") != 0)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                                    "BSON field '$replaceRoot.%s' is an unknown field.", it.name);
        root = it.value;
    }
    if (ash__value_is_missing(root))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MISSING_FIELD,
                                "BSON field '$replaceRoot.newRoot' is missing but a required "
                                "field");
    return ash__expr_new(root, env, &s->root, err);
}

int ash__reshape_new(const char *stage, ash_value spec, const ash_query_env *env, ash_reshape **out,
                     ash_error *err)
{
    ash_reshape *s = ash__new(ash_reshape);
    int rc;
    *out = NULL;
    /* Our own constant, which lives longer than the caller's text. */
    s->stage = stage_name(stage);
    ash_assert(s->stage != NULL);
    if (strcmp(s->stage, "$project") == 0)
        rc = new_project(s, spec, env, err);
    else if (strcmp(s->stage, "$unset") == 0)
        rc = new_unset(s, spec, env, err);
    else if (strncmp(s->stage, "$replace", 8) == 0)
        rc = new_root(s, spec, env, err);
    else
        rc = ash__add_fields_new(s->stage, spec, env, &s->add, err);
    if (rc == 0)
        *out = s;
    else
        ash__reshape_free(s);
    return rc;
}

void ash__reshape_free(ash_reshape *s)
{
    if (s == NULL)
        return;
    ash__projection_free(s->projection);
    ash__add_fields_free(s->add);
    ash__expr_free(s->root);
    ash__free(s);
}

static int apply_root(const ash_reshape *s, ash_doc doc, ash_arena *arena, ash_builder *out,
                      ash_error *err)
{
    char text[ASH_TEXT_BYTES];
    ash_value v;
    int rc = ash__expr_eval(s->root, doc, NULL, arena, &v, err);
    if (rc != 0)
        return rc;
    if (v.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_NEW_ROOT_NOT_OBJECT,
                                "'newRoot' expression must evaluate to an object, but resulting "
                                "value was: %s. Type of resulting value: '%s'",
                                ash__value_text(v, text, sizeof text),
                                v.type == 0 ? "missing" : ash__type_name(v.type));
    ash__builder_begin(out);
    ash__builder_elements(out, ash__value_doc(v));
    ash__builder_end(out);
    return 0;
}

int ash__made_check(const char *stage, ash_doc doc, ash_error *err)
{
    if (doc.len > ASH_DOC_MAX_BYTES + ASH_DOC_SLACK_BYTES)
        return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_BSON_OBJECT_TOO_LARGE,
                                "%s made a document of %zu bytes", stage, doc.len);
    /* What we made is valid BSON; what is asked for is its depth. */
    if (ash__bson_validate(doc.data, doc.len, MAX_RESULT_DEPTH, NULL) != 0)
        return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_OVERFLOW,
                                "%s made a document nested deeper than %d", stage,
                                MAX_RESULT_DEPTH);
    return 0;
}

int ash__reshape_apply(const ash_reshape *s, ash_doc doc, ash_arena *arena, ash_builder *out,
                       ash_error *err)
{
    int rc;
    if (s->projection != NULL)
        rc = ash__projection_apply(s->projection, doc, NULL, out, err);
    else if (s->add != NULL)
        rc = ash__add_fields_apply(s->add, doc, arena, out, err);
    else
        rc = apply_root(s, doc, arena, out, err);
    return rc != 0 ? rc : ash__made_check(s->stage, ash__builder_doc(out), err);
}
