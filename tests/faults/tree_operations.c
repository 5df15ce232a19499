/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_operations.h"

#include "base/mem.h"
#include "steps.h"

#include <string.h>

enum { OTHER = 9 }; /* content of the other root's file */

/* ---- operations ---- */

typedef struct local_file {
    const char *path;
    uint32_t content;
} local_file;

/* New and changed, of every size; two have the same content, and some are nearly what was before. */
static int put_recursively(ash_tree *tree, size_t number, ash_error *err)
{
    static const local_file files[] = {{"d/tiny", 2},     {"d/small", 5},  {"new/packed", 7},
                                       {"new/same", 11},  {"d/large", 11}, {"d/whole", 13},
                                       {"new/pieces", 15}};
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.make_folders = true;
    return tree_put(tree, files[number].path, files[number].content, &o, err);
}

static int move(ash_tree *tree, size_t number, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    o.replace = true;
    return number == 0 ? ash_tree_move(tree, "d", "e/moved", NULL, NULL, NULL, err)
                       : ash_tree_move(tree, "e/moved/small", "a", &o, NULL, NULL, err);
}

static int copy(ash_tree *tree, size_t number, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    (void)number;
    o.recursive = true;
    return ash_tree_copy(tree, "d", NULL, "e/copy", &o, NULL, NULL, err);
}

static int remove_recursively(ash_tree *tree, size_t number, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    (void)number;
    o.recursive = true;
    return ash_tree_remove(tree, "d", &o, NULL, err);
}

static int undelete(ash_tree *tree, size_t number, ash_error *err)
{
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    (void)number;
    int rc = ash_tree_trash(tree, "", 1, NULL, &l, err);
    if (rc == 0)
        rc = ash_tree_listing_next(l, &e, err);
    if (rc == 0)
        rc = ash_tree_undelete(tree, ash_tree_entry_id(e), NULL, NULL, NULL, NULL, err);
    ash_tree_listing_free(l);
    return rc;
}

static int mark(ash_tree *tree, size_t number, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    if (number == 0)
        return ash_tree_tag(tree, "d/large", 1, "kept", false, NULL, err);
    bson_t *props = BCON_NEW("colour", BCON_UTF8("red"));
    o.props = props;
    int rc = ash_tree_set(tree, "d", &o, NULL, NULL, err);
    bson_destroy(props);
    return rc;
}

static int prune(ash_tree *tree, size_t number, ash_error *err)
{
    ash_tree_prune_options o = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    int64_t gone;
    o.keep = &keep;
    return number == 0 ? ash_tree_prune(tree, "", &o, NULL, NULL, err)
                       : tree_collect(tree, &gone, err);
}

static int collect(ash_tree *tree, size_t number, ash_error *err)
{
    int64_t gone;
    (void)number;
    return tree_collect(tree, &gone, err);
}

typedef struct tree_operation {
    operation_facts facts;
    int (*step)(ash_tree *tree, size_t number, ash_error *err);
} tree_operation;

static const tree_operation operations[] = {
    {{"put -r", 7, false}, .step = put_recursively},
    {{"move", 2, false}, .step = move},
    {{"copy", 1, true}, .step = copy},
    {{"remove", 1, false}, .step = remove_recursively},
    {{"undelete", 1, true}, .step = undelete},
    {{"tag and set", 2, true}, .step = mark},
    {{"prune", 2, false}, .step = prune},
    {{"gc", 1, false}, .step = collect},
};

static operation_facts facts(size_t op)
{
    return operations[op].facts;
}

/* ---- the store ---- */

static tree_worker open_root(ash_store *store, uint32_t root)
{
    ash_error err = ASH_ERROR_INIT;
    tree_worker w;
    assert_ok(tree_worker_open(&w, store, 1, root, &err), &err);
    return w;
}

static bool put_other(ash_store *store, size_t op)
{
    tree_worker w;
    ash_error err = ASH_ERROR_INIT;
    (void)op;
    int rc = tree_worker_open(&w, store, 1, 1, &err);
    if (rc == 0)
        rc = tree_put(w.tree, "other", OTHER, NULL, &err);
    tree_worker_close(&w);
    return rc == 0;
}

