/* SPDX-License-Identifier: Apache-2.0 */
/* The actions of ash_store_maintain, in one table. */

#include "store/embedded/care/maintain.h"

#include "engine/check/check.h"
#include "store/embedded/care/findings.h"
#include "store/embedded/care/slots.h"
#include "store/embedded/kit/give.h"
#include "store/embedded/kit/view.h"

#include <string.h>

/* One check: what the engine found, as a report. */
typedef struct checking {
    ash_progress_fn progress;
    void *ctx;
    const char *only_db; /* findings of this collection only, or NULL */
    const char *only_coll;
    ash_findings findings;
} checking;

static bool on_progress(void *ctx, const char *what, int64_t done, int64_t total)
{
    checking *c = ctx;
    return c->progress == NULL || c->progress(c->ctx, what, done, total);
}

static bool names(ash_doc facts, const char *field, const char *text)
{
    uint32_t len;
    ash_value v = ash__doc_get(facts, field);
    return v.type == BSON_TYPE_UTF8 && strcmp(ash__value_string(v, &len), text) == 0;
}

static void on_finding(void *ctx, const char *text, const bson_t *facts)
{
    checking *c = ctx;
    ash_doc doc = ash__doc_from_bson(facts);
    if (c->only_coll == NULL ||
        (names(doc, "db", c->only_db) && names(doc, "collection", c->only_coll)))
        ash__findings_add(&c->findings, text, facts);
}

static int run_check(ash_embedded *s, checking *c, bool payloads, ash_check_report *report,
                     ash_error *err)
{
    ash_check_options opts = {
        .payloads = payloads, .progress = on_progress, .finding = on_finding, .ctx = c};
    int rc = ash__engine_check(s->engine, &opts, report, err);
    if (rc == 0)
        ash__findings_name(&c->findings, s->engine);
    return rc;
}

static bool flag_of(const bson_t *action, const char *name, bool fallback)
{
    /* An argument that is not given keeps its default, which need not be false. */
    ash_value v = ash__doc_get(ash__doc_from_bson(action), name);
    return ash__value_is_missing(v) ? fallback : ash__value_truthy(v);
}

static void give(ash_builder *b, bson_t *out)
{
    ash__builder_end(b);
    ash__doc_give(ash__builder_doc(b), out);
}

static int check(ash_embedded *s, const bson_t *action, ash_progress_fn progress, void *ctx,
                 bson_t *out, ash_error *err)
{
    checking c = {.progress = progress, .ctx = ctx};
    ash_check_report report = {0};
    ash_builder b = ASH_BUILDER_INIT;
    int rc = run_check(s, &c, flag_of(action, "payloads", true), &report, err);
    if (rc == 0 || rc == ASH_ECORRUPT) {
        ash__builder_begin(&b);
        ash__builder_bool(&b, "clean", c.findings.count == 0);
        ash__builder_int64(&b, "collections", (int64_t)report.collections);
        ash__builder_int64(&b, "records", (int64_t)report.records);
        ash__builder_int64(&b, "indexKeys", (int64_t)report.index_keys);
        ash__builder_int64(&b, "payloadBytes", (int64_t)report.payload_bytes);
        ash__builder_int64(&b, "findingCount", c.findings.count);
        ash__findings_list(&c.findings, &b, "findings");
        give(&b, out);
        if (c.findings.count > 0)
            rc = ash__fail(err, ASH_ECORRUPT, "the store is damaged: %u finding%s",
                           c.findings.count, c.findings.count == 1 ? "" : "s");
    }
    ash__builder_release(&b);
    ash__findings_release(&c.findings);
    return rc;
}

/* "db.coll" in its two parts; *db is allocated. */
static int split_namespace(const bson_t *action, const char *field, char **db, const char **coll,
                           ash_error *err)
{
    ash_value v = ash__doc_get(ash__doc_from_bson(action), field);
    const char *ns = ash__value_utf8(v, "");
    const char *dot = strchr(ns, '.');
    if (dot == NULL)
        return ash__fail(err, ASH_EINVAL, "%s: not a namespace: '%s'", field, ns);
    *db = ash__strndup(ns, (size_t)(dot - ns));
    *coll = dot + 1;
    return 0;
}

static int append_validation(ash_snapshot *snap, const ash_coll *c, const char *ns,
                             const checking *found, ash_builder *b, ash_error *err)
{
    ash_coll_stats stats;
    int rc = ash__coll_stats(snap, c, &stats, err);
    ash__builder_text(b, "ns", ns);
    ash__builder_int64(b, "nInvalidDocuments", found->findings.invalid);
    ash__builder_int64(b, "nrecords", rc == 0 ? (int64_t)stats.count : 0);
    ash__builder_int32(b, "nIndexes", (int32_t)c->index_count);
    ash__builder_begin_doc(b, "keysPerIndex");
    for (uint32_t i = 0; rc == 0 && i < c->index_count; i++) {
        uint64_t keys = 0;
        uint64_t bytes = 0;
        rc = ash__index_stats(snap, &c->indexes[i], &keys, &bytes, err);
        ash__builder_int64(b, c->indexes[i].name, (int64_t)keys);
    }
    ash__builder_end(b);
    ash__builder_bool(b, "valid", found->findings.count == 0);
    ash__builder_bool(b, "repaired", false);
    ash__builder_array_value(b, "warnings", ash__doc_empty);
    ash__findings_list(&found->findings, b, "errors");
    return rc;
}

