/* SPDX-License-Identifier: Apache-2.0 */
/* $match $sort $skip $limit $sample: which documents, in what order. */
#include "query/pipeline/stage.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/share.h"

#include <string.h>

struct match_state {
    ash_matcher *matcher;
};

/* A filter with variables cannot leave an inner pipeline: the host does not know them. */
static bool mentions_variable(ash_value v)
{
    uint32_t len;
    if (v.type == BSON_TYPE_UTF8)
        return strncmp(ash__value_string(v, &len), "$$", 2) == 0;
    if (v.type != BSON_TYPE_DOCUMENT && v.type != BSON_TYPE_ARRAY)
        return false;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);) {
        if (mentions_variable(it.value))
            return true;
    }
    return false;
}

static int parse_match(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    bson_t filter;
    ash_matcher *matcher;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_MATCH_NOT_OBJECT,
                                "the match filter must be an expression in an object");
    ash__doc_to_bson(ash__value_doc(spec), &filter);
    /* Compiled in any case: mistakes are told now, wherever the filter goes. */
    int rc = ash__matcher_new(&filter, p->pipeline->env, &matcher, p->err);
    if (rc != 0)
        return rc;
    /* The head's filter comes first; behind $skip or $limit it would be another one. */
    bool to_head = p->head_open && p->pipeline->last == NULL &&
                   ash__doc_is_empty(ash__doc_from_bson(&p->pipeline->head.sort)) &&
                   p->pipeline->head.skip == 0 && p->pipeline->head.limit == 0 &&
                   !p->pipeline->head.is_change_stream;
    if (to_head && (p->pipeline->place == ASH_PLACE_TOP || !mentions_variable(spec))) {
        ash__builder_item(&p->pipeline->matches, p->pipeline->match_count++, spec);
        ash__matcher_free(matcher);
        return 0;
    }
    p->head_open = false;
    struct match_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->matcher = matcher;
    return 0;
}

static int next_match(ash_stage *s, ash_doc *out, ash_error *err)
{
    const struct match_state *state = s->state;
    for (;;) {
        bool matches = false;
        int rc = ash__stage_pull(s, out, err);
        if (rc != 0 || out->data == NULL)
            return rc;
        rc = ash__matcher_check(state->matcher, *out, NULL, &matches, err);
        if (rc != 0 || matches)
            return rc;
    }
}

static void free_match(void *state)
{
    ash__matcher_free(((struct match_state *)state)->matcher);
}

struct sort_state {
    ash_sort_spec *spec;
    ash_sorter *sorter;
    uint64_t keep_first;
};

static int parse_sort(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    ash_pipeline *pl = p->pipeline;
    bson_t sort;
    ash_sort_spec *compiled;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SORT_NOT_OBJECT,
                                "the $sort key specification must be an object");
    if (ash__doc_is_empty(ash__value_doc(spec)))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SORT_WITHOUT_KEYS,
                                "$sort stage must have at least one sort key");
    ash__doc_to_bson(ash__value_doc(spec), &sort);
    /* Compiled in any case: mistakes are told now, whoever sorts. */
    int rc = ash__sort_spec_new(&sort, pl->env, &compiled, p->err);
    if (rc != 0)
        return rc;
    /* Of an inner pipeline the host takes the filter alone. */
    if (p->head_open && pl->place == ASH_PLACE_TOP && pl->last == NULL && pl->head.skip == 0 &&
        pl->head.limit == 0 && ash__doc_is_empty(ash__doc_from_bson(&pl->head.sort))) {
        ash__doc_to_bson(ash__value_doc(spec), &pl->head.sort);
        ash__sort_spec_free(compiled);
        return 0;
    }
    p->head_open = false;
    struct sort_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->spec = compiled;
    return 0;
}

