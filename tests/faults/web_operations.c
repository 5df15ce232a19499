/* SPDX-License-Identifier: Apache-2.0 */
#include "web_operations.h"

#include "base/error.h"
#include "base/mem.h"
#include "steps.h"
#include "tree_steps.h"
#include "web_door.h"

#include <string.h>

/* Another client's file, and one that nobody changes. */
enum { OTHER = 9, KEPT = 10 };
static const char *const locked[] = {"/a", "/e/x", NULL};

bool web_subject_full_disk;

/* The server that failed goes on until the end of a try. */
static ash_site *server;

/* ---- operations ---- */

static int send(const char *line, const char *fields, const char *body)
{
    const web_request r = {line, fields, body, body != NULL ? strlen(body) : 0};
    return web_ask(server, &r, NULL);
}

static int put_content(const char *line, const char *fields, uint32_t content)
{
    size_t len;
    uint8_t *data = tree_content(content, &len);
    int status = web_ask(server, &(web_request){line, fields, data, len}, NULL);
    ash__free(data);
    return status;
}

static int put(size_t number)
{
    static const struct {
        const char *line;
        uint32_t content;
    } rows[] = {{"PUT /new", 2}, {"PUT /d/large", 11}, {"PUT /d/new", 14}};
    return put_content(rows[number].line, NULL, rows[number].content);
}

static int patch(size_t number)
{
    (void)number;
    return put_content("PATCH /d/large",
                       "X-Update-Range: append\nContent-Type: "
                       "application/x-sabredav-partialupdate\n",
                       5);
}

static int mkcol(size_t number)
{
    return send(number == 0 ? "MKCOL /f" : "MKCOL /f/g", NULL, NULL);
}

/* A new file, a folder in the place of a file. */
static int copy(size_t number)
{
    return number == 0 ? send("COPY /a", "Destination: /copy\n", NULL)
                       : send("COPY /d", "Destination: /e/x\n", NULL);
}

static int move(size_t number)
{
    return number == 0 ? send("MOVE /a", "Destination: /e/x\n", NULL)
                       : send("MOVE /d", "Destination: /e/d\n", NULL);
}

static int delete (size_t number)
{
    return send(number == 0 ? "DELETE /a" : "DELETE /d", NULL, NULL);
}

static int set_property(size_t number)
{
    (void)number;
    return send("PROPPATCH /d", NULL,
                "<propertyupdate xmlns=\"DAV:\"><set><prop><n xmlns=\"x:y\">1</n></prop></set>"
                "</propertyupdate>");
}

static int lock(size_t number)
{
    char *key;
    int status;
    if (number == 0)
        return web_lock(server, "/a");
    if (number == 2)
        return web_unlock(server, "/a");
    key = web_key(server, "/a", "If", &status);
    if (key != NULL)
        status = put_content("PUT /a", key, 3);
    ash__free(key);
    return status;
}

static int upload(size_t number)
{
    size_t len;
    uint8_t *data = tree_content(number == 0 ? 14 : 5, &len);
    int status = web_upload(server, number == 0 ? "/a" : "/d/new", data, len);
    ash__free(data);
    return status;
}

typedef struct web_operation {
    operation_facts facts;
    int (*step)(size_t number); /* its status */
} web_operation;

static const web_operation operations[] = {
    {{"PUT", 3, false}, put},
    {{"PATCH", 1, true}, patch},
    {{"MKCOL", 2, true}, mkcol},
    {{"COPY", 2, false}, copy},
    {{"MOVE", 2, false}, move},
    {{"DELETE", 2, false}, delete},
    {{"PROPPATCH", 1, true}, set_property},
    {{"LOCK, PUT, UNLOCK", 3, false}, lock},
    {{"tus", 2, false}, upload},
};

static operation_facts facts(size_t op)
{
    return operations[op].facts;
}

/* ---- the store ---- */

static tree_worker open_root(ash_store *store)
{
    ash_error err = ASH_ERROR_INIT;
    tree_worker w;
    assert_ok(tree_worker_open(&w, store, 1, 0, &err), &err);
    return w;
}

static void start_server(ash_store *store)
{
    ash_error err = ASH_ERROR_INIT;
    assert_null(server);
    assert_ok(web_door_open(store, "root0", &server, &err), &err);
}

static void stop_server(void)
{
    ash__site_free(server);
    server = NULL;
}

static void fill(ash_store *store)
{
    static const struct {
        const char *path;
        uint32_t content;
    } files[] = {{"a", 4},       {"d/tiny", 1}, {"d/large", 10}, {"d/whole", 12},
                 {"d/large", 9}, {"e/x", 6},    {"kept", KEPT},  {"e/gone", 8}};
    ash_error err = ASH_ERROR_INIT;
    tree_worker w = open_root(store);
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.make_folders = true;
    for (size_t i = 0; i < ASH_ARRAY_LEN(files); i++)
        assert_ok(tree_put(w.tree, files[i].path, files[i].content, &o, &err), &err);
    assert_ok(ash_tree_remove(w.tree, "e/gone", NULL, NULL, &err), &err);
    tree_worker_close(&w);
    start_server(store);
    /* The locks' collections are there already, as after a server's first hour. */
    assert_true(web_is_acknowledged(web_lock(server, "/a")));
    assert_true(web_is_acknowledged(web_unlock(server, "/a")));
    stop_server();
}

