/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "store/ops.h"
#include "tree/path.h"
#include "tree/tree.h"

#include <string.h>
#include <sys/resource.h>

/* Folders in folders, many levels deep: what is done with them all takes so many reads for each
 * level, however many there are. */

static const ash_store_ops *real_ops;
static ash_store_ops counting_ops;
static int64_t finds;

static int count_find(ash_store *store, ash_ns ns, const bson_t *filter,
                      const ash_find_options *opts, ash_cursor **out, ash_error *err)
{
    finds++;
    return real_ops->find(store, ns, filter, opts, out, err);
}

static void count_finds_of(ash_store *store)
{
    real_ops = store->ops;
    counting_ops = *real_ops;
    counting_ops.find = count_find;
    store->ops = &counting_ops;
}

static bool is_replayed(fixture *f)
{
    ash_capabilities can = ASH_CAPABILITIES_INIT;
    assert_ok(ash_store_capabilities(f->store, &can, &f->err), &f->err);
    return can.replayed_transactions;
}

/* "a/a/…", so many times; ash__free(). */
static char *deep_path(const char *top, int levels)
{
    ash_buffer text = ASH_BUFFER_INIT;
    ash__buffer_append_text(&text, top);
    for (int i = 0; i < levels; i++)
        ash__buffer_append_text(&text, "/a");
    (void)ash__buffer_text(&text);
    return (char *)ash__buffer_detach(&text);
}

static void list_all(fixture *f, const char *path, int64_t expected)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    int64_t n = -1;
    o.recursive = true;
    assert_ok(ash_tree_list(f->tree, path, &o, NULL, &l, &f->err), &f->err);
    do {
        n++;
        assert_ok(ash_tree_listing_next(l, &e, &f->err), &f->err);
    } while (e != NULL);
    ash_tree_listing_free(l);
    assert_int_equal(n, expected);
}

static void list_trash(fixture *f, int64_t expected)
{
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    int64_t n = -1;
    assert_ok(ash_tree_trash(f->tree, "/", 0, NULL, &l, &f->err), &f->err);
    do {
        n++;
        assert_ok(ash_tree_listing_next(l, &e, &f->err), &f->err);
    } while (e != NULL);
    ash_tree_listing_free(l);
    assert_int_equal(n, expected);
}

enum { MAKE, LIST, MOVE, MEASURE, CHECK, REMOVE, TRASH, UNDELETE, PRUNE, STEPS };
static const char *const step_names[] = {"make",   "list",  "move",     "measure", "check",
                                         "remove", "trash", "undelete", "prune"};

static void take(int64_t *into)
{
    *into = finds;
    finds = 0;
}

/* `levels` folders below a top one, and how many finds each step takes. */
static void go_through(fixture *f, int levels, int64_t took[STEPS])
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_keep nothing = ASH_TREE_KEEP_INIT;
    ash_tree_prune_options p = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_prune_report pruned = ASH_TREE_PRUNE_REPORT_INIT;
    ash_tree_usage usage = ASH_TREE_USAGE_INIT;
    char *path = deep_path("top", levels);
    p.keep = &nothing;
    o.make_folders = true;
    finds = 0;
    assert_ok(ash_tree_make_folder(f->tree, path, &o, NULL, NULL, &f->err), &f->err);
    take(&took[MAKE]);
    list_all(f, "top", levels);
    take(&took[LIST]);
    support_move(f, "top", "moved");
    take(&took[MOVE]);
    assert_ok(ash_tree_measure(f->tree, "moved", NULL, &usage, &f->err), &f->err);
    assert_int_equal(usage.folders, levels + 1);
    take(&took[MEASURE]);
    support_expect_sound(f);
    take(&took[CHECK]);
    bson_value_t id = support_id(f, "moved");
    finds = 0;
    support_remove(f, "moved");
    take(&took[REMOVE]);
    list_trash(f, levels + 1);
    take(&took[TRASH]);
    assert_ok(ash_tree_undelete(f->tree, &id, NULL, NULL, NULL, NULL, &f->err), &f->err);
    take(&took[UNDELETE]);
    list_all(f, "moved", levels);
    support_remove(f, "moved");
    finds = 0;
    assert_ok(ash_tree_prune(f->tree, "/", &p, NULL, &pruned, &f->err), &f->err);
    assert_int_equal(pruned.versions, 2 * (levels + 1) + 1);
    take(&took[PRUNE]);
    ash__free(path);
}

