/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "audit/audit.h"
#include "audit/event.h"
#include "audit/file.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "bson/builder.h"
#include "remove_folder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct fixture {
    char folder[64];
    char *path;
    ash_audit *audit;
    ash_error err;
} fixture;

static int setup(void **state)
{
    fixture *f = ash__new(fixture);
    snprintf(f->folder, sizeof f->folder, "/tmp/ashlar-audit.XXXXXX");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    f->path = ash__sprintf("%s/log", f->folder);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    fixture *f = *state;
    ash__audit_close(f->audit);
    remove_folder(f->folder);
    ash__free(f->path);
    ash__free(f);
    return 0;
}

static void open_log(fixture *f, ash_audit_options opts)
{
    if (opts.path == NULL)
        opts.path = f->path;
    assert_ok(ash__audit_open(&opts, &f->audit, &f->err), &f->err);
}

static void close_log(fixture *f)
{
    ash__audit_close(f->audit);
    f->audit = NULL;
}

static void write_event(fixture *f, unsigned kind, const char *type, int number)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_int32(&b, "n", number);
    ash__builder_end(&b);
    ash_audit_event e = {
        .kind = kind, .type = type, .remote = "192.0.2.1:4711", .param = ash__builder_doc(&b)};
    ash__audit_write(f->audit, &e);
    ash__builder_release(&b);
}

/* The file's text, or NULL; the caller frees. */
static char *read_file(const char *path)
{
    FILE *in = fopen(path, "r");
    ash_buffer all = ASH_BUFFER_INIT;
    char piece[4096];
    size_t n;
    if (in == NULL)
        return NULL;
    while ((n = fread(piece, 1, sizeof piece, in)) > 0)
        ash__buffer_append(&all, piece, n);
    fclose(in);
    char *text = ash__strdup(ash__buffer_text(&all));
    ash__buffer_release(&all);
    return text;
}

static int count_lines(const char *path)
{
    char *text = read_file(path);
    int lines = 0;
    for (const char *at = text; at != NULL && *at != '\0'; at++)
        lines += *at == '\n';
    ash__free(text);
    return lines;
}

/* What no log can have is left out, and the event is told. */
static void test_audit_audit__no_bytes_keep_an_event_out(void **state)
{
    static const char bad[] = "ev\xff\xfe";
    (void)state;
    for (int i = 0; i < 3; i++) {
        ash_builder param = ASH_BUILDER_INIT, roles = ASH_BUILDER_INIT;
        ash_buffer line = ASH_BUFFER_INIT;
        ash__builder_begin(&param);
        ash__builder_text(&param, "ns", i == 0 ? bad : "a.b");
        ash__builder_end(&param);
        ash__builder_begin(&roles);
        ash__builder_begin_doc(&roles, "0");
        ash__builder_text(&roles, "role", i == 1 ? bad : "read");
        ash__builder_end(&roles);
        ash__builder_end(&roles);
        ash_audit_event e = {.kind = ASH_AUDIT_STRUCTURE,
                             .type = "dropCollection",
                             .user = i == 2 ? bad : "ann",
                             .db = "files",
                             .roles = ash__builder_doc(&roles),
                             .param = ash__builder_doc(&param)};
        ash__audit_line(&e, INT64_C(1795000000123), &line);
        assert_non_null(strstr(ash__buffer_text(&line), "dropCollection"));
        ash__buffer_release(&line);
        ash__builder_release(&param);
        ash__builder_release(&roles);
    }
}

