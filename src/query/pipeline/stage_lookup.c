/* SPDX-License-Identifier: Apache-2.0 */
/* $lookup: a find for each document, or a pipeline made for it.  What joins the two collections is
 * put into that find's filter wherever possible, so that an index of the other collection serves
 * it. */
#include "query/pipeline/stage.h"

#include "base/mem.h"
#include "query/project/reshape.h"

#include <string.h>

#define MAX_JOINED_BYTES (ASH_DOC_MAX_BYTES + ASH_DOC_SLACK_BYTES)

struct lookup_state {
    const char *from; /* NULL: the inner pipeline starts with $documents */
    const char *as;
    const char *local; /* with foreign, or both NULL */
    const char *foreign;
    ash_doc let;
    ash_expr **let_exprs;
    uint32_t let_count;
    bool has_pipeline;
    ash_doc stages;
    ash_arena *arena;
    ash_builder filter;
    ash_builder out;
};

static int text_option(ash_stage_parser *p, const ash_doc_iter *it, const char **out)
{
    uint32_t len;
    if (it->value.type != BSON_TYPE_UTF8)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$lookup argument '%s' must be a string, is type %s", it->name,
                                ash__type_text(it->value));
    *out = ash__value_string(it->value, &len);
    return 0;
}

static int path_option(ash_stage_parser *p, const ash_doc_iter *it, const char **out)
{
    int rc = text_option(p, it, out);
    return rc != 0 ? rc : ash__stage_field_check(*out, p->err);
}

static void free_let(struct lookup_state *s)
{
    for (uint32_t i = 0; i < s->let_count; i++)
        ash__expr_free(s->let_exprs[i]);
    ash__free(s->let_exprs);
    s->let_exprs = NULL;
    s->let_count = 0;
}

static int parse_let(ash_stage_parser *p, struct lookup_state *s, ash_value let)
{
    if (let.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$lookup argument 'let' must be an object, is type %s",
                                ash__type_text(let));
    free_let(s); /* of an argument given twice the last one counts */
    s->let = ash__value_doc(let);
    s->let_exprs = ash__alloc_array(ash__doc_count(s->let), sizeof(ash_expr *));
    for (ash_doc_iter it = ash__doc_iter(s->let); ash__doc_iter_next(&it);) {
        int rc = ash__expr_check_variable(it.name, p->err);
        if (rc == 0)
            rc = ash__expr_new(it.value, p->pipeline->env, &s->let_exprs[s->let_count], p->err);
        if (rc != 0)
            return rc;
        s->let_count++;
    }
    return 0;
}

static int parse_option(ash_stage_parser *p, struct lookup_state *s, const ash_doc_iter *it)
{
    if (strcmp(it->name, "from") == 0)
        return text_option(p, it, &s->from);
    if (strcmp(it->name, "as") == 0)
        return path_option(p, it, &s->as);
    if (strcmp(it->name, "localField") == 0)
        return path_option(p, it, &s->local);
    if (strcmp(it->name, "foreignField") == 0)
        return path_option(p, it, &s->foreign);
    if (strcmp(it->name, "let") == 0)
        return parse_let(p, s, it->value);
    if (strcmp(it->name, "pipeline") != 0)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "unknown argument to $lookup: %s", it->name);
    if (it->value.type != BSON_TYPE_ARRAY)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "'pipeline' option must be specified as an array");
    s->has_pipeline = true;
    s->stages = ash__value_doc(it->value);
    return 0;
}

/* Variables seen by the inner pipeline: those of let, then those of the command, which they hide,
 * since the first of a name is found.  Without values, while parsing, all are null. */
static void inner_let(const ash_query_env *env, struct lookup_state *s, const ash_value *values,
                      ash_builder *out)
{
    uint32_t i = 0;
    ash__builder_begin(out);
    for (ash_doc_iter it = ash__doc_iter(s->let); ash__doc_iter_next(&it); i++) {
        ash_value v = values != NULL ? values[i] : ash__make_null();
        if (ash__value_is_missing(v))
            v = (ash_value){BSON_TYPE_UNDEFINED, NULL, 0};
        ash__builder_value(out, it.name, v);
    }
    if (env->let != NULL)
        ash__builder_elements(out, ash__doc_from_bson(env->let));
    ash__builder_end(out);
}