static void test_tree_deep__reads_grow_with_the_levels(void **state)
{
    fixture *f = *state;
    int64_t few[STEPS], many[STEPS];
    /* In a transaction through a server every read counts as an operation, of which there are a
     * thousand. */
    int levels = is_replayed(f) ? 15 : 500;
    count_finds_of(f->store);
    go_through(f, levels, few);
    go_through(f, 4 * levels, many);
    for (int i = 0; i < STEPS; i++)
        if (many[i] > 4 * few[i] + 100)
            fail_msg("%s: %lld reads for %d levels, %lld for %d", step_names[i], (long long)few[i],
                     levels, (long long)many[i], 4 * levels);
}

static void test_tree_deep__paths_end(void **state)
{
    fixture *f = *state;
    ash_tree_path parts;
    char *path = deep_path("a", ASH_TREE_DEPTH_MAX - 1);
    assert_int_equal(ash__tree_path_parse(path, &parts, &f->err), 0);
    assert_int_equal(parts.count, ASH_TREE_DEPTH_MAX);
    ash__tree_path_release(&parts);
    ash__free(path);
    path = deep_path("a", ASH_TREE_DEPTH_MAX);
    assert_int_equal(ash_tree_get(f->tree, path, NULL, NULL, &(ash_tree_entry *){NULL}, &f->err),
                     ASH_EINVAL);
    assert_non_null(strstr(f->err.text, "4096 names is too deep"));
    ash__free(path);
}

/* ---- paths that are too long ---- */

enum { LONG_LEVELS = 1500 };

/* As somebody else may have written them: folders of names of 1,024 bytes, each in the one before. */
static void insert_long_chain(fixture *f, bson_oid_t *ids)
{
    ash_doc docs[LONG_LEVELS];
    bson_t *made[LONG_LEVELS];
    char name[1025];
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    memset(name, 'n', 1024);
    name[1024] = '\0';
    for (int i = 0; i < LONG_LEVELS; i++) {
        bson_oid_init(&ids[i], NULL);
        made[i] = BCON_NEW("_id", BCON_OID(&ids[i]), "_version", BCON_INT32(1), "filename",
                           BCON_UTF8(i == 0 ? "top" : name), "created_at", BCON_DATE_TIME(1000));
        if (i == 0)
            BSON_APPEND_UTF8(made[i], "parent", "/");
        else
            BSON_APPEND_OID(made[i], "parent", &ids[i - 1]);
        docs[i].data = bson_get_data(made[i]);
        docs[i].len = made[i]->len;
    }
    assert_ok(ash_collection_insert(f->current, docs, LONG_LEVELS, &o, NULL, &f->err), &f->err);
    for (int i = 0; i < LONG_LEVELS; i++)
        bson_destroy(made[i]);
}

/* Lists all below a folder: how many there were, and how many were left out. */
static void list_what_can_be(fixture *f, int64_t at_ms, int64_t *given, int64_t *left_out)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    o.recursive = true;
    o.at_ms = at_ms;
    *given = *left_out = 0;
    assert_ok(ash_tree_list(f->tree, "/", &o, NULL, &l, &f->err), &f->err);
    for (bool ends = false; !ends;) {
        int rc = ash_tree_listing_next(l, &e, &f->err);
        ends = rc == 0 && e == NULL;
        *given += rc == 0 && !ends;
        *left_out += rc == ASH_ECORRUPT;
        assert_true(rc == 0 || rc == ASH_ECORRUPT);
        if (rc == 0 && !ends)
            assert_true(strlen(ash_tree_entry_path(e)) <= ASH_TREE_PATH_MAX);
    }
    ash_tree_listing_free(l);
}

static void count_path(void *ctx, const char *text, const bson_t *facts)
{
    int *paths = ctx;
    bson_iter_t it;
    *paths +=
        bson_iter_init_find(&it, facts, "kind") && strcmp(bson_iter_utf8(&it, NULL), "path") == 0;
    assert_non_null(text);
}