int web_subject_setup(void **state)
{
    portrayed *s = ash__new(portrayed);
    portrayed_setup(s, fill);
    *state = s;
    return 0;
}

int web_subject_teardown(void **state)
{
    portrayed_release(*state);
    ash__free(*state);
    return 0;
}

static char *portray(ash_store *store)
{
    ash_error err = ASH_ERROR_INIT;
    ash_buffer out = ASH_BUFFER_INIT;
    tree_worker w = open_root(store);
    assert_ok(web_portrait(server, w.tree, locked, &out, &err), &err);
    char *text = ash__strdup(ash__buffer_text(&out));
    ash__buffer_release(&out);
    tree_worker_close(&w);
    return text;
}

static void foresee(portrayed *s, size_t op)
{
    ash_store *store = portrayed_begin(s);
    portrayed_forget(s);
    start_server(store);
    s->portraits[0] = portray(store);
    for (size_t i = 0; i < operations[op].facts.count; i++) {
        int status = operations[op].step(i);
        if (!web_is_acknowledged(status))
            fail_msg("%s: step %zu is answered %d", operations[op].facts.name, i, status);
        s->portraits[i + 1] = portray(store);
    }
    stop_server();
    ash_store_close(store);
}

/* ---- while it fails ---- */

/* LMDB gives the store up when it could not write a meta page: nothing can be read then before the
 * store is opened again, and the server's health says so. */
static bool is_given_up(void)
{
    ash_buffer said = ASH_BUFFER_INIT;
    int status = web_ask(server, &(web_request){.line = "GET /.ashlar/health"}, &said);
    bool given_up =
        status == 503 && strstr(ash__buffer_text(&said), "open the store again") != NULL;
    ash__buffer_release(&said);
    return given_up;
}

/* A read waits for what others were told to be written: where that cannot be committed, it is told
 * so, and never gets other bytes.  When the disk is well again, it gets them. */
static void expect_readable(const char *name, bool disk_is_well)
{
    size_t len;
    uint8_t *data = tree_content(KEPT, &len);
    ash_buffer got = ASH_BUFFER_INIT;
    int status = web_ask(server, &(web_request){.line = "GET /kept"}, &got);
    bool same = status == 200 && got.len == len && memcmp(got.data, data, len) == 0;
    bool is_told = (status == 500 || status == 507) && (!disk_is_well || is_given_up());
    if (!same && !is_told)
        fail_msg("%s: what was there is answered %d", name, status);
    ash__buffer_release(&got);
    ash__free(data);
}

/* What a status says of the disk: other errors than its own are none that it explains. */
static int fail_by(int status, ash_error *err)
{
    bool is_other = status != 500 || (web_subject_full_disk && !is_given_up());
    int code = status == 507 ? ASH_ENOSPC : is_other ? ASH_ECONFLICT : ASH_EIO;
    return ash__fail(err, code, "it was answered %d", status);
}

static int act(ash_store *store, size_t op, size_t *done, ash_error *err)
{
    int status = 0;
    start_server(store);
    for (*done = 0; *done < operations[op].facts.count; ++*done) {
        status = operations[op].step(*done);
        if (web_is_acknowledged(status))
            continue;
        expect_readable(operations[op].facts.name, false);
        return fail_by(status, err);
    }
    return 0;
}

/* The same server has others, whose tree is another one. */
static bool put_other(ash_store *store, size_t op)
{
    (void)store;
    int status = put_content("PUT /beside/other", NULL, OTHER);
    if (!web_is_acknowledged(status) && status != 500 && status != 507)
        fail_msg("%s: another client is answered %d", operations[op].facts.name, status);
    expect_readable(operations[op].facts.name, true);
    return web_is_acknowledged(status);
}

/* ---- afterwards ---- */

static void expect_other(const char *what)
{
    size_t len;
    ash_buffer got = ASH_BUFFER_INIT;
    ash__free(tree_content(OTHER, &len));
    int status = web_ask(server, &(web_request){.line = "GET /beside/other"}, &got);
    if (status != 200 || got.len != len)
        fail_msg("%s: another client's file is answered %d", what, status);
    ash__buffer_release(&got);
}

static void expect_sound(ash_store *store, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    tree_worker w = open_root(store);
    if (!steps_check(store, &err) || !tree_clean_up(&w, &err))
        fail_msg("%s: %s", what, err.text);
    tree_worker_close(&w);
}

static void end(portrayed *s, ash_store *store, size_t op, size_t done, bool other,
                const char *what)
{
    size_t count = operations[op].facts.count;
    stop_server();
    ash_store_close(store);
    store = portrayed_open(s);
    start_server(store);
    size_t i = portrayed_find_step(s, portray(store), count, done, what);
    if (other)
        expect_other(what);
    for (; i < count; i++) {
        int status = operations[op].step(i);
        if (!web_is_acknowledged(status))
            fail_msg("%s: step %zu, done again, is answered %d", what, i, status);
    }
    (void)portrayed_find_step(s, portray(store), count, count, what);
    expect_sound(store, what);
    stop_server();
    ash_store_close(store);
}

const fault_subject web_subject = {.count = ASH_ARRAY_LEN(operations),
                                   .facts = facts,
                                   .foresee = foresee,
                                   .act = act,
                                   .put_other = put_other,
                                   .end = end,
                                   .few_steps = 2,
                                   .seldom = 3};
