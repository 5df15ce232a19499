/* SPDX-License-Identifier: Apache-2.0 */
/* Compiling an array of stages, and pulling documents through them: the last stage is asked, asks
 * the one before it, and so on to the source. */
#include "query/pipeline/stage.h"

#include "base/budget.h"
#include "base/mem.h"

#include <string.h>

/* The first two are the server's limits. */
#define MAX_STAGES       1000
#define MAX_NESTING      20
#define MAX_MEMORY_BYTES (100u * 1024 * 1024)

/* Of pipelines in one another.  What one takes at least, and how many times its specification. */
#define MAX_NESTED_BYTES ((size_t)256 * 1024 * 1024)
#define PIPELINE_BYTES   ((size_t)8 * 1024)
#define SPEC_FACTOR      ((size_t)4)

static const ash_query_env no_env;

static const ash_stage_op *const families[] = {
    ash__stage_facet_ops,  ash__stage_graph_ops,  ash__stage_group_ops,
    ash__stage_lookup_ops, ash__stage_order_ops,  ash__stage_reshape_ops,
    ash__stage_sugar_ops,  ash__stage_unwind_ops, ash__stage_write_ops,
};

/* Stages that a server gives its own documents to; a store has none for them. */
static const char *const servers[] = {"$currentOp", "$listLocalSessions"};

/* Stages of the server that are not done here. */
static const char *const refused[] = {
    "$bucketAuto",
    "$densify",
    "$fill",
    "$geoNear",
    "$indexStats",
    "$listSampledQueries",
    "$listSearchIndexes",
    "$listSessions",
    "$planCacheStats",
    "$redact",
    "$search",
    "$searchMeta",
    "$setWindowFields",
    "$shardedDataDistribution",
    "$vectorSearch",
};

static const ash_stage_op *find_op(const char *name)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(families); i++) {
        for (const ash_stage_op *op = families[i]; op->name != NULL; op++) {
            if (strcmp(op->name, name) == 0)
                return op;
        }
    }
    return NULL;
}

const ash_feature *ash__pipeline_features(void)
{
    static ash_feature table[96];
    size_t n = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(families); i++) {
        for (const ash_stage_op *op = families[i]; op->name != NULL; op++)
            table[n++] = (ash_feature){op->name, op->note == NULL ? "full" : "partly",
                                       op->note == NULL ? "" : op->note};
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(servers); i++)
        table[n++] = (ash_feature){servers[i], "partly",
                                   "of a server, with {aggregate: 1}; its "
                                   "options are ignored"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(refused); i++)
        table[n++] = (ash_feature){refused[i], "refused", "238"};
    ash_assert(n < ASH_ARRAY_LEN(table));
    return table;
}

size_t ash__memory_limit(const ash_query_env *env)
{
    return env->memory_limit_bytes != 0 ? env->memory_limit_bytes : MAX_MEMORY_BYTES;
}

int ash__memory_error(const char *stage, ash_error *err)
{
    return ash__fail_server(err, ASH_ENOMEM,
                            ASH_MONGO_QUERY_EXCEEDED_MEMORY_LIMIT_NO_DISK_USE_ALLOWED,
                            "Exceeded memory limit for %s, but did not allow external sort; Ashlar "
                            "keeps it in memory",
                            stage);
}

ash_stage *ash__stage_add(ash_stage_parser *p, const ash_stage_op *op, size_t state_bytes)
{
    ash_stage *s = ash__arena_alloc(p->pipeline->arena, sizeof *s);
    *s = (ash_stage){op, p->pipeline->last, p->pipeline, ash__alloc(state_bytes)};
    /* In the list at once: whatever fails behind, ash__pipeline_free() finds its state. */
    p->pipeline->last = s;
    return s;
}

static int check_place(ash_stage_parser *p, const ash_stage_op *op)
{
    enum ash_pipeline_place place = p->pipeline->place;
    if ((op->flags & ASH_STAGE_FIRST) && !p->is_first)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_STAGE_NOT_FIRST,
                                "%s is only valid as the first stage in a pipeline.", op->name);
    /* Before the rule for inner pipelines, since a $facet has a code of its own. */
    if (place == ASH_PLACE_FACET &&
        (op->flags & (ASH_STAGE_FIRST | ASH_STAGE_LAST | ASH_STAGE_NO_FACET)))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_STAGE_NOT_IN_FACET,
                                "%s is not allowed to be used within a $facet stage", op->name);
    if ((op->flags & ASH_STAGE_LAST) && place != ASH_PLACE_TOP)
        return ash__fail_server(p->err, ASH_EINVAL,
                                place == ASH_PLACE_UNION
                                    ? ASH_MONGO_LOCATION_STAGE_NOT_IN_UNION_WITH
                                    : ASH_MONGO_LOCATION_STAGE_NOT_IN_LOOKUP,
                                "%s is not allowed within a %s's sub-pipeline", op->name,
                                place == ASH_PLACE_UNION ? "$unionWith" : "$lookup");
    if ((op->flags & ASH_STAGE_LAST) && !p->is_last)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_STAGE_NOT_LAST,
                                "%s can only be the final stage in the pipeline", op->name);
    return 0;
}

