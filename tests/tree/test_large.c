/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <stdio.h>

/* Folders of some thousand entries, each change of which is one commit: through a server, a
 * transaction has a thousand operations at most, and few of them if it is to be quick. */

enum { FOLDERS = 600, FILES = 1200 };

static int64_t count_below(fixture *f, const char *path, int64_t at_ms)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    int64_t n = 0;
    o.recursive = true;
    o.at_ms = at_ms;
    assert_ok(ash_tree_list(f->tree, path, &o, NULL, &l, &f->err), &f->err);
    for (;; n++) {
        assert_ok(ash_tree_listing_next(l, &e, &f->err), &f->err);
        if (e == NULL)
            break;
    }
    ash_tree_listing_free(l);
    return n;
}

/* large/ has 20 folders of 30 folders of 2 files. */
static void build(fixture *f)
{
    char path[60];
    support_folder(f, "one");
    support_put_seed(f, "one/a", 1);
    support_put_seed(f, "one/b", 2);
    support_folder(f, "some");
    for (int i = 0; i < 30; i++) {
        snprintf(path, sizeof path, "some/%02d", i);
        support_copy(f, "one", path);
    }
    support_folder(f, "large");
    for (int i = 0; i < FOLDERS / 30; i++) {
        snprintf(path, sizeof path, "large/%02d", i);
        support_copy(f, "some", path);
    }
    support_remove(f, "some");
}

enum { ALL = FOLDERS + FILES + FOLDERS / 30 };

static void test_tree_large__folders_go_and_come_back(void **state)
{
    fixture *f = *state;
    build(f);
    assert_int_equal(count_below(f, "large", 0), ALL);
    bson_value_t id = support_id(f, "large");
    int64_t then = support_moment(f);
    support_move(f, "large", "moved");
    support_remove(f, "moved");
    assert_int_equal(support_count(f->current, "{}"), 3);
    assert_ok(ash_tree_undelete(f->tree, &id, NULL, NULL, NULL, NULL, &f->err), &f->err);
    assert_int_equal(count_below(f, "moved", 0), ALL);
    support_expect_seed(f, "moved/19/29/b", 2);
    assert_int_equal(count_below(f, "large", then), ALL);
}

static void test_tree_large__folders_are_copied(void **state)
{
    fixture *f = *state;
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    o.recursive = true;
    build(f);
    when.at_ms = support_moment(f);
    support_copy(f, "large", "copy");
    assert_int_equal(count_below(f, "copy", 0), ALL);
    support_remove(f, "large/07");
    assert_ok(ash_tree_copy(f->tree, "large", &when, "was", &o, NULL, NULL, &f->err), &f->err);
    assert_int_equal(count_below(f, "was", 0), ALL);
    support_expect_seed(f, "was/07/29/b", 2);
    assert_int_equal(support_count(f->contents, "{}"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define here(test) cmocka_unit_test_setup_teardown(test, support_setup, support_teardown)
        here(test_tree_large__folders_go_and_come_back),
        here(test_tree_large__folders_are_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
