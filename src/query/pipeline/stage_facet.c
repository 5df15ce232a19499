/* SPDX-License-Identifier: Apache-2.0 */
/* $facet $unionWith $documents. */
#include "query/pipeline/stage.h"

#include "base/mem.h"
#include "base/share.h"
#include "query/project/reshape.h"

#include <string.h>

/* Documents kept in memory, given again and again. */
struct kept {
    ash_buffer bytes;
    ash_share share; /* of bytes */
    size_t at;
};

static int next_kept(void *ctx, ash_doc *out, ash_error *err)
{
    struct kept *k = ctx;
    (void)err;
    *out = (ash_doc){NULL, 0};
    if (k->at == k->bytes.len)
        return 0;
    /* A document begins with its length, so they can lie one behind the other. */
    const uint8_t *p = k->bytes.data + k->at;
    uint32_t len =
        (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    *out = (ash_doc){p, len};
    k->at += len;
    return 0;
}

struct facet_state {
    const char **names;
    ash_pipeline **pipelines;
    uint32_t count;
    struct kept kept;
    bool done;
    ash_builder out;
};

static int parse_facet_field(ash_stage_parser *p, struct facet_state *s, const ash_doc_iter *it)
{
    if (it->name[0] == '$' || it->name[0] == '\0' || strchr(it->name, '.') != NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_FACET_ILLEGAL,
                                "The name of a facet must be a plain field name, found '%s'",
                                it->name);
    if (it->value.type != BSON_TYPE_ARRAY)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_FACET_NOT_ARRAY,
                                "arguments to $facet must be arrays, %s is type %s", it->name,
                                ash__type_text(it->value));
    s->names[s->count] = it->name;
    int rc = ash__pipeline_new_inner(ash__value_doc(it->value), p->pipeline->env, p->pipeline,
                                     ASH_PLACE_FACET, &s->pipelines[s->count], p->err);
    if (rc == 0)
        s->count++;
    return rc;
}

static int parse_facet(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    int rc = 0;
    if (spec.type != BSON_TYPE_DOCUMENT || ash__doc_is_empty(ash__value_doc(spec)))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_FACET_ILLEGAL,
                                "the $facet specification must be a non-empty object");
    uint32_t count = ash__doc_count(ash__value_doc(spec));
    p->head_open = false;
    struct facet_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->names = ash__alloc_array(count, sizeof *s->names);
    s->pipelines = ash__alloc_array(count, sizeof *s->pipelines);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); rc == 0 && ash__doc_iter_next(&it);)
        rc = parse_facet_field(p, s, &it);
    return rc;
}

static int keep_input(ash_stage *stage, struct kept *k, ash_error *err)
{
    ash_doc doc;
    int rc;
    while ((rc = ash__stage_pull(stage, &doc, err)) == 0 && doc.data != NULL) {
        /* All the pipelines go through the same documents, one after the other. */
        ash__buffer_append(&k->bytes, doc.data, doc.len);
        if (k->bytes.len > ash__memory_limit(stage->pipeline->env))
            return ash__memory_error("$facet", err);
        rc = ash__share_grow(&k->share, k->bytes.len, "$facet", err);
        if (rc != 0)
            return rc;
    }
    return rc;
}

static int run_facet(struct facet_state *s, uint32_t i, ash_error *err)
{
    uint32_t count = 0;
    ash_doc doc;
    int rc;
    s->kept.at = 0;
    ash__pipeline_start(s->pipelines[i], (ash_source){&s->kept, next_kept, NULL});
    ash__builder_begin_array(&s->out, s->names[i]);
    while ((rc = ash__pipeline_next(s->pipelines[i], &doc, err)) == 0 && doc.data != NULL) {
        ash__builder_item(&s->out, count++, ash__value_of_doc(doc));
        /* While it grows: stages can make any number of documents of a few. */
        if (s->out.buf.len > ASH_DOC_MAX_BYTES + ASH_DOC_SLACK_BYTES)
            return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_LOCATION_FACET_TOO_LARGE,
                                    "document constructed by $facet is larger than %d bytes",
                                    ASH_DOC_MAX_BYTES);
    }
    ash__builder_end(&s->out);
    ash__pipeline_free(s->pipelines[i]);
    s->pipelines[i] = NULL;
    return rc;
}

static int next_facet(ash_stage *stage, ash_doc *out, ash_error *err)
{
    struct facet_state *s = stage->state;
    if (s->done)
        return 0;
    s->done = true;
    /* One document comes out, also of no input. */
    int rc = keep_input(stage, &s->kept, err);
    ash__builder_begin(&s->out);
    for (uint32_t i = 0; rc == 0 && i < s->count; i++)
        rc = run_facet(s, i, err);
    if (rc != 0)
        return rc;
    ash__builder_end(&s->out);
    *out = ash__builder_doc(&s->out);
    return ash__made_check("$facet", *out, err);
}

