/* SPDX-License-Identifier: Apache-2.0 */
#include "stock.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdio.h>
#include <string.h>

/* Changes of a stock.  What is about to be changed is unsure until the store has answered. */

static void renew(stock *of, stock_item *item, rng *r, enum stock_kind kind)
{
    uint32_t die = rng_below(r, 100);
    item->version = ++of->version;
    if (kind == STOCK_FILE)
        item->len = die < 5 ? 0 : rng_below(r, 14000);
    else if (die < 84)
        item->len = 30 + rng_below(r, die < 60 ? 250 : 1200);
    else
        item->len = die < 94 ? 3000 + rng_below(r, 5000) : 9000 + rng_below(r, 9000);
}

static stock_item *begin(shop *s, enum stock_kind kind, int slot)
{
    stock_item *item = &s->stock->items[kind][slot];
    s->stock->changed = true;
    item->unsure = true;
    return item;
}

/* It happened. */
static void take(shop *s, enum stock_kind kind, int slot, stock_item now)
{
    now.unsure = false;
    s->stock->items[kind][slot] = now;
    s->stock->acknowledged++;
}

static void failed(shop *s, const char *what, int slot, const ash_error *err)
{
    stock_saw(s->view, SAW_REFUSED, "%s %d: %s: %s", what, slot, ash_error_name(err->code),
              err->text);
}

/* What the store says is not there, it does not change: it still has to be there later. */
static void not_found(shop *s, enum stock_kind kind, int slot, const char *what)
{
    s->stock->items[kind][slot].unsure = false;
    stock_saw(s->view, SAW_MISSING, "%s: nothing in slot %d", what, slot);
}

/* ---- documents ---- */

/* All that changes, as operators. */
static void append_set(const bson_t *doc, bson_t *out)
{
    bson_t set;
    bson_iter_t it;
    BSON_APPEND_DOCUMENT_BEGIN(out, "$set", &set);
    ash_assert(bson_iter_init(&it, doc));
    while (bson_iter_next(&it)) {
        if (strcmp(bson_iter_key(&it), "_id") != 0)
            bson_append_iter(&set, NULL, -1, &it);
    }
    bson_append_document_end(out, &set);
}

static int change_doc(shop *s, enum stock_kind kind, int slot, const bson_t *doc, bool replace,
                      int64_t *matched, ash_error *err)
{
    bson_t filter, holder = BSON_INITIALIZER, set = BSON_INITIALIZER;
    bson_iter_t it;
    ash_write_result result;
    ash_write_result_init(&result);
    stock_id(kind, slot, &filter);
    append_set(doc, &set);
    BSON_APPEND_DOCUMENT(&holder, "u", replace ? doc : &set);
    ash_assert(bson_iter_init_find(&it, &holder, "u"));
    int code =
        ash_collection_update(s->goods[kind], &filter, bson_iter_value(&it), NULL, &result, err);
    *matched = result.matched;
    ash_write_result_release(&result);
    bson_destroy(&set);
    bson_destroy(&holder);
    bson_destroy(&filter);
    return code;
}

static void put_doc(shop *s, rng *r, enum stock_kind kind, int slot)
{
    ash_error err = ASH_ERROR_INIT;
    bson_t doc;
    int64_t matched = 1;
    stock_item *item = begin(s, kind, slot);
    stock_item before = *item, now = before;
    renew(s->stock, &now, r, kind);
    now.there = true;
    *item = now;
    stock_doc(s->stock, kind, slot, &doc);
    *item = before;
    int result = before.there
                     ? change_doc(s, kind, slot, &doc, rng_below(r, 2) == 0, &matched, &err)
                     : ash_collection_insert_one(s->goods[kind], &doc, NULL, &err);
    if (result != 0)
        failed(s, before.there ? "update" : "insert", slot, &err);
    else if (matched == 0)
        not_found(s, kind, slot, "update");
    else
        take(s, kind, slot, now);
    bson_destroy(&doc);
}

static void delete_doc(shop *s, enum stock_kind kind, int slot)
{
    ash_error err = ASH_ERROR_INIT;
    ash_write_result done;
    bson_t filter;
    stock_item *item = begin(s, kind, slot);
    bool was_there = item->there;
    stock_item now = *item;
    now.there = false;
    ash_write_result_init(&done);
    stock_id(kind, slot, &filter);
    int result = ash_collection_remove(s->goods[kind], &filter, NULL, &done, &err);
    if (result != 0)
        failed(s, "delete", slot, &err);
    else if (done.deleted == 0 && was_there)
        not_found(s, kind, slot, "delete");
    else
        take(s, kind, slot, now);
    bson_destroy(&filter);
    ash_write_result_release(&done);
}

/* Several in one operation, found by an index.  Those that were found are not told, so that all are
 * unsure unless their number is right. */