static int fill_sorter(ash_stage *s, struct sort_state *state, ash_error *err)
{
    /* Documents with equal keys come out as they came in. */
    uint64_t order = 0;
    ash_doc doc;
    int rc = 0;
    state->sorter = ash__sorter_new(state->spec, state->keep_first, s->pipeline->env);
    while (rc == 0 && (rc = ash__stage_pull(s, &doc, err)) == 0 && doc.data != NULL)
        rc = ash__sorter_add(state->sorter, doc, order++, err);
    if (rc == 0)
        ash__sorter_finish(state->sorter);
    return rc;
}

static int next_sort(ash_stage *s, ash_doc *out, ash_error *err)
{
    struct sort_state *state = s->state;
    uint64_t order;
    if (state->sorter == NULL) {
        int rc = fill_sorter(s, state, err);
        if (rc != 0)
            return rc;
    }
    if (!ash__sorter_next(state->sorter, out, &order))
        *out = (ash_doc){NULL, 0};
    return 0;
}

static void free_sort(void *state)
{
    struct sort_state *s = state;
    ash__sorter_free(s->sorter);
    ash__sort_spec_free(s->spec);
}

struct count_state {
    int64_t wanted;
    int64_t seen;
};

static int whole(ash_stage_parser *p, const ash_stage_op *op, ash_value v, int32_t code,
                 int64_t least, int64_t *out)
{
    if (ash__value_is_number(v) && ash__value_as_int64(v, out) && *out >= least)
        return 0;
    return ash__fail_server(p->err, ASH_EINVAL, code,
                            "invalid argument to %s stage: Expected a %s number", op->name,
                            least > 0 ? "positive" : "non-negative");
}

static int parse_skip(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    ash_pipeline_head *head = &p->pipeline->head;
    int64_t n;
    int rc = whole(p, op, spec, ASH_MONGO_LOCATION_SKIP_NEGATIVE, 0, &n);
    if (rc != 0)
        return rc;
    /* A sum that overflows is left to a stage of its own. */
    if (p->head_open && p->pipeline->place == ASH_PLACE_TOP && p->pipeline->last == NULL &&
        head->limit == 0 && !__builtin_add_overflow(head->skip, n, &head->skip))
        return 0;
    p->head_open = false;
    struct count_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->wanted = n;
    return 0;
}

static int next_skip(ash_stage *s, ash_doc *out, ash_error *err)
{
    struct count_state *state = s->state;
    for (;;) {
        int rc = ash__stage_pull(s, out, err);
        if (rc != 0 || out->data == NULL || state->seen == state->wanted)
            return rc;
        state->seen++;
    }
}

/* $limit right behind $sort, or behind $sort and $skip, bounds what the sort keeps. */
static void bound_sort(ash_stage *before, int64_t limit)
{
    if (before != NULL && before->op->next == next_skip) {
        if (__builtin_add_overflow(limit, ((struct count_state *)before->state)->wanted, &limit))
            return;
        before = before->input;
    }
    if (before != NULL && before->op->next == next_sort)
        ((struct sort_state *)before->state)->keep_first = (uint64_t)limit;
}

static int parse_limit(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    ash_pipeline_head *head = &p->pipeline->head;
    int64_t n;
    if (ash__value_is_number(spec) && ash__value_as_int64(spec, &n) && n == 0)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_LIMIT_NOT_POSITIVE,
                                "the limit must be positive");
    int rc = whole(p, op, spec, ASH_MONGO_LOCATION_LIMIT_NOT_WHOLE, 1, &n);
    if (rc != 0)
        return rc;
    if (p->head_open && p->pipeline->place == ASH_PLACE_TOP && p->pipeline->last == NULL) {
        /* The smaller of several. */
        head->limit = head->limit == 0 || n < head->limit ? n : head->limit;
        return 0;
    }
    p->head_open = false;
    bound_sort(p->pipeline->last, n);
    struct count_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->wanted = n;
    return 0;
}

static int next_limit(ash_stage *s, ash_doc *out, ash_error *err)
{
    struct count_state *state = s->state;
    if (state->seen == state->wanted)
        return 0;
    state->seen++;
    return ash__stage_pull(s, out, err);
}