static void expect_one_finding(fixture *f)
{
    ash_tree_check_options o = ASH_TREE_CHECK_OPTIONS_INIT;
    ash_tree_check_report report = ASH_TREE_CHECK_REPORT_INIT;
    int paths = 0;
    o.finding = count_path;
    o.finding_ctx = &paths;
    assert_int_equal(ash_tree_check(f->tree, &o, NULL, &report, &f->err), ASH_ECORRUPT);
    assert_int_equal(paths, 1);
    assert_int_equal(report.findings, 1);
}

static int64_t peak_kib(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* With a path for each level they would hold more than a GB. */
static void test_tree_deep__what_no_path_leads_to_costs_no_more_than_itself(void **state)
{
    fixture *f = *state;
    static bson_oid_t ids[LONG_LEVELS];
    ash_tree_keep nothing = ASH_TREE_KEEP_INIT;
    ash_tree_prune_options p = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_prune_report pruned = ASH_TREE_PRUNE_REPORT_INIT;
    ash_tree_usage usage = ASH_TREE_USAGE_INIT;
    ash_tree_entry *e = NULL;
    int64_t given, left_out, then;
    if (is_replayed(f)) /* so many levels are too many reads for a transaction */
        return;
    support_folder(f, "first"); /* the indexes */
    insert_long_chain(f, ids);
    int64_t before = peak_kib();
    list_what_can_be(f, 0, &given, &left_out);
    assert_int_equal(given, 2 + (ASH_TREE_PATH_MAX - 4) / 1025);
    assert_int_equal(left_out, 1);
    expect_one_finding(f);
    assert_int_equal(ash_tree_measure(f->tree, "/", NULL, &usage, &f->err), ASH_EPARTIAL);
    bson_value_t id = {.value_type = BSON_TYPE_OID, .value.v_oid = ids[LONG_LEVELS - 1]};
    assert_ok(ash_tree_get_by_id(f->tree, &id, 0, NULL, &e, &f->err), &f->err);
    assert_int_equal(strncmp(ash_tree_entry_path(e), "?/nnn", 5), 0);
    ash_tree_entry_free(e);
    id.value.v_oid = ids[0];
    then = support_moment(f);
    support_remove(f, "top");
    list_what_can_be(f, then, &given, &left_out);
    assert_int_equal(left_out, 1);
    list_trash(f, LONG_LEVELS);
    assert_ok(ash_tree_undelete(f->tree, &id, NULL, NULL, NULL, NULL, &f->err), &f->err);
    support_remove(f, "top");
    p.keep = &nothing;
    assert_ok(ash_tree_prune(f->tree, "/", &p, NULL, &pruned, &f->err), &f->err);
    assert_int_equal(pruned.versions, 2 * LONG_LEVELS);
    assert_in_range(peak_kib() - before, 0, 200 * 1024);
}

static void test_tree_deep__long_paths_are_refused(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_buffer text = ASH_BUFFER_INIT;
    for (int i = 0; i < 64; i++)
        ash__buffer_printf(&text, "/%01000d", i);
    while (text.len < ASH_TREE_PATH_MAX)
        ash__buffer_append_text(&text, "/a");
    o.make_folders = true;
    const char *path = ash__buffer_text(&text);
    if (!is_replayed(f))
        assert_ok(ash_tree_make_folder(f->tree, path, &o, NULL, NULL, &f->err), &f->err);
    ash__buffer_append_text(&text, "/a");
    path = ash__buffer_text(&text);
    assert_int_equal(ash_tree_make_folder(f->tree, path, &o, NULL, NULL, &f->err), ASH_EINVAL);
    assert_non_null(strstr(f->err.text, "65536"));
    ash__buffer_release(&text);
}

/* "/nnn…", of exactly so many bytes; ash__free(). */
static char *path_of(size_t len_bytes)
{
    enum { NAME_BYTES = 1024 };
    char name[NAME_BYTES + 1];
    ash_buffer text = ASH_BUFFER_INIT;
    memset(name, 'n', NAME_BYTES);
    while (text.len < len_bytes) {
        size_t left = len_bytes - text.len - 1;
        ash__buffer_append_text(&text, "/");
        ash__buffer_append(&text, name, left < NAME_BYTES ? left : NAME_BYTES);
    }
    (void)ash__buffer_text(&text);
    return (char *)ash__buffer_detach(&text);
}

static void expect_watched(fixture *f, ash_tree_watch *w, const char *path)
{
    ash_tree_event event = ASH_TREE_EVENT_INIT;
    do {
        assert_ok(ash_tree_watch_next(w, 10000, &event, &f->err), &f->err);
        assert_int_not_equal(event.kind, 0);
    } while (ash_tree_entry_is_folder(event.entry));
    assert_string_equal(event.path, path);
}

/* The first '/' counts, whether it is typed or not: else a file would be kept under a path that
 * nobody is told. */
static void test_tree_deep__the_longest_path(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_entry *e = NULL;
    ash_tree_watch *w = NULL;
    char *longest = path_of(ASH_TREE_PATH_MAX);
    char *folder = ash__strndup(longest, (size_t)(strrchr(longest, '/') - longest));
    o.make_folders = true;
    assert_ok(ash_tree_watch_open(f->tree, "/", NULL, &w, &f->err), &f->err);
    assert_ok(support_try_put(f, longest, "a", 1, &o, &e), &f->err);
    assert_string_equal(ash_tree_entry_path(e), longest);
    ash_tree_entry_free(e);
    expect_watched(f, w, longest);
    support_expect_text(f, longest + 1, "a");
    support_expect_list(f, folder, false, 0, strrchr(longest, '/') + 1);
    support_move(f, longest, "short");
    support_move(f, "short", longest + 1);
    expect_watched(f, w, "/short");
    expect_watched(f, w, longest);
    char *slashed = ash__sprintf("%s/", folder);
    support_expect_list(f, slashed, false, 0, strrchr(longest, '/') + 1);
    ash_tree_watch_close(w);
    ash__free(slashed);
    ash__free(folder);
    ash__free(longest);
}

static void expect_too_long(fixture *f, int rc)
{
    assert_int_equal(rc, ASH_EINVAL);
    assert_string_equal(f->err.text, "a path of 65537 bytes is longer than 65536");
}

static void test_tree_deep__one_byte_more_is_refused(void **state)
{
    fixture *f = *state;
    char *path = path_of(ASH_TREE_PATH_MAX + 1);
    support_put_text(f, "a", "a");
    for (int typed = 0; typed < 2; typed++) {
        const char *at = path + typed; /* with and without the first slash */
        ash_tree_entry *e = NULL;
        ash_tree_listing *l = NULL;
        ash_tree_watch *w = NULL;
        ash_tree_reader *r = NULL;
        expect_too_long(f, ash_tree_get(f->tree, at, NULL, NULL, &e, &f->err));
        expect_too_long(f, ash_tree_list(f->tree, at, NULL, NULL, &l, &f->err));
        expect_too_long(f, ash_tree_history(f->tree, at, 0, NULL, &l, &f->err));
        expect_too_long(f, support_try_put(f, at, "a", 1, NULL, NULL));
        expect_too_long(f, ash_tree_make_folder(f->tree, at, NULL, NULL, NULL, &f->err));
        expect_too_long(f, ash_tree_move(f->tree, "a", at, NULL, NULL, NULL, &f->err));
        expect_too_long(f, ash_tree_move(f->tree, at, "b", NULL, NULL, NULL, &f->err));
        expect_too_long(f, ash_tree_copy(f->tree, "a", NULL, at, NULL, NULL, NULL, &f->err));
        expect_too_long(f, ash_tree_remove(f->tree, at, NULL, NULL, &f->err));
        expect_too_long(f, ash_tree_open_reader(f->tree, at, NULL, NULL, &r, &f->err));
        expect_too_long(f, ash_tree_watch_open(f->tree, at, NULL, &w, &f->err));
    }
    ash__free(path);
}

/* A move changes one document, whatever lies below it. */
static void test_tree_deep__a_move_makes_paths_too_long(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_entry *e = NULL;
    int64_t given, left_out;
    char *longest = path_of(ASH_TREE_PATH_MAX), *top = path_of(1 + 1024);
    o.make_folders = true;
    assert_ok(support_try_put(f, longest, "a", 1, &o, NULL), &f->err);
    bson_value_t id = support_id(f, longest);
    support_move(f, top, "m");
    support_folder(f, "d");
    char *moved = ash__sprintf("d%s", top);
    support_move(f, "m", moved);
    list_what_can_be(f, 0, &given, &left_out);
    assert_int_equal(left_out, 1);
    assert_int_equal(given, 1 + 63);
    assert_ok(ash_tree_get_by_id(f->tree, &id, 0, NULL, &e, &f->err), &f->err);
    assert_int_equal(strncmp(ash_tree_entry_path(e), "?/nnn", 5), 0);
    ash_tree_entry_free(e);
    support_move(f, moved, top);
    support_expect_text(f, longest, "a");
    bson_value_destroy(&id);
    ash__free(moved);
    ash__free(top);
    ash__free(longest);
}

/* Of what lies in a folder that is gone, or in a root that nothing was set on, nobody knows where it
 * would be. */
static void test_tree_deep__what_lies_nowhere_has_a_path(void **state)
{
    fixture *f = *state;
    ash_tree_entry *e = NULL;
    support_folder(f, "a");
    support_folder(f, "a/b");
    support_put_text(f, "a/b/c", "c");
    bson_value_t c = support_id(f, "a/b/c"), b = support_id(f, "a/b");
    support_update(f->current, "{\"filename\": \"b\"}", "{\"$set\": {\"parent\": \"elsewhere\"}}");
    f->damaged = true;
    for (int32_t version = 0; version < 2; version++) {
        assert_ok(ash_tree_get_by_id(f->tree, &c, version, NULL, &e, &f->err), &f->err);
        assert_string_equal(ash_tree_entry_path(e), "?/c");
        ash_tree_entry_free(e);
        assert_ok(ash_tree_get_by_id(f->tree, &b, version, NULL, &e, &f->err), &f->err);
        assert_string_equal(ash_tree_entry_path(e), "?/b");
        ash_tree_entry_free(e);
    }
    bson_value_destroy(&b);
    bson_value_destroy(&c);
}

static void test_tree_deep__copies_have_paths(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_buffer text = ASH_BUFFER_INIT;
    if (is_replayed(f))
        return;
    for (int i = 0; i < 40; i++)
        ash__buffer_printf(&text, "/%01000d", i);
    o.make_folders = o.recursive = true;
    const char *path = ash__buffer_text(&text);
    assert_ok(ash_tree_make_folder(f->tree, path, &o, NULL, NULL, &f->err), &f->err);
    char *first = ash__sprintf("/%01000d", 0);
    ash__buffer_append_text(&text, "/copy");
    path = ash__buffer_text(&text);
    support_folder(f, "a");
    for (int many = 0; many < 2; many++) {
        char *deep = ash__sprintf("a%s", path);
        assert_int_equal(ash_tree_copy(f->tree, first, NULL, deep, &o, NULL, NULL, &f->err),
                         ASH_ETOOBIG);
        f->tree->whole_max = 3;
        ash__free(deep);
    }
    assert_ok(ash_tree_copy(f->tree, first, NULL, "a/copy", &o, NULL, NULL, &f->err), &f->err);
    ash__free(first);
    ash__buffer_release(&text);
}

/* Damage: it is found, and nobody climbs for ever. */
static void test_tree_deep__circles_end(void **state)
{
    fixture *f = *state;
    ash_tree_entry *e = NULL;
    char text[200], hex[25];
    support_folder(f, "a");
    support_folder(f, "a/b");
    support_folder(f, "a/b/c");
    bson_value_t b = support_id(f, "a/b"), c = support_id(f, "a/b/c");
    bson_oid_to_string(&c.value.v_oid, hex);
    snprintf(text, sizeof text, "{\"$set\": {\"parent\": {\"$oid\": \"%s\"}}}", hex);
    support_update(f->current, "{\"filename\": \"b\"}", text);
    f->damaged = true;
    assert_int_equal(ash_tree_check(f->tree, NULL, NULL, NULL, &f->err), ASH_ECORRUPT);
    assert_ok(ash_tree_get_by_id(f->tree, &b, 0, NULL, &e, &f->err), &f->err);
    ash_tree_entry_free(e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_deep__reads_grow_with_the_levels),
        here(test_tree_deep__paths_end),
        here(test_tree_deep__what_no_path_leads_to_costs_no_more_than_itself),
        here(test_tree_deep__long_paths_are_refused),
        here(test_tree_deep__the_longest_path),
        here(test_tree_deep__one_byte_more_is_refused),
        here(test_tree_deep__a_move_makes_paths_too_long),
        here(test_tree_deep__what_lies_nowhere_has_a_path),
        here(test_tree_deep__copies_have_paths),
        here(test_tree_deep__circles_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
