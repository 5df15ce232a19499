/* SPDX-License-Identifier: Apache-2.0 */
/* Listings, searching, watches. */
#include "support.h"

#include <stdio.h>
#include <string.h>

static void test_object_lists__in_order_of_change(void **state)
{
    fixture *f = *state;
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_object *b;
    support_expect_list(f, f->store, NULL, "");
    support_put(f, f->store, "A", "1");
    support_put(f, f->store, "B", "1");
    support_put(f, f->store, "C", "1");
    support_put(f, f->store, "B", "2");
    b = support_info(f, f->store, "B");
    assert_ok(ash_object_store_link(f->store, "b", b, NULL, NULL, NULL, &f->err), &f->err);
    support_put(f, f->store, "D", "1");
    support_delete(f, f->store, "D");
    support_expect_list(f, f->store, NULL, "A C B b");
    o.deleted = true;
    support_expect_list(f, f->store, &o, "A C B b D!");
    ash_object_free(b);
}

static void put_many(fixture *f, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        support_put(f, f->store, names[i], "x");
}

static void test_object_lists__by_name_and_prefix(void **state)
{
    fixture *f = *state;
    static const char *const names[] = {"b/2", "a", "b/1", "c", "b", "b/10", "B", "bb"};
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    put_many(f, names, ASH_ARRAY_LEN(names));
    o.by_name = true;
    support_expect_list(f, f->store, &o, "B a b b/1 b/10 b/2 bb c");
    o.prefix = "b/";
    support_expect_list(f, f->store, &o, "b/1 b/10 b/2");
    o.by_name = false;
    support_expect_list(f, f->store, &o, "b/2 b/1 b/10");
    o.prefix = "none";
    support_expect_list(f, f->store, &o, "");
    o.prefix = "b";
    o.by_name = true;
    o.limit = 2;
    support_expect_list(f, f->store, &o, "b b/1");
    o.after = "b/1";
    support_expect_list(f, f->store, &o, "b/10 b/2");
    o.after = "b/2";
    support_expect_list(f, f->store, &o, "bb");
    o.after = "bb";
    support_expect_list(f, f->store, &o, "");
}

static void test_object_lists__paged_by_change(void **state)
{
    fixture *f = *state;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_object_listing *l = NULL;
    const ash_object *object = NULL;
    char got[16] = "";
    put_many(f, names, 5);
    o.limit = 2;
    for (int page = 0; page < 4; page++) {
        assert_ok(ash_object_store_list(f->store, &o, NULL, &l, &f->err), &f->err);
        while (ash_object_listing_next(l, &object, &f->err) == 0 && object != NULL) {
            strcat(got, ash_object_name(object));
            o.after_revision = ash_object_revision(object);
        }
        ash_object_listing_free(l);
    }
    assert_string_equal(got, "abcde");
    o.after_revision = 0;
    o.after = "a";
    assert_int_equal(ash_object_store_list(f->store, &o, NULL, &l, &f->err), ASH_EINVAL);
}

static void put_tagged(fixture *f, const char *name, const char *tag, const char *owner, size_t len)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    bson_t *tags = BCON_NEW("0", BCON_UTF8(tag), "1", "all");
    bson_t *metadata = BCON_NEW("owner", BCON_UTF8(owner));
    uint8_t *data = support_bytes(len, 1);
    meta.name = name;
    meta.tags = tags;
    meta.metadata = metadata;
    meta.content_type = "text/plain";
    assert_ok(ash_object_store_put_bytes(f->store, &meta, data, len, NULL, NULL, NULL, &f->err),
              &f->err);
    bson_destroy(tags);
    bson_destroy(metadata);
    ash__free(data);
}

static void expect_found(fixture *f, const char *json, const char *names)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    bson_t *filter = bson_new_from_json((const uint8_t *)json, -1, NULL);
    o.filter = filter;
    support_expect_list(f, f->store, &o, names);
    bson_destroy(filter);
}

