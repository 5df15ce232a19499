/* SPDX-License-Identifier: Apache-2.0 */
/* What was deleted together with a folder. */
#include "tree/history.h"

#include "base/mem.h"
#include "bucket/bucket.h"

enum { BATCH = 200 };

/* Some of the list, and which of them do not belong there. */
typedef struct batch {
    ash_tree_entries *list;
    size_t first, end;
    bool struck[BATCH];
} batch;

static const char *nth(size_t i, char buf[12])
{
    const char *key;
    bson_uint32_to_string((uint32_t)i, &key, buf, 12);
    return key;
}

bool ash__tree_filter_gone(const ash_tree_gone *gone, ash_tree_entry *const *folders, size_t count,
                           bson_t *filter)
{
    bson_t in, ids;
    size_t n = 0;
    char buf[12];
    bson_append_document_begin(filter, gone->earlier ? "gone_with" : "parent", -1, &in);
    bson_append_array_begin(&in, "$in", 3, &ids);
    for (size_t i = 0; i < count; i++)
        if (folders[i]->is_folder && gone->earlier)
            ash__tree_append_gone_with(&ids, nth(n++, buf), gone->id, &folders[i]->id);
        else if (folders[i]->is_folder)
            bson_append_value(&ids, nth(n++, buf), -1, &folders[i]->id);
    bson_append_array_end(&in, &ids);
    bson_append_document_end(filter, &in);
    if (gone->earlier)
        BCON_APPEND(filter, "until", "{", "$ne", BCON_DATE_TIME(gone->deleted_ms), "}");
    else
        bson_append_date_time(filter, "until", 5, gone->deleted_ms);
    return n > 0;
}

/* Versions of that time in the batch's folders: of deletions, as a rule. */
static int find_children(ash_tree *tree, batch *b, size_t max, const ash_op *op, ash_error *err)
{
    ash_tree_entries *list = b->list;
    ash_tree_gone gone = {&list->items[0]->id, list->items[0]->ended_ms, false};
    int rc = 0;
    for (int i = 0; rc == 0 && i < 2 && (max == 0 || list->count <= max); i++) {
        bson_t filter = BSON_INITIALIZER;
        ash_find_options o = ash__tree_find_options(op);
        gone.earlier = i > 0;
        if (max > 0)
            o.limit = (int64_t)(max - list->count) + 1;
        if (ash__tree_filter_gone(&gone, list->items + b->first, b->end - b->first, &filter))
            rc = ash__tree_find_all(tree->past, &filter, &o, list, err);
        bson_destroy(&filter);
    }
    return rc;
}

/* Whoever is among them is there again, or had a later life: of one that was deleted with the folder
 * more than once, the last. */
static int strike_out(ash_tree *tree, bool is_there, const bson_t *filter, batch *b,
                      const ash_op *op, ash_error *err)
{
    ash_find_options o = ash__tree_find_options(op);
    ash_tree_entries found = ASH_TREE_ENTRIES_INIT;
    bson_t *only = BCON_NEW("_id", BCON_INT32(1), "_version", BCON_INT32(1));
    o.projection = only;
    int rc = ash__tree_find_all(is_there ? tree->current : tree->past, filter, &o, &found, err);
    for (size_t i = 0; rc == 0 && i < found.count; i++)
        for (size_t k = b->first; k < b->end; k++)
            if (ash__same_id(&b->list->items[k]->id, &found.items[i]->id) &&
                (is_there || b->list->items[k]->version < found.items[i]->version))
                b->struck[k - b->first] = true;
    ash__entries_release(&found);
    bson_destroy(only);
    return rc;
}

static int strike_out_current(ash_tree *tree, batch *b, const ash_op *op, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash__filter_entries(&filter, "_id", b->list->items + b->first, b->end - b->first);
    int rc = strike_out(tree, true, &filter, b, op, err);
    bson_destroy(&filter);
    return rc;
}

/* by: how far behind each the first version is that counts. */
static int strike_out_later(ash_tree *tree, batch *b, int32_t by, const ash_op *op, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, any, one, range;
    char buf[12];
    /* First, as the deletion itself, which lies in the range, is told by it: the ranges are many. */
    BCON_APPEND(&filter, "_version", "{", "$type", BCON_UTF8("number"), "}");
    bson_append_array_begin(&filter, "$or", 3, &any);
    for (size_t i = b->first; i < b->end; i++) {
        const ash_tree_entry *e = b->list->items[i];
        bson_append_document_begin(&any, nth(i - b->first, buf), -1, &one);
        bson_append_document_begin(&one, "_id", 3, &range);
        ash__tree_append_version_id(&range, "$gt", &e->id, e->version + by - 1);
        ash__tree_append_version_id(&range, "$lte", &e->id, INT32_MAX);
        bson_append_document_end(&one, &range);
        bson_append_document_end(&any, &one);
    }
    bson_append_array_end(&filter, &any);
    int rc = strike_out(tree, false, &filter, b, op, err);
    bson_destroy(&filter);
    return rc;
}

static int leave_deleted(ash_tree *tree, ash_tree_entries *list, size_t first, int32_t by,
                         const ash_op *op, ash_error *err)
{
    size_t kept = first, count = list->count;
    int rc = 0;
    for (size_t i = first; i < count; i += BATCH) {
        batch b = {.list = list, .first = i, .end = count - i < BATCH ? count : i + BATCH};
        if (rc == 0)
            rc = strike_out_current(tree, &b, op, err);
        if (rc == 0)
            rc = strike_out_later(tree, &b, by, op, err);
        for (size_t k = i; k < b.end; k++)
            if (b.struck[k - i])
                ash_tree_entry_free(list->items[k]);
            else
                list->items[kept++] = list->items[k];
    }
    list->count = kept;
    return rc;
}

int ash__tree_leave_deleted(ash_tree *tree, ash_tree_entries *list, size_t first, const ash_op *op,
                            ash_error *err)
{
    return leave_deleted(tree, list, first, 1, op, err);
}

/* Without a look at the deletions, which the ranges of all of them begin with. */
int ash__tree_leave_last_deleted(ash_tree *tree, ash_tree_entries *list, const ash_op *op,
                                 ash_error *err)
{
    return leave_deleted(tree, list, 0, 2, op, err);
}

int ash__tree_deleted_below(ash_tree *tree, ash_tree_entries *list, size_t max, bool *more,
                            const ash_op *op, ash_error *err)
{
    int rc = 0;
    *more = false;
    for (size_t first = 0; rc == 0 && first < list->count && !*more;) {
        size_t before = list->count;
        batch b = {.list = list, .first = first};
        b.end = before - first > BATCH ? first + BATCH : before;
        rc = find_children(tree, &b, max, op, err);
        *more = rc == 0 && max > 0 && list->count > max;
        if (rc == 0 && !*more)
            rc = ash__tree_leave_deleted(tree, list, before, op, err);
        first = b.end;
    }
    return rc;
}
