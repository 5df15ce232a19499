/* SPDX-License-Identifier: Apache-2.0 */
#include "object_operations.h"

#include "base/mem.h"
#include "steps.h"

#include <string.h>

/* ---- operations ---- */

/* New names, of each size. */
static int put_new(object_worker *w, size_t number, ash_error *err)
{
    static const uint32_t contents[] = {0, 2, 5, 8};
    static const char *const names[] = {"e", "f", "g", "h"};
    return object_put(w, names[number], contents[number], (uint32_t)number, err);
}

/* From small to large, the other way round, over what is deleted, over a link. */
static int overwrite(object_worker *w, size_t number, ash_error *err)
{
    static const uint32_t contents[] = {8, 1, 7, 4};
    static const char *const names[] = {"a", "b", "c", "d"};
    return object_put(w, names[number], contents[number], (uint32_t)number, err);
}

/* To a free name, to one that is deleted. */
static int rename_object(object_worker *w, size_t number, ash_error *err)
{
    return number == 0 ? object_describe(w, "b", "g", 7, err)
                       : object_describe(w, "a", "c", 8, err);
}

static int delete_objects(object_worker *w, size_t number, ash_error *err)
{
    static const char *const names[] = {"b", "d", "a"};
    return ash_object_store_delete(w->objects, names[number], NULL, NULL, NULL, err);
}

static int describe(object_worker *w, size_t number, ash_error *err)
{
    return number == 0 ? object_describe(w, "b", NULL, 7, err) : object_link(w, "c", "b", err);
}

static int restore(object_worker *w, size_t number, ash_error *err)
{
    return object_restore(w, number == 0 ? "a" : "c", 0, err);
}

/* One version at a time, which is one commit each. */
static int prune(object_worker *w, size_t number, ash_error *err)
{
    return object_prune(w, number == 0 ? "c" : "a", number == 1 ? 1 : 0, err);
}

static int seal(object_worker *w, size_t number, ash_error *err)
{
    (void)number;
    return ash_object_store_seal(w->objects, NULL, err);
}

/* And made again: with collections of its own. */
static int drop(object_worker *w, size_t number, ash_error *err)
{
    if (number == 0)
        return object_drop(w, err);
    return number == 1 ? object_make(w, err) : object_put(w, "a", 3, 1, err);
}

static int sweep(object_worker *w, size_t number, ash_error *err)
{
    int64_t left;
    (void)number;
    return object_sweep(w, &left, err);
}

const object_operation object_operations[] = {
    {.name = "put", .count = 4, .step = put_new},
    {.name = "put, versions", .count = 4, .step = put_new, .versions = true, .is_plain = true},
    {.name = "overwrite", .count = 4, .step = overwrite},
    {.name = "overwrite, versions", .count = 4, .step = overwrite, .versions = true},
    {.name = "rename", .count = 2, .step = rename_object},
    {.name = "rename, versions", .count = 2, .step = rename_object, .versions = true},
    {.name = "delete", .count = 3, .step = delete_objects},
    {.name = "delete, versions", .count = 3, .step = delete_objects, .versions = true},
    {.name = "describe and link", .count = 2, .step = describe, .is_plain = true},
    {.name = "restore", .count = 2, .step = restore, .versions = true},
    {.name = "prune", .count = 3, .step = prune, .versions = true},
    {.name = "seal", .count = 1, .step = seal},
    {.name = "delete the store", .count = 3, .step = drop},
    {.name = "delete the store, versions", .count = 3, .step = drop, .versions = true},
    {.name = "sweep", .count = 1, .step = sweep, .is_plain = true},
};
const size_t object_operation_count = ASH_ARRAY_LEN(object_operations);

/* ---- the store ---- */

static object_worker open_objects(ash_store *store, uint32_t thread)
{
    ash_error err = ASH_ERROR_INIT;
    object_worker w;
    assert_ok(object_worker_open(&w, store, 1, thread, &err), &err);
    return w;
}

static uint32_t thread_of(const object_operation *op)
{
    return op->versions ? 1 : 0;
}

