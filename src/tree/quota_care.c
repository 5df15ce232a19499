/* SPDX-License-Identifier: Apache-2.0 */
/* Looking after quotas: are their sums right, and is there a folder for each? */
#include "tree/quota.h"

#include "base/mem.h"
#include "tree/change.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 5 };
static const int64_t MINUTE_MS = 60000;

/* All of them, by their folders' ids. */
typedef struct quota_list {
    bson_value_t *ids;
    size_t count, capacity;
} quota_list;

static void release_list(quota_list *l)
{
    for (size_t i = 0; i < l->count; i++)
        bson_value_destroy(&l->ids[i]);
    ash__free(l->ids);
}

static int read_list(ash_tree *tree, const ash_op *op, quota_list *l, ash_error *err)
{
    bson_t all = BSON_INITIALIZER;
    ash_find_options o = ash__tree_find_options(op);
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bson_t view;
    bson_iter_t it;
    int rc = ash_collection_find(tree->quotas, &all, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        ash__doc_to_bson(doc, &view);
        if (!bson_iter_init_find(&it, &view, "_id"))
            continue;
        l->ids = ash__grow_array(l->ids, l->count, &l->capacity, sizeof *l->ids);
        bson_value_copy(bson_iter_value(&it), &l->ids[l->count++]);
    }
    ash_cursor_free(cursor);
    return rc;
}

/* ---- sums ---- */

typedef struct sum {
    ash_quota_document quota;
    int64_t counted;
    bool wrong; /* each time that it was looked at, though nobody changed it meanwhile */
} sum;

/* Files that move while others are counted may be counted twice, or not at all; so what seems wrong
 * is looked at again. */
static int look_at(ash_tree *tree, const bson_value_t *id, const ash_op *op, sum *s, ash_error *err)
{
    bool there = false;
    int rc = ash__quota_find(tree, id, op, &s->quota, &there, err);
    s->wrong = rc == 0 && there && s->quota.used >= 0;
    for (int i = 0; rc == 0 && s->wrong && i < TRIES; i++) {
        int64_t before = s->quota.used;
        rc = ash__quota_count(tree, id, false, op, &s->counted, err);
        if (rc == 0)
            rc = ash__quota_find(tree, id, op, &s->quota, &there, err);
        s->wrong = rc == 0 && there && (s->quota.used != before || s->quota.used != s->counted);
    }
    return rc;
}

static bool is_left(ash_tree *tree, const ash_quota_document *q, int64_t age_ms)
{
    int64_t now = 0;
    return ash_store_time(tree->store, &now, NULL, NULL) == 0 && q->set_ms < now - age_ms;
}

static int check_one(ash_tree *tree, const bson_value_t *id, const ash_op *op,
                     ash_quota_tell_fn tell, void *ctx, ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    const char *user = ash__quota_user(id);
    char text[200] = "";
    sum s = {0};
    bool reached = false;
    int rc = look_at(tree, id, op, &s, err);
    if (rc == 0 && s.wrong)
        snprintf(
            text, sizeof text,
            "%s quota counts %" PRId64 " bytes, and %s files have %" PRId64 ": set the quota again",
            user != NULL ? "the" : "its", s.quota.used, user != NULL ? "the" : "its", s.counted);
    else if (rc == 0 && s.quota.max >= 0 && s.quota.used < 0 &&
             is_left(tree, &s.quota, 10 * MINUTE_MS))
        snprintf(text, sizeof text, "%s quota was never counted: set it again",
                 user != NULL ? "the" : "its");
    if (rc == 0 && text[0] != '\0' && user == NULL)
        rc = ash__quota_folder(tree, id, op, &chain, &reached, err);
    if (rc == 0 && text[0] != '\0')
        tell(ctx, chain.count > 0 ? ash__chain_last(&chain) : NULL, user, text);
    ash__chain_release(&chain);
    return rc;
}

/* ---- of all users at once ---- */

typedef struct his_sum {
    const char *user;
    const bson_value_t *id;
    int64_t used, counted;
} his_sum;

typedef struct users_sums {
    his_sum *items;
    size_t count;
} users_sums;

static int compare_users(const void *a, const void *b)
{
    return strcmp(((const his_sum *)a)->user, ((const his_sum *)b)->user);
}

static int take_written(void *ctx, const char *who, int64_t bytes, ash_error *err)
{
    const users_sums *s = ctx;
    const his_sum key = {.user = who};
    (void)err;
    his_sum *his =
        who == NULL ? NULL : bsearch(&key, s->items, s->count, sizeof *s->items, compare_users);
    if (his != NULL)
        ash__add_length(&his->counted, bytes);
    return 0;
}