static void test_object_lists__search(void **state)
{
    fixture *f = *state;
    put_tagged(f, "a", "red", "me", 10);
    put_tagged(f, "b", "blue", "me", 2000);
    put_tagged(f, "c", "red", "you", 30);
    expect_found(f, "{\"tags\": \"red\"}", "a c");
    expect_found(f, "{\"tags\": {\"$all\": [\"all\", \"blue\"]}}", "b");
    expect_found(f, "{\"metadata.owner\": \"me\"}", "a b");
    expect_found(f, "{\"size\": {\"$gt\": 1000}}", "b");
    expect_found(f, "{\"name\": {\"$regex\": \"^[bc]$\"}}", "b c");
    expect_found(f, "{\"headers.Content-Type\": \"text/plain\", \"tags\": \"red\"}", "a c");
    expect_found(f, "{\"$or\": [{\"tags\": \"blue\"}, {\"metadata.owner\": \"you\"}]}", "b c");
    expect_found(f, "{\"tags\": \"green\"}", "");
    expect_found(f, "{}", "a b c");
    support_delete(f, f->store, "a");
    expect_found(f, "{\"tags\": \"red\"}", "c");
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    bson_t *bad = BCON_NEW("a", "{", "$nonsense", BCON_INT32(1), "}");
    bson_t *owner = BCON_NEW("metadata.owner", "me");
    ash_object_listing *l = NULL;
    o.filter = bad;
    assert_int_equal(ash_object_store_list(f->store, &o, NULL, &l, &f->err), ASH_EINVAL);
    put_tagged(f, "d", "x", "me", 1);
    o.filter = owner;
    o.limit = 1;
    support_expect_list(f, f->store, &o, "b");
    bson_destroy(bad);
    bson_destroy(owner);
}

/* ---- watches ---- */

static ash_object_watch *watch(fixture *f, const ash_object_watch_options *o)
{
    ash_object_watch *w = NULL;
    assert_ok(ash_object_store_watch(f->store, o, NULL, &w, &f->err), &f->err);
    return w;
}

/* "A+" put, "A-" deleted, "A~" removed, "." current, "A*" locked, "A/" unlocked, "" nothing. */
static void expect_event(fixture *f, ash_object_watch *w, const char *what)
{
    static const char marks[] = " +-~.*/";
    ash_object_event e = ASH_OBJECT_EVENT_INIT;
    char got[64] = "";
    assert_ok(ash_object_watch_next(w, what[0] != '\0' ? 5000 : 200, &e, &f->err), &f->err);
    if (e.kind == ASH_OBJECT_CURRENT)
        strcpy(got, ".");
    else if (e.kind != 0)
        snprintf(got, sizeof got, "%s%c", e.name, marks[e.kind]);
    assert_string_equal(got, what);
    if (e.kind == ASH_OBJECT_PUT || e.kind == ASH_OBJECT_DELETED) {
        assert_string_equal(ash_object_name(e.object), e.name);
        assert_int_equal(ash_object_is_deleted(e.object), e.kind == ASH_OBJECT_DELETED);
    }
}

static void test_object_lists__watch(void **state)
{
    fixture *f = *state;
    ash_object_watch *w = watch(f, NULL);
    expect_event(f, w, ".");
    expect_event(f, w, "");
    support_put(f, f->store, "A", "1");
    support_put(f, f->store, "B", "1");
    expect_event(f, w, "A+");
    expect_event(f, w, "B+");
    expect_event(f, w, "");
    support_delete(f, f->store, "A");
    expect_event(f, w, "A-");
    support_put(f, f->store, "B", "2");
    expect_event(f, w, "B+");
    expect_event(f, w, "");
    ash_object_watch_close(w);
}

static void test_object_lists__watch_what_was_there(void **state)
{
    fixture *f = *state;
    support_put(f, f->store, "A", "1");
    support_put(f, f->store, "B", "1");
    support_put(f, f->store, "A", "2");
    support_put(f, f->store, "C", "1");
    support_delete(f, f->store, "C");
    ash_object_watch *w = watch(f, NULL);
    support_put(f, f->store, "D", "meanwhile");
    expect_event(f, w, "B+");
    expect_event(f, w, "A+");
    expect_event(f, w, "C-");
    ash_object_event e = ASH_OBJECT_EVENT_INIT;
    int told = 0;
    for (int i = 0; i < 2; i++) { /* the mark, and D in front of it or behind it */
        assert_ok(ash_object_watch_next(w, 5000, &e, &f->err), &f->err);
        told += e.kind == ASH_OBJECT_PUT && strcmp(e.name, "D") == 0;
        assert_true(e.kind == ASH_OBJECT_PUT || e.kind == ASH_OBJECT_CURRENT);
    }
    assert_int_equal(told, 1);
    expect_event(f, w, "");
    ash_object_watch_close(w);
}

