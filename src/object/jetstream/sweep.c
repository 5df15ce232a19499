/* SPDX-License-Identifier: Apache-2.0 */
/* Chunks that no meta message names, and old names of objects that were renamed by somebody who died
 * over it.  The chunks are listed before the meta messages, so that a put that ends meanwhile is
 * seen to have its own. */
#include "object/jetstream/feed.h"
#include "object/jetstream/list.h"
#include "object/jetstream/meta.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/config.h"
#include "object/jetstream/format/names.h"

#include <stdlib.h>
#include <string.h>

enum { DEFAULT_AGE_S = 24 * 3600, WAIT_MS = 500 };

typedef struct text_list {
    char **items;
    size_t count, capacity;
} text_list;

typedef struct sweeping {
    ash_js_store *store;
    const ash_object_sweep_options *opts;
    const ash_op *op;
    ash_object_sweep_report *report;
    int64_t ahead_ms; /* the server's clock is so much ahead of ours, as far as it tells */
    text_list chunks; /* subjects */
    text_list nuids;  /* that live objects have, sorted */
} sweeping;

static void add(text_list *l, const char *text)
{
    l->items = ash__grow_array(l->items, l->count, &l->capacity, sizeof *l->items);
    l->items[l->count++] = ash__strdup(text);
}

