/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Names and places: renaming, moving, replacing, copying. */

static int try_move(fixture *f, const char *from, const char *to, bool replace)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.replace = replace;
    return ash_tree_move(f->tree, from, to, &o, NULL, NULL, &f->err);
}

static int try_copy(fixture *f, const char *from, int64_t at_ms, const char *to, bool replace,
                    bool recursive)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    when.at_ms = at_ms;
    o.replace = replace;
    o.recursive = recursive;
    return ash_tree_copy(f->tree, from, &when, to, &o, NULL, NULL, &f->err);
}

/* v7files' V7FileTest.testRename. */
static void test_tree_places__rename(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    bson_value_t id = support_id(f, "a");
    int64_t chunks = support_count(f->chunks, "{}");
    support_move(f, "a", "b");
    support_expect_missing(f, "a");
    support_expect_id(f, "b", &id);
    support_expect_version(f, "b", 2);
    support_expect_seed(f, "b", 1);
    support_expect_refs(f, "b", 1, 1);
    assert_int_equal(support_count(f->chunks, "{}"), chunks);
    bson_t *doc = support_document(f->current, "{\"filename\": \"b\"}");
    support_expect_fields(doc, "_id _version parent filename length sha created_at updated_at");
    bson_destroy(doc);
    doc = support_document(f->past, "{\"_id._version\": 1}");
    support_expect_fields(doc, "_id _version parent filename length sha created_at until");
    bson_destroy(doc);
    support_move(f, "b", "b"); /* it is there already */
    support_expect_version(f, "b", 2);
}

/* v7files' V7FileTest.testConflict. */
static void test_tree_places__renamed_from_two_sides(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    support_put_seed(f, "a", 1);
    o.if_version = 1;
    assert_ok(ash_tree_move(f->tree, "a", "b", &o, NULL, NULL, &f->err), &f->err);
    assert_int_equal(ash_tree_move(f->tree, "b", "c", &o, NULL, NULL, &f->err), ASH_ECONFLICT);
    support_expect_list(f, "/", true, 0, "/b");
    support_expect_history(f, "b", "2 1");
    assert_int_equal(support_count(f->past, "{}"), 1);
}

/* v7files' V7GridFSTest.testFolder, and MiltonServletTest's MOVE of a folder. */
static void test_tree_places__a_folder_takes_all_below_along(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    support_folder(f, "a/b");
    support_folder(f, "x");
    support_put_seed(f, "a/b/c", 1);
    ash_tree_entry *c = support_get(f, "a/b/c");
    bson_value_t b = support_id(f, "a/b"), id = support_id(f, "a/b/c");
    bson_t *doc = support_document(f->current, "{\"filename\": \"c\"}");
    bson_iter_t it;
    assert_true(bson_iter_init_find(&it, doc, "parent"));
    assert_true(bson_oid_equal(bson_iter_oid(&it), &b.value.v_oid));
    bson_destroy(doc);
    support_move(f, "a", "x/y");
    support_expect_list(f, "/", true, 0, "/x /x/y /x/y/b /x/y/b/c");
    support_expect_id(f, "x/y/b/c", &id);
    support_expect_version(f, "x/y/b/c", 1);
    support_expect_version(f, "x/y", 2);
    support_expect_seed(f, "x/y/b/c", 1);
    assert_int_equal(support_count(f->past, "{}"), 1);
    ash_tree_entry_free(c);
}

static void test_tree_places__never_into_itself(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    support_folder(f, "a/b");
    support_folder(f, "a/b/c");
    assert_int_equal(try_move(f, "a", "a/b/c/d", false), ASH_EINVAL);
    assert_int_equal(try_move(f, "a", "a/d", false), ASH_EINVAL);
    assert_int_equal(try_copy(f, "a", 0, "a/b/d", false, true), ASH_EINVAL);
    assert_int_equal(try_move(f, "/", "x", false), ASH_EINVAL);
    assert_int_equal(try_move(f, "a", "/", false), ASH_EINVAL);
    assert_int_equal(try_move(f, "a/no", "x", false), ASH_ENOTFOUND);
    assert_int_equal(try_move(f, "a/b", "no/x", false), ASH_ENOTFOUND);
    support_expect_list(f, "/", true, 0, "/a /a/b /a/b/c");
    assert_int_equal(support_count(f->past, "{}"), 0);
}