/* Reservoir sampling: the documents kept, in random order. */
struct sample_state {
    int64_t size;
    ash_buffer *docs;
    uint64_t kept;
    uint64_t capacity;
    uint64_t given;
    ash_share share; /* of docs */
    bool loaded;
};

static int parse_sample(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    int64_t n;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SAMPLE_NOT_OBJECT,
                                "the $sample stage specification must be an object");
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "size") != 0)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SAMPLE_UNKNOWN_OPTION,
                                    "unrecognized option to $sample: %s", it.name);
    }
    ash_value size = ash__doc_get(ash__value_doc(spec), "size");
    if (ash__value_is_missing(size))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SAMPLE_WITHOUT_SIZE,
                                "$sample stage must specify a size");
    int rc = whole(p, op, size, ASH_MONGO_LOCATION_SAMPLE_SIZE_NOT_POSITIVE, 1, &n);
    if (rc != 0)
        return rc;
    p->head_open = false;
    struct sample_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->size = n;
    return 0;
}

static uint64_t random_below(uint64_t n)
{
    uint64_t r;
    ash__random(&r, sizeof r);
    /* The remainder favours small numbers by less than anybody can count. */
    return r % n;
}

static void keep_doc(struct sample_state *state, uint64_t at, ash_doc doc, size_t *bytes)
{
    *bytes -= state->docs[at].len;
    ash__buffer_clear(&state->docs[at]);
    ash__buffer_append(&state->docs[at], doc.data, doc.len);
    *bytes += doc.len;
}

static int load_sample(ash_stage *s, struct sample_state *state, ash_error *err)
{
    uint64_t seen = 0;
    size_t bytes = 0;
    ash_doc doc;
    int rc = 0;
    while ((rc = ash__stage_pull(s, &doc, err)) == 0 && doc.data != NULL) {
        uint64_t at = state->kept;
        if (state->kept < (uint64_t)state->size) {
            if (state->kept == state->capacity) {
                state->capacity = state->capacity == 0 ? 16 : 2 * state->capacity;
                state->docs = ash__realloc_array(state->docs, state->capacity, sizeof *state->docs);
            }
            state->docs[state->kept++] = (ash_buffer)ASH_BUFFER_INIT;
        } else {
            /* So every document so far has the same chance of being kept. */
            at = random_below(seen + 1);
        }
        seen++;
        if (at < (uint64_t)state->size)
            keep_doc(state, at, doc, &bytes);
        if (bytes > ash__memory_limit(s->pipeline->env))
            return ash__memory_error("$sample", err);
        rc = ash__share_grow(&state->share, bytes, "$sample", err);
        if (rc != 0)
            return rc;
    }
    state->loaded = true;
    return rc;
}

static int next_sample(ash_stage *s, ash_doc *out, ash_error *err)
{
    struct sample_state *state = s->state;
    int rc = state->loaded ? 0 : load_sample(s, state, err);
    if (rc != 0 || state->given == state->kept)
        return rc;
    /* What came first is at the front, and shall not come out first. */
    uint64_t pick = state->given + random_below(state->kept - state->given);
    ash_buffer swap = state->docs[pick];
    state->docs[pick] = state->docs[state->given];
    state->docs[state->given++] = swap;
    *out = (ash_doc){swap.data, swap.len};
    return 0;
}

static void free_sample(void *state)
{
    struct sample_state *s = state;
    for (uint64_t i = 0; i < s->kept; i++)
        ash__buffer_release(&s->docs[i]);
    ash__free(s->docs);
    ash__share_shrink(&s->share, 0);
}

const ash_stage_op ash__stage_order_ops[] = {
    {"$match", ASH_STAGE_STREAM, parse_match, next_match, free_match, NULL},
    {"$sort", 0, parse_sort, next_sort, free_sort, NULL},
    {"$skip", 0, parse_skip, next_skip, NULL, NULL},
    {"$limit", 0, parse_limit, next_limit, NULL, NULL},
    {"$sample", 0, parse_sample, next_sample, free_sample, NULL},
    {NULL},
};
