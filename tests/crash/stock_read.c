/* SPDX-License-Identifier: Apache-2.0 */
#include "stock.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* Everything is read in every way, and is what the stock says; or missing; or an error. */

static const char *const names[STOCK_KINDS] = {"document", "note", "file"};

static void refused(shop *s, const char *how, const ash_error *err)
{
    stock_saw(s->view, SAW_REFUSED, "%s: %s: %s", how, ash_error_name(err->code), err->text);
}

/* ---- documents ---- */

/* Slot of a document that is right; -1 when it is not, or none. */
static int same_doc(shop *s, enum stock_kind kind, const bson_t *got, const char *how)
{
    bson_iter_t it;
    bson_t want;
    int slot = -1;
    if (bson_iter_init_find(&it, got, "slot") && BSON_ITER_HOLDS_INT64(&it) &&
        bson_iter_int64(&it) >= 0 && bson_iter_int64(&it) < stock_slots(kind))
        slot = (int)bson_iter_int64(&it);
    if (slot < 0) {
        stock_saw(s->view, SAW_WRONG, "%s: a %s of no slot", how, names[kind]);
        return -1;
    }
    const stock_item *item = &s->stock->items[kind][slot];
    if (item->unsure)
        return slot;
    stock_doc(s->stock, kind, slot, &want);
    if (!item->there)
        stock_saw(s->view, SAW_MISSING, "%s: %s %d, which was deleted", how, names[kind], slot);
    else if (!bson_equal(&want, got))
        stock_saw(s->view, SAW_WRONG, "%s: %s %d is another", how, names[kind], slot);
    bson_destroy(&want);
    return slot;
}

static bool is_sure(const stock_item *item)
{
    return item->there && !item->unsure;
}

/* All of a cursor, each once. */
static void read_cursor(shop *s, enum stock_kind kind, ash_cursor *cursor, const char *how)
{
    uint8_t seen[STOCK_SLOTS] = {0};
    ash_error err = ASH_ERROR_INIT;
    ash_doc doc = {NULL, 0};
    bson_t got;
    int result, found = 0;
    while ((result = ash_cursor_next(cursor, &doc, &err)) == 0 && doc.data != NULL) {
        if (found++ > 4 * STOCK_SLOTS) {
            stock_saw(s->view, SAW_MISSING, "%s: there is no end of %ss", how, names[kind]);
            return;
        }
        if (!bson_init_static(&got, doc.data, doc.len)) {
            stock_saw(s->view, SAW_WRONG, "%s: no document", how);
            continue;
        }
        int slot = same_doc(s, kind, &got, how);
        if (slot >= 0 && seen[slot]++ != 0)
            stock_saw(s->view, SAW_MISSING, "%s: %s %d comes twice", how, names[kind], slot);
    }
    if (result != 0) {
        refused(s, how, &err);
        return;
    }
    for (int i = 0; i < stock_slots(kind); i++) {
        if (is_sure(&s->stock->items[kind][i]) && seen[i] == 0)
            stock_saw(s->view, SAW_MISSING, "%s: no %s %d", how, names[kind], i);
    }
}

static void read_scan(shop *s, enum stock_kind kind, const char *hint)
{
    ash_error err = ASH_ERROR_INIT;
    ash_cursor *cursor = NULL;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    bson_value_t name = {.value_type = BSON_TYPE_UTF8};
    bson_t all = BSON_INITIALIZER;
    char how[40];
    snprintf(how, sizeof how, "scan%s%s", hint == NULL ? "" : " by ", hint == NULL ? "" : hint);
    if (hint != NULL) {
        name.value.v_utf8.str = (char *)(uintptr_t)hint;
        name.value.v_utf8.len = (uint32_t)strlen(hint);
        opts.hint = &name;
    }
    if (ash_collection_find(s->goods[kind], &all, &opts, &cursor, &err) == 0)
        read_cursor(s, kind, cursor, how);
    else
        refused(s, how, &err);
    ash_cursor_free(cursor);
    bson_destroy(&all);
}

static void read_by_id(shop *s, enum stock_kind kind, int slot)
{
    ash_error err = ASH_ERROR_INIT;
    const stock_item *item = &s->stock->items[kind][slot];
    bson_t filter, got;
    stock_id(kind, slot, &filter);
    int result = ash_collection_find_one(s->goods[kind], &filter, NULL, &got, &err);
    if (result == 0) {
        if (same_doc(s, kind, &got, "by id") != slot && !item->unsure)
            stock_saw(s->view, SAW_WRONG, "by id: another than %s %d", names[kind], slot);
        bson_destroy(&got);
    } else if (result != ASH_ENOTFOUND) {
        refused(s, "by id", &err);
    } else if (is_sure(item)) {
        stock_saw(s->view, SAW_MISSING, "by id: no %s %d", names[kind], slot);
    }
    bson_destroy(&filter);
}