static void delete_docs(shop *s, rng *r)
{
    ash_error err = ASH_ERROR_INIT;
    ash_write_result done;
    bson_t filter = BSON_INITIALIZER;
    uint32_t n = rng_below(r, 500);
    int64_t want = 0, most = 0;
    for (int i = 0; i < STOCK_DOCS; i++) {
        const stock_item *item = &s->stock->items[STOCK_DOC][i];
        bool hit = item->there && !item->unsure && stock_number(s->stock, i) == n;
        want += hit;
        most += hit || item->unsure;
        if (hit)
            begin(s, STOCK_DOC, i);
    }
    ash_write_result_init(&done);
    BSON_APPEND_INT32(&filter, "n", (int32_t)n);
    int result = ash_collection_remove(s->goods[STOCK_DOC], &filter, NULL, &done, &err);
    if (result != 0)
        failed(s, "delete by n", (int)n, &err);
    else if (done.deleted < want || done.deleted > most)
        stock_saw(s->view, SAW_MISSING, "delete by n: %lld instead of %lld",
                  (long long)done.deleted, (long long)want);
    for (int i = 0; result == 0 && done.deleted == want && i < STOCK_DOCS; i++) {
        stock_item now = s->stock->items[STOCK_DOC][i];
        if (now.unsure && now.there && stock_number(s->stock, i) == n && want == most) {
            now.there = false;
            take(s, STOCK_DOC, i, now);
        }
    }
    bson_destroy(&filter);
    ash_write_result_release(&done);
}

/* ---- files ---- */

static int upload(shop *s, int slot, ash_error *err)
{
    ash_upload *u = NULL;
    ash_upload_options opts = ASH_UPLOAD_OPTIONS_INIT;
    bson_value_t id = stock_file_id(slot);
    uint8_t *data = stock_bytes(s->stock, slot);
    char name[16];
    stock_file_name(slot, name);
    opts.replace = true;
    opts.chunk_size_bytes = slot % 3 == 0 ? 9000 : 0; /* such chunks lie in segments */
    int result = ash_bucket_open_upload_stream_with_id(s->bucket, &id, name, &opts, &u, err);
    if (result == 0)
        result = ash_upload_write(u, data, s->stock->items[STOCK_FILE][slot].len, err);
    if (result == 0)
        result = ash_upload_finish(u, NULL, err);
    ash_upload_free(u);
    ash__free(data);
    return result;
}

static void put_file(shop *s, rng *r, int slot)
{
    ash_error err = ASH_ERROR_INIT;
    stock_item *item = begin(s, STOCK_FILE, slot);
    stock_item now = *item;
    renew(s->stock, &now, r, STOCK_FILE);
    now.there = true;
    *item = now; /* unsure in any case */
    if (upload(s, slot, &err) == 0)
        take(s, STOCK_FILE, slot, now);
    else
        failed(s, "upload", slot, &err);
}

static void delete_file(shop *s, int slot)
{
    ash_error err = ASH_ERROR_INIT;
    bson_value_t id = stock_file_id(slot);
    stock_item *item = begin(s, STOCK_FILE, slot);
    bool was_there = item->there;
    stock_item now = *item;
    now.there = false;
    int result = ash_bucket_delete(s->bucket, &id, NULL, &err);
    if (result == 0 || (result == ASH_ENOTFOUND && !was_there))
        take(s, STOCK_FILE, slot, now);
    else if (result == ASH_ENOTFOUND)
        not_found(s, STOCK_FILE, slot, "delete file");
    else
        failed(s, "delete file", slot, &err);
}

/* ---- indexes ---- */

static int create_index(shop *s, int i, ash_error *err)
{
    bson_t *specs = bson_new_from_json((const uint8_t *)stock_index_specs[i], -1, NULL);
    ash_assert(specs != NULL);
    int result = ash_collection_create_indexes(s->goods[STOCK_DOC], specs, NULL, NULL, err);
    bson_destroy(specs);
    return result;
}

static void toggle_index(shop *s, int i)
{
    ash_error err = ASH_ERROR_INIT;
    bson_value_t name = {.value_type = BSON_TYPE_UTF8};
    stock *of = s->stock;
    name.value.v_utf8.str = (char *)(uintptr_t)stock_index_names[i];
    name.value.v_utf8.len = (uint32_t)strlen(stock_index_names[i]);
    of->changed = of->index_unsure[i] = true;
    int result = of->index_there[i]
                     ? ash_collection_drop_indexes(s->goods[STOCK_DOC], &name, NULL, &err)
                     : create_index(s, i, &err);
    if (result != 0) {
        failed(s, of->index_there[i] ? "drop of index" : "making of index", i, &err);
        return;
    }
    of->index_there[i] = !of->index_there[i];
    of->index_unsure[i] = false;
    of->acknowledged++;
}

/* ---- all ---- */

