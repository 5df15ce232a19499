/* SPDX-License-Identifier: Apache-2.0 */
/* Stages at the ends of a pipeline that the surroundings do: $out $merge, $collStats
 * $changeStream. */
#include "query/pipeline/stage.h"

#include "base/mem.h"

#include <string.h>

struct write_state {
    ash_value spec;
    bool done;
};

/* "collection" or {db, coll}. */
static int check_target(ash_stage_parser *p, const char *stage, ash_value v)
{
    uint32_t len = 0;
    if (v.type == BSON_TYPE_UTF8) {
        ash__value_string(v, &len);
    } else if (v.type == BSON_TYPE_DOCUMENT) {
        ash_value db = ash__doc_get(ash__value_doc(v), "db");
        ash_value coll = ash__doc_get(ash__value_doc(v), "coll");
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);) {
            if (strcmp(it.name, "db") != 0 && strcmp(it.name, "coll") != 0)
                return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                                        "BSON field '%s.%s' is an unknown field.", stage, it.name);
        }
        /* Without a database it is the one that the pipeline reads. */
        if (coll.type == BSON_TYPE_UTF8 && (ash__value_is_missing(db) || db.type == BSON_TYPE_UTF8))
            ash__value_string(coll, &len);
    }
    /* Nothing that was said names a collection. */
    if (len == 0)
        return ash__fail_server(
            p->err, ASH_EINVAL,
            strcmp(stage, "$out") == 0 ? ASH_MONGO_LOCATION_OUT_TARGET_ILLEGAL
                                       : ASH_MONGO_LOCATION_MERGE_TARGET_ILLEGAL,
            "%s needs the name of a collection, or an object {db, coll}", stage);
    return 0;
}

static int add_write(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    p->head_open = false;
    struct write_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->spec = spec;
    p->pipeline->head.has_write_out = true;
    return 0;
}

static int parse_out(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    int rc = check_target(p, op->name, spec);
    return rc != 0 ? rc : add_write(p, op, spec);
}

static bool one_of(ash_value v, const char *const *words)
{
    const char *text = ash__value_utf8(v, "");
    for (; *words != NULL; words++) {
        if (strcmp(*words, text) == 0)
            return true;
    }
    return false;
}

static bool is_on(ash_value v)
{
    if (v.type != BSON_TYPE_ARRAY)
        return v.type == BSON_TYPE_UTF8;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); ash__doc_iter_next(&it);) {
        if (it.value.type != BSON_TYPE_UTF8)
            return false;
    }
    return !ash__doc_is_empty(ash__value_doc(v));
}

static int check_merge_field(ash_stage_parser *p, const ash_doc_iter *it)
{
    static const char *const matched[] = {"replace", "keepExisting", "merge", "fail", NULL};
    static const char *const not_matched[] = {"insert", "discard", "fail", NULL};
    bool ok;
    if (strcmp(it->name, "into") == 0)
        return check_target(p, "$merge", it->value);
    if (strcmp(it->name, "on") == 0)
        ok = is_on(it->value);
    else if (strcmp(it->name, "let") == 0)
        ok = it->value.type == BSON_TYPE_DOCUMENT;
    else if (strcmp(it->name, "whenMatched") == 0)
        ok = it->value.type == BSON_TYPE_ARRAY || one_of(it->value, matched);
    else if (strcmp(it->name, "whenNotMatched") == 0)
        ok = one_of(it->value, not_matched);
    else
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                                "BSON field '$merge.%s' is an unknown field.", it->name);
    if (!ok)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "$merge: '%s' has no valid value", it->name);
    return 0;
}

static int parse_merge(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    if (spec.type == BSON_TYPE_UTF8)
        return parse_out(p, op, spec);
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_MERGE_NOT_STRING_OR_OBJECT,
                                "$merge only supports a string or object argument, not %s",
                                ash__type_text(spec));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it);) {
        int rc = check_merge_field(p, &it);
        if (rc != 0)
            return rc;
    }
    if (ash__value_is_missing(ash__doc_get(ash__value_doc(spec), "into")))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_MISSING_FIELD,
                                "BSON field '$merge.into' is missing but a required field");
    return add_write(p, op, spec);
}

static int pull_input(void *ctx, ash_doc *out, ash_error *err)
{
    return ash__stage_pull(ctx, out, err);
}

static int next_write(ash_stage *stage, ash_doc *out, ash_error *err)
{
    struct write_state *s = stage->state;
    const ash_pipeline_host *host = &stage->pipeline->host;
    ash_source input = {stage, pull_input, NULL};
    /* No document comes out: *out says the end already. */
    (void)out;
    if (s->done)
        return 0;
    s->done = true;
    if (host->write_out == NULL)
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_NOT_IMPLEMENTED,
                                "%s cannot write from here", stage->op->name);
    /* Both stages end here, and a plain name is an argument of either: the row tells them apart. */
    return host->write_out(host->ctx, stage->op->parse == parse_merge, s->spec, &input, err);
}