/* One document by a secondary index. */
static void read_by_tag(shop *s, int slot)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t filter = BSON_INITIALIZER, doc, got;
    bson_iter_t it;
    if (!is_sure(&s->stock->items[STOCK_DOC][slot]))
        return;
    stock_doc(s->stock, STOCK_DOC, slot, &doc);
    ash_assert(bson_iter_init_find(&it, &doc, "tag"));
    BSON_APPEND_VALUE(&filter, "tag", bson_iter_value(&it));
    int result = ash_collection_find_one(s->goods[STOCK_DOC], &filter, NULL, &got, &err);
    if (result == 0) {
        same_doc(s, STOCK_DOC, &got, "by tag");
        bson_destroy(&got);
    } else if (result != ASH_ENOTFOUND) {
        refused(s, "by tag", &err);
    } else {
        stock_saw(s->view, SAW_MISSING, "by tag: no document %d", slot);
    }
    bson_destroy(&doc);
    bson_destroy(&filter);
}

/* ---- counts ---- */

static void count(shop *s, enum stock_kind kind, const bson_t *filter, const int64_t want[2],
                  const char *how)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t n = -1;
    if (ash_collection_count(s->goods[kind], filter, NULL, &n, &err) != 0)
        refused(s, how, &err);
    else if (n < want[0] || n > want[1])
        stock_saw(s->view, SAW_MISSING, "%s: %lld %ss instead of %lld", how, (long long)n,
                  names[kind], (long long)want[0]);
}

/* At least those that are sure, at most the others as well. */
static void read_counts(shop *s, enum stock_kind kind)
{
    int64_t all[2] = {0, 0}, low[2] = {0, 0};
    bson_t none = BSON_INITIALIZER, range = BSON_INITIALIZER, filter = BSON_INITIALIZER;
    for (int i = 0; i < stock_slots(kind); i++) {
        const stock_item *item = &s->stock->items[kind][i];
        bool below = kind == STOCK_DOC && stock_number(s->stock, i) < 250;
        all[0] += is_sure(item);
        all[1] += item->there || item->unsure;
        low[0] += is_sure(item) && below;
        low[1] += item->unsure || (item->there && below);
    }
    count(s, kind, &none, all, "count");
    if (kind == STOCK_DOC) {
        BSON_APPEND_INT32(&range, "$lt", 250);
        BSON_APPEND_DOCUMENT(&filter, "n", &range);
        count(s, kind, &filter, low, "count by index");
    }
    bson_destroy(&filter);
    bson_destroy(&range);
    bson_destroy(&none);
}

/* ---- files ---- */

static int append(void *ctx, const void *data, size_t len, ash_error *err)
{
    (void)err;
    ash__buffer_append(ctx, data, len);
    return 0;
}

static void read_file(shop *s, int slot)
{
    ash_error err = ASH_ERROR_INIT;
    const stock_item *item = &s->stock->items[STOCK_FILE][slot];
    ash_buffer got = ASH_BUFFER_INIT;
    ash_output out = {&got, append};
    char name[16];
    bson_value_t id = stock_file_id(slot);
    uint8_t *want = stock_bytes(s->stock, slot);
    stock_file_name(slot, name);
    int result = slot % 2 == 0
                     ? ash_bucket_download_to_stream(s->bucket, &id, &out, NULL, &err)
                     : ash_bucket_download_to_stream_by_name(s->bucket, name, &out, NULL, &err);
    if (result != 0 && result != ASH_ENOTFOUND)
        refused(s, "download", &err);
    else if (result == ASH_ENOTFOUND && is_sure(item))
        stock_saw(s->view, SAW_MISSING, "download: no %s", name);
    else if (result == 0 && !item->there && !item->unsure)
        stock_saw(s->view, SAW_MISSING, "download: %s, which was deleted", name);
    else if (result == 0 && is_sure(item) &&
             (got.len != item->len || (item->len > 0 && memcmp(got.data, want, item->len) != 0)))
        stock_saw(s->view, SAW_WRONG, "download: other bytes of %s", name);
    ash__free(want);
    ash__buffer_release(&got);
}

