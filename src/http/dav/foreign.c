/* SPDX-License-Identifier: Apache-2.0 */
/* Locks that programs hold, with ash_lock or the npm package, on what a client wants to change. */
#include "base/clock.h"
#include "base/mem.h"
#include "http/dav/locks_state.h"

#include <string.h>

/* ---- where something is ---- */

static bool is_same(const bson_value_t *a, const bson_value_t *b)
{
    bson_t x = BSON_INITIALIZER, y = BSON_INITIALIZER;
    BSON_APPEND_VALUE(&x, "", a);
    BSON_APPEND_VALUE(&y, "", b);
    bool same = bson_equal(&x, &y);
    bson_destroy(&x);
    bson_destroy(&y);
    return same;
}

int ash__dav_locks_path(ash_dav_locks *l, const bson_value_t *id, char **out, ash_error *err)
{
    ash_tree_entry *e = NULL;
    *out = NULL;
    /* The root's id is its name. */
    if (id->value_type == BSON_TYPE_UTF8) {
        if (strcmp(id->value.v_utf8.str, ash_tree_root(l->tree)) == 0)
            *out = ash__strdup("/");
        return 0;
    }
    int rc = ash_tree_get_by_id(l->tree, id, 0, NULL, &e, err);
    /* Locks of this collection may be on anything; what is no entry is nobody's here. */
    if (rc == ASH_ENOTFOUND || rc == ASH_EINVAL)
        return 0;
    if (rc == 0 && !ash_tree_entry_is_deleted(e) && ash_tree_entry_has_path(e))
        *out = ash__sprintf("%s%s", ash_tree_entry_path(e), ash_tree_entry_is_folder(e) ? "/" : "");
    ash_tree_entry_free(e);
    return rc;
}

/* Is the resource that a lock document is of one that the change is about? */
static int lies_in(ash_dav_locks *l, const ash_dav_place *p, const bson_value_t *resource, bool *in,
                   ash_error *err)
{
    char *path = NULL;
    *in = is_same(resource, ash_tree_entry_id(p->entry)) ||
          (p->folder != NULL && is_same(resource, ash_tree_entry_id(p->folder)));
    if (*in)
        return 0;
    int rc = ash__dav_locks_path(l, resource, &path, err);
    const char *above = ash_tree_entry_path(p->entry);
    size_t len = strlen(above);
    *in = path != NULL && (len == 1 || (strncmp(path, above, len) == 0 && path[len] == '/'));
    ash__free(path);
    return rc;
}

/* ---- who holds it ---- */

static int64_t number_in(const bson_iter_t *entry, const char *field)
{
    bson_iter_t at;
    return bson_iter_recurse(entry, &at) && bson_iter_find(&at, field) ? bson_iter_as_int64(&at)
                                                                       : 0;
}

/* An entry of before the last writer counts no more. */
static bool is_over(const bson_iter_t *entry, int64_t writes, int64_t now_ms)
{
    bson_iter_t at;
    return number_in(entry, "w") == writes && bson_iter_recurse(entry, &at) &&
           bson_iter_find(&at, "exp") && BSON_ITER_HOLDS_DATE_TIME(&at) &&
           bson_iter_date_time(&at) < now_ms;
}

/* Readers whose time is over, who are in the document until somebody tidies it. */
static int64_t readers_over(const bson_t *doc)
{
    bson_iter_t list, entry;
    int64_t now_ms = ash__clock_wall_ms(), writes = 0, count = 0;
    if (bson_iter_init_find(&list, doc, "writes"))
        writes = bson_iter_as_int64(&list);
    if (!bson_iter_init_find(&list, doc, "holders") || !bson_iter_recurse(&list, &entry))
        return 0;
    while (bson_iter_next(&entry))
        if (is_over(&entry, writes, now_ms))
            count += number_in(&entry, "n");
    return count;
}