/* A past, something in the trash, and contents that nobody has. */
static void fill(ash_store *store)
{
    static const local_file files[] = {{"a", 4},        {"d/tiny", 1},   {"d/small", 4},
                                       {"d/large", 10}, {"d/whole", 12}, {"d/large", 9},
                                       {"d/large", 10}, {"e/x", 6},      {"e/gone", 8},
                                       {"e/old", 14},   {"e/none", 3}};
    ash_error err = ASH_ERROR_INIT;
    tree_worker w = open_root(store, 0);
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    ash_tree_prune_options p = ASH_TREE_PRUNE_OPTIONS_INIT;
    ash_tree_keep keep = ASH_TREE_KEEP_INIT;
    o.make_folders = true;
    p.keep = &keep;
    for (size_t i = 0; i < ASH_ARRAY_LEN(files); i++)
        assert_ok(tree_put(w.tree, files[i].path, files[i].content, &o, &err), &err);
    assert_ok(ash_tree_remove(w.tree, "e/old", NULL, NULL, &err), &err);
    assert_ok(ash_tree_remove(w.tree, "e/none", NULL, NULL, &err), &err);
    assert_ok(ash_tree_prune(w.tree, "e", &p, NULL, NULL, &err), &err);
    assert_ok(ash_tree_remove(w.tree, "e/gone", NULL, NULL, &err), &err);
    tree_worker_close(&w);
    assert_true(put_other(store, 0));
}

int tree_subject_setup(void **state)
{
    portrayed *s = ash__new(portrayed);
    portrayed_setup(s, fill);
    *state = s;
    return 0;
}

int tree_subject_teardown(void **state)
{
    portrayed_release(*state);
    ash__free(*state);
    return 0;
}

static char *portray(ash_tree *tree)
{
    ash_error err = ASH_ERROR_INIT;
    ash_buffer out = ASH_BUFFER_INIT;
    assert_ok(tree_portrait(tree, &out, &err), &err);
    char *text = ash__strdup(ash__buffer_text(&out));
    ash__buffer_release(&out);
    return text;
}

static void foresee(portrayed *s, size_t op)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = portrayed_begin(s);
    tree_worker w = open_root(store, 0);
    portrayed_forget(s);
    s->portraits[0] = portray(w.tree);
    for (size_t i = 0; i < operations[op].facts.count; i++) {
        assert_ok(operations[op].step(w.tree, i, &err), &err);
        s->portraits[i + 1] = portray(w.tree);
    }
    tree_worker_close(&w);
    ash_store_close(store);
}

static int act(ash_store *store, size_t op, size_t *done, ash_error *err)
{
    tree_worker w;
    *done = 0;
    int rc = tree_worker_open(&w, store, 1, 0, err);
    while (rc == 0 && *done < operations[op].facts.count) {
        rc = operations[op].step(w.tree, *done, err);
        *done += rc == 0;
    }
    tree_worker_close(&w);
    return rc;
}

/* ---- afterwards ---- */

static void expect_other(ash_store *store, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *e = NULL;
    size_t len;
    ash__free(tree_content(OTHER, &len));
    tree_worker w = open_root(store, 1);
    if (ash_tree_get(w.tree, "other", NULL, NULL, &e, &err) != 0)
        fail_msg("%s: somebody else's file: %s", what, err.text);
    assert_int_equal(ash_tree_entry_length(e), len);
    ash_tree_entry_free(e);
    tree_worker_close(&w);
}

static void expect_sound(ash_store *store, ash_tree *tree, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    if (!steps_check(store, &err) || !tree_is_sound(tree, &err))
        fail_msg("%s: %s", what, err.text);
}

/* What failed has left nothing that stays. */
static void expect_nothing_left(ash_tree *tree, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t gone;
    assert_ok(tree_collect(tree, &gone, &err), &err);
    assert_ok(tree_collect(tree, &gone, &err), &err);
    if (gone != 0)
        fail_msg("%s: a collection left %d contents", what, (int)gone);
}

static void end(portrayed *s, ash_store *store, size_t op, size_t done, bool other,
                const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store_close(store);
    store = portrayed_open(s);
    tree_worker w = open_root(store, 0);
    size_t i = portrayed_find_step(s, portray(w.tree), operations[op].facts.count, done, what);
    if (other)
        expect_other(store, what);
    expect_sound(store, w.tree, what);
    for (; i < operations[op].facts.count; i++)
        if (operations[op].step(w.tree, i, &err) != 0)
            fail_msg("%s: step %zu cannot be done again: %s", what, i, err.text);
    (void)portrayed_find_step(s, portray(w.tree), operations[op].facts.count,
                              operations[op].facts.count, what);
    expect_nothing_left(w.tree, what);
    if (!tree_is_sound(w.tree, &err))
        fail_msg("%s: in the end: %s", what, err.text);
    tree_worker_close(&w);
    ash_store_close(store);
}

const fault_subject tree_subject = {.count = ASH_ARRAY_LEN(operations),
                                    .facts = facts,
                                    .foresee = foresee,
                                    .act = act,
                                    .put_other = put_other,
                                    .end = end,
                                    .few_steps = 2,
                                    .seldom = 5};