static void test_tree_places__what_is_there_stays_or_becomes_history(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    support_put_seed(f, "b", 2);
    support_folder(f, "d");
    bson_value_t a = support_id(f, "a"), b = support_id(f, "b");
    assert_int_equal(try_move(f, "a", "b", false), ASH_EEXISTS);
    assert_int_equal(try_move(f, "a", "d", true), ASH_EEXISTS);
    assert_int_equal(try_move(f, "d", "a", true), ASH_EEXISTS);
    assert_int_equal(support_count(f->past, "{}"), 0);
    assert_ok(try_move(f, "a", "b", true), &f->err);
    support_expect_list(f, "/", true, 0, "/b /d");
    support_expect_id(f, "b", &a);
    support_expect_seed(f, "b", 1);
    support_expect_refs(f, "b", 1, 1);
    ash_tree_entry *gone = NULL;
    assert_ok(ash_tree_get_by_id(f->tree, &b, 0, NULL, &gone, &f->err), &f->err);
    assert_true(ash_tree_entry_is_deleted(gone));
    assert_string_equal(ash_tree_entry_path(gone), "/b");
    ash_tree_entry_free(gone);
    assert_int_equal(support_count(f->contents, "{\"refs\": []}"), 1);
}

/* v7files' CopyCommandTest (a file, its type kept), and MiltonServletTest's COPY. */
static void test_tree_places__copies_of_files(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    uint8_t *data = support_bytes(400000, 1);
    o.content_type = "image/png";
    assert_ok(support_try_put(f, "a", data, 400000, &o, NULL), &f->err);
    assert_ok(ash_tree_tag(f->tree, "a", 0, "first", false, NULL, &f->err), &f->err);
    int64_t chunks = support_count(f->chunks, "{}");
    support_copy(f, "a", "b");
    assert_int_equal(support_count(f->chunks, "{}"), chunks);
    assert_int_equal(support_count(f->contents, "{}"), 1);
    bson_value_t a = support_id(f, "a"), b = support_id(f, "b");
    assert_false(bson_oid_equal(&a.value.v_oid, &b.value.v_oid));
    ash_tree_entry *e = support_get(f, "b");
    assert_int_equal(ash_tree_entry_version(e), 1);
    assert_string_equal(ash_tree_entry_content_type(e), "image/png");
    assert_false(ash_tree_entry_has_tag(e, "first"));
    ash_tree_entry_free(e);
    support_expect_bytes(f, "b", data, 400000);
    support_expect_refs(f, "a", 2, 2);
    assert_int_equal(try_copy(f, "a", 0, "b", false, false), ASH_EEXISTS);
    support_remove(f, "a");
    support_expect_bytes(f, "b", data, 400000);
    support_expect_refs(f, "b", 1, 2);
    ash__free(data);
}

static void test_tree_places__copies_onto_files(void **state)
{
    fixture *f = *state;
    support_put_seed(f, "a", 1);
    support_put_text(f, "b", "tiny");
    bson_value_t b = support_id(f, "b");
    assert_ok(try_copy(f, "a", 0, "b", true, false), &f->err);
    support_expect_id(f, "b", &b);
    support_expect_history(f, "b", "2 1");
    support_expect_seed(f, "b", 1);
    support_expect_refs(f, "a", 2, 2);
    assert_ok(try_copy(f, "a", 0, "b", true, false), &f->err);
    assert_ok(try_copy(f, "a", 0, "a", true, false), &f->err);
    support_expect_history(f, "b", "2 1"); /* equal contents make no version */
    support_expect_history(f, "a", "1");
    support_put_text(f, "a", "short");
    assert_ok(try_copy(f, "a", 0, "b", true, false), &f->err);
    support_expect_text(f, "b", "short");
    support_expect_history(f, "b", "3 2 1");
    support_expect_seed_of(f, "b", 2, 0, 1);
    support_folder(f, "d");
    assert_int_equal(try_copy(f, "a", 0, "d", true, false), ASH_EEXISTS);
    assert_int_equal(try_copy(f, "d", 0, "a", true, false), ASH_EEXISTS);
}

