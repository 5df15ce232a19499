/* SPDX-License-Identifier: Apache-2.0 */
/* Signing in by a certificate, over streams that say which one was shown. */
#include "client.h"

#include "base/clock.h"
#include "net/stream.h"
#include "remove_folder.h"
#include "wire/state.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define ANN "CN=ann,O=Example"
#define BOB "CN=bob,O=Example"

static char *shown; /* by the next connection; NULL: nothing */
static ash_stream_ops with_subject;

static bool subject_of(const ash_stream *s, char *out, size_t room)
{
    if (s->state == NULL)
        return false;
    snprintf(out, room, "%s", (const char *)s->state);
    return true;
}

/* The plain stream's ways, and a subject. */
static int wrap(void *ctx, ash_stream *stream, ash_error *err)
{
    (void)ctx;
    (void)err;
    /* The first time, before others look at it. */
    if (with_subject.subject == NULL) {
        with_subject = *stream->ops;
        with_subject.subject = subject_of;
    }
    stream->ops = &with_subject;
    stream->state = shown;
    return 0;
}

typedef struct certified {
    fixture x;
    char folder[256];
    ash_store *store;
} certified;

static int setup(void **state)
{
    static const char *const listen[] = {"127.0.0.1:0"};
    certified *f = calloc(1, sizeof *f);
    ash_store_options so = ASH_STORE_OPTIONS_INIT;
    ash_server_options o = ASH_SERVER_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    size_t count;
    const char *base = getenv("TMPDIR");
    snprintf(f->folder, sizeof f->folder, "%s/ashlar-x509-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    so.no_server = true;
    assert_ok(ash_store_open(f->folder, &so, &f->store, &err), &err);
    o.listen = listen;
    o.listen_count = 1;
    o.users = true;
    o.wrap = wrap;
    assert_ok(ash__server_start(f->store, &o, &f->x.server, &err), &err);
    f->x.port = atoi(strrchr(ash__server_addresses(f->x.server, &count)[0], ':') + 1);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    certified *f = *state;
    ash__server_stop(f->x.server);
    ash_store_close(f->store);
    remove_folder(f->folder);
    free(f);
    return 0;
}

static int connect_with(certified *f, const char *subject)
{
    shown = (char *)(uintptr_t)subject;
    int fd = client_connect(&f->x);
    /* Its stream is made by then. */
    bson_destroy(client_run(fd, BCON_NEW("ping", BCON_INT32(1))));
    return fd;
}

/* The code of the answer; 0: it is ok. */
static int64_t code_of(int fd, bson_t *command)
{
    bson_t *reply = client_run(fd, command);
    int64_t code = field_number(reply, "ok") == 1 ? 0 : field_number(reply, "code");
    bson_destroy(reply);
    return code;
}

static bson_t *make_user(const char *subject)
{
    return BCON_NEW("createUser", BCON_UTF8(subject), "roles", "[", "{", "role", "readWrite", "db",
                    "test", "}", "]", "$db", "$external");
}

static void make_ann(certified *f)
{
    int fd = connect_with(f, NULL);
    assert_int_equal(code_of(fd, make_user(ANN)), 0);
    close(fd);
}

static bson_t *authenticate(const char *user)
{
    bson_t *b =
        BCON_NEW("authenticate", BCON_INT32(1), "mechanism", "MONGODB-X509", "$db", "$external");
    if (user != NULL)
        BSON_APPEND_UTF8(b, "user", user);
    return b;
}

static bson_t *insert(void)
{
    return BCON_NEW("insert", "c", "documents", "[", "{", "}", "]");
}

static void test_wire_x509__who_shows_it_is_let_in(void **state)
{
    certified *f = *state;
    make_ann(f);
    for (int named = 0; named < 2; named++) {
        int fd = connect_with(f, ANN);
        assert_int_equal(code_of(fd, insert()), ASH_MONGO_UNAUTHORIZED);
        bson_t *r = client_run(fd, authenticate(named ? ANN : NULL));
        assert_int_equal(field_number(r, "ok"), 1);
        assert_string_equal(field_text(r, "dbname"), "$external");
        assert_string_equal(field_text(r, "user"), ANN);
        bson_destroy(r);
        assert_int_equal(code_of(fd, insert()), 0);
        r = client_run(fd, BCON_NEW("connectionStatus", BCON_INT32(1)));
        assert_string_equal(field_text(r, "authInfo.authenticatedUsers.0.user"), ANN);
        assert_string_equal(field_text(r, "authInfo.authenticatedUsers.0.db"), "$external");
        bson_destroy(r);
        assert_int_equal(code_of(fd, BCON_NEW("logout", BCON_INT32(1), "$db", "$external")), 0);
        assert_int_equal(code_of(fd, insert()), ASH_MONGO_UNAUTHORIZED);
        close(fd);
    }
}

/* Whoever it is, and whatever is missing: one text, and nobody has signed in. */
static void test_wire_x509__others_are_refused_alike(void **state)
{
    static const struct {
        const char *shown, *user;
    } cases[] = {{NULL, NULL}, {NULL, ANN}, {BOB, NULL}, {BOB, ANN},
                 {BOB, BOB},   {ANN, BOB},  {ANN, ""},   {"CN=ann", NULL}};
    certified *f = *state;
    make_ann(f);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int fd = connect_with(f, cases[i].shown);
        bson_t *r = client_run(fd, authenticate(cases[i].user));
        assert_int_equal(field_number(r, "code"), ASH_MONGO_AUTHENTICATION_FAILED);
        assert_string_equal(field_text(r, "errmsg"), "Authentication failed.");
        bson_destroy(r);
        assert_int_equal(code_of(fd, insert()), ASH_MONGO_UNAUTHORIZED);
        close(fd);
    }
}

