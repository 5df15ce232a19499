/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that programs hold, with ash_lock or the npm package, on what a client wants to change. */
#include "base/clock.h"
#include "base/mem.h"
#include "http/dav/locks_state.h"

#include <string.h>

static bool is_own(const bson_value_t *doc_id, const ash_dav_lock_set *own)
{
    for (size_t i = 0; i < own->count; i++) {
        const bson_value_t *other = &own->items[i].hand.doc_id;
        bson_t a = BSON_INITIALIZER, b = BSON_INITIALIZER;
        BSON_APPEND_VALUE(&a, "", doc_id);
        BSON_APPEND_VALUE(&b, "", other);
        bool same = bson_equal(&a, &b);
        bson_destroy(&a);
        bson_destroy(&b);
        if (same)
            return true;
    }
    return false;
}

/* Is the resource that a lock document is of below the folder? */
static int lies_below(ash_dav_locks *l, const bson_value_t *resource, const char *folder,
                      bool *below, ash_error *err)
{
    ash_tree_entry *e = NULL;
    size_t len = strlen(folder);
    *below = false;
    int rc = ash_tree_get_by_id(l->tree, resource, 0, NULL, &e, err);
    /* Locks of this collection may be on anything; what is no entry is nobody's here. */
    if (rc == ASH_ENOTFOUND || rc == ASH_EINVAL)
        return 0;
    if (rc == 0) {
        const char *path = ash_tree_entry_path(e);
        *below = strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
    }
    ash_tree_entry_free(e);
    return rc;
}

static char *describe(const bson_t *doc)
{
    bson_iter_t top, host, pid;
    if (bson_iter_init(&top, doc) && bson_iter_find_descendant(&top, "holders.0.host", &host) &&
        BSON_ITER_HOLDS_UTF8(&host) && bson_iter_init(&top, doc) &&
        bson_iter_find_descendant(&top, "holders.0.pid", &pid))
        return ash__sprintf("process %lld on %s", (long long)bson_iter_as_int64(&pid),
                            bson_iter_utf8(&host, NULL));
    return ash__strdup("a program");
}

static bson_t *filter_of(const ash_tree_entry *entry, bool below)
{
    bson_t *filter = BCON_NEW("expires", "{", "$gte", BCON_DATE_TIME(ash__clock_wall_ms()), "}",
                              "$or", "[", "{", "write_lock", BCON_BOOL(true), "}", "{",
                              "read_locks", "{", "$gt", BCON_INT32(0), "}", "}", "]");
    bson_t equal;
    if (below)
        return filter;
    BSON_APPEND_DOCUMENT_BEGIN(filter, "files_id", &equal);
    BSON_APPEND_VALUE(&equal, "$eq", ash_tree_entry_id(entry));
    bson_append_document_end(filter, &equal);
    return filter;
}

typedef struct asking {
    const ash_tree_entry *entry;
    bool below;
    const ash_dav_lock_set *own;
} asking;

static int look_at(ash_dav_locks *l, const asking *a, const bson_t *doc, char **who, ash_error *err)
{
    bson_iter_t id, resource;
    bool in = !a->below;
    int rc = 0;
    if (!bson_iter_init_find(&id, doc, "_id") || is_own(bson_iter_value(&id), a->own) ||
        !bson_iter_init_find(&resource, doc, "files_id"))
        return 0;
    if (a->below)
        rc = lies_below(l, bson_iter_value(&resource), ash_tree_entry_path(a->entry), &in, err);
    if (rc == 0 && in)
        *who = describe(doc);
    return rc;
}

int ash__dav_locks_foreign(ash_dav_locks *l, const ash_tree_entry *entry, bool below,
                           const ash_dav_lock_set *own, char **who, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc view;
    bson_t doc;
    bson_t *filter = filter_of(entry, below);
    const asking a = {entry, below, own};
    *who = NULL;
    int rc = ash_collection_find(l->grants, filter, NULL, &cursor, err);
    bson_destroy(filter);
    while (rc == 0 && *who == NULL) {
        rc = ash_cursor_next(cursor, &view, err);
        if (rc != 0 || view.data == NULL)
            break;
        if (bson_init_static(&doc, view.data, view.len))
            rc = look_at(l, &a, &doc, who, err);
    }
    ash_cursor_free(cursor);
    return rc;
}