/* v7files' CopyCommandTest (a directory tree) and MkdirCommandTest (nested folders). */
static void test_tree_places__copies_of_folders(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    support_folder(f, "a/b");
    support_folder(f, "a/empty");
    support_put_seed(f, "a/b/c", 1);
    support_put_seed(f, "a/b/d", 1);
    support_put_text(f, "a/e", "tiny");
    assert_int_equal(try_copy(f, "a", 0, "z", false, false), ASH_ESTATE);
    assert_ok(try_copy(f, "a/empty", 0, "a/empty2", false, false), &f->err);
    support_copy(f, "a", "z");
    support_expect_list(f, "/z", true, 0, "/z/b /z/b/c /z/b/d /z/e /z/empty /z/empty2");
    support_expect_seed(f, "z/b/c", 1);
    support_expect_text(f, "z/e", "tiny");
    support_expect_refs(f, "a/b/c", 4, 4);
    support_expect_version(f, "z/b/c", 1);
    assert_int_equal(support_count(f->past, "{}"), 0);
    support_copy(f, "z", "a/z"); /* into what it was copied from */
    support_expect_refs(f, "a/b/c", 6, 6);
}

static void test_tree_places__copies_of_what_was(void **state)
{
    fixture *f = *state;
    support_folder(f, "a");
    support_put_seed(f, "a/kept", 1);
    support_put_seed(f, "a/gone", 2);
    support_put_seed(f, "a/moved", 3);
    int64_t then = support_moment(f);
    support_put_seed(f, "a/kept", 4);
    support_put_seed(f, "a/new", 5);
    support_move(f, "a/moved", "elsewhere");
    support_remove(f, "a/gone");
    assert_ok(try_copy(f, "a", then, "b", false, true), &f->err);
    support_expect_list(f, "b", false, 0, "gone kept moved");
    support_expect_seed(f, "b/kept", 1);
    support_expect_seed(f, "b/gone", 2);
    support_expect_seed(f, "b/moved", 3);
    support_expect_refs(f, "b/gone", 1, 2);
    assert_ok(try_copy(f, "a/gone", then, "a/gone", false, false), &f->err);
    support_expect_seed(f, "a/gone", 2);
    support_expect_version(f, "a/gone", 1);
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    when.version = 1;
    assert_ok(ash_tree_copy(f->tree, "a/kept", &when, "first", NULL, NULL, NULL, &f->err), &f->err);
    support_expect_seed(f, "first", 1);
    support_remove(f, "a");
    assert_ok(try_copy(f, "a", then, "a", false, true), &f->err);
    support_expect_list(f, "a", false, 0, "gone kept moved");
}

static void test_tree_places__folders_are_made_on_the_way(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.make_folders = true;
    support_put_seed(f, "a", 1);
    assert_ok(ash_tree_copy(f->tree, "a", NULL, "x/y/b", &o, NULL, NULL, &f->err), &f->err);
    assert_ok(ash_tree_move(f->tree, "a", "x/z/c", &o, NULL, NULL, &f->err), &f->err);
    assert_ok(ash_tree_make_folder(f->tree, "p/q", &o, NULL, NULL, &f->err), &f->err);
    support_expect_list(f, "/", true, 0, "/p /p/q /x /x/y /x/y/b /x/z /x/z/c");
    /* v7files' MkdirCommandTest: what is there already is an error. */
    assert_int_equal(ash_tree_make_folder(f->tree, "p", &o, NULL, NULL, &f->err), ASH_EEXISTS);
    assert_int_equal(ash_tree_make_folder(f->tree, "x/y/b", &o, NULL, NULL, &f->err), ASH_EEXISTS);
    assert_int_equal(ash_tree_make_folder(f->tree, "x/y/b/d", &o, NULL, NULL, &f->err), ASH_EINVAL);
    /* Folders that were made for a change that fails go with it. */
    o.if_version = 7;
    assert_int_equal(ash_tree_move(f->tree, "x/y/b", "n/e/w", &o, NULL, NULL, &f->err),
                     ASH_ECONFLICT);
    support_expect_missing(f, "n");
}