/* a has a past, c is deleted, d is a link. */
static void fill_one(object_worker *w)
{
    ash_error err = ASH_ERROR_INIT;
    assert_ok(object_make(w, &err), &err);
    assert_ok(object_put(w, "a", 7, 1, &err), &err);
    assert_ok(object_put(w, "a", 4, 2, &err), &err);
    assert_ok(object_put(w, "a", 2, 3, &err), &err);
    assert_ok(object_put(w, "b", 7, 4, &err), &err);
    assert_ok(object_put(w, "c", 6, 5, &err), &err);
    assert_ok(ash_object_store_delete(w->objects, "c", NULL, NULL, NULL, &err), &err);
    assert_ok(object_link(w, "d", "b", &err), &err);
}

static void fill(ash_store *store)
{
    for (uint32_t i = 0; i < OBJECT_THREADS; i++) {
        object_worker w = open_objects(store, i);
        fill_one(&w);
        object_worker_close(&w);
    }
}

int object_subject_setup(void **state)
{
    portrayed *s = ash__new(portrayed);
    portrayed_setup(s, fill);
    *state = s;
    return 0;
}

int object_subject_teardown(void **state)
{
    portrayed_release(*state);
    ash__free(*state);
    return 0;
}

static char *portray(object_worker *w)
{
    ash_error err = ASH_ERROR_INIT;
    ash_buffer out = ASH_BUFFER_INIT;
    assert_ok(object_portrait(w, &out, &err), &err);
    char *text = ash__strdup(ash__buffer_text(&out));
    ash__buffer_release(&out);
    return text;
}

void object_subject_foresee(portrayed *s, const object_operation *op)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = portrayed_begin(s);
    object_worker w = open_objects(store, thread_of(op));
    portrayed_forget(s);
    s->portraits[0] = portray(&w);
    for (size_t i = 0; i < op->count; i++) {
        assert_ok(op->step(&w, i, &err), &err);
        s->portraits[i + 1] = portray(&w);
    }
    object_worker_close(&w);
    ash_store_close(store);
}

int object_subject_do(ash_store *store, const object_operation *op, size_t *done, ash_error *err)
{
    object_worker w;
    *done = 0;
    int rc = object_worker_open(&w, store, 1, thread_of(op), err);
    while (rc == 0 && *done < op->count) {
        rc = op->step(&w, *done, err);
        *done += rc == 0;
    }
    object_worker_close(&w);
    return rc;
}

bool object_subject_put_other(ash_store *store, const object_operation *op)
{
    object_worker w;
    ash_error err = ASH_ERROR_INIT;
    int rc = object_worker_open(&w, store, 1, 1 - thread_of(op), &err);
    if (rc == 0)
        rc = object_put(&w, "other", 5, 1, &err);
    object_worker_close(&w);
    return rc == 0;
}

/* ---- afterwards ---- */

static void expect_other(ash_store *store, const object_operation *op, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    object_worker w = open_objects(store, 1 - thread_of(op));
    if (ash_object_store_info(w.objects, "other", NULL, NULL, NULL, &err) != 0 ||
        object_read_all(&w, &err) != 0)
        fail_msg("%s: somebody else's object: %s", what, err.text);
    object_worker_close(&w);
}

static void expect_swept(object_worker *w, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t left = 0;
    char *before = portray(w);
    if (object_read_all(w, &err) != 0 || object_sweep(w, &left, &err) != 0 ||
        object_read_all(w, &err) != 0)
        fail_msg("%s: %s", what, err.text);
    if (left != 0)
        fail_msg("%s: a sweep left %d that nobody has", what, (int)left);
    char *after = portray(w);
    assert_string_equal(before, after);
    ash__free(before);
    ash__free(after);
}

void object_subject_end(portrayed *s, ash_store *store, const object_operation *op, size_t done,
                        bool other, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store_close(store);
    store = portrayed_open(s);
    object_worker w = open_objects(store, thread_of(op));
    size_t i = portrayed_find_step(s, portray(&w), op->count, done, what);
    if (other)
        expect_other(store, op, what);
    expect_swept(&w, what);
    if (!steps_check(store, &err))
        fail_msg("%s: %s", what, err.text);
    for (; i < op->count; i++)
        if (op->step(&w, i, &err) != 0)
            fail_msg("%s: step %zu cannot be done again: %s", what, i, err.text);
    (void)portrayed_find_step(s, portray(&w), op->count, op->count, what);
    expect_swept(&w, what);
    object_worker_close(&w);
    ash_store_close(store);
}
