/* SPDX-License-Identifier: Apache-2.0 */
/* $merge: each document is an update, an insert or a question of its own, as its actions say, and
 * nothing holds them together. */

#include "store/embedded/read/aggregate.h"

#include "bson/path.h"
#include "store/embedded/kit/give.h"
#include "store/embedded/read/slots.h"
#include "store/embedded/write/slots.h"

#include <string.h>

enum matched { MATCHED_MERGE, MATCHED_REPLACE, MATCHED_KEEP, MATCHED_FAIL, MATCHED_PIPELINE };
enum unmatched { UNMATCHED_INSERT, UNMATCHED_DISCARD, UNMATCHED_FAIL };

#define ON_MAX 32

typedef struct merge {
    ash_agg_host *host;
    ash_ns ns;
    ash_op op;
    enum matched matched;
    enum unmatched unmatched;
    ash_value pipeline;
    ash_value let;
    const char *on[ON_MAX];
    uint32_t on_count;
} merge;

static bool text_is(ash_value v, const char *text)
{
    uint32_t len;
    return v.type == BSON_TYPE_UTF8 && strcmp(ash__value_string(v, &len), text) == 0;
}

static int read_actions(merge *m, ash_doc spec, ash_error *err)
{
    static const char *const matched[] = {"merge", "replace", "keepExisting", "fail"};
    static const char *const unmatched[] = {"insert", "discard", "fail"};
    ash_value when = ash__doc_get(spec, "whenMatched");
    ash_value otherwise = ash__doc_get(spec, "whenNotMatched");
    /* What is not given is the first of each list. */
    int known = ash__value_is_missing(when);
    for (int i = 0; i < 4; i++)
        if (text_is(when, matched[i])) {
            m->matched = (enum matched)i;
            known = 1;
        }
    if (when.type == BSON_TYPE_ARRAY) {
        m->matched = MATCHED_PIPELINE;
        m->pipeline = when;
        known = 1;
    }
    int known_other = ash__value_is_missing(otherwise);
    for (int i = 0; i < 3; i++)
        if (text_is(otherwise, unmatched[i])) {
            m->unmatched = (enum unmatched)i;
            known_other = 1;
        }
    if (!known || !known_other)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$merge: unknown whenMatched or whenNotMatched");
    m->let = ash__doc_get(spec, "let");
    return 0;
}

static int read_on(merge *m, ash_value on, ash_error *err)
{
    uint32_t len;
    if (ash__value_is_missing(on)) {
        m->on[m->on_count++] = "_id";
        return 0;
    }
    if (on.type == BSON_TYPE_UTF8) {
        m->on[m->on_count++] = ash__value_string(on, &len);
        return 0;
    }
    ash_doc_iter it =
        ash__doc_iter(on.type == BSON_TYPE_ARRAY ? ash__value_doc(on) : ash__doc_empty);
    while (ash__doc_iter_next(&it) && m->on_count < ON_MAX && it.value.type == BSON_TYPE_UTF8)
        m->on[m->on_count++] = ash__value_string(it.value, &len);
    if (m->on_count == 0 || m->on_count == ON_MAX)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MERGE_ON_ILLEGAL,
                                "$merge: 'on' must name 1 to 31 fields");
    return 0;
}

static bool index_serves(const merge *m, const ash_index *index)
{
    /* The index has just these fields, in any order. */
    uint32_t hits = 0;
    if ((!index->unique && !index->pattern.is_id) || index->partial != NULL ||
        index->pattern.count != m->on_count)
        return false;
    for (uint32_t i = 0; i < m->on_count; i++)
        for (uint32_t k = 0; k < m->on_count; k++)
            hits += strcmp(index->pattern.parts[i].path, m->on[k]) == 0;
    return hits == m->on_count;
}

/* Without a unique index two documents could be the match. */
static int check_unique(const merge *m, ash_error *err)
{
    ash_reading reading = {0};
    const ash_coll *c = NULL;
    bool served = m->on_count == 1 && strcmp(m->on[0], "_id") == 0;
    int rc = ash__reading_begin(m->host->store, &m->op, &reading, err);
    if (rc == 0)
        rc = ash__catalog_find(reading.snap, m->ns.db, m->ns.coll, &c, err);
    for (uint32_t i = 0; rc == 0 && c != NULL && i < c->index_count; i++)
        served = served || (c->indexes[i].ready && index_serves(m, &c->indexes[i]));
    ash__reading_end(&reading);
    if (rc == 0 && !served)
        rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MERGE_ON_NOT_UNIQUE,
                              "Cannot find index to verify that join fields will be unique");
    return rc;
}