/* v7files looked whether a name was taken before it wrote, or not at all: its databases have
 * folders with two entries of one name. */
static void test_tree_places__two_entries_of_one_name(void **state)
{
    fixture *f = *state;
    f->damaged = true;
    for (int i = 1; i <= 2; i++) {
        char json[400];
        snprintf(json, sizeof json,
                 "{\"_id\": {\"$oid\": \"64b00000000000000000000%d\"}, \"_version\": 1, "
                 "\"parent\": \"/\", \"filename\": \"a\", \"in\": {\"$binary\": {\"base64\": "
                 "\"aGk%c\", \"subType\": \"00\"}}, \"created_at\": {\"$date\": "
                 "\"2012-02-01T00:00:00Z\"}}",
                 i, i == 1 ? '=' : 'h');
        support_insert(f->current, json);
    }
    support_expect_list(f, "/", false, 0, "a a");
    support_move(f, "a", "b");
    support_expect_list(f, "/", false, 0, "a b");
    assert_int_equal(try_move(f, "b", "a", false), ASH_EEXISTS);
    assert_int_equal(ash_tree_make_folder(f->tree, "a", NULL, NULL, NULL, &f->err), ASH_EEXISTS);
    support_put_text(f, "a", "new");
    support_expect_list(f, "/", false, 0, "a b");
    support_expect_sound(f);
}

/* ---- one name for two ---- */

typedef struct creator {
    fixture *f;
    pthread_barrier_t *start;
    int seed;
    bool folder, absent;
    int rc[10];
} creator;

static int create(const creator *c, const char *path)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_tree_writer *w = NULL;
    uint8_t *data = support_bytes(500, (uint32_t)c->seed);
    o.if_absent = c->absent;
    int rc = c->folder ? ash_tree_make_folder(c->f->tree, path, &o, NULL, NULL, &err)
                       : ash_tree_open_writer(c->f->tree, path, &o, NULL, &w, &err);
    if (rc == 0 && w != NULL)
        rc = ash_tree_writer_write(w, data, 500, &err);
    if (rc == 0 && w != NULL)
        rc = ash_tree_writer_finish(w, NULL, NULL, &err);
    ash_tree_writer_free(w);
    ash__free(data);
    return rc;
}

static void *create_all(void *ctx)
{
    creator *c = ctx;
    char path[] = "/d/0";
    for (int i = 0; i < 10; i++) {
        path[3] = (char)('0' + i);
        pthread_barrier_wait(c->start);
        c->rc[i] = create(c, path);
    }
    return NULL;
}

static void race(fixture *f, bool folder, bool absent, creator c[2])
{
    pthread_barrier_t start;
    pthread_t threads[2];
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++) {
        c[i] = (creator){.f = f, .start = &start, .seed = i, .folder = folder, .absent = absent};
        assert_int_equal(pthread_create(&threads[i], NULL, create_all, &c[i]), 0);
    }
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&start);
}

/* Behaviour 27; v7files looked first and inserted then, so that both did. */
static void test_tree_places__two_make_one_name(void **state)
{
    fixture *f = *state;
    creator c[2];
    for (int folder = 0; folder < 2; folder++) {
        support_folder(f, "d");
        race(f, folder == 1, true, c);
        for (int i = 0; i < 10; i++) {
            assert_true(c[0].rc[i] == 0 || c[1].rc[i] == 0);
            assert_int_equal(c[0].rc[i] + c[1].rc[i], ASH_EEXISTS);
        }
        support_expect_list(f, "d", false, 0, "0 1 2 3 4 5 6 7 8 9");
        support_remove(f, "d");
    }
    /* Of both, or of the one that was always first. */
    assert_in_range(support_count(f->contents, "{}"), 1, 2);
}

