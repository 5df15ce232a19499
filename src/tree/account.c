/* SPDX-License-Identifier: Apache-2.0 */
/* What a commit adds below folders that have a quota, and to users who do.
 *
 * A tree without quotas is asked once in each commit that changes lengths whether it has any, and
 * that is all.  Else the folders above each change are looked up as far as they are not known, unless
 * only users have quotas, and then all quotas together. */
#include "tree/account.h"

#include "base/mem.h"
#include "base/server_codes.h"
#include "bucket/bucket.h"
#include "tree/change.h"
#include "tree/quota.h"

#include <string.h>

enum { DEPTH_MAX = 65536, IDS_AT_ONCE = 1000 }; /* deeper is a circle, which is damage */

void ash__account_release(ash_tree_account *a)
{
    for (size_t i = 0; i < a->node_count; i++)
        bson_value_destroy(&a->nodes[i].id);
    ash__free(a->nodes);
    ash__free(a->slots);
    ash__free(a->quotas);
    memset(a, 0, sizeof *a);
}

/* What documents say may be any number: where it comes to too much, it stays there. */
static int64_t sum_of(int64_t a, int64_t b)
{
    if (b > 0 && a > INT64_MAX - b)
        return INT64_MAX;
    return b < 0 && a < -INT64_MAX - b ? -INT64_MAX : a + b;
}

/* ---- folders that are known ---- */

static size_t *slot_of(const ash_tree_account *a, const bson_value_t *id)
{
    size_t i = (size_t)ash__hash_id(id) & (a->slot_count - 1);
    while (a->slots[i] != 0 && !ash__same_id(&a->nodes[a->slots[i] - 1].id, id))
        i = (i + 1) & (a->slot_count - 1);
    return &a->slots[i];
}

static void make_room(ash_tree_account *a)
{
    if (a->node_count * 2 < a->slot_count)
        return;
    ash__free(a->slots);
    a->slot_count = a->slot_count == 0 ? 64 : a->slot_count * 2;
    a->slots = ash__alloc_array(a->slot_count, sizeof *a->slots);
    for (size_t i = 0; i < a->node_count; i++)
        *slot_of(a, &a->nodes[i].id) = i + 1;
}

static size_t find_node(const ash_tree_account *a, const bson_value_t *id)
{
    return a->slot_count > 0 ? *slot_of(a, id) - 1 : ASH_NO_NODE; /* 0 - 1 is none */
}

static size_t add_node(ash_tree_account *a, const bson_value_t *id)
{
    a->nodes = ash__grow_array(a->nodes, a->node_count, &a->node_capacity, sizeof *a->nodes);
    ash_account_node *node = &a->nodes[a->node_count++];
    *node = (ash_account_node){.above = ASH_NO_NODE, .quota = ASH_NO_NODE};
    bson_value_copy(id, &node->id);
    make_room(a);
    *slot_of(a, id) = a->node_count;
    return a->node_count - 1;
}

/* ---- looking up ---- */

static int ask_whether_any(ash_tree_commit *c, bool *any, ash_error *err)
{
    ash_tree_account *a = &c->account;
    int rc = a->is_asked ? 0 : ash__quota_kinds(c->tree, &c->op, &a->is_used, &a->of_folders, err);
    a->is_asked = rc == 0;
    *any = rc == 0 && a->is_used;
    return rc;
}

/* What is about to be made, or has just been, says where it lies, so that nobody has to ask. */
typedef struct family {
    ash_tree_entry *const *items;
    size_t count;
} family;

static void add_family(ash_tree_account *a, const family *f)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->items[i]->is_folder && find_node(a, &f->items[i]->id) == ASH_NO_NODE)
            (void)add_node(a, &f->items[i]->id);
    for (size_t i = 0; i < f->count; i++) {
        size_t node = f->items[i]->is_folder ? find_node(a, &f->items[i]->id) : ASH_NO_NODE;
        size_t above = find_node(a, &f->items[i]->parent);
        if (node == ASH_NO_NODE)
            continue;
        if (above == ASH_NO_NODE)
            above = add_node(a, &f->items[i]->parent);
        a->nodes[node].above = above;
    }
}

/* The folder, and all above it, are known then. */
static int reach(ash_tree_commit *c, const bson_value_t *id, size_t *out, ash_error *err)
{
    ash_tree_account *a = &c->account;
    size_t node = find_node(a, id);
    int rc = 0;
    *out = node = node != ASH_NO_NODE ? node : add_node(a, id);
    for (size_t depth = 0; rc == 0 && depth < DEPTH_MAX; depth++) {
        ash_tree_entry *folder = NULL;
        /* Roots are named by texts, everything else has an ObjectId. */
        if (a->nodes[node].id.value_type == BSON_TYPE_UTF8)
            break;
        if (a->nodes[node].above == ASH_NO_NODE) {
            rc = ash__tree_current(c->tree, &a->nodes[node].id, &c->op, &folder, err);
            if (rc != 0 || folder == NULL || folder->parent.value_type == BSON_TYPE_EOD) {
                ash_tree_entry_free(folder);
                break;
            }
            size_t above = find_node(a, &folder->parent);
            if (above == ASH_NO_NODE)
                above = add_node(a, &folder->parent);
            a->nodes[node].above = above;
            ash_tree_entry_free(folder);
        }
        node = a->nodes[node].above;
    }
    return rc;
}

