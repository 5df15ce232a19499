/* SPDX-License-Identifier: Apache-2.0 */
#include "fake_store.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/turn.h"

#include <stdlib.h>
#include <string.h>

static void fake_close(ash_store *store)
{
    (void)store;
}

static int fake_capabilities(ash_store *store, ash_capabilities *out, ash_error *err)
{
    (void)store;
    (void)err;
    *out = (ash_capabilities){.backend = "fake", .transactions = true, .watch = true};
    return 0;
}

static int fake_time(ash_store *store, int64_t *wall_ms, uint64_t *operation_time, ash_error *err)
{
    (void)store;
    (void)err;
    *wall_ms = ash__clock_wall_ms();
    *operation_time = 0;
    return 0;
}

static int fake_stats(ash_store *store, ash_ns ns, int64_t scale, const ash_op *op, bson_t *out,
                      ash_error *err)
{
    fake_store *f = (fake_store *)store;
    (void)ns;
    (void)scale;
    (void)op;
    (void)err;
    bson_init(out);
    BSON_APPEND_INT64(out, "count", (int64_t)f->count);
    return 0;
}

static int fake_insert(ash_store *store, ash_ns ns, const ash_doc_list *list,
                       const ash_insert_options *opts, ash_write_result *result, ash_error *err)
{
    fake_store *f = (fake_store *)store;
    (void)ns;
    int rc = 0;
    ash__mutex_lock(&f->lock);
    f->asked = opts->op.principal;
    f->durability = opts->op.durability;
    f->retried = opts->op.retry != NULL;
    if (f->retried)
        f->retry = *opts->op.retry;
    if (f->fail_code != 0) {
        rc = ash__fail_server(err, f->fail_code, f->fail_server_code, "the fake store fails");
        f->fail_code = 0;
        if (f->fail_server_code == 11000)
            ash__write_result_add_error(result, 0, err, NULL);
    }
    for (size_t i = 0; i < list->count && rc == 0 && f->count < FAKE_DOCS; i++) {
        f->docs[f->count++] =
            (ash_doc){ash__memdup(list->docs[i].data, list->docs[i].len), list->docs[i].len};
        result->inserted++;
    }
    ash__turn_place(ash__turn_current());
    int64_t rest_ms = f->insert_ms;
    f->insert_ms = 0;
    ash__mutex_unlock(&f->lock);
    ash__clock_sleep_ms(rest_ms);
    return rc;
}

static int fake_remove(ash_store *store, ash_ns ns, const bson_t *filter,
                       const ash_remove_options *opts, ash_write_result *result, ash_error *err)
{
    fake_store *f = (fake_store *)store;
    (void)ns;
    (void)filter;
    (void)err;
    ash__mutex_lock(&f->lock);
    f->asked = opts->op.principal;
    result->deleted = (int64_t)f->count;
    for (size_t i = 0; i < f->count; i++)
        free((void *)(uintptr_t)f->docs[i].data);
    f->count = 0;
    ash__mutex_unlock(&f->lock);
    return 0;
}

/* It always meets a duplicate. */
static int fake_find_and_modify(ash_store *store, ash_ns ns, const bson_t *filter,
                                const ash_find_and_modify_options *opts,
                                const ash_modify_answer *answer, ash_error *err)
{
    bson_t *details = BCON_NEW("keyPattern", "{", "a", BCON_INT32(1), "}");
    (void)store;
    (void)ns;
    (void)filter;
    (void)opts;
    int rc = ash__fail_server(err, ASH_EEXISTS, 11000, "the fake store fails");
    ash__write_result_add_error(answer->result, 0, err, details);
    bson_destroy(details);
    return rc;
}

/* ---- a cursor over copies; tailable ones wait at the end until cancelled or out of time ---- */

typedef struct fake_cursor {
    ash_cursor base;
    size_t at;
    bool waits;
    const volatile int *cancel;
    int64_t await_ms;
} fake_cursor;

static size_t count_docs(fake_store *f)
{
    ash__mutex_lock(&f->lock);
    size_t count = f->count;
    ash__mutex_unlock(&f->lock);
    return count;
}

static int fake_next_batch(ash_cursor *cursor, size_t max_docs, size_t max_bytes, ash_batch *out,
                           ash_error *err)
{
    fake_cursor *c = (fake_cursor *)cursor;
    fake_store *f = (fake_store *)cursor->store;
    int64_t until = ash__clock_ms() + c->await_ms;
    size_t bytes = 0, n = 0;
    size_t count = count_docs(f);
    while (c->waits && c->at == count && ash__clock_ms() < until) {
        if (ash__is_cancelled(c->cancel))
            return ash__fail(err, ASH_EINTERRUPTED, "interrupted");
        ash__clock_sleep_ms(5);
        count = count_docs(f);
    }
    while (c->at + n < count && n < max_docs) {
        bytes += f->docs[c->at + n].len;
        if (n > 0 && bytes > max_bytes)
            break;
        n++;
    }
    *out = (ash_batch){
        .docs = f->docs + c->at, .count = n, .exhausted = !c->waits && c->at + n == count};
    c->at += n;
    return 0;
}

static void fake_set_op(ash_cursor *cursor, int64_t deadline_ms, const volatile int *cancel,
                        int64_t await_ms)
{
    fake_cursor *c = (fake_cursor *)cursor;
    (void)deadline_ms;
    c->cancel = cancel;
    if (await_ms >= 0)
        c->await_ms = await_ms;
}

static void fake_rest(ash_cursor *cursor)
{
    (void)cursor;
}

static void fake_cursor_free(ash_cursor *cursor)
{
    ash__free(cursor);
}

static const ash_cursor_ops cursor_ops = {.next_batch = fake_next_batch,
                                          .set_op = fake_set_op,
                                          .rest = fake_rest,
                                          .free = fake_cursor_free};

static int fake_find(ash_store *store, ash_ns ns, const bson_t *filter,
                     const ash_find_options *opts, ash_cursor **out, ash_error *err)
{
    fake_store *f = (fake_store *)store;
    fake_cursor *c = ash__new(fake_cursor);
    (void)ns;
    (void)filter;
    (void)err;
    c->base.ops = &cursor_ops;
    c->base.store = store;
    c->waits = opts->tailable;
    ash__mutex_lock(&f->lock);
    f->asked = opts->op.principal;
    ash__mutex_unlock(&f->lock);
    ash__clock_sleep_ms(f->find_ms);
    *out = &c->base;
    return 0;
}

static const ash_store_ops fake_ops = {.close = fake_close,
                                       .capabilities = fake_capabilities,
                                       .time = fake_time,
                                       .stats = fake_stats,
                                       .insert = fake_insert,
                                       .remove = fake_remove,
                                       .find_and_modify = fake_find_and_modify,
                                       .find = fake_find};

fake_store *fake_store_new(void)
{
    fake_store *f = ash__new(fake_store);
    f->base.ops = &fake_ops;
    ash__mutex_init(&f->lock, ASH_RANK_STORE);
    return f;
}

void fake_store_free(fake_store *f)
{
    for (size_t i = 0; i < f->count; i++)
        free((void *)(uintptr_t)f->docs[i].data);
    ash__mutex_release(&f->lock);
    ash__free(f);
}
