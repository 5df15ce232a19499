/* SPDX-License-Identifier: Apache-2.0 */
/* $graphLookup: breadth first, one find for each step; documents met before are not met again. */
#include "query/pipeline/stage.h"

#include "base/mem.h"
#include "query/project/reshape.h"

#include <string.h>

/* Copied values with a hash index; for the values already followed and the _ids already met. */
struct value_set {
    ash_value *items;
    uint32_t count;
    uint32_t capacity;
    uint32_t *slots;
    uint32_t mask;
};

struct graph_state {
    const char *from, *as, *connect_from, *connect_to;
    const char *depth_field; /* or NULL */
    int64_t max_depth;       /* -1: none */
    ash_doc restrict_to;
    ash_expr *start;
    ash_arena *arena;
    ash_builder out;
};

static void set_grow(struct value_set *s, const ash_collation *c)
{
    uint32_t size = s->slots == NULL ? 64 : 2 * (s->mask + 1);
    ash__free(s->slots);
    s->slots = ash__alloc_array(size, sizeof *s->slots);
    s->mask = size - 1;
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t at = (uint32_t)ash__value_hash(s->items[i], c) & s->mask;
        while (s->slots[at] != 0)
            at = (at + 1) & s->mask;
        s->slots[at] = i + 1;
    }
}

/* false when it was in there before. */
static bool set_add(struct value_set *s, ash_arena *arena, ash_value v, const ash_collation *c)
{
    if (s->slots == NULL || s->count * 2 > s->mask)
        set_grow(s, c);
    uint32_t at = (uint32_t)ash__value_hash(v, c) & s->mask;
    for (; s->slots[at] != 0; at = (at + 1) & s->mask) {
        if (ash__value_equal(s->items[s->slots[at] - 1], v, c))
            return false;
    }
    if (s->count == s->capacity) {
        s->capacity = s->capacity == 0 ? 32 : 2 * s->capacity;
        s->items = ash__realloc_array(s->items, s->capacity, sizeof *s->items);
    }
    s->items[s->count++] = ash__arena_value(arena, v);
    s->slots[at] = s->count;
    return true;
}

static void set_release(struct value_set *s)
{
    ash__free(s->items);
    ash__free(s->slots);
}

static const char *path_or_null(ash_value v)
{
    const char *path = ash__value_utf8(v, "");
    return ash__stage_field_check(path, NULL) == 0 ? path : NULL;
}

static int bad_option(ash_stage_parser *p, const char *name, const char *what)
{
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GRAPH_LOOKUP_OPTION_ILLEGAL,
                            "$graphLookup: '%s' must be %s", name, what);
}

static int parse_path(ash_stage_parser *p, const ash_doc_iter *it, const char **out)
{
    *out = path_or_null(it->value);
    return *out != NULL ? 0 : bad_option(p, it->name, "a field path without '$'");
}

static int parse_restriction(ash_stage_parser *p, struct graph_state *s, ash_value v)
{
    bson_t filter;
    ash_matcher *m;
    if (v.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL,
                                ASH_MONGO_LOCATION_GRAPH_LOOKUP_RESTRICTION_NOT_OBJECT,
                                "$graphLookup: 'restrictSearchWithMatch' must be an object");
    s->restrict_to = ash__value_doc(v);
    ash__doc_to_bson(s->restrict_to, &filter);
    /* Only to find mistakes now: the host compiles it with each step's own filter. */
    int rc = ash__matcher_new(&filter, p->pipeline->env, &m, p->err);
    if (rc == 0)
        ash__matcher_free(m);
    return rc;
}

static int parse_option(ash_stage_parser *p, struct graph_state *s, const ash_doc_iter *it)
{
    static const struct {
        const char *name;
        size_t offset;
    } paths[] = {
        {"from", offsetof(struct graph_state, from)},
        {"as", offsetof(struct graph_state, as)},
        {"connectFromField", offsetof(struct graph_state, connect_from)},
        {"connectToField", offsetof(struct graph_state, connect_to)},
        {"depthField", offsetof(struct graph_state, depth_field)},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(paths); i++) {
        const char *path = NULL;
        if (strcmp(paths[i].name, it->name) != 0)
            continue;
        /* All five are strings in one struct: their offsets make one case of them. */
        int rc = parse_path(p, it, &path);
        memcpy((char *)s + paths[i].offset, &path, sizeof path);
        return rc;
    }
    if (strcmp(it->name, "startWith") == 0) {
        ash__expr_free(s->start); /* of an argument given twice the last one counts */
        s->start = NULL;
        return ash__expr_new(it->value, p->pipeline->env, &s->start, p->err);
    }
    if (strcmp(it->name, "restrictSearchWithMatch") == 0)
        return parse_restriction(p, s, it->value);
    if (strcmp(it->name, "maxDepth") != 0)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GRAPH_LOOKUP_UNKNOWN_OPTION,
                                "Unknown argument to $graphLookup: %s", it->name);
    if (!ash__value_is_number(it->value) || !ash__value_as_int64(it->value, &s->max_depth) ||
        s->max_depth < 0)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GRAPH_LOOKUP_DEPTH_NEGATIVE,
                                "maxDepth requires a nonnegative argument");
    return 0;
}

