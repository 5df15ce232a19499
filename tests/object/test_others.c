/* SPDX-License-Identifier: Apache-2.0 */
/* Other threads at work on the same names, and work that is stopped. */
#include "support.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- several at once ---- */

enum { WRITERS = 4, ROUNDS = 12 };

typedef struct writer {
    pthread_t thread;
    fixture *f;
    ash_object_store *store;
    int number, put, refused;
} writer;

static void *write_rounds(void *arg)
{
    writer *w = arg;
    ash_error err = ASH_ERROR_INIT;
    uint8_t *data = support_bytes(300000, (uint32_t)w->number);
    for (int i = 0; i < ROUNDS; i++) {
        ash_object_meta meta = ASH_OBJECT_META_INIT;
        meta.name = "same";
        int rc = ash_object_store_put_bytes(w->store, &meta, data, 300000 - (size_t)i, NULL, NULL,
                                            NULL, &err);
        if (rc == 0)
            w->put++;
        else if (rc == ASH_ECONFLICT)
            w->refused++;
        else
            fprintf(stderr, "# %d %s\n", rc, err.text);
    }
    ash__free(data);
    return NULL;
}

/* Four writers of one name: each put is there or refused, and no bytes are left of any. */
static void test_object_others__four_writers(void **state)
{
    fixture *f = *state;
    writer w[WRITERS] = {{0}};
    int put = 0;
    for (int i = 0; i < WRITERS; i++) {
        w[i].f = f;
        w[i].number = i;
        w[i].store = f->store;
        assert_int_equal(pthread_create(&w[i].thread, NULL, write_rounds, &w[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(w[i].thread, NULL);
        assert_int_equal(w[i].put + w[i].refused, ROUNDS);
        put += w[i].put;
    }
    assert_true(put > 0);
    uint8_t *data = NULL;
    size_t len = 0;
    assert_ok(ash_object_store_get_bytes(f->store, "same", NULL, NULL, &data, &len, &f->err),
              &f->err);
    ash_object_bytes_free(data);
    support_expect_list(f, f->store, NULL, "same");
    support_expect_sound(f, f->store);
}

static void *count_up(void *arg)
{
    writer *w = arg;
    ash_error err = ASH_ERROR_INIT;
    for (int i = 0; i < ROUNDS;) {
        ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
        ash_object_meta meta = ASH_OBJECT_META_INIT;
        ash_object *now = NULL;
        uint8_t *data = NULL;
        char text[16] = "0";
        size_t len = 0;
        if (ash_object_store_info(w->store, "count", NULL, NULL, &now, &err) != 0)
            break;
        o.if_revision = ash_object_revision(now);
        ash_object_free(now);
        if (ash_object_store_get_bytes(w->store, "count", NULL, NULL, &data, &len, &err) != 0)
            continue;
        memcpy(text, data, len);
        text[len] = '\0';
        ash_object_bytes_free(data);
        snprintf(text, sizeof text, "%d", atoi(text) + 1);
        meta.name = "count";
        int rc =
            ash_object_store_put_bytes(w->store, &meta, text, strlen(text), &o, NULL, NULL, &err);
        i += rc == 0;
        if (rc != 0 && rc != ASH_ECONDITION && rc != ASH_ECONFLICT) {
            fprintf(stderr, "# %d %s\n", rc, err.text);
            break;
        }
        w->put += rc == 0;
    }
    return NULL;
}

/* Several count up by one at once, and none of their steps is lost. */
static void test_object_others__counting_by_compare_and_set(void **state)
{
    fixture *f = *state;
    writer w[WRITERS] = {{0}};
    char wanted[16];
    support_put(f, f->store, "count", "0");
    for (int i = 0; i < WRITERS; i++) {
        w[i].store = f->store;
        assert_int_equal(pthread_create(&w[i].thread, NULL, count_up, &w[i]), 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        pthread_join(w[i].thread, NULL);
        assert_int_equal(w[i].put, ROUNDS);
    }
    snprintf(wanted, sizeof wanted, "%d", WRITERS * ROUNDS);
    support_expect(f, f->store, "count", wanted);
    support_expect_sound(f, f->store);
}

/* ---- deadlines and flags ---- */

/* In the middle of a put and of a get. */
static void test_object_others__stopped_on_the_way(void **state)
{
    fixture *f = *state;
    volatile int cancel = 0;
    ash_op op = ASH_OP_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_writer *w = NULL;
    ash_object_reader *r = NULL;
    char byte;
    size_t got = 0;
    support_put(f, f->store, "a", "old");
    op.cancel = &cancel;
    meta.name = "a";
    assert_ok(ash_object_store_open_writer(f->store, &meta, NULL, &op, &w, &f->err), &f->err);
    assert_ok(ash_object_store_open_reader(f->store, "a", NULL, &op, &r, &f->err), &f->err);
    assert_ok(ash_object_writer_write(w, "n", 1, &f->err), &f->err);
    assert_ok(ash_object_reader_read(r, &byte, 1, &got, &f->err), &f->err);
    cancel = 1;
    assert_int_equal(ash_object_writer_write(w, "n", 1, &f->err), ASH_EINTERRUPTED);
    assert_int_equal(ash_object_writer_finish(w, NULL, NULL, &f->err), ASH_ESTATE);
    assert_int_equal(ash_object_reader_read(r, &byte, 1, &got, &f->err), ASH_EINTERRUPTED);
    assert_int_equal(got, 0);
    ash_object_writer_free(w);
    ash_object_reader_free(r);
    op.cancel = NULL;
    op.deadline_ms = ash_deadline(1);
    ash__clock_sleep_ms(10);
    assert_int_equal(
        ash_object_store_put_bytes(f->store, &meta, "new", 3, NULL, &op, NULL, &f->err),
        ASH_ETIMEOUT);
    support_expect(f, f->store, "a", "old");
    support_expect_sound(f, f->store);
}

static void test_object_others__cancelled(void **state)
{
    fixture *f = *state;
    volatile int cancel = 1;
    ash_op op = ASH_OP_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *o = NULL;
    support_put(f, f->store, "a", "old");
    op.cancel = &cancel;
    meta.name = "a";
    assert_int_equal(
        ash_object_store_put_bytes(f->store, &meta, "new", 3, NULL, &op, NULL, &f->err),
        ASH_EINTERRUPTED);
    assert_int_equal(ash_object_store_info(f->store, "a", NULL, &op, &o, &f->err),
                     ASH_EINTERRUPTED);
    assert_int_equal(ash_object_store_delete(f->store, "a", NULL, &op, NULL, &f->err),
                     ASH_EINTERRUPTED);
    support_expect(f, f->store, "a", "old");
    support_expect_sound(f, f->store);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_object_others__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(four_writers),
        T(counting_by_compare_and_set),
        T(cancelled),
        T(stopped_on_the_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
