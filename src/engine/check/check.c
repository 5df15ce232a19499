/* SPDX-License-Identifier: Apache-2.0 */
/* The stages of a check, each in a process of its own that sends what it finds; and what the parent
 * finds itself. */
#include "engine/check/internal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "engine/census.h"
#include "engine/damaged_rows.h"
#include "engine/journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

enum { FINDINGS_MAX = 10000 };

/* ---- the child's side ---- */

static void send(const ash_child *child, ash_builder *doc)
{
    ash__builder_end(doc);
    ash__child_send(child, ash__builder_doc(doc));
    ash__builder_release(doc);
}

static void begin_doc(ash_builder *doc)
{
    *doc = (ash_builder)ASH_BUILDER_INIT;
    ash__builder_begin(doc);
}

void ash__check_found(ash_check *k, int invariant, const char *kind, ash_builder *facts,
                      const char *format, ...)
{
    char text[600];
    va_list args;
    ash_builder doc;
    if (facts == NULL)
        facts = ash__check_facts();
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ash__builder_text(facts, "kind", kind);
    ash__builder_int32(facts, "invariant", invariant);
    ash__builder_end(facts);
    /* Counted all the same; nobody reads more, and the pipe has to end. */
    if (k->report.findings++ < FINDINGS_MAX) {
        begin_doc(&doc);
        ash__builder_text(&doc, "text", text);
        ash__builder_doc_value(&doc, "facts", ash__builder_doc(facts));
        send(k->child, &doc);
    }
    ash__builder_release(facts);
    ash__free(facts);
}

void ash__check_progress(ash_check *k, const char *what, uint64_t done, uint64_t total)
{
    ash_builder doc;
    begin_doc(&doc);
    ash__builder_text(&doc, "what", what);
    ash__builder_int64(&doc, "done", (int64_t)done);
    ash__builder_int64(&doc, "total", (int64_t)total);
    send(k->child, &doc);
}

ash_builder *ash__check_facts(void)
{
    ash_builder *facts = ash__new(ash_builder);
    begin_doc(facts);
    return facts;
}

ash_builder *ash__check_coll_facts(const ash_coll *c)
{
    ash_builder *facts = ash__check_facts();
    ash__builder_text(facts, "db", c->db);
    ash__builder_text(facts, "collection", c->name);
    return facts;
}

typedef struct running {
    ash_check *k;
    ash_check_stage stage;
    int argument;
    const char *name;
    ash_check_report *total;
    bool complete;
} running;

static void run_child(ash_child *child, void *ctx)
{
    const running *r = ctx;
    ash_check *k = r->k;
    ash_error err = ASH_ERROR_INIT;
    ash_builder doc;
    /* A copy: the parent's is not touched by what the child does. */
    k->child = child;
    int rc = r->stage(k, r->argument, &err);
    /* What cannot be walked at all is a finding, too, and not the check's failure. */
    if (rc != 0)
        ash__check_found(k, 2, "metadata", NULL, "%s: %s", r->name, err.text);
    begin_doc(&doc);
    ash__builder_int64(&doc, "collections", (int64_t)k->report.collections);
    ash__builder_int64(&doc, "records", (int64_t)k->report.records);
    ash__builder_int64(&doc, "index_keys", (int64_t)k->report.index_keys);
    ash__builder_int64(&doc, "payload_bytes", (int64_t)k->report.payload_bytes);
    ash__builder_int64(&doc, "findings", (int64_t)k->report.findings);
    send(child, &doc);
}

/* ---- the parent's side ---- */

static uint64_t number_in(const bson_t *doc, const char *name)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, doc, name) ? (uint64_t)bson_iter_as_int64(&it) : 0;
}

static const char *text_in(const bson_t *doc, const char *name)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, doc, name) && BSON_ITER_HOLDS_UTF8(&it)
               ? bson_iter_utf8(&it, NULL)
               : NULL;
}

static void tell(const ash_check_options *opts, const char *text, const bson_t *facts)
{
    if (opts->finding != NULL)
        opts->finding(opts->ctx, text, facts);
}

/* Findings are counted by the child: it may have more than it sends. */
static bool take_doc(void *ctx, const bson_t *doc)
{
    running *r = ctx;
    const ash_check_options *opts = r->k->opts;
    ash_check_report *total = r->total;
    bson_iter_t it;
    const uint8_t *data;
    uint32_t len;
    bson_t facts;
    if (text_in(doc, "text") != NULL && bson_iter_init_find(&it, doc, "facts")) {
        bson_iter_document(&it, &len, &data);
        if (bson_init_static(&facts, data, len))
            tell(opts, text_in(doc, "text"), &facts);
    } else if (text_in(doc, "what") != NULL) {
        return opts->progress == NULL ||
               opts->progress(opts->ctx, text_in(doc, "what"), (int64_t)number_in(doc, "done"),
                              (int64_t)number_in(doc, "total"));
    } else {
        total->collections += number_in(doc, "collections");
        total->records += number_in(doc, "records");
        total->index_keys += number_in(doc, "index_keys");
        total->payload_bytes += number_in(doc, "payload_bytes");
        total->findings += number_in(doc, "findings");
        r->complete = true;
    }
    return true;
}

/* Findings of the parent's own.  facts: ended and released here. */
static void tell_own(const ash_check_options *opts, const char *text, ash_builder *facts)
{
    bson_t view;
    ash__builder_end(facts);
    ash__doc_to_bson(ash__builder_doc(facts), &view);
    tell(opts, text, &view);
    ash__builder_release(facts);
}