static void test_wire_x509__other_mechanisms_and_databases(void **state)
{
    certified *f = *state;
    make_ann(f);
    int fd = connect_with(f, ANN);
    assert_int_equal(code_of(fd, BCON_NEW("authenticate", BCON_INT32(1), "mechanism",
                                          "MONGODB-X509", "$db", "admin")),
                     ASH_MONGO_PROTOCOL_ERROR);
    assert_int_equal(code_of(fd, BCON_NEW("authenticate", BCON_INT32(1), "mechanism", "MONGODB-CR",
                                          "user", "ann", "$db", "$external")),
                     ASH_MONGO_MECHANISM_UNAVAILABLE);
    assert_int_equal(code_of(fd, insert()), ASH_MONGO_UNAUTHORIZED);
    close(fd);
}

static bson_t *hello(const char *user, const char *db)
{
    bson_t *b = BCON_NEW("hello", BCON_INT32(1), "speculativeAuthenticate", "{", "authenticate",
                         BCON_INT32(1), "mechanism", "MONGODB-X509", "user", BCON_UTF8(user), "db",
                         BCON_UTF8(db), "}");
    return b;
}

static void test_wire_x509__a_hello_may_have_it(void **state)
{
    certified *f = *state;
    make_ann(f);
    int fd = connect_with(f, ANN);
    bson_t *r = client_run(fd, hello(ANN, "$external"));
    assert_int_equal(field_number(r, "ok"), 1);
    assert_string_equal(field_text(r, "speculativeAuthenticate.user"), ANN);
    bson_destroy(r);
    assert_int_equal(code_of(fd, insert()), 0);
    close(fd);
    /* What does not fit is passed over, and is no failure. */
    for (int i = 0; i < 3; i++) {
        fd = connect_with(f, i == 0 ? NULL : ANN);
        r = client_run(fd, hello(i == 1 ? BOB : ANN, i == 2 ? "admin" : "$external"));
        assert_int_equal(field_number(r, "ok"), 1);
        assert_false(bson_has_field(r, "speculativeAuthenticate"));
        bson_destroy(r);
        assert_int_equal(code_of(fd, insert()), ASH_MONGO_UNAUTHORIZED);
        close(fd);
    }
}

/* The one who could be asked for is not told from others. */
static void test_wire_x509__passwords_do_not_help(void **state)
{
    certified *f = *state;
    make_ann(f);
    int fd = connect_with(f, NULL);
    for (int i = 0; i < 2; i++) {
        bson_t *r = client_run(fd, BCON_NEW("hello", BCON_INT32(1), "saslSupportedMechs",
                                            i == 0 ? "$external." ANN : "$external." BOB));
        assert_true(bson_has_field(r, "saslSupportedMechs"));
        assert_false(bson_has_field(r, "saslSupportedMechs.0"));
        bson_destroy(r);
        const char *first = i == 0 ? "n,,n=CN=3Dann=2CO=3DExample,r=abcdefgh"
                                   : "n,,n=CN=3Dbob=2CO=3DExample,r=abcdefgh";
        r = client_run(
            fd,
            BCON_NEW("saslStart", BCON_INT32(1), "mechanism", "SCRAM-SHA-256", "payload",
                     BCON_BIN(BSON_SUBTYPE_BINARY, (const uint8_t *)first, (uint32_t)strlen(first)),
                     "$db", "$external"));
        assert_int_equal(field_number(r, "ok"), 1);
        bson_destroy(r);
    }
    close(fd);
}

static void test_wire_x509__its_roles_are_what_it_may(void **state)
{
    certified *f = *state;
    make_ann(f);
    int fd = connect_with(f, ANN);
    assert_int_equal(code_of(fd, BCON_NEW("dropUser", ANN, "$db", "$external")),
                     ASH_MONGO_UNAUTHORIZED);
    assert_int_equal(code_of(fd, authenticate(NULL)), 0);
    assert_int_equal(code_of(fd, BCON_NEW("dropUser", ANN, "$db", "$external")),
                     ASH_MONGO_UNAUTHORIZED);
    assert_int_equal(code_of(fd, BCON_NEW("find", "c", "$db", "other")), ASH_MONGO_UNAUTHORIZED);
    close(fd);
}