/* Without the condition the later one is the next version. */
static void test_tree_places__two_put_one_name(void **state)
{
    fixture *f = *state;
    creator c[2];
    char path[] = "d/0";
    support_folder(f, "d");
    race(f, false, false, c);
    for (int i = 0; i < 10; i++) {
        path[2] = (char)('0' + i);
        assert_int_equal(c[0].rc[i], 0);
        assert_int_equal(c[1].rc[i], 0);
        support_expect_history(f, path, "2 1");
    }
}

static void test_tree_places__names_that_can_be(void **state)
{
    fixture *f = *state;
    char longest[1026];
    memset(longest, 'n', sizeof longest);
    longest[1025] = '\0';
    support_put_text(f, "a", "x");
    assert_int_equal(try_move(f, "a", longest, false), ASH_EINVAL);
    longest[1024] = '\0';
    support_move(f, "a", longest);
    support_move(f, longest, "$set.a\\b \xc3\xa9 ... \"'\n");
    support_expect_text(f, "$set.a\\b \xc3\xa9 ... \"'\n", "x");
    support_put_text(f, "A", "1");
    support_put_text(f, "a", "2"); /* byte by byte: another name */
    support_expect_text(f, "A", "1");
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    o.after = "A";
    o.limit = 1;
    assert_ok(ash_tree_list(f->tree, "", &o, NULL, &l, &f->err), &f->err);
    support_expect_entries(f, l, true, "/a");
}

/* What lies below another root has no path from this one. */
static void expect_path_of(ash_tree *tree, const bson_value_t *id, const char *path)
{
    ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash_tree_get_by_id(tree, id, 0, NULL, &e, &err), &err);
    assert_string_equal(ash_tree_entry_path(e), path);
    ash_tree_entry_free(e);
}

static void test_tree_places__below_another_root(void **state)
{
    fixture *f = *state;
    ash_tree *other = NULL;
    support_put_text(f, "a", "x");
    support_folder(f, "d");
    support_folder(f, "d/e");
    support_put_text(f, "d/e/b", "x");
    bson_value_t a = support_id(f, "a"), d = support_id(f, "d"), b = support_id(f, "d/e/b");
    assert_ok(ash_tree_open(f->store, "other", NULL, &other, &f->err), &f->err);
    expect_path_of(other, &a, "?/a");
    expect_path_of(other, &d, "?/d");
    expect_path_of(other, &b, "?/e/b");
    /* A folder of that name is another thing. */
    support_folder(f, "?");
    support_put_text(f, "?/c", "x");
    bson_value_t c = support_id(f, "?/c");
    expect_path_of(f->tree, &c, "/?/c");
    expect_path_of(other, &c, "?/c");
    expect_path_of(f->tree, &b, "/d/e/b");
    /* And when that root has an entry of its own. */
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    keep.all = true;
    assert_ok(ash_tree_set_keep(f->tree, "/", &keep, NULL, NULL, &f->err), &f->err);
    expect_path_of(other, &a, "?/a");
    ash_tree_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_places__rename),
        here(test_tree_places__renamed_from_two_sides),
        here(test_tree_places__a_folder_takes_all_below_along),
        here(test_tree_places__never_into_itself),
        here(test_tree_places__what_is_there_stays_or_becomes_history),
        here(test_tree_places__copies_of_files),
        here(test_tree_places__copies_onto_files),
        here(test_tree_places__copies_of_folders),
        here(test_tree_places__copies_of_what_was),
        here(test_tree_places__folders_are_made_on_the_way),
        here(test_tree_places__two_entries_of_one_name),
        here(test_tree_places__two_make_one_name),
        here(test_tree_places__two_put_one_name),
        here(test_tree_places__names_that_can_be),
        here(test_tree_places__below_another_root),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