static void test_object_lists__watch_options(void **state)
{
    fixture *f = *state;
    ash_object_watch_options updates = ASH_OBJECT_WATCH_OPTIONS_INIT;
    ash_object_watch_options no_deletes = ASH_OBJECT_WATCH_OPTIONS_INIT;
    ash_object_watch_options prefix = ASH_OBJECT_WATCH_OPTIONS_INIT;
    updates.updates_only = true;
    no_deletes.ignore_deletes = true;
    prefix.prefix = "x/";
    support_put(f, f->store, "A", "1");
    support_put(f, f->store, "B", "1");
    support_put(f, f->store, "x/1", "1");
    support_delete(f, f->store, "B");
    ash_object_watch *w[] = {watch(f, &updates), watch(f, &no_deletes), watch(f, &prefix)};
    expect_event(f, w[0], "");
    expect_event(f, w[1], "A+");
    expect_event(f, w[1], "x/1+");
    expect_event(f, w[1], ".");
    expect_event(f, w[2], "x/1+");
    expect_event(f, w[2], ".");
    support_delete(f, f->store, "A");
    support_put(f, f->store, "C", "1");
    support_put(f, f->store, "x/2", "1");
    expect_event(f, w[0], "A-");
    expect_event(f, w[0], "C+");
    expect_event(f, w[0], "x/2+");
    expect_event(f, w[1], "C+");
    expect_event(f, w[1], "x/2+");
    expect_event(f, w[2], "x/2+");
    for (int i = 0; i < 3; i++) {
        expect_event(f, w[i], "");
        ash_object_watch_close(w[i]);
    }
}

static void test_object_lists__watch_meta_and_links(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object *a;
    support_put(f, f->store, "A", "1");
    a = support_info(f, f->store, "A");
    ash_object_watch *w = watch(f, NULL);
    expect_event(f, w, "A+");
    expect_event(f, w, ".");
    meta.description = "x";
    assert_ok(ash_object_store_update_meta(f->store, "A", &meta, NULL, NULL, NULL, &f->err),
              &f->err);
    expect_event(f, w, "A+");
    assert_ok(ash_object_store_link(f->store, "L", a, NULL, NULL, NULL, &f->err), &f->err);
    expect_event(f, w, "L+");
    ash_object_watch_close(w);
    ash_object_free(a);
}

static void test_object_lists__watch_renames(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_event e = ASH_OBJECT_EVENT_INIT;
    bool put = false;
    support_need(f, atomic_rename);
    support_put(f, f->store, "A", "1");
    ash_object_watch *w = watch(f, NULL);
    expect_event(f, w, "A+");
    expect_event(f, w, ".");
    meta.name = "B";
    assert_ok(ash_object_store_update_meta(f->store, "A", &meta, NULL, NULL, NULL, &f->err),
              &f->err);
    for (int i = 0; i < 2; i++) {
        assert_ok(ash_object_watch_next(w, 5000, &e, &f->err), &f->err);
        assert_true(e.kind == ASH_OBJECT_PUT || e.kind == ASH_OBJECT_REMOVED);
        assert_string_equal(e.name, e.kind == ASH_OBJECT_PUT ? "B" : "A");
        put = put || e.kind == ASH_OBJECT_PUT;
    }
    assert_true(put);
    ash_object_watch_close(w);
}

static void test_object_lists__watch_history(void **state)
{
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_object_watch_options o = ASH_OBJECT_WATCH_OPTIONS_INIT;
    support_need(f, versions);
    config.keep_last = -1;
    support_configure(f, &config);
    support_put(f, f->store, "A", "1");
    support_put(f, f->store, "B", "1");
    support_put(f, f->store, "A", "2");
    support_delete(f, f->store, "B");
    support_put(f, f->store, "A", "3");
    o.history = true;
    ash_object_watch *w = watch(f, &o);
    static const char *const wanted[] = {"A+", "B+", "A+", "B-", "A+", ".", ""};
    for (size_t i = 0; i < ASH_ARRAY_LEN(wanted); i++)
        expect_event(f, w, wanted[i]);
    ash_object_watch_close(w);
}

static uint64_t next_revision(fixture *f, ash_object_watch *w)
{
    ash_object_event e = ASH_OBJECT_EVENT_INIT;
    do {
        e = (ash_object_event)ASH_OBJECT_EVENT_INIT;
        assert_ok(ash_object_watch_next(w, 5000, &e, &f->err), &f->err);
        assert_int_not_equal(e.kind, 0);
    } while (e.kind == ASH_OBJECT_CURRENT);
    return ash_object_revision(e.object);
}

/* What was current when the watch began and is replaced before it was told is told all the same: each
 * revision once, in their order. */
