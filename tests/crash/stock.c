/* SPDX-License-Identifier: Apache-2.0 */
#include "stock.h"

#include "base/error.h"
#include "base/mem.h"
#include "model.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *const stock_index_names[STOCK_INDEXES] = {"n_1", "tag_1", "list_1_n_-1"};
const char *const stock_index_specs[STOCK_INDEXES] = {
    "{\"0\": {\"key\": {\"n\": 1}, \"name\": \"n_1\"}}",
    "{\"0\": {\"key\": {\"tag\": 1}, \"name\": \"tag_1\", \"unique\": true}}",
    "{\"0\": {\"key\": {\"list\": 1, \"n\": -1}, \"name\": \"list_1_n_-1\"}}"};

int stock_slots(enum stock_kind kind)
{
    static const int slots[STOCK_KINDS] = {STOCK_DOCS, STOCK_NOTES, STOCK_FILES};
    return slots[kind];
}

void stock_saw(stock_view *view, unsigned bit, const char *format, ...)
{
    va_list args;
    char text[sizeof view->text];
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (bit == SAW_REFUSED && (view->saw & SAW_REFUSED) == 0)
        snprintf(view->refusal, sizeof view->refusal, "%.*s", (int)sizeof view->refusal - 1, text);
    if (bit > view->saw)
        memcpy(view->text, text, sizeof text);
    view->saw |= bit;
}

/* ---- what is in it ---- */

static uint64_t mixed(const stock *of, enum stock_kind kind, int slot)
{
    rng r = rng_for(of->seed + (uint64_t)kind * 7919 + (uint64_t)slot * 104729,
                    of->items[kind][slot].version);
    return rng_next(&r);
}

uint32_t stock_number(const stock *of, int slot)
{
    return (uint32_t)(mixed(of, STOCK_DOC, slot) % 500);
}

static void append_filling(const stock *of, enum stock_kind kind, int slot, bson_t *out)
{
    uint32_t len = of->items[kind][slot].len;
    uint8_t *data = ash__alloc(len + 1);
    model_fill(mixed(of, kind, slot), data, len);
    BSON_APPEND_BINARY(out, "data", BSON_SUBTYPE_BINARY, data, len);
    ash__free(data);
}

/* Some tags are longer than a key of LMDB may be. */
static void append_tag(int slot, uint32_t version, bson_t *out)
{
    char tag[700];
    int len = snprintf(tag, sizeof tag, "tag-%04d-%u", slot, (unsigned)version % 3);
    if (slot % 40 == 7) {
        memset(tag + len, 'x', 600);
        memcpy(tag, "long", 4);
        snprintf(tag + len + 560, 20, "%d", slot);
    }
    BSON_APPEND_UTF8(out, "tag", tag);
}

void stock_id(enum stock_kind kind, int slot, bson_t *out)
{
    char text[32];
    bson_init(out);
    snprintf(text, sizeof text, "note %05d", slot * 37 % 1009);
    if (kind == STOCK_NOTE)
        BSON_APPEND_UTF8(out, "_id", text);
    else
        BSON_APPEND_INT64(out, "_id", slot);
}

void stock_doc(const stock *of, enum stock_kind kind, int slot, bson_t *out)
{
    uint64_t dice = mixed(of, kind, slot);
    stock_id(kind, slot, out);
    BSON_APPEND_INT64(out, "slot", slot);
    if (kind == STOCK_DOC) {
        bson_t list = BSON_INITIALIZER;
        BSON_APPEND_INT32(out, "n", (int32_t)stock_number(of, slot));
        append_tag(slot, of->items[kind][slot].version, out);
        for (uint32_t i = 0; i < dice % 3; i++)
            BSON_APPEND_INT32(&list, i == 0 ? "0" : "1", (int32_t)((dice >> (20 + 8 * i)) % 50));
        BSON_APPEND_ARRAY(out, "list", &list);
        bson_destroy(&list);
    }
    append_filling(of, kind, slot, out);
}

void stock_file_name(int slot, char out[16])
{
    snprintf(out, 16, "file-%02d", slot);
}

bson_value_t stock_file_id(int slot)
{
    bson_value_t v = {.value_type = BSON_TYPE_INT64};
    v.value.v_int64 = 1000 + slot;
    return v;
}

uint8_t *stock_bytes(const stock *of, int slot)
{
    uint32_t len = of->items[STOCK_FILE][slot].len;
    uint8_t *data = ash__alloc(len + 1);
    model_fill(mixed(of, STOCK_FILE, slot), data, len);
    return data;
}

/* ---- handles ---- */

static int open_store(const char *folder, bool served, ash_store **out, ash_error *err)
{
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    opts.segment_bytes = 4 << 20;
    opts.ttl_interval_ms = 20; /* so often the store looks after itself */
    opts.no_server = !served;
    opts.must_exist = served;
    return ash_store_open(folder, &opts, out, err);
}

int shop_open(shop *s, const char *folder, bool served, stock *of, stock_view *view, ash_error *err)
{
    ash_bucket_options opts = ASH_BUCKET_OPTIONS_INIT;
    *s = (shop){.stock = of, .view = view};
    opts.chunk_size_bytes = 3000;
    int result = open_store(folder, served, &s->store, err);
    if (result == 0)
        result = ash_collection_new(s->store, NULL, "docs", &s->goods[STOCK_DOC], err);
    if (result == 0)
        result = ash_collection_new(s->store, "other", "notes", &s->goods[STOCK_NOTE], err);
    if (result == 0)
        result = ash_bucket_new(s->store, &opts, &s->bucket, err);
    if (result != 0)
        shop_close(s);
    return result;
}

void shop_close(shop *s)
{
    ash_bucket_free(s->bucket);
    ash_collection_free(s->goods[STOCK_DOC]);
    ash_collection_free(s->goods[STOCK_NOTE]);
    ash_store_close(s->store);
    *s = (shop){.stock = s->stock, .view = s->view};
}