struct stats_state {
    ash_doc spec;
    bson_t out;
    bool done;
};

static int parse_stats(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    static const char *const known[] = {"latencyStats", "storageStats", "count", "queryExecStats",
                                        NULL};
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_COLL_STATS_NOT_OBJECT,
                                "$collStats must take a nested object but found: %s",
                                ash__type_text(spec));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec)); ash__doc_iter_next(&it);) {
        bool found = false;
        for (const char *const *k = known; *k != NULL; k++)
            found = found || strcmp(*k, it.name) == 0;
        if (!found)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                                    "BSON field '$collStats.%s' is an unknown field.", it.name);
        if (strcmp(it.name, "latencyStats") == 0 || strcmp(it.name, "queryExecStats") == 0)
            return ash__fail_server(p->err, ASH_EUNSUPPORTED, ASH_MONGO_NOT_IMPLEMENTED,
                                    "$collStats: '%s' is not counted by this server", it.name);
    }
    p->head_open = false;
    /* It brings a document of its own, so that nobody has to look for one. */
    p->pipeline->head.is_coll_stats = true;
    struct stats_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->spec = ash__value_doc(spec);
    bson_init(&s->out);
    return 0;
}

static int next_stats(ash_stage *stage, ash_doc *out, ash_error *err)
{
    struct stats_state *s = stage->state;
    const ash_pipeline_host *host = &stage->pipeline->host;
    if (s->done)
        return 0;
    s->done = true;
    if (host->coll_stats == NULL)
        return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_NOT_IMPLEMENTED,
                                "$collStats is not available here");
    int rc = host->coll_stats(host->ctx, s->spec, &s->out, err);
    if (rc == 0)
        *out = ash__doc_from_bson(&s->out);
    return rc;
}

static void free_stats(void *state)
{
    bson_destroy(&((struct stats_state *)state)->out);
}

/* Options of $changeStream and their types. */
static int check_change_stream(ash_stage_parser *p, ash_doc spec)
{
    static const struct {
        const char *name;
        bson_type_t type;
    } known[] = {
        {"fullDocument", BSON_TYPE_UTF8},
        {"fullDocumentBeforeChange", BSON_TYPE_UTF8},
        {"resumeAfter", BSON_TYPE_DOCUMENT},
        {"startAfter", BSON_TYPE_DOCUMENT},
        {"startAtOperationTime", BSON_TYPE_TIMESTAMP},
        {"allChangesForCluster", BSON_TYPE_BOOL},
        {"showExpandedEvents", BSON_TYPE_BOOL},
    };
    for (ash_doc_iter it = ash__doc_iter(spec); ash__doc_iter_next(&it);) {
        size_t i = 0;
        while (i < ASH_ARRAY_LEN(known) && strcmp(known[i].name, it.name) != 0)
            i++;
        if (i == ASH_ARRAY_LEN(known))
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_UNKNOWN_FIELD,
                                    "BSON field '$changeStream.%s' is an unknown field.", it.name);
        if (it.value.type != known[i].type)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                    "BSON field '$changeStream.%s' is the wrong type '%s'", it.name,
                                    ash__type_name(it.value.type));
    }
    return 0;
}

static int parse_change_stream(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    (void)op;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_CHANGE_STREAM_NOT_OBJECT,
                                "$changeStream stage expects a document as argument");
    if (p->pipeline->place != ASH_PLACE_TOP)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_ILLEGAL_OPERATION,
                                "$changeStream is not allowed within a sub-pipeline");
    p->head_open = false;
    /* No stage: whoever reads the head brings the events. */
    p->pipeline->head.is_change_stream = true;
    ash__doc_to_bson(ash__value_doc(spec), &p->pipeline->head.change_stream);
    return check_change_stream(p, ash__value_doc(spec));
}

/* Events that fit pass it as they are; whoever runs the stream refuses the others. */
static int parse_split(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    if (spec.type != BSON_TYPE_DOCUMENT || !ash__doc_is_empty(ash__value_doc(spec)))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SPLIT_EVENT_NOT_EMPTY,
                                "%s takes an empty object", op->name);
    if (!p->is_last || p->pipeline->place != ASH_PLACE_TOP)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_SPLIT_EVENT_NOT_LAST,
                                "%s must be the last stage in the pipeline", op->name);
    p->head_open = false;
    p->pipeline->head.splits_events = true;
    return 0;
}

const ash_stage_op ash__stage_write_ops[] = {
    {"$out", ASH_STAGE_LAST, parse_out, next_write, NULL, NULL},
    {"$merge", ASH_STAGE_LAST, parse_merge, next_write, NULL, NULL},
    {"$collStats", ASH_STAGE_FIRST, parse_stats, next_stats, free_stats,
     "latencyStats and queryExecStats answer 238"},
    {"$changeStream", ASH_STAGE_FIRST, parse_change_stream, NULL, NULL, NULL},
    {"$changeStreamSplitLargeEvent", 0, parse_split, NULL, NULL,
     "an event over 16 MiB answers 10334 and is not split"},
    {NULL},
};