static bool is_among(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

bool ash__stage_is_known(const char *name)
{
    /* Updates by pipelines tell a stage that they do not take from one that does not exist. */
    return find_op(name) != NULL || is_among(servers, ASH_ARRAY_LEN(servers), name) ||
           is_among(refused, ASH_ARRAY_LEN(refused), name);
}

int ash__stage_parse(ash_stage_parser *p, const char *name, ash_value spec)
{
    const ash_stage_op *op = find_op(name);
    if (op == NULL && is_among(servers, ASH_ARRAY_LEN(servers), name))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_INVALID_NAMESPACE,
                                "%s is only for a server, and there with {aggregate: 1} and as "
                                "the first stage",
                                name);
    if (op == NULL && is_among(refused, ASH_ARRAY_LEN(refused), name))
        return ash__fail_server(p->err, ASH_EUNSUPPORTED, ASH_MONGO_NOT_IMPLEMENTED,
                                "the pipeline stage %s is not supported", name);
    if (op == NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_STAGE,
                                "Unrecognized pipeline stage name: '%s'", name);
    int rc = check_place(p, op);
    return rc != 0 ? rc : op->parse(p, op, spec);
}

static int parse_stages(ash_stage_parser *p, ash_doc stages)
{
    uint32_t count = ash__doc_count(stages);
    uint32_t index = 0;
    /* Each stage calls the one before it, and the first one the last of the pipeline inside it. */
    p->pipeline->stages += count;
    if (p->pipeline->stages > MAX_STAGES)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_PIPELINE_TOO_LONG,
                                "Pipeline length must be no longer than %d stages, those of the "
                                "pipelines around it included",
                                MAX_STAGES);
    for (ash_doc_iter it = ash__doc_iter(stages); ash__doc_iter_next(&it); index++) {
        if (it.value.type != BSON_TYPE_DOCUMENT)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                    "Each element of the 'pipeline' array must be an object");
        if (ash__doc_count(ash__value_doc(it.value)) != 1)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_STAGE_NOT_ONE_FIELD,
                                    "A pipeline stage specification object must contain exactly "
                                    "one field.");
        ash_doc_iter stage = ash__doc_iter(ash__value_doc(it.value));
        ash__doc_iter_next(&stage);
        p->is_first = index == 0;
        p->is_last = index + 1 == count;
        int rc = ash__stage_parse(p, stage.name, stage.value);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* The leading filters become the head's one. */
static void finish_head(ash_pipeline *p)
{
    ash_builder both = ASH_BUILDER_INIT;
    ash__builder_end(&p->matches);
    ash_doc list = ash__builder_doc(&p->matches);
    ash__builder_begin(&both);
    if (p->match_count == 1)
        ash__builder_elements(&both, ash__value_doc(ash__doc_get(list, "0")));
    else if (p->match_count > 1)
        ash__builder_array_value(&both, "$and", list);
    ash__builder_end(&both);
    ash__doc_to_bson(ash__arena_adopt(p->arena, &both.buf), &p->head.match);
    ash__builder_release(&both);
    ash__builder_release(&p->matches);
}

static int charge(ash_pipeline *p, ash_doc stages, ash_error *err)
{
    size_t bytes = PIPELINE_BYTES + SPEC_FACTOR * stages.len;
    ash_pipeline_memory *m = p->memory;
    /* A pipeline in a pipeline is made anew for each document, and may have others inside. */
    if (bytes > MAX_NESTED_BYTES - m->used)
        return ash__fail_server(err, ASH_ENOMEM, ASH_MONGO_EXCEEDED_MEMORY_LIMIT,
                                "the pipelines of one operation take more than %zu MiB",
                                MAX_NESTED_BYTES / 1024 / 1024);
    int rc = ash__share_grow(&m->share, m->used + bytes, "pipelines in pipelines", err);
    if (rc != 0)
        return rc;
    m->used += bytes;
    p->charged = bytes;
    return 0;
}

/* Without stages, as a pipeline at the top. */
static ash_pipeline *pipeline_alloc(const ash_query_env *env, const ash_pipeline_host *host)
{
    ash_pipeline *p = ash__new(ash_pipeline);
    p->env = env != NULL ? env : &no_env;
    if (host != NULL)
        p->host = *host;
    p->arena = ash__arena_new();
    p->place = ASH_PLACE_TOP;
    p->depth = 1;
    p->stages = p->host.stages;
    p->memory = p->host.memory != NULL ? p->host.memory : &p->own;
    ash__doc_to_bson(ash__doc_empty, &p->head.sort);
    ash__doc_to_bson(ash__doc_empty, &p->head.change_stream);
    ash__builder_begin(&p->matches);
    return p;
}