static void test_audit_audit__an_event_is_mongodbs(void **state)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_buffer line = ASH_BUFFER_INIT;
    (void)state;
    ash__builder_begin(&b);
    ash__builder_text(&b, "ns", "files.c\n");
    ash__builder_end(&b);
    ash_audit_event e = {.kind = ASH_AUDIT_STRUCTURE,
                         .type = "dropCollection",
                         .local = "[::1]:27017",
                         .remote = "192.0.2.1:4711",
                         .user = "ann",
                         .db = "files",
                         .param = ash__builder_doc(&b),
                         .result = 13};
    ash__audit_line(&e, INT64_C(1795000000123), &line);
    assert_string_equal(
        ash__buffer_text(&line),
        "{ \"atype\" : \"dropCollection\", \"ts\" : { \"$date\" : \"2026-11-18T11:06:40.123Z\" }, "
        "\"local\" : { \"ip\" : \"::1\", \"port\" : 27017 }, "
        "\"remote\" : { \"ip\" : \"192.0.2.1\", \"port\" : 4711 }, "
        "\"users\" : [ { \"user\" : \"ann\", \"db\" : \"files\" } ], \"roles\" : [  ], "
        "\"param\" : { \"ns\" : \"files.c\\n\" }, \"result\" : 13 }\n");
    /* Nobody, from a socket. */
    ash__buffer_clear(&line);
    e.user = NULL;
    e.local = NULL;
    e.remote = "/srv/a:b/socket";
    ash__audit_line(&e, 0, &line);
    assert_non_null(strstr(ash__buffer_text(&line), "\"local\" : {  }"));
    assert_non_null(strstr(ash__buffer_text(&line), "{ \"unix\" : \"/srv/a:b/socket\" }"));
    assert_non_null(strstr(ash__buffer_text(&line), "\"users\" : [  ]"));
    ash__buffer_release(&line);
    ash__builder_release(&b);
}