static int validate(ash_embedded *s, const bson_t *action, ash_progress_fn progress, void *ctx,
                    bson_t *out, ash_error *err)
{
    checking c = {.progress = progress, .ctx = ctx};
    ash_check_report report = {0};
    ash_builder b = ASH_BUILDER_INIT;
    const ash_coll *coll = NULL;
    ash_snapshot *snap = NULL;
    char *db = NULL;
    int rc = split_namespace(action, "validate", &db, &c.only_coll, err);
    if (rc != 0)
        return rc;
    c.only_db = db;
    rc = ash__snapshot_open(s->engine, &snap, err);
    if (rc == 0)
        rc = ash__catalog_find(snap, db, c.only_coll, &coll, err);
    if (rc == 0 && coll == NULL)
        rc = ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NAMESPACE_NOT_FOUND,
                              "Collection '%s.%s' does not exist to validate.", db, c.only_coll);
    if (rc == 0)
        /* The whole store is checked, and on_finding keeps what is of this collection. */
        rc = run_check(s, &c, flag_of(action, "full", false), &report, err);
    if (rc == 0 || (rc == ASH_ECORRUPT && coll != NULL)) {
        char *ns = ash__sprintf("%s.%s", db, c.only_coll);
        ash__builder_begin(&b);
        rc = append_validation(snap, coll, ns, &c, &b, err);
        if (rc == 0)
            give(&b, out);
        ash__free(ns);
    }
    ash__snapshot_close(snap);
    ash__builder_release(&b);
    ash__findings_release(&c.findings);
    ash__free(db);
    return rc;
}

static int find_to_compact(ash_embedded *s, const bson_t *action, ash_error *err)
{
    const ash_coll *coll = NULL;
    const char *name;
    ash_snapshot *snap = NULL;
    char *db = NULL;
    if (ash__value_is_number(ash__doc_get(ash__doc_from_bson(action), "compact")))
        return 0;
    int rc = split_namespace(action, "compact", &db, &name, err);
    if (rc == 0)
        rc = ash__snapshot_open(s->engine, &snap, err);
    if (rc == 0)
        rc = ash__catalog_find(snap, db, name, &coll, err);
    if (rc == 0 && coll == NULL)
        rc = ash__fail_server(err, ASH_ENOTFOUND, ASH_MONGO_NAMESPACE_NOT_FOUND,
                              "collection does not exist");
    if (rc == 0)
        rc = ash__view_refuse(coll, err);
    ash__snapshot_close(snap);
    ash__free(db);
    return rc;
}

/* Collections share the segments, so that all are compacted with one. */
static int compact(ash_embedded *s, const bson_t *action, ash_progress_fn progress, void *ctx,
                   bson_t *out, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    uint64_t freed = 0;
    (void)progress, (void)ctx;
    int rc = s->read_only ? ash__fail(err, ASH_EREADONLY, "the store is open for reading only")
                          : find_to_compact(s, action, err);
    if (rc == 0)
        rc = ash__engine_compact(s->engine, &freed, err);
    if (rc == 0) {
        ash__builder_begin(&b);
        ash__builder_int64(&b, "bytesFreed", (int64_t)freed);
        give(&b, out);
        ash__builder_release(&b);
    }
    return rc;
}

/* Asked before something is deleted because it is not there. */
static int sound(ash_embedded *s, const bson_t *action, ash_progress_fn progress, void *ctx,
                 bson_t *out, ash_error *err)
{
    (void)action, (void)progress, (void)ctx;
    int rc = ash__engine_require_whole(s->engine, err);
    if (rc == 0)
        bson_init(out);
    return rc;
}

/* ---- all actions ---- */

typedef struct action_kind {
    const char *name;
    const char *arguments[2]; /* true or false, each; NULL: there is none */
    int (*run)(ash_embedded *s, const bson_t *action, ash_progress_fn progress, void *ctx,
               bson_t *out, ash_error *err);
} action_kind;

static const action_kind kinds[] = {
    {"check", {"payloads"}, check},
    {"validate", {"full"}, validate},
    {"compact", {NULL}, compact},
    {"sound", {NULL}, sound},
    {"backup", {"verify", "replace"}, ash__embedded_backup},
};

static bool has_argument(const action_kind *kind, const char *name)
{
    bool has = false;
    for (size_t i = 0; i < ASH_ARRAY_LEN(kind->arguments); i++)
        has = has || (kind->arguments[i] != NULL && strcmp(kind->arguments[i], name) == 0);
    return has;
}

/* What is passed over would be missed: a misspelt "payloads" would read none, or all. */
static int check_arguments(const action_kind *kind, ash_doc_iter it, ash_error *err)
{
    while (ash__doc_iter_next(&it)) {
        if (!has_argument(kind, it.name))
            return ash__fail(err, ASH_EINVAL, "maintenance action %s has no argument '%s'",
                             kind->name, it.name);
        if (it.value.type != BSON_TYPE_BOOL && !ash__value_is_number(it.value))
            return ash__fail(err, ASH_EINVAL, "%s: %s is not true or false", kind->name, it.name);
    }
    return 0;
}

int ash__embedded_maintain(ash_store *store, const bson_t *action, ash_progress_fn progress,
                           void *ctx, bson_t *out, ash_error *err)
{
    ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(action));
    const char *name = ash__doc_iter_next(&it) ? it.name : "";
    for (size_t i = 0; i < ASH_ARRAY_LEN(kinds); i++) {
        if (strcmp(name, kinds[i].name) != 0)
            continue;
        int rc = check_arguments(&kinds[i], it, err);
        return rc != 0 ? rc : kinds[i].run(ash__embedded(store), action, progress, ctx, out, err);
    }
    /* Known, and answered with what to do instead. */
    if (strcmp(name, "repair") == 0)
        return ash__fail(err, ASH_EUNSUPPORTED,
                         "an open store is not repaired: close it, then `ashlar check --repair`");
    return ash__fail(err, ASH_EINVAL, "unknown maintenance action '%s'", name);
}