/* The inner pipeline is made anew for every document, with the variables as constants; here only to
 * find mistakes early. */
static int check_pipeline(ash_stage_parser *p, struct lookup_state *s)
{
    ash_builder let = ASH_BUILDER_INIT;
    ash_query_env env = *p->pipeline->env;
    ash_pipeline *inner = NULL;
    bson_t vars;
    inner_let(p->pipeline->env, s, NULL, &let);
    ash__doc_to_bson(ash__builder_doc(&let), &vars);
    env.let = &vars;
    int rc =
        ash__pipeline_new_inner(s->stages, &env, p->pipeline, ASH_PLACE_LOOKUP, &inner, p->err);
    if (rc == 0 && s->from == NULL &&
        (inner->last == NULL || ash__value_is_missing(ash__doc_get(s->stages, "0")) ||
         ash__value_is_missing(
             ash__doc_get(ash__value_doc(ash__doc_get(s->stages, "0")), "$documents"))))
        rc = ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                              "must specify 'from' field for a $lookup");
    ash__pipeline_free(inner);
    ash__builder_release(&let);
    return rc;
}

static int parse_lookup(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    int rc = 0;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "the $lookup stage specification must be an object, but found %s",
                                ash__type_text(spec));
    p->head_open = false;
    struct lookup_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->arena = ash__arena_new();
    s->let = ash__doc_empty;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); rc == 0 && ash__doc_iter_next(&it);)
        rc = parse_option(p, s, &it);
    if (rc != 0)
        return rc;
    if (s->as == NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "must specify 'as' field for a $lookup");
    if ((s->local == NULL) != (s->foreign == NULL))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$lookup requires both or neither of 'localField' and "
                                "'foreignField' to be specified");
    if (s->local == NULL && !s->has_pipeline)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$lookup requires either 'pipeline' or both 'localField' and "
                                "'foreignField' to be specified");
    if (!s->has_pipeline && s->let_exprs != NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$lookup with a 'let' argument must also specify 'pipeline'");
    if (s->has_pipeline)
        return check_pipeline(p, s);
    if (s->from == NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "must specify 'from' field for a $lookup");
    return 0;
}

static bool has_regex(ash_value array)
{
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(array)); ash__doc_iter_next(&it);) {
        if (it.value.type == BSON_TYPE_REGEX)
            return true;
    }
    return false;
}

/* {foreign: {$eq: v}}; for an array any of its items; a missing field meets null. */
static void join_filter(struct lookup_state *s, ash_doc doc)
{
    ash_builder *b = &s->filter;
    ash__builder_begin(b);
    if (s->local == NULL) {
        ash__builder_end(b);
        return;
    }
    /* Through arrays: all that the path meets. */
    ash_value v = ash__eval_path(doc, s->local, s->arena);
    /* In an $in a regular expression would match strings; here it equals a stored one only. */
    if (v.type == BSON_TYPE_ARRAY && has_regex(v)) {
        uint32_t n = 0;
        char name[12];
        ash__builder_begin_array(b, "$or");
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);) {
            ash__builder_begin_doc(b, ash__index_name(n++, name));
            ash__builder_begin_doc(b, s->foreign);
            ash__builder_value(b, "$eq", it.value);
            ash__builder_end(b);
            ash__builder_end(b);
        }
        ash__builder_end(b);
    } else {
        bool list = v.type == BSON_TYPE_ARRAY;
        ash__builder_begin_doc(b, s->foreign);
        ash__builder_value(b, list ? "$in" : "$eq", ash__nullish(v) ? ash__make_null() : v);
        ash__builder_end(b);
    }
    ash__builder_end(b);
}