static void list_files(shop *s)
{
    ash_error err = ASH_ERROR_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    int64_t want = 0, most = 0, found = 0;
    for (int i = 0; i < STOCK_FILES; i++) {
        const stock_item *item = &s->stock->items[STOCK_FILE][i];
        want += is_sure(item);
        most += item->there || item->unsure;
    }
    int result = ash_bucket_find(s->bucket, NULL, NULL, &cursor, &err);
    while (result == 0 && found <= 4 * STOCK_SLOTS &&
           (result = ash_cursor_next(cursor, &doc, &err)) == 0 && doc.data != NULL)
        found++;
    if (result != 0)
        refused(s, "list of files", &err);
    else if (found < want || found > most)
        stock_saw(s->view, SAW_MISSING, "list of files: %lld instead of %lld", (long long)found,
                  (long long)want);
    ash_cursor_free(cursor);
}

/* ---- the catalogue and the change log ---- */

static void read_index_list(shop *s)
{
    ash_error err = ASH_ERROR_INIT;
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bool seen[STOCK_INDEXES] = {false};
    bson_t got;
    bson_iter_t it;
    int result = ash_collection_list_indexes(s->goods[STOCK_DOC], NULL, &cursor, &err);
    while (result == 0 && (result = ash_cursor_next(cursor, &doc, &err)) == 0 && doc.data != NULL) {
        for (int i = 0; i < STOCK_INDEXES; i++)
            seen[i] = seen[i] || (bson_init_static(&got, doc.data, doc.len) &&
                                  bson_iter_init_find(&it, &got, "name") &&
                                  strcmp(bson_iter_utf8(&it, NULL), stock_index_names[i]) == 0);
    }
    if (result == ASH_ENOTFOUND)
        stock_saw(s->view, SAW_MISSING, "list of indexes: no collection");
    else if (result != 0)
        refused(s, "list of indexes", &err);
    for (int i = 0; result == 0 && i < STOCK_INDEXES; i++) {
        if (seen[i] != s->stock->index_there[i] && !s->stock->index_unsure[i])
            stock_saw(s->view, SAW_MISSING, "list of indexes: %s%s", seen[i] ? "" : "no ",
                      stock_index_names[i]);
    }
    ash_cursor_free(cursor);
}

enum { EVENTS_MAX = 20000 }; /* more than there can be */

/* All that happened, from the beginning; until there is nothing more for now. */
static int read_events(shop *s, int64_t *events, uint64_t *sum, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_watch_options opts = ASH_WATCH_OPTIONS_INIT;
    ash_doc doc = {NULL, 0};
    opts.all_changes = true;
    opts.start_at_operation_time = s->stock->first_time;
    opts.max_await_ms = 1;
    int result = ash_store_watch(s->store, NULL, NULL, &opts, &cursor, err);
    while (result == 0 && *events < EVENTS_MAX &&
           (result = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        *sum = *sum * 31 + ash__checksum(doc.data, doc.len);
        ++*events;
    }
    ash_cursor_free(cursor);
    return result;
}

static void read_log(shop *s)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t events = 0;
    uint64_t sum = 0;
    const stock *of = s->stock;
    if (read_events(s, &events, &sum, &err) != 0) {
        refused(s, "change log", &err);
        return;
    }
    if (of->events == 0 && !of->changed) { /* it is just being laid in */
        s->stock->events = events;
        s->stock->events_sum = sum;
    } else if (events < of->events || events >= EVENTS_MAX) {
        stock_saw(s->view, SAW_MISSING, "change log: %lld events instead of %lld",
                  (long long)events, (long long)of->events);
    } else if (!of->changed && sum != of->events_sum) {
        stock_saw(s->view, SAW_MISSING, "change log: other events");
    }
}

void stock_read(shop *s)
{
    for (int kind = STOCK_DOC; kind <= STOCK_NOTE; kind++) {
        read_scan(s, kind, NULL);
        for (int i = 0; i < stock_slots(kind); i++)
            read_by_id(s, kind, i);
        read_counts(s, kind);
    }
    for (int i = 0; i < STOCK_INDEXES; i++) {
        if (s->stock->index_there[i] && !s->stock->index_unsure[i])
            read_scan(s, STOCK_DOC, stock_index_names[i]);
    }
    /* Without its index each of them means to read the whole collection. */
    for (int i = 0; i < STOCK_DOCS; i += s->stock->index_there[1] ? 1 : 150)
        read_by_tag(s, i);
    for (int i = 0; i < STOCK_FILES; i++)
        read_file(s, i);
    list_files(s);
    read_index_list(s);
    read_log(s);
}