static int parse_graph(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    int rc = 0;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GRAPH_LOOKUP_NOT_OBJECT,
                                "the $graphLookup stage specification must be an object, but found "
                                "%s",
                                ash__type_text(spec));
    p->head_open = false;
    struct graph_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->arena = ash__arena_new();
    s->max_depth = -1;
    s->restrict_to = ash__doc_empty;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); rc == 0 && ash__doc_iter_next(&it);)
        rc = parse_option(p, s, &it);
    if (rc == 0 && (s->from == NULL || s->as == NULL || s->connect_from == NULL ||
                    s->connect_to == NULL || s->start == NULL))
        rc = ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GRAPH_LOOKUP_MISSING_OPTION,
                              "$graphLookup requires 'from', 'as', 'startWith', "
                              "'connectFromField', and 'connectToField' to be specified.");
    return rc;
}

/* One walk, for one document. */
struct walk {
    struct graph_state *s;
    const ash_pipeline *pipeline;
    const ash_collation *collation;
    struct value_set followed; /* values that were or will be looked for */
    struct value_set met;      /* _ids */
    ash_builder array;
    uint32_t count;
};

/* An array leads on by each of its items. */
static void follow(struct walk *w, ash_value v)
{
    if (v.type != BSON_TYPE_ARRAY) {
        if (!ash__value_is_missing(v))
            set_add(&w->followed, w->s->arena, v, w->collation);
        return;
    }
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);)
        set_add(&w->followed, w->s->arena, it.value, w->collation);
}

static void meet(struct walk *w, ash_doc doc, int64_t depth)
{
    ash_builder with_depth = ASH_BUILDER_INIT;
    ash_value_box box;
    /* Met on a shorter way, whose depth is the one that counts. */
    if (!set_add(&w->met, w->s->arena, ash__doc_get(doc, "_id"), w->collation))
        return;
    follow(w, ash__eval_path(doc, w->s->connect_from, w->s->arena));
    if (w->s->depth_field != NULL) {
        ash__doc_set_path(&with_depth, doc, w->s->depth_field, ash__box_int64(&box, depth));
        doc = ash__builder_doc(&with_depth);
    }
    ash__builder_item(&w->array, w->count++, ash__value_of_doc(doc));
    ash__builder_release(&with_depth);
}

/* {connectTo: {$in: the values that came up in the last step}}, and the restriction. */
static void step_filter(struct walk *w, uint32_t from, ash_builder *out)
{
    ash_builder in = ASH_BUILDER_INIT;
    ash__builder_begin(&in);
    ash__builder_begin_doc(&in, w->s->connect_to);
    ash__builder_begin_array(&in, "$in");
    for (uint32_t i = from; i < w->followed.count; i++)
        ash__builder_item(&in, i - from, w->followed.items[i]);
    ash__builder_end(&in);
    ash__builder_end(&in);
    ash__builder_end(&in);
    ash__filter_both(out, ash__builder_doc(&in), w->s->restrict_to);
    ash__builder_release(&in);
}

static int step(struct walk *w, uint32_t from, int64_t depth, ash_error *err)
{
    ash_builder filter = ASH_BUILDER_INIT;
    ash_source source;
    ash_doc doc;
    step_filter(w, from, &filter);
    int rc = ash__host_find(w->pipeline, w->s->from, ash__builder_doc(&filter), &source, err);
    while (rc == 0 && (rc = source.next(source.ctx, &doc, err)) == 0 && doc.data != NULL) {
        meet(w, doc, depth);
        if (w->array.buf.len + ash__arena_used(w->s->arena) > ash__memory_limit(w->pipeline->env))
            rc = ash__fail_server(err, ASH_ENOMEM, ASH_MONGO_LOCATION_GRAPH_LOOKUP_TOO_MUCH_MEMORY,
                                  "$graphLookup reached maximum memory consumption");
    }
    /* There is no source when the find failed. */
    if (source.free != NULL)
        source.free(source.ctx);
    ash__builder_release(&filter);
    return rc;
}

static int walk_graph(struct walk *w, ash_doc doc, ash_error *err)
{
    ash_value start;
    uint32_t done = 0;
    int rc = ash__expr_eval(w->s->start, doc, NULL, w->s->arena, &start, err);
    if (rc != 0)
        return rc;
    follow(w, start);
    for (int64_t depth = 0; rc == 0 && done < w->followed.count; depth++) {
        uint32_t from = done;
        if (w->s->max_depth >= 0 && depth > w->s->max_depth)
            break;
        /* What this step adds behind is the next one's. */
        done = w->followed.count;
        rc = step(w, from, depth, err);
    }
    return rc;
}

static int next_graph(ash_stage *stage, ash_doc *out, ash_error *err)
{
    struct graph_state *s = stage->state;
    struct walk w = {
        .s = s, .pipeline = stage->pipeline, .collation = &stage->pipeline->env->collation};
    ash_doc doc;
    int rc = ash__stage_pull(stage, &doc, err);
    if (rc != 0 || doc.data == NULL)
        return rc;
    /* Values that the walk for the document before had followed. */
    ash__arena_reset(s->arena);
    ash__builder_begin(&w.array);
    rc = walk_graph(&w, doc, err);
    ash__builder_end(&w.array);
    if (rc == 0) {
        ash__doc_set_path(&s->out, doc, s->as, ash__value_of_array(ash__builder_doc(&w.array)));
        *out = ash__builder_doc(&s->out);
        rc = ash__made_check("$graphLookup", *out, err);
    }
    ash__builder_release(&w.array);
    set_release(&w.followed);
    set_release(&w.met);
    return rc;
}

static void free_graph(void *state)
{
    struct graph_state *s = state;
    ash__expr_free(s->start);
    ash__arena_free(s->arena);
    ash__builder_release(&s->out);
}

const ash_stage_op ash__stage_graph_ops[] = {
    {"$graphLookup", 0, parse_graph, next_graph, free_graph,
     "from names a collection or view of the same database; never spills to disk"},
    {NULL},
};