/* The value of "$$name" when let defines it and it is one that an index can be asked for. */
static ash_value plain_variable(const struct lookup_state *s, const ash_value *values, ash_value v)
{
    uint32_t i = 0;
    const char *text = ash__value_utf8(v, "");
    if (strncmp(text, "$$", 2) != 0)
        return ASH_VALUE_MISSING;
    for (ash_doc_iter it = ash__doc_iter(s->let); ash__doc_iter_next(&it); i++) {
        /* Of null and missing, whole arrays and patterns, $eq of expressions and $eq of filters
         * differ. */
        bool askable = !ash__nullish(values[i]) && values[i].type != BSON_TYPE_ARRAY &&
                       values[i].type != BSON_TYPE_REGEX;
        if (askable && strcmp(it.name, text + 2) == 0)
            return values[i];
    }
    return ASH_VALUE_MISSING;
}

/* {$eq: ["$field", "$$variable"]}, either way round, also implies {field: {$eq: value}}: less exact
 * where the field holds an array, but an index can serve it. */
static void add_implied(const struct lookup_state *s, const ash_value *values, ash_value expr,
                        ash_builder *conditions, uint32_t *count)
{
    ash_value sides[2];
    uint32_t n = 0;
    char name[12];
    ash_value eq = expr.type == BSON_TYPE_DOCUMENT ? ash__doc_get(ash__value_doc(expr), "$eq")
                                                   : ASH_VALUE_MISSING;
    if (eq.type != BSON_TYPE_ARRAY || ash__doc_count(ash__value_doc(eq)) != 2)
        return;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(eq)); ash__doc_iter_next(&it);)
        sides[n++] = it.value;
    for (n = 0; n < 2; n++) {
        ash_value v = plain_variable(s, values, sides[1 - n]);
        const char *field = ash__value_utf8(sides[n], "");
        if (ash__value_is_missing(v) || field[0] != '$' || field[1] == '$' || field[1] == '\0')
            continue;
        ash__builder_begin_doc(conditions, ash__index_name((*count)++, name));
        ash__builder_begin_doc(conditions, field + 1);
        ash__builder_value(conditions, "$eq", v);
        ash__builder_end(conditions);
        ash__builder_end(conditions);
        return;
    }
}

/* Replaces s->filter by itself and what the leading $match implies through $expr. */
static void narrow_filter(struct lookup_state *s, const ash_value *values)
{
    ash_builder b = ASH_BUILDER_INIT;
    uint32_t count = 0;
    ash_value first = ash__doc_get(s->stages, "0");
    ash_value match = first.type == BSON_TYPE_DOCUMENT
                          ? ash__doc_get(ash__value_doc(first), "$match")
                          : ASH_VALUE_MISSING;
    if (match.type != BSON_TYPE_DOCUMENT)
        return;
    ash_value expr = ash__doc_get(ash__value_doc(match), "$expr");
    ash_value all = expr.type == BSON_TYPE_DOCUMENT ? ash__doc_get(ash__value_doc(expr), "$and")
                                                    : ASH_VALUE_MISSING;
    ash__builder_begin(&b);
    /* Besides what it was: the inner pipeline's own $match still decides. */
    ash__builder_begin_array(&b, "$and");
    if (!ash__doc_is_empty(ash__builder_doc(&s->filter)))
        ash__builder_item(&b, count++, ash__value_of_doc(ash__builder_doc(&s->filter)));
    uint32_t before = count;
    add_implied(s, values, expr, &b, &count);
    if (all.type == BSON_TYPE_ARRAY) {
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(all)); ash__doc_iter_next(&it);)
            add_implied(s, values, it.value, &b, &count);
    }
    ash__builder_end(&b);
    ash__builder_end(&b);
    /* Nothing is implied in most cases, and the filter stays as it is. */
    if (count > before) {
        ash__builder_release(&s->filter);
        s->filter = b;
    } else {
        ash__builder_release(&b);
    }
}

