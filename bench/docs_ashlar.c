/* SPDX-License-Identifier: Apache-2.0 */
/* Documents in Ashlar, through the public interface. */
#include "docs.h"

#include <ashlar/ashlar.h>
#include <stdio.h>
#include <stdlib.h>

struct docs {
    ash_store *store;
    ash_collection *docs;
};

static void must(int result, const ash_error *err)
{
    if (result != 0)
        bench_die("documents", err->text);
}

static void *docs_open(const char *folder)
{
    struct docs *d = calloc(1, sizeof *d);
    ash_error err = ASH_ERROR_INIT;
    bson_t *specs = BCON_NEW("0", "{", "key", "{", "when", BCON_INT32(1), "}", "name",
                             BCON_UTF8("when_1"), "}", "1", "{", "key", "{", "tag", BCON_INT32(1),
                             "when", BCON_INT32(1), "}", "name", BCON_UTF8("tag_1_when_1"), "}");
    must(ash_store_open(folder, NULL, &d->store, &err), &err);
    must(ash_collection_new(d->store, NULL, "docs", &d->docs, &err), &err);
    must(ash_collection_create_indexes(d->docs, specs, NULL, NULL, &err), &err);
    bson_destroy(specs);
    return d;
}

static void load(void *docs, int first, int count)
{
    struct docs *d = docs;
    ash_error err = ASH_ERROR_INIT;
    ash_doc list[DOCS_A_COMMIT] = {{NULL, 0}};
    /* All of a commit stay until it is done: the list has views of them. */
    bson_t *made[DOCS_A_COMMIT];
    char tag[16];
    for (int i = 0; i < count; i++) {
        int id = first + i;
        snprintf(tag, sizeof tag, "tag %d", id % 100);
        made[i] = BCON_NEW("_id", BCON_INT32(id), "when", BCON_INT32(docs_when(id)), "tag",
                           BCON_UTF8(tag), "text", BCON_UTF8(docs_text()));
        list[i] = (ash_doc){bson_get_data(made[i]), made[i]->len};
    }
    must(ash_collection_insert(d->docs, list, (size_t)count, NULL, NULL, &err), &err);
    for (int i = 0; i < count; i++)
        bson_destroy(made[i]);
}

static int get(void *docs, int id)
{
    struct docs *d = docs;
    ash_error err = ASH_ERROR_INIT;
    bson_t found, *filter = BCON_NEW("_id", BCON_INT32(id));
    must(ash_collection_find_one(d->docs, filter, NULL, &found, &err), &err);
    int len = (int)found.len;
    bson_destroy(&found);
    bson_destroy(filter);
    return len;
}

static int range(void *docs, int when)
{
    struct docs *d = docs;
    ash_error err = ASH_ERROR_INIT;
    ash_cursor *cursor;
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    bson_t *filter = BCON_NEW("when", "{", "$gte", BCON_INT32(when), "}");
    bson_t *sort = BCON_NEW("when", BCON_INT32(1));
    int count = 0;
    opts.sort = sort;
    opts.limit = DOCS_RANGE;
    must(ash_collection_find(d->docs, filter, &opts, &cursor, &err), &err);
    for (;;) {
        ash_doc doc;
        must(ash_cursor_next(cursor, &doc, &err), &err);
        if (doc.data == NULL)
            break;
        count++;
    }
    ash_cursor_free(cursor);
    bson_destroy(sort);
    bson_destroy(filter);
    return count;
}

static void update(void *docs, int id, int when)
{
    struct docs *d = docs;
    ash_error err = ASH_ERROR_INIT;
    bson_t *filter = BCON_NEW("_id", BCON_INT32(id));
    bson_t *change = BCON_NEW("$set", "{", "when", BCON_INT32(when), "}");
    ash_update_options opts = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(change);
    value.value.v_doc.data_len = change->len;
    ash_write_result_init(&result);
    must(ash_collection_update(d->docs, filter, &value, &opts, &result, &err), &err);
    ash_write_result_release(&result);
    bson_destroy(change);
    bson_destroy(filter);
}

static void docs_close(void *docs)
{
    struct docs *d = docs;
    ash_collection_free(d->docs);
    ash_store_close(d->store);
    free(d);
}

const docs_peer docs_ashlar = {"ashlar",  "documents: BSON, three indexes (_id, when, tag+when)",
                               docs_open, load,
                               get,       range,
                               update,    docs_close};