/* One scan for all of them; whoever's sum seems wrong, or is not known, is looked at by himself. */
static int check_users(ash_tree *tree, const quota_list *l, const ash_op *op,
                       ash_quota_tell_fn tell, void *ctx, ash_error *err)
{
    users_sums s = {ash__alloc_array(l->count + 1, sizeof *s.items), 0};
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < l->count; i++) {
        ash_quota_document q;
        bool there = false;
        const char *user = ash__quota_user(&l->ids[i]);
        rc = user != NULL ? ash__quota_find(tree, &l->ids[i], op, &q, &there, err) : 0;
        if (rc == 0 && there)
            s.items[s.count++] = (his_sum){user, &l->ids[i], q.used, 0};
    }
    if (s.count > 1)
        qsort(s.items, s.count, sizeof *s.items, compare_users);
    if (rc == 0 && s.count > 0)
        rc = ash__quota_each_written(tree, NULL, op, take_written, &s, err);
    for (size_t i = 0; rc == 0 && i < s.count; i++)
        if (s.items[i].used != s.items[i].counted)
            rc = check_one(tree, s.items[i].id, op, tell, ctx, err);
    ash__free(s.items);
    return rc;
}

int ash__quotas_check(ash_tree *tree, const ash_op *op, ash_quota_tell_fn tell, void *ctx,
                      ash_error *err)
{
    quota_list l = {0};
    int rc = read_list(tree, op, &l, err);
    for (size_t i = 0; rc == 0 && i < l.count; i++)
        if (ash__quota_user(&l.ids[i]) == NULL)
            rc = check_one(tree, &l.ids[i], op, tell, ctx, err);
    if (rc == 0)
        rc = check_users(tree, &l, op, tell, ctx, err);
    release_list(&l);
    return rc;
}

static int recount(ash_tree *tree, const bson_value_t *id, const ash_op *op, ash_error *err)
{
    bson_t *change = BCON_NEW("$set", "{", "counting", BCON_BOOL(true), "}", "$inc", "{", "changes",
                              BCON_INT64(1), "}");
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__quota_update(tree, id, change, false, op, &own);
    if (rc == 0)
        rc = ash__quota_count_apart(tree, id, op, &own);
    else if (rc == ASH_ECONFLICT)
        rc = 0; /* somebody has taken it away */
    bson_destroy(change);
    return ash__unless(0, rc, &own, err);
}

int ash__quotas_recount(ash_tree *tree, const ash_op *op, ash_error *err)
{
    quota_list l = {0};
    int rc = read_list(tree, op, &l, err);
    for (size_t i = 0; rc == 0 && i < l.count; i++)
        if (ash__quota_user(&l.ids[i]) == NULL)
            rc = recount(tree, &l.ids[i], op, err);
    release_list(&l);
    return rc;
}

/* ---- what is left of those that went ---- */

static int collect_one(ash_tree_commit *c, void *ctx, ash_error *err)
{
    const bson_value_t *id = ctx;
    ash_quota_document q;
    ash_tree_entry *folder = NULL;
    bool there = false;
    int rc = ash__quota_find(c->tree, id, &c->op, &q, &there, err);
    bool moving = there && q.max < 0;
    if (rc != 0 || !there || (moving && !is_left(c->tree, &q, 60 * MINUTE_MS)))
        return rc;
    if (!moving && id->value_type == BSON_TYPE_UTF8)
        return 0; /* a root is always there */
    if (ash__quota_user(id) != NULL)
        return 0; /* users who were dropped may come again, and their files are there */
    rc = moving ? 0 : ash__tree_newest(c->tree, id, &c->op, &folder, err);
    if (rc == 0 && folder == NULL)
        rc = ash__quota_remove(c->tree, id, &c->op, err);
    ash_tree_entry_free(folder);
    return rc;
}

int ash__quotas_collect(ash_tree *tree, const ash_op *op, ash_error *err)
{
    static const ash_tree_change_options plain = ASH_TREE_CHANGE_OPTIONS_INIT;
    quota_list l = {0};
    int rc = read_list(tree, op, &l, err);
    for (size_t i = 0; rc == 0 && i < l.count; i++)
        rc = ash__tree_change(tree, &plain, op, collect_one, &l.ids[i], err);
    release_list(&l);
    return rc;
}