/* Everything that `next` gives becomes the array. */
static int collect(const struct lookup_state *s, int (*next)(void *, ash_doc *, ash_error *),
                   void *ctx, ash_builder *array, ash_error *err)
{
    uint32_t count = 0;
    ash_doc doc;
    int rc;
    while ((rc = next(ctx, &doc, err)) == 0 && doc.data != NULL) {
        ash__builder_item(array, count++, ash__value_of_doc(doc));
        /* While it grows: the other collection may be of any size. */
        if (array->buf.len > MAX_JOINED_BYTES)
            return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_LOCATION_LOOKUP_TOO_LARGE,
                                    "Total size of documents in %s matching pipeline's $lookup "
                                    "stage exceeds %d bytes",
                                    s->from != NULL ? s->from : "$documents", MAX_JOINED_BYTES);
    }
    return rc;
}

static int next_of_pipeline(void *ctx, ash_doc *out, ash_error *err)
{
    return ash__pipeline_next(ctx, out, err);
}

static int run_inner(ash_stage *stage, struct lookup_state *s, ash_doc doc, ash_builder *array,
                     ash_error *err)
{
    ash_query_env env = *stage->pipeline->env;
    ash_builder let = ASH_BUILDER_INIT;
    ash_pipeline *inner = NULL;
    bson_t vars;
    int rc = 0;
    ash_value *values = ash__arena_alloc(s->arena, s->let_count * sizeof *values);
    for (uint32_t i = 0; rc == 0 && i < s->let_count; i++)
        rc = ash__expr_eval(s->let_exprs[i], doc, NULL, s->arena, &values[i], err);
    if (rc != 0)
        return rc;
    narrow_filter(s, values);
    inner_let(&env, s, values, &let);
    ash__doc_to_bson(ash__builder_doc(&let), &vars);
    env.let = &vars;
    /* With this document's variables as constants, so that an index can be asked for them. */
    rc = ash__pipeline_new_inner(s->stages, &env, stage->pipeline, ASH_PLACE_LOOKUP, &inner, err);
    if (rc == 0)
        rc = ash__pipeline_start_find(inner, s->from, ash__builder_doc(&s->filter), err);
    if (rc == 0)
        rc = collect(s, next_of_pipeline, inner, array, err);
    ash__pipeline_free(inner);
    ash__builder_release(&let);
    return rc;
}

static int run_find(ash_stage *stage, struct lookup_state *s, ash_builder *array, ash_error *err)
{
    ash_source source;
    int rc = ash__host_find(stage->pipeline, s->from, ash__builder_doc(&s->filter), &source, err);
    if (rc != 0)
        return rc;
    rc = collect(s, source.next, source.ctx, array, err);
    source.free(source.ctx);
    return rc;
}

static int next_lookup(ash_stage *stage, ash_doc *out, ash_error *err)
{
    struct lookup_state *s = stage->state;
    ash_builder array = ASH_BUILDER_INIT;
    ash_doc doc;
    int rc = ash__stage_pull(stage, &doc, err);
    if (rc != 0 || doc.data == NULL)
        return rc;
    ash__arena_reset(s->arena);
    join_filter(s, doc);
    ash__builder_begin(&array);
    rc = s->has_pipeline ? run_inner(stage, s, doc, &array, err) : run_find(stage, s, &array, err);
    /* Also after a failure, which may have come at any item. */
    ash__builder_end(&array);
    if (rc == 0) {
        ash__doc_set_path(&s->out, doc, s->as, ash__value_of_array(ash__builder_doc(&array)));
        *out = ash__builder_doc(&s->out);
        rc = ash__made_check("$lookup", *out, err);
    }
    ash__builder_release(&array);
    return rc;
}

static void free_lookup(void *state)
{
    struct lookup_state *s = state;
    free_let(s);
    ash__arena_free(s->arena);
    ash__builder_release(&s->filter);
    ash__builder_release(&s->out);
}

const ash_stage_op ash__stage_lookup_ops[] = {
    {"$lookup", 0, parse_lookup, next_lookup, free_lookup,
     "from names a collection or view of the same database"},
    {NULL},
};
