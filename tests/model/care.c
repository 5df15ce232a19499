/* SPDX-License-Identifier: Apache-2.0 */
#include "care.h"

#include "crash/checked.h"
#include "parcels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROWS = 1500, MOST_EVENTS = 60 };

static _Noreturn void die(const char *what, const ash_error *err)
{
    printf("# beside the steps, %s: %d %s\n", what, err->code, err->text);
    fflush(stdout);
    _exit(1);
}

/* ---- rows ---- */

static ash_collection *rows(ash_store *store, ash_error *err)
{
    ash_collection *c = NULL;
    return ash_collection_new(store, NULL, "rows", &c, err) == 0 ? c : NULL;
}

static bool insert_rows(ash_collection *c, int64_t from, ash_error *err)
{
    bson_t *made[ROWS];
    ash_doc docs[ROWS];
    size_t count = 0;
    for (int64_t n = from; n < ROWS; n++, count++) {
        made[count] = BCON_NEW("_id", BCON_INT64(n), "x", BCON_INT64(n * 7919 % ROWS), "y", "[",
                               BCON_INT64(n % 3), BCON_INT64(n % 11), "]");
        docs[count] = (ash_doc){bson_get_data(made[count]), made[count]->len};
    }
    int code = count == 0 ? 0 : ash_collection_insert(c, docs, count, NULL, NULL, err);
    for (size_t i = 0; i < count; i++)
        bson_destroy(made[i]);
    return code == 0;
}

bool care_make_rows(ash_store *store, ash_error *err)
{
    ash_collection *c = rows(store, err);
    bson_t all = BSON_INITIALIZER;
    int64_t n = 0;
    bool good =
        c != NULL && ash_collection_count(c, &all, NULL, &n, err) == 0 && insert_rows(c, n, err);
    bson_destroy(&all);
    ash_collection_free(c);
    return good;
}

bool care_rows_are_whole(ash_store *store, ash_error *err)
{
    ash_collection *c = rows(store, err);
    bson_t *first = BCON_NEW("_id", "{", "$lt", BCON_INT64(0), "}");
    bson_iter_t bound;
    int64_t all = -1, below = -2;
    bson_t everything = BSON_INITIALIZER;
    bool good = c != NULL && ash_collection_count(c, &everything, NULL, &all, err) == 0 &&
                bson_iter_init(&bound, first) &&
                bson_iter_find_descendant(&bound, "_id.$lt", &bound);
    if (good) {
        bson_iter_overwrite_int64(&bound, all);
        good = ash_collection_count(c, first, NULL, &below, err) == 0;
    }
    if (good && all != below)
        snprintf(err->text, sizeof err->text, "%lld rows, of which %lld are the first ones",
                 (long long)all, (long long)below);
    bson_destroy(first);
    bson_destroy(&everything);
    ash_collection_free(c);
    return good && all == below;
}

static void build_index(care *c)
{
    ash_error err = ASH_ERROR_INIT;
    ash_collection *on = rows(c->store, &err);
    bson_t *specs = BCON_NEW("0", "{", "key", "{", "x", BCON_INT32(1), "y", BCON_INT32(-1), "}",
                             "name", "x_1_y_-1", "}");
    bson_value_t name = {.value_type = BSON_TYPE_UTF8};
    char text[] = "x_1_y_-1";
    name.value.v_utf8.str = text;
    name.value.v_utf8.len = sizeof text - 1;
    if (on == NULL || ash_collection_create_indexes(on, specs, NULL, NULL, &err) != 0)
        die("an index build", &err);
    if (rng_below(&c->r, 3) != 0 && ash_collection_drop_indexes(on, &name, NULL, &err) != 0)
        die("an index's end", &err);
    atomic_fetch_add(&c->page->builds, 1);
    bson_destroy(specs);
    ash_collection_free(on);
}

/* ---- the change stream ---- */

static void take_token(kills_page *page, int64_t seen, const uint8_t *bytes, uint32_t len)
{
    unsigned other = 1 - atomic_load(&page->newest);
    kills_token *t = &page->tokens[other];
    *t = (kills_token){.seen = seen, .len = len};
    if (len > sizeof t->bytes)
        abort();
    if (len > 0)
        memcpy(t->bytes, bytes, len);
    atomic_store(&page->newest, other);
}