/* Does anybody hold it of whom WebDAV does not know? */
static bool is_foreign(const bson_t *doc, const ash_dav_lock_set *own, bool writers_alone)
{
    bson_iter_t id, at;
    int64_t ours = 0;
    if (!bson_iter_init_find(&id, doc, "_id"))
        return false;
    for (size_t i = 0; i < own->count; i++)
        ours += is_same(bson_iter_value(&id), &own->items[i].hand.doc_id);
    if (bson_iter_init_find(&at, doc, "write_lock") && bson_iter_as_bool(&at))
        return ours == 0;
    return !writers_alone && bson_iter_init_find(&at, doc, "read_locks") &&
           bson_iter_as_int64(&at) > ours + readers_over(doc);
}

static bool is_ours(const bson_oid_t *h, const ash_dav_lock_set *own)
{
    for (size_t i = 0; i < own->count; i++)
        if (bson_oid_equal(&own->items[i].hand.h, h))
            return true;
    return false;
}

/* "process 17 on desk", of the first who is none of ours. */
static char *describe(const bson_t *doc, const ash_dav_lock_set *own)
{
    bson_iter_t list, entry, h, host;
    if (!bson_iter_init_find(&list, doc, "holders") || !bson_iter_recurse(&list, &entry))
        return ash__strdup("a program");
    while (bson_iter_next(&entry))
        if (bson_iter_recurse(&entry, &h) && bson_iter_find(&h, "h") && BSON_ITER_HOLDS_OID(&h) &&
            !is_ours(bson_iter_oid(&h), own) && bson_iter_recurse(&entry, &host) &&
            bson_iter_find(&host, "host") && BSON_ITER_HOLDS_UTF8(&host))
            return ash__sprintf("process %lld on %s", (long long)number_in(&entry, "pid"),
                                bson_iter_utf8(&host, NULL));
    return ash__strdup("a program");
}

/* ---- asking ---- */

static bson_t *filter_of(const ash_dav_place *p)
{
    bson_t *filter = BCON_NEW("expires", "{", "$gte", BCON_DATE_TIME(ash__clock_wall_ms()), "}",
                              "$or", "[", "{", "write_lock", BCON_BOOL(true), "}", "{",
                              "read_locks", "{", "$gt", BCON_INT32(0), "}", "}", "]");
    bson_t in, ids;
    if (p->below)
        return filter;
    BSON_APPEND_DOCUMENT_BEGIN(filter, "files_id", &in);
    BSON_APPEND_ARRAY_BEGIN(&in, "$in", &ids);
    if (p->entry != NULL)
        BSON_APPEND_VALUE(&ids, "0", ash_tree_entry_id(p->entry));
    if (p->folder != NULL)
        BSON_APPEND_VALUE(&ids, p->entry != NULL ? "1" : "0", ash_tree_entry_id(p->folder));
    bson_append_array_end(&in, &ids);
    bson_append_document_end(filter, &in);
    return filter;
}

static int look_at(ash_dav_locks *l, const ash_dav_place *p, const bson_t *doc,
                   const ash_dav_lock_set *own, char **who, ash_error *err)
{
    bson_iter_t resource;
    bool in = !p->below;
    int rc = 0;
    if (!is_foreign(doc, own, p->shared) || !bson_iter_init_find(&resource, doc, "files_id"))
        return 0;
    if (p->below)
        rc = lies_in(l, p, bson_iter_value(&resource), &in, err);
    if (rc == 0 && in)
        *who = describe(doc, own);
    return rc;
}

int ash__dav_locks_foreign(ash_dav_locks *l, const ash_dav_place *place,
                           const ash_dav_lock_set *own, char **who, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc view;
    bson_t doc;
    *who = NULL;
    if (place->entry == NULL && place->folder == NULL)
        return 0;
    bson_t *filter = filter_of(place);
    int rc = ash_collection_find(l->grants, filter, NULL, &cursor, err);
    bson_destroy(filter);
    while (rc == 0 && *who == NULL) {
        rc = ash_cursor_next(cursor, &view, err);
        if (rc != 0 || view.data == NULL)
            break;
        if (bson_init_static(&doc, view.data, view.len))
            rc = look_at(l, place, &doc, own, who, err);
    }
    ash_cursor_free(cursor);
    return rc;
}