static void take_quota(ash_tree_account *a, const bson_t *doc)
{
    bson_iter_t it;
    ash_quota_document q;
    if (!bson_iter_init_find(&it, doc, "_id"))
        return;
    size_t node = find_node(a, bson_iter_value(&it));
    if (node == ASH_NO_NODE)
        return;
    ash__quota_read(doc, &q);
    a->quotas = ash__grow_array(a->quotas, a->quota_count, &a->quota_capacity, sizeof *a->quotas);
    a->nodes[node].quota = a->quota_count;
    a->quotas[a->quota_count++] =
        (ash_account_quota){.node = node, .max = q.max, .used = q.used, .counting = q.counting};
}

static int find_quotas(ash_tree_commit *c, const bson_t *filter, ash_error *err)
{
    ash_find_options o = ash__tree_find_options(&c->op);
    ash_cursor *cursor = NULL;
    ash_doc doc = {NULL, 0};
    bson_t view;
    int rc = ash_collection_find(c->tree->quotas, filter, &o, &cursor, err);
    while (rc == 0 && (rc = ash_cursor_next(cursor, &doc, err)) == 0 && doc.data != NULL) {
        ash__doc_to_bson(doc, &view);
        take_quota(&c->account, &view);
    }
    ash_cursor_free(cursor);
    return rc;
}

/* The quotas of all folders that became known since. */
static int look_up_quotas(ash_tree_commit *c, ash_error *err)
{
    ash_tree_account *a = &c->account;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < a->node_count;) {
        bson_t filter = BSON_INITIALIZER, in, ids;
        uint32_t n = 0;
        bson_append_document_begin(&filter, "_id", 3, &in);
        bson_append_array_begin(&in, "$in", 3, &ids);
        for (; i < a->node_count && n < IDS_AT_ONCE; i++) {
            char buf[12];
            const char *key;
            if (a->nodes[i].is_asked)
                continue;
            a->nodes[i].is_asked = true;
            size_t len = bson_uint32_to_string(n++, &key, buf, sizeof buf);
            bson_append_value(&ids, key, (int)len, &a->nodes[i].id);
        }
        bson_append_array_end(&in, &ids);
        bson_append_document_end(&filter, &in);
        rc = n > 0 ? find_quotas(c, &filter, err) : 0;
        bson_destroy(&filter);
    }
    return rc;
}

/* ---- what changes ---- */

static void touch(ash_tree_account *a, size_t node, int64_t bytes)
{
    a->nodes[node].is_touched = true;
    a->nodes[node].bytes = sum_of(a->nodes[node].bytes, bytes);
}

int ash__account_add(ash_tree_commit *c, const bson_value_t *folder, int64_t bytes, ash_error *err)
{
    size_t node = ASH_NO_NODE;
    bool any = false;
    int rc = bytes != 0 ? ask_whether_any(c, &any, err) : 0;
    if (!any || !c->account.of_folders)
        return rc;
    rc = reach(c, folder, &node, err);
    if (rc == 0)
        touch(&c->account, node, bytes);
    return rc;
}

int ash__account_user(ash_tree_commit *c, const ash_tree_entry *file, int64_t bytes, ash_error *err)
{
    const char *who = bytes != 0 ? ash_tree_entry_written_by(file) : NULL;
    bool any = false;
    int rc = who != NULL && ash__quota_may_have(who) ? ask_whether_any(c, &any, err) : 0;
    if (!any)
        return rc;
    bson_t doc = BSON_INITIALIZER;
    bson_value_t id = ash__quota_user_id(who, &doc);
    size_t node = find_node(&c->account, &id);
    touch(&c->account, node != ASH_NO_NODE ? node : add_node(&c->account, &id), bytes);
    bson_destroy(&doc);
    return 0;
}

int ash__account_users(ash_tree_commit *c, ash_tree_entry *const *entries, size_t count, int sign,
                       ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = ash__account_user(c, entries[i], sign * entries[i]->content.length, err);
    return rc;
}

static bool has_bytes(ash_tree_entry *const *entries, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i]->content.length > 0)
            return true;
    return false;
}

int ash__account_entries(ash_tree_commit *c, ash_tree_entry *const *entries, size_t count, int sign,
                         ash_error *err)
{
    bool any = false;
    int rc = has_bytes(entries, count) ? ask_whether_any(c, &any, err) : 0;
    if (any)
        rc = ash__account_users(c, entries, count, sign, err);
    if (rc != 0 || !any || !c->account.of_folders)
        return rc;
    add_family(&c->account, &(family){entries, count});
    for (size_t i = 0; rc == 0 && i < count; i++) {
        size_t node = ASH_NO_NODE;
        int64_t length = entries[i]->content.length;
        rc = length > 0 ? reach(c, &entries[i]->parent, &node, err) : 0;
        if (node != ASH_NO_NODE)
            touch(&c->account, node, sign * length);
    }
    return rc;
}