static void test_audit_audit__only_what_was_chosen(void **state)
{
    fixture *f = *state;
    struct stat st;
    open_log(f, (ash_audit_options){.kinds = ASH_AUDIT_USERS | ASH_AUDIT_WRITES});
    assert_false(ash__audit_wants(f->audit, ASH_AUDIT_READS));
    write_event(f, ASH_AUDIT_USERS, "createUser", 1);
    write_event(f, ASH_AUDIT_READS, "authCheck", 2);
    write_event(f, ASH_AUDIT_READS | ASH_AUDIT_USERS, "authCheck", 3);
    write_event(f, ASH_AUDIT_SERVER, "startup", 4);
    close_log(f);
    assert_int_equal(count_lines(f->path), 3);
    assert_int_equal(stat(f->path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    /* Appended to. */
    open_log(f, (ash_audit_options){.kinds = ASH_AUDIT_USERS});
    write_event(f, ASH_AUDIT_USERS, "createUser", 5);
    close_log(f);
    assert_int_equal(count_lines(f->path), 4);
    assert_false(ash__audit_wants(NULL, ASH_AUDIT_USERS));
    assert_int_equal(ash__audit_kind("writes"), ASH_AUDIT_WRITES);
    assert_int_equal(ash__audit_kind("write"), 0);
}

static void test_audit_audit__a_large_file_gives_way(void **state)
{
    fixture *f = *state;
    enum { EVENTS = 2000, LINE = 200 };
    int lines = count_lines(f->path), files = 0;
    struct stat st;
    open_log(f, (ash_audit_options){.max_bytes = 20000, .keep = 3});
    for (int i = 0; i < EVENTS; i++) {
        write_event(f, ASH_AUDIT_USERS, "createUser", i);
        /* So that not all are written as one. */
        if (i % 20 == 0)
            ash__clock_sleep_ms(1);
    }
    close_log(f);
    for (int n = 0; n <= 4; n++) {
        char *path = n == 0 ? ash__strdup(f->path) : ash__sprintf("%s.%d", f->path, n);
        char *text = read_file(path);
        if (text != NULL) {
            files++;
            lines += count_lines(path);
            /* Whole lines alone. */
            assert_int_equal(strncmp(text, "{ \"atype\"", 9), 0);
            assert_int_equal(text[strlen(text) - 1], '\n');
        }
        /* One piece at most beyond what it may have. */
        assert_true(text == NULL || strlen(text) <= 20000 + 64 * 1024);
        ash__free(text);
        ash__free(path);
    }
    assert_int_equal(files, 4);
    /* Of two files in a row, the second did not fit into the first. */
    assert_true(lines > 100);
    char *newest = read_file(f->path);
    assert_non_null(strstr(newest, "\"n\" : 1999"));
    ash__free(newest);
    char *beyond = ash__sprintf("%s.4", f->path);
    assert_int_equal(stat(beyond, &st), -1);
    ash__free(beyond);
}

static void test_audit_audit__a_file_that_was_moved_is_made_anew(void **state)
{
    fixture *f = *state;
    char *moved = ash__sprintf("%s.moved", f->path);
    open_log(f, (ash_audit_options){0});
    write_event(f, ASH_AUDIT_USERS, "createUser", 1);
    ash__clock_sleep_ms(100);
    assert_int_equal(rename(f->path, moved), 0);
    ash__clock_sleep_ms(1100);
    write_event(f, ASH_AUDIT_USERS, "createUser", 2);
    close_log(f);
    assert_int_equal(count_lines(moved), 1);
    assert_int_equal(count_lines(f->path), 1);
    ash__free(moved);
}

static _Atomic int errors;
static void count_errors(void *context, ash_log_level level, const char *line)
{
    (void)context;
    errors += level == ASH_LOG_ERROR && strstr(line, "cannot be written") != NULL;
}

static void wait_for_refusal(fixture *f, bool wanted)
{
    for (int i = 0; i < 500; i++) {
        ash_error err = ASH_ERROR_INIT;
        if ((ash__audit_admit(f->audit, ASH_AUDIT_USERS, &err) != 0) == wanted)
            return;
        ash__clock_sleep_ms(10);
    }
    fail_msg("%s", wanted ? "nothing is refused" : "all is refused");
}

static void test_audit_audit__a_full_disk_refuses_in_the_end(void **state)
{
    fixture *f = *state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    errors = 0;
    ash_log_set(count_errors, NULL, ASH_LOG_ERROR);
    open_log(f, (ash_audit_options){.path = "/dev/full", .queue_bytes = 2000});
    write_event(f, ASH_AUDIT_USERS, "createUser", 0);
    ash__clock_sleep_ms(200);
    assert_int_equal(errors, 1);
    /* Some can wait. */
    assert_ok(ash__audit_admit(f->audit, ASH_AUDIT_USERS, &f->err), &f->err);
    for (int i = 1; i < 20; i++)
        write_event(f, ASH_AUDIT_USERS, "createUser", i);
    wait_for_refusal(f, true);
    assert_int_equal(ash__audit_admit(f->audit, ASH_AUDIT_USERS, &f->err), ASH_ENOSPC);
    assert_int_equal(ash_error_server_code(&f->err), 14031);
    /* What would not be told anyway. */
    assert_int_equal(ash__audit_admit(f->audit, ASH_AUDIT_READS, &f->err), 0);
    close_log(f);
    ash_log_set(NULL, NULL, ASH_LOG_ERROR);
    assert_int_equal(errors, 1);
}

/* A folder takes the file's name away, and gives it back. */
static void test_audit_audit__when_there_is_room_again_nothing_is_missing(void **state)
{
    fixture *f = *state;
    char *moved = ash__sprintf("%s.moved", f->path);
    open_log(f, (ash_audit_options){.queue_bytes = 2000});
    write_event(f, ASH_AUDIT_USERS, "createUser", 0);
    ash__clock_sleep_ms(100);
    close_log(f);
    assert_int_equal(rename(f->path, moved), 0);
    assert_int_equal(symlink("/dev/full", f->path), 0);
    open_log(f, (ash_audit_options){.queue_bytes = 2000});
    for (int i = 1; i < 20; i++)
        write_event(f, ASH_AUDIT_USERS, "createUser", i);
    wait_for_refusal(f, true);
    assert_int_equal(unlink(f->path), 0);
    wait_for_refusal(f, false);
    close_log(f);
    assert_int_equal(count_lines(f->path), 19);
    ash__free(moved);
}

enum { WRITERS = 8, EACH = 2000 };
static void *write_many(void *arg)
{
    for (int i = 0; i < EACH; i++)
        write_event(arg, ASH_AUDIT_WRITES, "authCheck", i);
    return NULL;
}

static void test_audit_audit__many_write_at_once(void **state)
{
    fixture *f = *state;
    pthread_t threads[WRITERS];
    open_log(f, (ash_audit_options){.kinds = ASH_AUDIT_WRITES});
    for (int i = 0; i < WRITERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, f), 0);
    for (int i = 0; i < WRITERS; i++)
        pthread_join(threads[i], NULL);
    close_log(f);
    assert_int_equal(count_lines(f->path), WRITERS * EACH);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_audit_audit__##name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_event_is_mongodbs),
        TEST(no_bytes_keep_an_event_out),
        TEST(only_what_was_chosen),
        TEST(a_large_file_gives_way),
        TEST(a_file_that_was_moved_is_made_anew),
        TEST(a_full_disk_refuses_in_the_end),
        TEST(when_there_is_room_again_nothing_is_missing),
        TEST(many_write_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
