/* SPDX-License-Identifier: Apache-2.0 */
#include "store/ops.h"

#include "base/mem.h"

/* Documents that are already there, for lists that backends build whole. */

struct array_cursor {
    ash_cursor base;
    bson_t *docs;
    ash_doc *views;
    size_t count;
    size_t at;
};

static int array_next_batch(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out,
                            ash_error *err)
{
    struct array_cursor *c = (struct array_cursor *)cursor;
    size_t first = c->at, bytes = 0;

    (void)err;
    while (c->at < c->count && c->at - first < max_docs) {
        bytes += c->views[c->at].len;
        /* The first goes whatever its size: a batch of none would look like the end of a wait. */
        if (bytes > max_bytes && c->at > first)
            break;
        c->at++;
    }
    *out = (ash_batch){
        .docs = c->views + first, .count = c->at - first, .exhausted = c->at == c->count};
    return 0;
}

static void array_set_op(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                         int64_t await_ms)
{
    (void)cursor;
    (void)deadline_ms;
    (void)cancel;
    (void)await_ms;
}

static void array_rest(ash_cursor *cursor)
{
    (void)cursor;
}

static void array_free(ash_cursor *cursor)
{
    struct array_cursor *c = (struct array_cursor *)cursor;
    bson_destroy(c->docs);
    ash__free(c->views);
    ash__free(c);
}

static const ash_cursor_ops array_ops = {
    .next_batch = array_next_batch,
    .set_op = array_set_op,
    .rest = array_rest,
    .free = array_free,
};

ash_cursor *ash__cursor_from_array(ash_store *store, bson_t *docs)
{
    struct array_cursor *c = ash__new(struct array_cursor);
    bson_iter_t it;

    c->base.ops = &array_ops;
    c->base.store = store;
    c->docs = docs;
    c->views = ash__alloc_array(bson_count_keys(docs), sizeof *c->views);
    ash_assert(bson_iter_init(&it, docs));
    while (bson_iter_next(&it)) {
        uint32_t len = 0;
        const uint8_t *data = NULL;
        bson_iter_document(&it, &len, &data);
        /* A list is built by a backend of ours, so what is no document in it is a bug. */
        ash_assert(data != NULL);
        c->views[c->count++] = (ash_doc){data, len};
    }
    return &c->base;
}
