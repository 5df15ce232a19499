/* SPDX-License-Identifier: Apache-2.0 */
/* A process that puts, changes, renames and deletes one object is killed at any moment: the object
 * is as it was before or after what was under way, whole, under one name, and the bytes that nobody
 * has are found. */
#include "support.h"

#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLS = 30, STEPS = 5 };

/* The step's number is the content's seed and length, and the description. */
static size_t length_of(int step)
{
    return step % 3 == 0 ? 20 + (size_t)step % 50 : 150000 + (size_t)(step * 7919) % 600000;
}

static void fill(uint8_t *data, int step)
{
    uint8_t *made = support_bytes(length_of(step), (uint32_t)step);
    memcpy(data, made, length_of(step));
    ash__free(made);
}

static int put(ash_object_store *s, int step, ash_error *err)
{
    static uint8_t data[1000000];
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    char text[16];
    snprintf(text, sizeof text, "%d", step);
    fill(data, step);
    meta.name = "a";
    meta.description = text;
    return ash_object_store_put_bytes(s, &meta, data, length_of(step), NULL, NULL, NULL, err);
}

static int change(ash_object_store *s, const char *name, const char *new_name, ash_error *err)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    bson_t *tags = BCON_NEW("0", "changed");
    meta.name = new_name;
    meta.tags = tags;
    int rc = ash_object_store_update_meta(s, name, &meta, NULL, NULL, NULL, err);
    bson_destroy(tags);
    return rc;
}

/* One change of five kinds, by the step's number; they follow one another in a round. */
static int do_step(ash_object_store *s, int step, ash_error *err)
{
    switch (step % STEPS) {
    case 0:
        return put(s, step, err);
    case 1:
        return change(s, "a", NULL, err);
    case 2:
        return change(s, "a", "b", err);
    case 3:
        return change(s, "b", "a", err);
    default:
        return step % 2 == 0 ? ash_object_store_delete(s, "a", NULL, NULL, NULL, err) : 0;
    }
}

/* Tells of each step that is done; never returns. */
static void work(fixture *f, int from, int out)
{
    ash_object_manager *m = NULL;
    ash_object_store *s = NULL;
    ash_error err = ASH_ERROR_INIT;
    support_open(f, &m);
    if (ash_object_manager_bind(m, support_name(f, ""), NULL, &s, &err) != 0)
        _exit(1);
    for (int step = from;; step++) {
        if (do_step(s, step, &err) != 0) {
            fprintf(stderr, "# step %d: %s\n", step, err.text);
            _exit(1);
        }
        if (write(out, &step, sizeof step) != sizeof step)
            _exit(1);
    }
}

/* The last step that it told of before it was killed; from - 1: none. */
static int run_and_kill(fixture *f, int from, int64_t after_ms)
{
    int ends[2], step = from - 1, status = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ends[0]);
        work(f, from, ends[1]);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &step, sizeof step), sizeof step); /* it has begun */
    ash__clock_sleep_ms(after_ms);
    (void)kill(pid, SIGKILL);
    while (read(ends[0], &step, sizeof step) == sizeof step)
        ;
    close(ends[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    return step;
}

/* ---- what is there afterwards ---- */

static ash_object *find(fixture *f, const char *name)
{
    ash_object *o = NULL;
    int rc = ash_object_store_info(f->store, name, NULL, NULL, &o, &f->err);
    assert_true(rc == 0 || rc == ASH_ENOTFOUND);
    return o;
}

static bool is_under_b(int step)
{
    return step % STEPS == 2;
}

static bool is_gone(int step)
{
    return step % STEPS == 4 && step % 2 == 0;
}

/* As after `step`, or as after the next one, which nobody was told of. */
static bool fits(fixture *f, int step)
{
    static uint8_t data[1000000];
    ash_object *a = find(f, "a"), *b = find(f, "b");
    const ash_object *o = a != NULL ? a : b;
    int round = step / STEPS * STEPS;
    bool good = is_gone(step) ? o == NULL : (o != NULL && (b != NULL) == is_under_b(step));
    assert_false(a != NULL && b != NULL);
    if (good && o != NULL) {
        good = atoi(ash_object_description(o)) == round &&
               (ash_object_tag_count(o) > 0) == (step % STEPS > 0);
        if (good) {
            fill(data, round);
            support_expect_bytes(f, f->store, ash_object_name(o), data, length_of(round));
        }
    }
    ash_object_free(a);
    ash_object_free(b);
    return good;
}

static void sweep(fixture *f)
{
    ash_object_sweep_options o = ASH_OBJECT_SWEEP_OPTIONS_INIT;
    o.min_age_s = -1;
    assert_ok(ash_object_store_sweep(f->store, &o, NULL, NULL, &f->err), &f->err);
    support_expect_sound(f, f->store);
}

static void kill_and_look(fixture *f, ash_object_config *config)
{
    int step = 0;
    support_configure(f, config);
    for (int i = 0; i < KILLS; i++) {
        /* Each begins with a put, whatever is there. */
        int from = (step + STEPS) / STEPS * STEPS;
        ash_object_store_close(f->store);
        ash_object_manager_close(f->manager);
        step = run_and_kill(f, from, i * 3 % 50);
        support_open(f, &f->manager);
        assert_ok(
            ash_object_manager_bind(f->manager, support_name(f, ""), NULL, &f->store, &f->err),
            &f->err);
        if (!fits(f, step) && !fits(f, step + 1))
            fail_msg("after step %d, kill %d", step, i);
        sweep(f);
        ash_object *b = find(f, "b");
        if (b != NULL)
            support_delete(f, f->store, "b");
        ash_object_free(b);
    }
}

static void test_object_killed__without_versions(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    if (getenv("ASH_OBJECT_STORE") != NULL)
        skip();
    kill_and_look(f, &config);
}

static void test_object_killed__with_versions(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    if (getenv("ASH_OBJECT_STORE") != NULL)
        skip();
    config.keep_last = 3;
    config.compression = true;
    kill_and_look(f, &config);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_object_killed__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {T(without_versions), T(with_versions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