static void release(text_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        ash__free(l->items[i]);
    ash__free(l->items);
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int take_chunks(void *ctx, const ash_json *answer, int64_t *count, ash_error *err)
{
    sweeping *w = ctx;
    const ash_json *subjects = ash__json_get(ash__json_get(answer, "state"), "subjects");
    const char *ts = ash__json_text(answer, "ts", NULL); /* from 2.10 on */
    (void)err;
    if (ts != NULL && ash__js_time(ts) > 0)
        w->ahead_ms = ash__js_time(ts) - ash__clock_wall_ms();
    for (const ash_json *s = subjects != NULL ? subjects->first : NULL; s != NULL; s = s->next) {
        add(&w->chunks, s->key);
        ++*count;
    }
    return 0;
}

static int list_chunks(sweeping *w, ash_error *err)
{
    char *verb = ash__sprintf("STREAM.INFO.%s", w->store->stream.name);
    char *filter = ash__sprintf("$O.%s.C.>", w->store->base.name);
    ash_js_paged p = {verb, "subjects_filter", filter, take_chunks, w};
    int rc = ash__js_each_page(w->store->stream.js, &p, w->op, err);
    ash__free(verb);
    ash__free(filter);
    return rc;
}

/* The other end of a rename has the bytes, and is newer: this name should have gone. */
static int end_rename(sweeping *w, const ash_object *o, const char *other, ash_error *err)
{
    ash_js_meta there = {0};
    char *name = ash__name_of_subject(w->store->base.name, other);
    int rc = name != NULL ? ash__js_meta_get(w->store, name, true, w->op, &there, err) : 0;
    if (rc == 0 && ash__js_meta_is_live(&there) && there.object->nuid != NULL && o->nuid != NULL &&
        *o->nuid != '\0' && strcmp(there.object->nuid, o->nuid) == 0 &&
        there.sequence > o->revision && !w->opts->dry_run)
        rc = ash__js_delete(&w->store->stream, o->revision, w->op, err);
    ash__js_meta_release(&there);
    ash__free(name);
    return rc;
}

static int list_nuids(sweeping *w, ash_error *err)
{
    ash_js_metas *metas = NULL;
    ash_object *o = NULL;
    int rc = ash__js_metas_open(w->store, w->op, &metas, err);
    while (rc == 0) {
        char *other = NULL;
        rc = ash__js_metas_next(metas, &o, &other, err);
        if (rc == 0 && o == NULL)
            break;
        if (rc == 0 && !o->deleted && o->nuid != NULL)
            add(&w->nuids, o->nuid);
        if (rc == 0 && !o->deleted && other != NULL)
            rc = end_rename(w, o, other, err);
        ash_object_free(o);
        ash__free(other);
    }
    ash__js_metas_free(metas);
    if (w->nuids.count > 0)
        qsort(w->nuids.items, w->nuids.count, sizeof(char *), compare);
    return rc;
}

static int add_sizes(sweeping *w, const char *subject, int64_t *bytes, ash_error *err)
{
    ash_js_feed_request r = {.subject = subject, .from = ASH_JS_FROM_START, .heads = true};
    ash_js_feed *feed = NULL;
    ash_js_fed fed = {0};
    uint64_t pending = 0;
    int rc = ash__js_feed_open(&w->store->stream, &r, w->op, &feed, &pending, err);
    while (rc == 0 && pending > 0) {
        bool more = true;
        rc = ash__js_feed_next(feed, WAIT_MS, w->op, &fed, err);
        if (rc == 0 && fed.message == NULL)
            rc = ash__js_feed_has_more(feed, w->op, &more, err);
        *bytes += fed.message != NULL ? fed.size : 0;
        pending = fed.message != NULL ? fed.pending : more ? pending : 0;
    }
    ash__js_feed_free(feed);
    return rc;
}

/* The last chunk, if it is as old as that.  *expires: it was put with a time to live, and its object
 * has not outlived that. */
static int find_old(sweeping *w, const char *subject, uint64_t *last_sequence, bool *expires,
                    ash_error *err)
{
    ash_js_message last;
    int64_t age_s = w->opts->min_age_s == 0 ? DEFAULT_AGE_S : w->opts->min_age_s;
    int rc = ash__js_get_last(&w->store->stream, subject, true, w->op, &last, err);
    *expires = rc == 0 && last.expires_ms != 0;
    age_s = *expires && age_s > ASH_JS_TTL_MARGIN_MS / 1000 ? ASH_JS_TTL_MARGIN_MS / 1000 : age_s;
    bool old =
        rc == 0 && (age_s < 0 || ash__clock_wall_ms() + w->ahead_ms - last.time_ms >= age_s * 1000);
    int number = last.number;
    *last_sequence = old ? last.sequence : 0;
    ash__js_message_release(&last);
    return rc == ASH_ENOTFOUND && number == ASH_JS_NO_MESSAGE ? 0 : rc;
}

/* Whoever put these chunks, and lives, holds on to the last one (chunks.h).  *gone: nobody does. */
static int take_last(sweeping *w, const char *subject, uint64_t last, bool *gone, ash_error *err)
{
    uint64_t now = 0;
    bool expires;
    int rc = ash__js_take(&w->store->stream, last, w->op, gone, err);
    if (rc != 0 || *gone)
        return rc;
    /* A stream that lets nobody delete has it still. */
    rc = find_old(w, subject, &now, &expires, err);
    *gone = now == last;
    return rc;
}

/* An orphan, unless its last chunk is so young that its put may be going on.  One that was put with a
 * time to live, and that its object has outlived, is an object whose time was over. */
static int sweep_one(sweeping *w, const char *subject, ash_error *err)
{
    uint64_t last = 0, again = 0;
    int64_t bytes = 0;
    bool expires = false, gone = true;
    int rc = find_old(w, subject, &last, &expires, err);
    if (rc != 0 || last == 0)
        return rc;
    rc = add_sizes(w, subject, &bytes, err);
    if (rc == 0)
        rc = find_old(w, subject, &again, &expires, err);
    if (rc != 0 || again != last)
        return rc;
    if (!w->opts->dry_run) {
        rc = take_last(w, subject, last, &gone, err);
        if (rc == 0 && gone)
            rc = ash__js_purge(&w->store->stream, subject, w->op, err);
    }
    if (rc != 0 || !gone)
        return rc;
    w->report->bytes += bytes;
    *(expires ? &w->report->expired : &w->report->orphans) += 1;
    return 0;
}

static int sweep_all(sweeping *w, ash_error *err)
{
    size_t prefix = strlen("$O.") + strlen(w->store->base.name) + strlen(".C.");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < w->chunks.count; i++) {
        const char *nuid = w->chunks.items[i] + prefix;
        bool has_owner = w->nuids.count > 0 && bsearch(&nuid, w->nuids.items, w->nuids.count,
                                                       sizeof(char *), compare) != NULL;
        if (!has_owner)
            rc = sweep_one(w, w->chunks.items[i], err);
        if (rc == 0 && w->opts->progress != NULL &&
            !w->opts->progress(w->opts->progress_ctx, "chunks", (int64_t)i + 1,
                               (int64_t)w->chunks.count))
            rc = ash__fail(err, ASH_EINTERRUPTED, "interrupted");
    }
    return rc;
}

int ash__js_sweep(ash_object_store *s, const ash_object_sweep_options *opts, const ash_op *op,
                  ash_object_sweep_report *report, ash_error *err)
{
    sweeping w = {.store = ash__js_store_of(s), .opts = opts, .op = op, .report = report};
    ash__js_drop_pending(ash__js_manager_of(s->manager));
    int rc = list_chunks(&w, err);
    if (rc == 0)
        rc = list_nuids(&w, err);
    if (rc == 0)
        rc = sweep_all(&w, err);
    release(&w.chunks);
    release(&w.nuids);
    return rc;
}