static int build_filter(const merge *m, ash_doc doc, ash_builder *out, ash_error *err)
{
    ash__builder_begin(out);
    for (uint32_t i = 0; i < m->on_count; i++) {
        ash_value v = ash__path_get(doc, m->on[i]);
        if (ash__value_is_missing(v) || ash__value_is_null(v) || v.type == BSON_TYPE_ARRAY)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MERGE_ON_FIELD_MISSING,
                                    "$merge write error: 'on' field '%s' cannot be missing, null "
                                    "or an array",
                                    m->on[i]);
        ash__builder_begin_doc(out, m->on[i]);
        ash__builder_value(out, "$eq", v);
        ash__builder_end(out);
    }
    ash__builder_end(out);
    return 0;
}

/* The update for a match: [{$replaceWith: {$mergeObjects: ["$$ROOT", {$literal: doc}]}}] */
static void build_merge(ash_doc doc, ash_builder *out)
{
    ash__builder_begin(out);
    ash__builder_begin_doc(out, "0");
    ash__builder_begin_doc(out, "$replaceWith");
    ash__builder_begin_array(out, "$mergeObjects");
    ash__builder_text(out, "0", "$$ROOT");
    ash__builder_begin_doc(out, "1");
    ash__builder_doc_value(out, "$literal", doc);
    for (int i = 0; i < 5; i++)
        ash__builder_end(out);
}

static void bson_value_of_doc(ash_doc doc, bool is_array, bson_value_t *out)
{
    /* A view: the update only reads it. */
    memset(out, 0, sizeof *out);
    out->value_type = is_array ? BSON_TYPE_ARRAY : BSON_TYPE_DOCUMENT;
    out->value.v_doc.data = (uint8_t *)(uintptr_t)doc.data;
    out->value.v_doc.data_len = (uint32_t)doc.len;
}

/* {new: doc} and the stage's own variables. */
static void build_let(const merge *m, ash_doc doc, ash_builder *out)
{
    ash__builder_begin(out);
    /* $$new is the document as it comes; $literal, or its strings with a $ would be paths. */
    ash__builder_begin_doc(out, "new");
    ash__builder_doc_value(out, "$literal", doc);
    ash__builder_end(out);
    if (m->let.type == BSON_TYPE_DOCUMENT)
        ash__builder_elements(out, ash__value_doc(m->let));
    ash__builder_end(out);
}

/* Why a document was refused, for whoever asked. */
static void keep_details(const merge *m, const ash_write_result *result)
{
    static const char *const names[] = {"keyPattern", "keyValue", "errInfo"};
    ash_builder b = ASH_BUILDER_INIT;
    ash_value first = ash__doc_get(ash__doc_from_bson(&result->errors), "0");
    if (m->host->details == NULL || first.type != BSON_TYPE_DOCUMENT)
        return;
    ash__builder_begin(&b);
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++)
        ash__builder_value(&b, names[i], ash__doc_get(ash__value_doc(first), names[i]));
    ash__builder_end(&b);
    ash__doc_give_instead(ash__builder_doc(&b), m->host->details);
    ash__builder_release(&b);
}

static int change_match(const merge *m, ash_doc filter, ash_doc doc, int64_t *matched,
                        ash_error *err)
{
    ash_update_options opts = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    ash_builder update = ASH_BUILDER_INIT;
    ash_builder let = ASH_BUILDER_INIT;
    bson_value_t value;
    bson_t filter_view;
    bson_t let_view;
    opts.op = m->op;
    ash__doc_to_bson(filter, &filter_view);
    /* One of three forms of the update, all of one document. */
    if (m->matched == MATCHED_REPLACE) {
        bson_value_of_doc(doc, false, &value);
    } else if (m->matched == MATCHED_MERGE) {
        build_merge(doc, &update);
        bson_value_of_doc(ash__builder_doc(&update), true, &value);
    } else {
        bson_value_of_doc(ash__value_doc(m->pipeline), true, &value);
        build_let(m, doc, &let);
        ash__doc_to_bson(ash__builder_doc(&let), &let_view);
        opts.let = &let_view;
    }
    ash_update_request request = {&filter_view, &value};
    ash_write_result_init(&result);
    int rc = ash__embedded_update(&m->host->store->base, m->ns, &request, &opts, &result, err);
    *matched = result.matched;
    keep_details(m, &result);
    ash_write_result_release(&result);
    ash__builder_release(&update);
    ash__builder_release(&let);
    return rc;
}