static int sure_slot(const shop *s, rng *r, enum stock_kind kind)
{
    uint32_t slots = (uint32_t)stock_slots(kind), first = rng_below(r, slots);
    for (uint32_t i = 0; i < slots; i++) {
        int slot = (int)((first + i) % slots);
        if (!s->stock->items[kind][slot].unsure)
            return slot;
    }
    return -1;
}

static void write_one(shop *s, rng *r, uint32_t die)
{
    enum stock_kind kind = die < 10 ? STOCK_DOC : die < 13 ? STOCK_NOTE : STOCK_FILE;
    int slot = sure_slot(s, r, kind);
    uint32_t index = rng_below(r, STOCK_INDEXES);
    if (die >= 18 && !s->stock->index_unsure[index])
        toggle_index(s, (int)index);
    else if (die == 0)
        delete_docs(s, r);
    else if (slot < 0)
        return;
    else if (kind == STOCK_FILE && die < 16)
        put_file(s, r, slot);
    else if (kind == STOCK_FILE)
        delete_file(s, slot);
    else if (die % 4 == 3)
        delete_doc(s, kind, slot);
    else
        put_doc(s, r, kind, slot);
}

void stock_write(shop *s, rng *r, int count)
{
    for (int i = 0; i < count; i++)
        write_one(s, r, i % 25 == 20 ? 18 : rng_below(r, 18));
}

/* ---- the beginning ---- */

static int fill(shop *s, rng *r, ash_error *err)
{
    int64_t wall;
    bson_t *specs = bson_new_from_json(
        (const uint8_t *)"{\"0\": {\"key\": {\"slot\": 1}, \"name\": \"slot_1\"}}", -1, NULL);
    int result = ash_collection_create_indexes(s->goods[STOCK_NOTE], specs, NULL, NULL, err);
    bson_destroy(specs);
    if (result == 0)
        result = ash_store_time(s->store, &wall, &s->stock->first_time, err);
    for (int i = 0; result == 0 && i < STOCK_INDEXES; i++) {
        result = create_index(s, i, err);
        s->stock->index_there[i] = true;
    }
    for (int kind = 0; result == 0 && kind < STOCK_KINDS; kind++) {
        int slots = stock_slots((enum stock_kind)kind);
        for (int i = 0; i < slots * 7 / 8; i++) {
            int slot = i * 349 % slots; /* a prime, so that pages are split all over */
            if (kind == STOCK_FILE)
                put_file(s, r, slot);
            else
                put_doc(s, r, (enum stock_kind)kind, slot);
        }
    }
    return result;
}

/* What is dropped leaves free pages, many of them in one commit.  Chunks are not copied to the
 * change log. */
static int leave_room(shop *s, ash_error *err)
{
    uint8_t bytes[3000] = {0};
    ash_collection *gone = NULL;
    int result = ash_collection_new(s->store, NULL, "gone.chunks", &gone, err);
    for (int i = 0; result == 0 && i < 330; i++) {
        bson_t doc = BSON_INITIALIZER;
        BSON_APPEND_INT32(&doc, "_id", i);
        BSON_APPEND_BINARY(&doc, "data", BSON_SUBTYPE_BINARY, bytes, sizeof bytes);
        result = ash_collection_insert_one(gone, &doc, NULL, err);
        bson_destroy(&doc);
    }
    if (result == 0)
        result = ash_collection_drop(gone, NULL, err);
    if (result == 0)
        result = ash_store_flush(s->store, NULL, err);
    ash_collection_free(gone);
    return result;
}

/* While a state is held, each commit leaves an entry in the list of free pages. */
static int age(shop *s, rng *r, ash_error *err)
{
    uint64_t held;
    int result = ash_store_hold(s->store, 0, NULL, &held, err);
    for (int i = 0; result == 0 && i < 34; i++) {
        stock_write(s, r, 1);
        result = ash_store_flush(s->store, NULL, err);
    }
    return result;
}

static int settle(const char *folder, stock *of, stock_view *view, rng *r, ash_error *err)
{
    shop s;
    int result = shop_open(&s, folder, false, of, view, err);
    if (result != 0)
        return result;
    for (int i = 0; i < 6; i++)
        put_doc(&s, r, STOCK_DOC, (int)rng_below(r, STOCK_DOCS));
    of->changed = false;
    of->acknowledged = 0;
    stock_read(&s);
    shop_close(&s);
    if (view->saw != 0)
        result = ash__fail(err, ASH_EINTERNAL, "%s", view->text);
    return result;
}

int stock_lay_in(const char *folder, stock *of, uint64_t seed, ash_error *err)
{
    shop s;
    stock_view view = {0};
    rng r = rng_for(seed, 77);
    *of = (stock){.seed = seed};
    int result = shop_open(&s, folder, false, of, &view, err);
    if (result == 0)
        result = fill(&s, &r, err);
    if (result == 0)
        result = leave_room(&s, err);
    if (result == 0)
        result = age(&s, &r, err);
    shop_close(&s);
    return result == 0 ? settle(folder, of, &view, &r, err) : result;
}
