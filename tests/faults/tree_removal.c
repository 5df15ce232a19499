/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_removal.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "steps.h"
#include "tree/tree.h"
#include "tree_steps.h"

#include <string.h>

enum { MOST_AT_ONCE = 2 };

/* As if a commit took no more. */
static tree_worker open_root(ash_store *store)
{
    ash_error err = ASH_ERROR_INIT;
    tree_worker w;
    assert_ok(tree_worker_open(&w, store, 1, 0, &err), &err);
    w.tree->whole_max = w.tree->finds_max = MOST_AT_ONCE;
    return w;
}

static int remove_folder_in_parts(ash_tree *tree, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.recursive = true;
    return ash_tree_remove(tree, "d", &o, NULL, err);
}

int tree_removal_do(ash_store *store, ash_error *err)
{
    tree_worker w;
    int rc = tree_worker_open(&w, store, 1, 0, err);
    if (rc == 0) {
        w.tree->whole_max = w.tree->finds_max = MOST_AT_ONCE;
        rc = remove_folder_in_parts(w.tree, err);
    }
    tree_worker_close(&w);
    return rc;
}

/* Paths and digests of all that is there; ash__free(). */
static char *list(ash_tree *tree, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    ash_buffer out = ASH_BUFFER_INIT;
    o.recursive = true;
    int rc = ash_tree_list(tree, "/", &o, NULL, &l, &err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, &err)) == 0 && e != NULL)
        ash__buffer_printf(&out, "%s %s\n", ash_tree_entry_path(e), ash_tree_entry_digest(e));
    if (rc != 0)
        fail_msg("%s: %s", what, err.text);
    ash_tree_listing_free(l);
    char *text = ash__strdup(ash__buffer_text(&out));
    ash__buffer_release(&out);
    return text;
}

/* Each line of `now` is one of `before`. */
static void expect_part(const char *now, const char *before, const char *what)
{
    for (const char *line = now; *line != 0; line = strchr(line, '\n') + 1) {
        char *wanted = ash__strndup(line, (size_t)(strchr(line, '\n') + 1 - line));
        if (strstr(before, wanted) == NULL)
            fail_msg("%s: not as it was: %s", what, wanted);
        ash__free(wanted);
    }
}

static void expect_sound(ash_store *store, ash_tree *tree, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    if (!steps_check(store, &err) || !tree_is_sound(tree, &err))
        fail_msg("%s: %s", what, err.text);
}

void tree_removal_foresee(tree_removal *r, portrayed *subject)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *e = NULL;
    ash_store *store = portrayed_begin(subject);
    tree_worker w = open_root(store);
    r->subject = subject;
    r->before = list(w.tree, "at first");
    assert_ok(ash_tree_get(w.tree, "d", NULL, NULL, &e, &err), &err);
    bson_value_copy(ash_tree_entry_id(e), &r->id);
    ash_tree_entry_free(e);
    tree_worker_close(&w);
    ash_store_close(store);
}

void tree_removal_release(tree_removal *r)
{
    ash__free(r->before);
    bson_value_destroy(&r->id);
}

static void go_on(ash_tree *tree, bool done, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    int rc = remove_folder_in_parts(tree, &err);
    /* The last commit may have been done, though it was not acknowledged. */
    if (rc != ASH_ENOTFOUND && (done || rc != 0))
        fail_msg("%s: the same again: %d %s", what, rc, err.text);
}

/* What went comes back, in however many attempts it went. */
static void bring_back(const tree_removal *r, ash_tree *tree, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    if (ash_tree_undelete(tree, &r->id, NULL, NULL, NULL, NULL, &err) != 0)
        fail_msg("%s: it does not come back: %s", what, err.text);
    char *back = list(tree, what);
    assert_string_equal(back, r->before);
    ash__free(back);
}

void tree_removal_end(const tree_removal *r, ash_store *store, int rc, const char *what)
{
    ash_store_close(store);
    store = portrayed_open(r->subject);
    tree_worker w = open_root(store);
    char *now = list(w.tree, what);
    expect_sound(store, w.tree, what);
    expect_part(now, r->before, what);
    if (rc == 0 && strstr(now, "/d") != NULL)
        fail_msg("%s: it said that all was removed:\n%s", what, now);
    go_on(w.tree, rc == 0, what);
    expect_sound(store, w.tree, what);
    char *rest = list(w.tree, what);
    assert_null(strstr(rest, "/d"));
    bring_back(r, w.tree, what);
    expect_sound(store, w.tree, what);
    tree_worker_close(&w);
    ash_store_close(store);
    ash__free(rest);
    ash__free(now);
}