static void test_object_lists__watch_history_beside_changes(void **state)
{
    enum { OBJECTS = 700, CHANGES = 120 };
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_object_watch_options o = ASH_OBJECT_WATCH_OPTIONS_INIT;
    char name[16];
    support_need(f, versions);
    config.keep_last = -1;
    support_configure(f, &config);
    for (int i = 0; i < OBJECTS; i++) {
        snprintf(name, sizeof name, "n%d", i);
        support_put(f, f->store, name, "x");
    }
    o.history = true;
    ash_object_watch *w = watch(f, &o);
    uint64_t told = 0;
    for (int i = 0; i < OBJECTS + CHANGES; i++) {
        if (i < CHANGES) {
            snprintf(name, sizeof name, "n%d", OBJECTS - 1 - i * 5);
            if (i % 3 == 0)
                support_delete(f, f->store, name);
            else
                support_put(f, f->store, name, "other");
        }
        assert_int_equal(next_revision(f, w), ++told);
    }
    expect_event(f, w, "");
    ash_object_watch_close(w);
}

/* Long documents are not in the change log: an event that is read late has none. */
static void test_object_lists__watch_history_read_late(void **state)
{
    enum { CHANGES = 5 };
    fixture *f = *state;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_object_watch_options o = ASH_OBJECT_WATCH_OPTIONS_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    support_need(f, versions);
    char *text = ash__alloc(30001);
    config.keep_last = -1;
    support_configure(f, &config);
    memset(text, 'x', 30000);
    meta.name = "A";
    meta.description = text;
    o.history = true;
    ash_object_watch *w = watch(f, &o);
    expect_event(f, w, ".");
    for (int i = 0; i < CHANGES; i++) {
        assert_ok(ash_object_store_put_bytes(f->store, &meta, "x", 1, NULL, NULL, NULL, &f->err),
                  &f->err);
        support_put(f, f->store, "B", "x");
    }
    for (uint64_t told = 1; told <= 2 * CHANGES; told++)
        assert_int_equal(next_revision(f, w), told);
    expect_event(f, w, "");
    ash_object_watch_close(w);
    ash__free(text);
}

/* A name that is renamed away and put again while the watch begins is there in the end. */
static void test_object_lists__watch_removed_and_put_again(void **state)
{
    fixture *f = *state;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_object_event e = ASH_OBJECT_EVENT_INIT;
    bool there = false;
    support_need(f, atomic_rename);
    support_put(f, f->store, "A", "1");
    ash_object_watch *w = watch(f, NULL);
    meta.name = "B";
    assert_ok(ash_object_store_update_meta(f->store, "A", &meta, NULL, NULL, NULL, &f->err),
              &f->err);
    support_put(f, f->store, "A", "2");
    do {
        e = (ash_object_event)ASH_OBJECT_EVENT_INIT;
        assert_ok(ash_object_watch_next(w, 500, &e, &f->err), &f->err);
        if (e.kind != 0 && e.kind != ASH_OBJECT_CURRENT && strcmp(e.name, "A") == 0)
            there = e.kind == ASH_OBJECT_PUT;
    } while (e.kind != 0);
    assert_true(there);
    ash_object_watch_close(w);
}

static void test_object_lists__watch_locks(void **state)
{
    fixture *f = *state;
    ash_object_watch_options o = ASH_OBJECT_WATCH_OPTIONS_INIT;
    ash_lock *lock = NULL;
    support_need(f, locks);
    o.locks = true;
    ash_object_watch *w = watch(f, &o);
    expect_event(f, w, ".");
    assert_ok(ash_object_store_lock(f->store, "A", NULL, &lock, &f->err), &f->err);
    assert_ok(ash_lock_obtain_write(lock, &f->err), &f->err);
    expect_event(f, w, "A*");
    support_put(f, f->store, "A", "1");
    expect_event(f, w, "A+");
    assert_ok(ash_lock_release(lock, &f->err), &f->err);
    expect_event(f, w, "A/");
    ash_lock_free(lock);
    ash_object_watch_close(w);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_object_lists__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(in_order_of_change),
        T(by_name_and_prefix),
        T(paged_by_change),
        T(search),
        T(watch),
        T(watch_what_was_there),
        T(watch_options),
        T(watch_meta_and_links),
        T(watch_renames),
        T(watch_history),
        T(watch_history_beside_changes),
        T(watch_history_read_late),
        T(watch_removed_and_put_again),
        T(watch_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