static void report_death(const ash_check_options *opts, const char *name, int status,
                         ash_check_report *total)
{
    ash_builder facts;
    char text[200];
    int reason = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    snprintf(text, sizeof text, "the metadata's pages are damaged: walking the %s ended with %s %d",
             name, reason != 0 ? "signal" : "status", reason != 0 ? reason : status);
    begin_doc(&facts);
    ash__builder_text(&facts, "kind", "pages");
    ash__builder_int32(&facts, "invariant", 2);
    ash__builder_text(&facts, "stage", name);
    tell_own(opts, text, &facts);
    total->findings++;
}

static int run_stage(ash_check *k, const char *name, ash_check_stage stage, int argument,
                     ash_check_report *total, ash_error *err)
{
    running r = {.k = k, .stage = stage, .argument = argument, .name = name, .total = total};
    int status;
    memset(&k->report, 0, sizeof k->report);
    int rc = ash__child_run(k->engine, run_child, take_doc, &r, &status, err);
    /* The numbers come last; without them the child ended before. */
    if (rc == 0 && !r.complete)
        report_death(k->opts, name, status, total);
    return rc;
}

/* Does it tell of the store, or of the machine, which may lack rights, memory or descriptors? */
static bool is_damage(int code)
{
    return code == ASH_ECORRUPT || code == ASH_EVERSION || code == ASH_ENOTFOUND || code == ASH_EIO;
}

static int check_superblock(ash_check *k, ash_check_report *total, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    ash_builder facts;
    int rc = ash__superblock_check(k->engine, &own);
    /* A check that could not look must not say that all is well, nor that something is wrong. */
    if (rc != 0 && !is_damage(rc))
        return ash__fail(err, rc, "%s", own.text);
    if (rc != 0) {
        begin_doc(&facts);
        ash__builder_text(&facts, "kind", "superblock");
        ash__builder_int32(&facts, "invariant", 1);
        tell_own(k->opts, own.text, &facts);
        total->findings++;
    }
    return 0;
}

/* 13: the journal.  What was in it has been carried over, else the store would not be open. */
static void check_journal(ash_check *k, ash_check_report *total)
{
    ash_builder facts;
    if (ash__journal_check(k->engine))
        return;
    begin_doc(&facts);
    ash__builder_text(&facts, "kind", "journal");
    ash__builder_int32(&facts, "invariant", 13);
    tell_own(k->opts, "the journal is missing, damaged, or of another store", &facts);
    total->findings++;
}

/* 2, 14, and of each row what it says by itself. */
typedef struct counting {
    const ash_check_options *opts;
    ash_verdict found;
} counting;

static void tell_counted(void *ctx, const ash_census_finding *f)
{
    counting *c = ctx;
    ash_builder facts;
    begin_doc(&facts);
    ash__builder_text(&facts, "kind", f->kind);
    ash__builder_int32(&facts, "invariant", f->invariant);
    if (f->page != UINT64_MAX)
        ash__builder_int64(&facts, "page", (int64_t)f->page);
    if (f->tree != NULL)
        ash__builder_text(&facts, "tree", f->tree);
    ash__verdict_add(&c->found, f);
    tell_own(c->opts, f->text, &facts);
}

static bool counting_goes_on(void *ctx, uint64_t done, uint64_t total)
{
    const ash_check_options *o = ((const counting *)ctx)->opts;
    return o->progress == NULL ||
           o->progress(o->ctx, "pages of metadata", (int64_t)done, (int64_t)total);
}

static int check_census(ash_check *k, ash_check_report *total, ash_error *err)
{
    counting c = {.opts = k->opts};
    ash_census_options how = {.go_on = counting_goes_on, .finding = tell_counted, .ctx = &c};
    ash_census_report report;
    /* How long it took says how often the engine may take one. */
    int64_t began = ash__clock_ms();
    int rc = ash__census_take(k->engine, &how, &report, err);
    total->findings += report.findings;
    if (rc == ASH_EINTERRUPTED)
        ash__fail(err, rc, "the check was interrupted");
    else if (rc == 0)
        ash__verdict_note(k->engine, &c.found, &report, ash__clock_ms() - began);
    ash__verdict_release(&c.found);
    return rc;
}

int ash__engine_check(ash_engine *e, const ash_check_options *opts, ash_check_report *out,
                      ash_error *err)
{
    static const char *const pages[ASH_DB_COUNT] = {
        "pages of meta",  "pages of catalog", "pages of records",
        "pages of index", "pages of counts",  "pages of space",
        "pages of oplog", "pages of state",   "pages of drops"};
    static const ash_check_options none = {0};
    ash_check k = {.engine = e, .opts = opts != NULL ? opts : &none};
    memset(out, 0, sizeof *out);
    int rc = ash__snapshot_open(e, &k.snap, err);
    if (rc == 0)
        /* Known damage must not hide from the one who looks for it. */
        k.snap->sees_all = true;
    if (rc == 0)
        rc = check_superblock(&k, out, err);
    if (rc == 0)
        check_journal(&k, out);
    if (rc == 0)
        rc = check_census(&k, out, err);
    /* A process for each database: where one ends by damage, the others still tell theirs. */
    for (int i = 0; rc == 0 && i < ASH_DB_COUNT; i++)
        rc = run_stage(&k, pages[i], ash__check_pages, i, out, err);
    if (rc == 0)
        rc = run_stage(&k, "catalogue", ash__check_catalog, 0, out, err);
    if (rc == 0)
        rc = run_stage(&k, "documents", ash__check_documents, 0, out, err);
    if (rc == 0)
        rc = run_stage(&k, "logs", ash__check_logs, 0, out, err);
    ash__snapshot_close(k.snap);
    return rc;
}