int ash__account_documents(ash_tree_commit *c, bson_t *const *docs, size_t count, ash_error *err)
{
    ash_tree_entries entries = ASH_TREE_ENTRIES_INIT;
    bool any = false;
    int rc = ask_whether_any(c, &any, err);
    for (size_t i = 0; rc == 0 && any && i < count; i++) {
        ash_tree_entry *e = NULL;
        rc = ash__entry_new(bson_copy(docs[i]), &e, err);
        if (rc == 0)
            ash__entries_add(&entries, e);
    }
    if (rc == 0 && any)
        rc = ash__account_entries(c, entries.items, entries.count, 1, err);
    ash__entries_release(&entries);
    return rc;
}

/* ---- moves ---- */

static bool is_above(const ash_tree_account *a, size_t from, size_t wanted)
{
    size_t depth = 0;
    for (size_t i = from; i != ASH_NO_NODE && depth < DEPTH_MAX; i = a->nodes[i].above, depth++)
        if (i == wanted)
            return true;
    return false;
}

/* A quota holds on the one side, and not on the other. */
static bool is_crossed(const ash_tree_account *a, size_t from, size_t to)
{
    for (size_t i = 0; i < a->quota_count; i++)
        if (is_above(a, from, a->quotas[i].node) != is_above(a, to, a->quotas[i].node))
            return true;
    return false;
}

/* Of a file its length; of a folder what it has counted, or what is counted now. */
static int measure(ash_tree_commit *c, const ash_tree_entry *moved, int64_t *bytes, ash_error *err)
{
    ash_quota_document q;
    bool there = false;
    *bytes = moved->content.length;
    if (!moved->is_folder)
        return 0;
    int rc = ash__quota_find(c->tree, &moved->id, &c->op, &q, &there, err);
    if (rc == 0 && there && q.used >= 0)
        *bytes = q.used;
    else if (rc == 0)
        rc = ash__quota_count(c->tree, &moved->id, !c->whole, &c->op, bytes, err);
    c->too_many = rc == ASH_ETOOBIG;
    return rc;
}

int ash__account_move(ash_tree_commit *c, const ash_tree_entry *moved, const bson_value_t *to,
                      ash_error *err)
{
    size_t before = ASH_NO_NODE, after = ASH_NO_NODE;
    int64_t bytes = 0;
    bool any = false;
    int rc = ask_whether_any(c, &any, err);
    if (!any || !c->account.of_folders)
        return rc;
    rc = reach(c, &moved->parent, &before, err);
    if (rc == 0)
        rc = reach(c, to, &after, err);
    if (rc == 0)
        rc = look_up_quotas(c, err);
    if (rc == 0 && is_crossed(&c->account, before, after))
        rc = measure(c, moved, &bytes, err);
    if (rc == 0) {
        touch(&c->account, before, -bytes);
        touch(&c->account, after, bytes);
    }
    return rc;
}

/* ---- the end ---- */

static void add_up(ash_tree_account *a)
{
    for (size_t i = 0; i < a->node_count; i++) {
        size_t depth = 0;
        if (!a->nodes[i].is_touched)
            continue;
        for (size_t k = i; k != ASH_NO_NODE && depth < DEPTH_MAX; k = a->nodes[k].above, depth++) {
            ash_account_quota *q =
                a->nodes[k].quota != ASH_NO_NODE ? &a->quotas[a->nodes[k].quota] : NULL;
            if (q == NULL)
                continue;
            q->is_touched = true;
            q->bytes = sum_of(q->bytes, a->nodes[i].bytes);
        }
    }
}

static int settle_one(ash_tree_commit *c, const ash_account_quota *q, ash_error *err)
{
    const bson_value_t *id = &c->account.nodes[q->node].id;
    bool more = q->bytes > 0 && q->used >= 0 && q->max >= 0;
    if (more && sum_of(q->used, q->bytes) > q->max)
        return ash__quota_refuse(c->tree, id, &(ash_quota_document){.max = q->max, .used = q->used},
                                 q->bytes, &c->op, err);
    if (q->bytes == 0 && !q->counting)
        return 0;
    return ash__quota_note(c->tree, id, q->used >= 0 ? q->bytes : 0, q->counting, &c->op, err);
}

int ash__account_settle(ash_tree_commit *c, ash_error *err)
{
    ash_tree_account *a = &c->account;
    if (!a->is_used)
        return 0;
    int rc = look_up_quotas(c, err);
    if (rc == 0)
        add_up(a);
    for (size_t i = 0; rc == 0 && i < a->quota_count; i++)
        if (a->quotas[i].is_touched)
            rc = settle_one(c, &a->quotas[i], err);
    return rc;
}