static void free_facet(void *state)
{
    struct facet_state *s = state;
    for (uint32_t i = 0; i < s->count; i++)
        ash__pipeline_free(s->pipelines[i]);
    ash__free(s->pipelines);
    ash__free(s->names);
    ash__buffer_release(&s->kept.bytes);
    ash__share_shrink(&s->kept.share, 0);
    ash__builder_release(&s->out);
}

struct union_state {
    const char *collection; /* NULL: the inner pipeline brings its documents */
    ash_pipeline *inner;
    bool first_done;
    bool started;
};

static int read_union(ash_stage_parser *p, ash_value spec, struct union_state *s, ash_doc *stages)
{
    uint32_t len;
    if (spec.type == BSON_TYPE_UTF8) {
        s->collection = ash__value_string(spec, &len);
        return 0;
    }
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "the $unionWith stage specification must be an object or string, "
                                "but found %s",
                                ash__type_text(spec));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "coll") == 0 && it.value.type == BSON_TYPE_UTF8)
            s->collection = ash__value_string(it.value, &len);
        else if (strcmp(it.name, "pipeline") == 0 && it.value.type == BSON_TYPE_ARRAY)
            *stages = ash__value_doc(it.value);
        else
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                                    "BSON field '$unionWith.%s' is an unknown field or has the "
                                    "wrong type",
                                    it.name);
    }
    return 0;
}

static int parse_union(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    struct union_state parsed = {.collection = NULL};
    ash_doc stages = ash__doc_empty;
    int rc = read_union(p, spec, &parsed, &stages);
    if (rc != 0)
        return rc;
    p->head_open = false;
    struct union_state *s = ash__stage_add(p, op, sizeof *s)->state;
    *s = parsed;
    rc = ash__pipeline_new_inner(stages, p->pipeline->env, p->pipeline, ASH_PLACE_UNION, &s->inner,
                                 p->err);
    ash_value first = ash__doc_get(stages, "0");
    bool brings_own = first.type == BSON_TYPE_DOCUMENT &&
                      !ash__value_is_missing(ash__doc_get(ash__value_doc(first), "$documents"));
    if (rc == 0 && s->collection == NULL && !brings_own)
        rc = ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                              "$unionWith stage without explicit collection must have a pipeline "
                              "with $documents as first stage");
    return rc;
}

static int next_union(ash_stage *stage, ash_doc *out, ash_error *err)
{
    struct union_state *s = stage->state;
    int rc = 0;
    if (!s->first_done) {
        rc = ash__stage_pull(stage, out, err);
        if (rc != 0 || out->data != NULL)
            return rc;
        /* The source is not asked again once it has ended. */
        s->first_done = true;
    }
    if (!s->started && s->collection != NULL)
        rc = ash__pipeline_start_find(s->inner, s->collection, ash__doc_empty, err);
    s->started = true;
    if (rc == 0 && s->inner != NULL)
        rc = ash__pipeline_next(s->inner, out, err);
    /* What it stands on may be a tree of pipelines: they go before the next one grows. */
    if (rc == 0 && out->data == NULL) {
        ash__pipeline_free(s->inner);
        s->inner = NULL;
    }
    return rc;
}

static void free_union(void *state)
{
    ash__pipeline_free(((struct union_state *)state)->inner);
}

struct documents_state {
    ash_expr *expr;
    ash_arena *arena;
    ash_doc_iter items;
    bool evaluated;
};

static int parse_documents(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    ash_expr *expr;
    int rc = ash__expr_new(spec, p->pipeline->env, &expr, p->err);
    if (rc != 0)
        return rc;
    p->head_open = false;
    struct documents_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->expr = expr;
    s->arena = ash__arena_new();
    p->pipeline->head.is_coll_stats = true; /* reads no documents either */
    return 0;
}

static int next_documents(ash_stage *stage, ash_doc *out, ash_error *err)
{
    struct documents_state *s = stage->state;
    if (!s->evaluated) {
        ash_value v;
        int rc = ash__expr_eval(s->expr, ash__doc_empty, NULL, s->arena, &v, err);
        if (rc != 0)
            return rc;
        if (v.type != BSON_TYPE_ARRAY)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_DOCUMENTS_NOT_ARRAY,
                                    "an array is expected for $documents, found %s",
                                    ash__type_text(v));
        s->items = ash__doc_iter(ash__value_doc(v));
        s->evaluated = true;
    }
    if (!ash__doc_iter_next(&s->items))
        return 0;
    if (s->items.value.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_NEW_ROOT_NOT_OBJECT,
                                "$documents needs objects, found %s",
                                ash__type_text(s->items.value));
    *out = ash__value_doc(s->items.value);
    return 0;
}

static void free_documents(void *state)
{
    struct documents_state *s = state;
    ash__expr_free(s->expr);
    ash__arena_free(s->arena);
}

const ash_stage_op ash__stage_facet_ops[] = {
    {"$facet", ASH_STAGE_NO_FACET, parse_facet, next_facet, free_facet, NULL},
    {"$unionWith", 0, parse_union, next_union, free_union, NULL},
    {"$documents", ASH_STAGE_FIRST, parse_documents, next_documents, free_documents, NULL},
    {NULL},
};