/* Takes p over: *out is p, or NULL and p is freed. */
static int compile(ash_pipeline *p, ash_doc stages, ash_pipeline **out, ash_error *err)
{
    ash_stage_parser parser = {.pipeline = p, .head_open = p->place != ASH_PLACE_FACET, .err = err};
    *out = NULL;
    int rc = ash__budget_step(err);
    if (rc == 0)
        rc = charge(p, stages, err);
    if (rc == 0) {
        /* Stages keep views of their arguments, so these live as long as the pipeline. */
        ash_value copy = ash__arena_value(p->arena, ash__value_of_array(stages));
        rc = parse_stages(&parser, ash__value_doc(copy));
    }
    finish_head(p);
    if (rc == 0)
        *out = p;
    else
        ash__pipeline_free(p);
    return rc;
}

int ash__pipeline_new(const bson_t *stages, const ash_query_env *env, const ash_pipeline_host *host,
                      ash_pipeline **out, ash_error *err)
{
    return compile(pipeline_alloc(env, host), ash__doc_from_bson(stages), out, err);
}

int ash__pipeline_new_inner(ash_doc stages, const ash_query_env *env, const ash_pipeline *outer,
                            enum ash_pipeline_place place, ash_pipeline **out, ash_error *err)
{
    *out = NULL;
    if (outer->depth == MAX_NESTING)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "pipelines are nested deeper than %d in one another", MAX_NESTING);
    ash_pipeline *p = pipeline_alloc(env, &outer->host);
    p->place = place;
    p->depth = outer->depth + 1;
    p->stages = outer->stages;
    p->memory = outer->memory;
    return compile(p, stages, out, err);
}

void ash__pipeline_free(ash_pipeline *p)
{
    if (p == NULL)
        return;
    /* Stages lie in the arena, but what they hold does not. */
    for (ash_stage *s = p->last; s != NULL; s = s->input) {
        if (s->op->free != NULL)
            s->op->free(s->state);
        ash__free(s->state);
    }
    if (p->source.free != NULL)
        p->source.free(p->source.ctx);
    ash__builder_release(&p->matches);
    ash__arena_free(p->arena);
    /* Before p goes: the memory may be its own. */
    p->memory->used -= p->charged;
    ash__share_shrink(&p->memory->share, p->memory->used);
    ash__free(p);
}

const ash_pipeline_head *ash__pipeline_head(ash_pipeline *p)
{
    return &p->head;
}

void ash__pipeline_start(ash_pipeline *p, ash_source input)
{
    if (p->source.free != NULL)
        p->source.free(p->source.ctx);
    p->source = input;
}

static int pull_source(ash_pipeline *p, ash_doc *out, ash_error *err)
{
    *out = (ash_doc){NULL, 0};
    /* Every document comes by here, also those that a group or a sort keeps. */
    if (ash__query_cancelled(p->env))
        return ash__fail(err, ASH_EINTERRUPTED, "operation was interrupted");
    return p->source.next != NULL ? p->source.next(p->source.ctx, out, err) : 0;
}

static int next_of(ash_pipeline *p, ash_stage *s, ash_doc *out, ash_error *err)
{
    if (s == NULL)
        return pull_source(p, out, err);
    /* A stage sets *out only when it has a document. */
    *out = (ash_doc){NULL, 0};
    /* One document of the source may become billions on its way through the stages. */
    int rc = ash__budget_step(err);
    return rc != 0 ? rc : s->op->next(s, out, err);
}

int ash__stage_pull(ash_stage *s, ash_doc *out, ash_error *err)
{
    return next_of(s->pipeline, s->input, out, err);
}

int ash__pipeline_next(ash_pipeline *p, ash_doc *out, ash_error *err)
{
    return next_of(p, p->last, out, err);
}

bool ash__pipeline_is_streaming(const ash_pipeline *p)
{
    for (const ash_stage *s = p->last; s != NULL; s = s->input) {
        if (!(s->op->flags & ASH_STAGE_STREAM))
            return false;
    }
    return true;
}

int ash__host_find(const ash_pipeline *p, const char *collection, ash_doc filter, ash_source *out,
                   ash_error *err)
{
    *out = (ash_source){NULL, NULL, NULL};
    if (p->host.find == NULL)
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_NOT_IMPLEMENTED,
                                "other collections cannot be read from here");
    /* To open a collection, or a view, takes longer than any other step. */
    int rc = ash__budget_check(err);
    return rc != 0 ? rc : p->host.find(p->host.ctx, collection, filter, p->stages, out, err);
}

int ash__pipeline_start_find(ash_pipeline *p, const char *collection, ash_doc filter,
                             ash_error *err)
{
    ash_builder both = ASH_BUILDER_INIT;
    ash_source source;
    /* It begins with documents of its own, and there may be no collection. */
    if (p->head.is_coll_stats)
        return 0;
    ash__filter_both(&both, filter, ash__doc_from_bson(&p->head.match));
    int rc = ash__host_find(p, collection, ash__builder_doc(&both), &source, err);
    if (rc == 0)
        ash__pipeline_start(p, source);
    ash__builder_release(&both);
    return rc;
}