/* How many threads of this process have given way.  What Linux knows of a priority is its thread's. */
static int threads_behind(void)
{
    struct dirent *entry;
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks != NULL && (entry = readdir(tasks)) != NULL)
        count += entry->d_name[0] != '.' && getpriority(PRIO_PROCESS, (id_t)atoi(entry->d_name)) >
                                                getpriority(PRIO_PROCESS, 0);
    if (tasks != NULL)
        closedir(tasks);
    return count;
}

/* Threads end a while after their connections do. */
static void expect_behind(int count)
{
    for (int i = 0; i < 200 && threads_behind() != count; i++)
        ash__clock_sleep_ms(10);
    assert_int_equal(threads_behind(), count);
}

static void test_wire_x509__who_has_not_signed_in_gives_way(void **state)
{
    certified *f = *state;
#ifndef __linux__
    skip();
#endif
    make_ann(f);
    expect_behind(0);
    int stranger = connect_with(f, BOB), fd = connect_with(f, ANN);
    expect_behind(2);
    assert_int_equal(code_of(stranger, authenticate(NULL)), ASH_MONGO_AUTHENTICATION_FAILED);
    assert_int_equal(code_of(fd, authenticate(NULL)), 0);
    /* What it began goes on, on the thread that it has now. */
    for (int i = 0; i < 20; i++)
        assert_int_equal(code_of(fd, insert()), 0);
    expect_behind(1);
    close(stranger);
    expect_behind(0);
    assert_int_equal(code_of(fd, insert()), 0);
    close(fd);
}

/* Whose requests are seen as they come: what epoll watches for the line of arrivals. */
static int in_line(const certified *f)
{
    char path[64], text[128];
    int count = 0;
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", f->x.server->arrivals.poll);
    FILE *info = fopen(path, "r");
    assert_non_null(info);
    while (fgets(text, sizeof text, info) != NULL)
        count += strncmp(text, "tfd:", 4) == 0;
    fclose(info);
    return count;
}

/* Changes wait for those that came before: not for a stranger's thread, which runs when others do not. */
static void test_wire_x509__who_has_not_signed_in_stands_in_no_line(void **state)
{
    certified *f = *state;
#ifndef __linux__
    skip();
#endif
    make_ann(f);
    for (int i = 0; i < 200 && in_line(f) > 0; i++)
        ash__clock_sleep_ms(10);
    int stranger = connect_with(f, BOB), fd = connect_with(f, ANN);
    assert_int_equal(in_line(f), 0);
    assert_int_equal(code_of(stranger, authenticate(NULL)), ASH_MONGO_AUTHENTICATION_FAILED);
    assert_int_equal(code_of(fd, authenticate(NULL)), 0);
    assert_int_equal(code_of(fd, insert()), 0);
    assert_int_equal(in_line(f), 1);
    close(stranger);
    close(fd);
}

/* When the last user goes, a connection is as good as any. */
static void test_wire_x509__nobody_gives_way_where_nobody_is_asked(void **state)
{
    certified *f = *state;
#ifndef __linux__
    skip();
#endif
    int first = connect_with(f, NULL);
    assert_int_equal(code_of(first, BCON_NEW("createUser", ANN, "roles", "[", "{", "role", "root",
                                             "db", "admin", "}", "]", "$db", "$external")),
                     0);
    int stranger = connect_with(f, NULL), fd = connect_with(f, ANN);
    assert_int_equal(code_of(fd, authenticate(NULL)), 0);
    expect_behind(1);
    assert_int_equal(code_of(stranger, insert()), ASH_MONGO_UNAUTHORIZED);
    assert_int_equal(code_of(fd, BCON_NEW("dropUser", ANN, "$db", "$external")), 0);
    assert_int_equal(code_of(stranger, insert()), 0);
    assert_int_equal(code_of(stranger, insert()), 0);
    expect_behind(0);
    assert_int_equal(in_line(f), 3);
    close(first);
    close(stranger);
    close(fd);
}

#define OVER(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER(test_wire_x509__who_shows_it_is_let_in),
        OVER(test_wire_x509__others_are_refused_alike),
        OVER(test_wire_x509__other_mechanisms_and_databases),
        OVER(test_wire_x509__a_hello_may_have_it),
        OVER(test_wire_x509__passwords_do_not_help),
        OVER(test_wire_x509__its_roles_are_what_it_may),
        OVER(test_wire_x509__who_has_not_signed_in_gives_way),
        OVER(test_wire_x509__who_has_not_signed_in_stands_in_no_line),
        OVER(test_wire_x509__nobody_gives_way_where_nobody_is_asked),
    };
    return cmocka_run_group_tests_name("wire x509", tests, NULL, NULL);
}
