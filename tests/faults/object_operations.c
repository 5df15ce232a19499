/* SPDX-License-Identifier: Apache-2.0 */
#include "object_operations.h"

#include "base/mem.h"
#include "steps.h"

#include <string.h>

typedef struct object_operation {
    operation_facts facts;
    int (*step)(object_worker *w, size_t number, ash_error *err);
    bool versions; /* of the store that keeps them */
} object_operation;

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

static const object_operation operations[] = {
    {{"put", 4, false}, .step = put_new},
    {{"put, versions", 4, true}, .step = put_new, .versions = true},
    {{"overwrite", 4, false}, .step = overwrite},
    {{"overwrite, versions", 4, false}, .step = overwrite, .versions = true},
    {{"rename", 2, false}, .step = rename_object},
    {{"rename, versions", 2, false}, .step = rename_object, .versions = true},
    {{"delete", 3, false}, .step = delete_objects},
    {{"delete, versions", 3, false}, .step = delete_objects, .versions = true},
    {{"describe and link", 2, true}, .step = describe},
    {{"restore", 2, false}, .step = restore, .versions = true},
    {{"prune", 3, false}, .step = prune, .versions = true},
    {{"seal", 1, false}, .step = seal},
    {{"delete the store", 3, false}, .step = drop},
    {{"delete the store, versions", 3, false}, .step = drop, .versions = true},
    {{"sweep", 1, true}, .step = sweep},
};

static operation_facts facts(size_t op)
{
    return operations[op].facts;
}

/* ---- the store ---- */

static object_worker open_objects(ash_store *store, uint32_t thread)
{
    ash_error err = ASH_ERROR_INIT;
    object_worker w;
    assert_ok(object_worker_open(&w, store, 1, thread, &err), &err);
    return w;
}

static uint32_t thread_of(size_t op)
{
    return operations[op].versions ? 1 : 0;
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

static void foresee(portrayed *s, size_t op)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = portrayed_begin(s);
    object_worker w = open_objects(store, thread_of(op));
    portrayed_forget(s);
    s->portraits[0] = portray(&w);
    for (size_t i = 0; i < operations[op].facts.count; i++) {
        assert_ok(operations[op].step(&w, i, &err), &err);
        s->portraits[i + 1] = portray(&w);
    }
    object_worker_close(&w);
    ash_store_close(store);
}

static int act(ash_store *store, size_t op, size_t *done, ash_error *err)
{
    object_worker w;
    *done = 0;
    int rc = object_worker_open(&w, store, 1, thread_of(op), err);
    while (rc == 0 && *done < operations[op].facts.count) {
        rc = operations[op].step(&w, *done, err);
        *done += rc == 0;
    }
    object_worker_close(&w);
    return rc;
}

static bool put_other(ash_store *store, size_t op)
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

static void expect_other(ash_store *store, size_t op, const char *what)
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

static void end(portrayed *s, ash_store *store, size_t op, size_t done, bool other,
                const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store_close(store);
    store = portrayed_open(s);
    object_worker w = open_objects(store, thread_of(op));
    size_t i = portrayed_find_step(s, portray(&w), operations[op].facts.count, done, what);
    if (other)
        expect_other(store, op, what);
    expect_swept(&w, what);
    if (!steps_check(store, &err))
        fail_msg("%s: %s", what, err.text);
    for (; i < operations[op].facts.count; i++)
        if (operations[op].step(&w, i, &err) != 0)
            fail_msg("%s: step %zu cannot be done again: %s", what, i, err.text);
    (void)portrayed_find_step(s, portray(&w), operations[op].facts.count,
                              operations[op].facts.count, what);
    expect_swept(&w, what);
    object_worker_close(&w);
    ash_store_close(store);
}

const fault_subject object_subject = {.count = ASH_ARRAY_LEN(operations),
                                      .facts = facts,
                                      .foresee = foresee,
                                      .act = act,
                                      .put_other = put_other,
                                      .end = end,
                                      .few_steps = PORTRAYED_STEPS_MAX,
                                      .seldom = 1,
                                      .may_do_nothing = true};