static int insert_one(const merge *m, ash_doc doc, ash_error *err)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    ash_write_result result;
    ash_doc_list list = {&doc, 1};
    opts.op = m->op;
    ash_write_result_init(&result);
    int rc = ash__embedded_insert(&m->host->store->base, m->ns, &list, &opts, &result, err);
    keep_details(m, &result);
    ash_write_result_release(&result);
    return rc;
}

static int exists(const merge *m, ash_doc filter, int64_t *matched, ash_error *err)
{
    ash_count_options opts = ASH_COUNT_OPTIONS_INIT;
    bson_t view;
    opts.op = m->op;
    opts.limit = 1;
    ash__doc_to_bson(filter, &view);
    return ash__embedded_count(&m->host->store->base, m->ns, &view, &opts, matched, err);
}

static int merge_one(const merge *m, ash_doc doc, ash_error *err)
{
    ash_builder filter = ASH_BUILDER_INIT;
    int64_t matched = 0;
    /* The unique index finds the match; no question is needed. */
    bool only_insert = m->matched == MATCHED_FAIL && m->unmatched == UNMATCHED_INSERT;
    int rc = 0;
    /* A document without an _id gets one, so it cannot match by it. */
    if (only_insert || (m->on_count == 1 && strcmp(m->on[0], "_id") == 0 &&
                        ash__value_is_missing(ash__doc_get(doc, "_id"))))
        return m->unmatched == UNMATCHED_INSERT ? insert_one(m, doc, err) : 0;
    rc = build_filter(m, doc, &filter, err);
    if (rc == 0 && (m->matched == MATCHED_KEEP || m->matched == MATCHED_FAIL))
        rc = exists(m, ash__builder_doc(&filter), &matched, err);
    else if (rc == 0)
        rc = change_match(m, ash__builder_doc(&filter), doc, &matched, err);
    ash__builder_release(&filter);
    if (rc != 0)
        return rc;
    if (matched > 0 && m->matched == MATCHED_FAIL)
        return ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_DUPLICATE_KEY,
                                "$merge: a matching document exists");
    if (matched > 0 || m->unmatched == UNMATCHED_DISCARD)
        return 0;
    if (m->unmatched == UNMATCHED_FAIL)
        return ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_MERGE_STAGE_NO_MATCHING_DOCUMENT,
                                "$merge could not find a matching document in the target "
                                "collection for at least one document in the source collection");
    return insert_one(m, doc, err);
}

int ash__agg_merge(ash_agg_host *h, ash_value spec, ash_source *input, ash_error *err)
{
    merge m = {.host = h, .op = h->op};
    ash_doc doc = spec.type == BSON_TYPE_DOCUMENT ? ash__value_doc(spec) : ash__doc_empty;
    ash_value into = spec.type == BSON_TYPE_UTF8 ? spec : ash__doc_get(doc, "into");
    /* One wait for the disk, at the end. */
    m.op.durability = ASH_DURABILITY_INTERVAL;
    /* Nobody waits for the single writes, so whether one was lost is asked at the end. */
    uint64_t losses = ash__engine_losses(h->store->engine);
    int rc = ash__agg_namespace(h, into, &m.ns, err);
    if (rc == 0)
        rc = read_actions(&m, doc, err);
    if (rc == 0)
        rc = read_on(&m, ash__doc_get(doc, "on"), err);
    if (rc == 0)
        rc = check_unique(&m, err);
    while (rc == 0) {
        ash_doc next;
        rc = ash__op_check(&m.op, err);
        if (rc == 0)
            rc = input->next(input->ctx, &next, err);
        if (rc != 0 || next.data == NULL)
            break;
        rc = merge_one(&m, next, err);
    }
    if (rc == 0)
        rc = ash__engine_flush(h->store->engine, h->op.deadline_ms, err);
    return rc == 0 ? ash__losses_check(h->store, losses, err) : rc;
}