/* Events come in order, each once, and none is left out.  An odd parcel's number may never have
 * been used. */
static void take_event(care *c, const ash_doc *event)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t doc;
    bson_iter_t token, it, key;
    const uint8_t *bytes = NULL;
    uint32_t len = 0;
    const kills_token *last = &c->page->tokens[atomic_load(&c->page->newest)];
    if (!bson_init_static(&doc, event->data, event->len) ||
        !bson_iter_init_find(&token, &doc, "_id") || !bson_iter_init(&it, &doc) ||
        !bson_iter_find_descendant(&it, "documentKey._id", &key))
        die("an event without its document", &err);
    int64_t number = bson_iter_int64(&key);
    for (int64_t missed = last->seen + 1; last->len > 0 && missed < number; missed++) {
        if (missed % 2 == 0) {
            snprintf(err.text, sizeof err.text, "%lld came after %lld", (long long)number,
                     (long long)last->seen);
            die("events are missing", &err);
        }
    }
    if (last->len > 0 && number <= last->seen)
        die("an event came twice", &err);
    bson_iter_document(&token, &len, &bytes);
    take_token(c->page, number, bytes, len);
    atomic_fetch_add(&c->page->events, 1);
}

static void read_stream(care *c)
{
    ash_error err = ASH_ERROR_INIT;
    ash_watch_options opts = ASH_WATCH_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    ash_doc event = {NULL, 0};
    bson_t token;
    const kills_token *last = &c->page->tokens[atomic_load(&c->page->newest)];
    bson_t *inserts = BCON_NEW("0", "{", "$match", "{", "operationType", "insert", "}", "}");
    opts.pipeline = inserts;
    opts.max_await_ms = 1 + rng_below(&c->r, 20);
    if (last->len > 0 && bson_init_static(&token, last->bytes, last->len))
        opts.resume_after = &token;
    int code = ash_store_watch(c->store, NULL, "parcels", &opts, &cursor, &err);
    for (int i = 0; code == 0 && i < MOST_EVENTS; i++) {
        code = ash_cursor_next(cursor, &event, &err);
        if (code != 0 || event.data == NULL)
            break;
        take_event(c, &event);
    }
    if (code == ASH_ECURSOR) { /* the history was let go */
        take_token(c->page, last->seen, NULL, 0);
        atomic_fetch_add(&c->page->lost_histories, 1);
    } else if (code != 0) {
        die("a change stream", &err);
    }
    ash_cursor_free(cursor);
    bson_destroy(inserts);
}

/* ---- the thread ---- */

static void compact(care *c)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t *action = BCON_NEW("compact", "test.rows");
    bson_t report;
    if (ash_store_maintain(c->store, action, NULL, NULL, &report, &err) != 0)
        die("a compaction", &err);
    bson_destroy(&report);
    bson_destroy(action);
    atomic_fetch_add(&c->page->compactions, 1);
}

static void *work(void *arg)
{
    care *c = arg;
    while (!atomic_load(&c->stop)) {
        uint32_t dice = rng_below(&c->r, 16);
        ash_error err = ASH_ERROR_INIT;
        struct timespec pause = {.tv_nsec = rng_below(&c->r, 4000000)};
        if (dice < 5)
            compact(c);
        else if (dice < 9)
            read_stream(c);
        else if (dice < 13)
            build_index(c);
        else if (dice == 13) {
            if (!steps_check(c->store, &err))
                die("a check", &err);
            atomic_fetch_add(&c->page->checks, 1);
        }
        nanosleep(&pause, NULL);
    }
    return NULL;
}

void care_start(care *c, ash_store *store, kills_page *page, uint64_t seed)
{
    memset(c, 0, sizeof *c);
    c->store = store;
    c->page = page;
    c->r = rng_for(seed, 99);
    if (pthread_create(&c->thread, NULL, work, c) != 0)
        abort();
}

void care_stop(care *c)
{
    atomic_store(&c->stop, true);
    pthread_join(c->thread, NULL);
}
