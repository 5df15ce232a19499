/* SPDX-License-Identifier: Apache-2.0 */
/* Looking: one object, listings of many, versions. */
#include "object/docs/docs.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bson/value.h"
#include "bucket/bucket.h"

#include <inttypes.h>
#include <string.h>

ash_find_options ash__docs_find_options(const ash_op *op)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    o.op = *op;
    return o;
}

int ash__docs_say_missing(const char *name, ash_error *err)
{
    return ash__fail(err, ASH_ENOTFOUND, "there is no object %.300s", name);
}

bool ash__docs_is_over(const ash_object *o, int64_t now_ms)
{
    return o->expires_ms != 0 && o->expires_ms <= now_ms;
}

bool ash__docs_is_live(const ash_object *o, int64_t now_ms)
{
    return o != NULL && !o->deleted && !ash__docs_is_over(o, now_ms);
}

int ash__docs_object(ash_doc doc, ash_object **out, ash_error *err)
{
    bson_t view, *own = bson_new();
    ash__doc_to_bson(doc, &view);
    bson_copy_to_excluding_noinit(&view, own, "_id", NULL);
    return ash__object_new(own, out, err);
}

int ash__docs_find(ash_collection *c, const bson_t *filter, const ash_op *op, ash_object **out,
                   ash_error *err)
{
    ash_find_options o = ash__docs_find_options(op);
    bson_t doc;
    bool found = false;
    *out = NULL;
    int rc = ash__collection_find_if_any(c, filter, &o, &doc, &found, err);
    if (rc == 0 && found) {
        rc = ash__docs_object(ash__doc_from_bson(&doc), out, err);
        bson_destroy(&doc);
    }
    return rc;
}

int ash__docs_find_name(ash_docs *s, const char *name, const ash_op *op, ash_object **out,
                        ash_error *err)
{
    bson_t *filter = BCON_NEW("_id", BCON_UTF8(name));
    int rc = ash__docs_find(s->meta, filter, op, out, err);
    bson_destroy(filter);
    return rc;
}

int ash__docs_find_version(ash_docs *s, const char *name, uint64_t revision, const ash_op *op,
                           ash_object **out, ash_error *err)
{
    bson_t *filter = BCON_NEW("_id", BCON_INT64((int64_t)revision), "name", BCON_UTF8(name));
    int rc = ash__docs_find(s->versions, filter, op, out, err);
    bson_destroy(filter);
    return rc;
}

/* The store of this name may be another by now, whose collections are others: what is not found in
 * these is told apart from a store that is gone. */
static int miss(ash_docs *s, const char *name, const ash_op *op, ash_error *err)
{
    ash_docs_config c;
    int rc = ash__docs_config_own(s, op, &c, err);
    if (rc != 0)
        return rc;
    ash__docs_config_release(&c);
    return ash__docs_say_missing(name, err);
}

static int take_version(ash_docs *s, const char *name, uint64_t revision, const ash_op *op,
                        ash_object **out, ash_error *err)
{
    int rc = 0;
    if (*out != NULL && (*out)->revision == revision)
        return 0;
    ash_object_free(*out);
    *out = NULL;
    rc = ash__docs_find_version(s, name, revision, op, out, err);
    if (rc == 0 && *out == NULL)
        rc = ash__fail(err, ASH_ENOREVISION, "%.300s has no revision %" PRIu64, name, revision);
    return rc;
}

int ash__docs_info(ash_object_store *base, const char *name, const ash_object_read_options *opts,
                   const ash_op *op, ash_object **out, ash_error *err)
{
    ash_docs *s = ash__docs(base);
    ash_object *o = NULL;
    int64_t now = 0;
    int rc = ash__docs_find_name(s, name, op, &o, err);
    if (rc == 0)
        rc = ash_store_time(s->manager->store, &now, NULL, err);
    if (rc == 0 && o != NULL && ash__docs_is_over(o, now)) {
        ash_object_free(o);
        o = NULL;
    }
    if (rc == 0 && opts->revision != 0)
        rc = take_version(s, name, opts->revision, op, &o, err);
    if (rc == 0 && (o == NULL || (o->deleted && !opts->deleted)))
        rc = miss(s, name, op, err);
    if (rc != 0) {
        ash_object_free(o);
        o = NULL;
    }
    *out = o;
    return rc;
}

/* ---- listings ---- */

typedef struct docs_listing {
    ash_object_listing listing;
    ash_object *first; /* comes before the cursor's; or NULL */
    uint64_t below;    /* of the cursor's, only revisions below this one; 0: all */
    ash_cursor *cursor;
    ash_object *object;
    char *prefix;
    bool ends_behind_prefix; /* it is by name */
    bool is_of_versions;     /* of one name, newest first */
    int64_t left;            /* < 0: any number */
} docs_listing;

static bool has_prefix(const docs_listing *l, const ash_object *o)
{
    return l->prefix == NULL || strncmp(o->name, l->prefix, strlen(l->prefix)) == 0;
}

/* What was current may have become a version meanwhile, and is not told twice. */
static bool is_passed_over(const docs_listing *l, const ash_object *o)
{
    return (l->below != 0 && o->revision >= l->below) ||
           (!has_prefix(l, o) && !l->ends_behind_prefix);
}

static int next_object(docs_listing *l, ash_error *err)
{
    ash_doc doc = {NULL, 0};
    ash_object_free(l->object);
    l->object = l->first;
    l->first = NULL;
    if (l->object != NULL || l->cursor == NULL)
        return 0;
    int rc = ash_cursor_next(l->cursor, &doc, err);
    if (rc == 0 && doc.data != NULL)
        rc = ash__docs_object(doc, &l->object, err);
    return rc;
}

static int next(ash_object_listing *base, const ash_object **out, ash_error *err)
{
    docs_listing *l = (docs_listing *)base;
    int rc = 0;
    *out = NULL;
    if (l->left == 0)
        return 0;
    do {
        rc = next_object(l, err);
    } while (rc == 0 && l->object != NULL && is_passed_over(l, l->object));
    if (rc != 0 || l->object == NULL || !has_prefix(l, l->object)) {
        l->left = rc == 0 ? 0 : l->left;
        return rc;
    }
    if (l->is_of_versions)
        l->below = l->object->revision;
    if (l->left > 0)
        l->left--;
    *out = l->object;
    return 0;
}

static void free_listing(ash_object_listing *base)
{
    docs_listing *l = (docs_listing *)base;
    ash_cursor_free(l->cursor);
    ash_object_free(l->first);
    ash_object_free(l->object);
    ash__free(l->prefix);
    ash__free(l);
}

static docs_listing *new_listing(int64_t limit)
{
    docs_listing *l = ash__new(docs_listing);
    l->listing = (ash_object_listing){next, free_listing};
    l->left = limit > 0 ? limit : -1;
    return l;
}

/* Takes over the condition. */
static void require(bson_t *all, uint32_t *count, bson_t *condition)
{
    char buf[12];
    const char *key;
    bson_uint32_to_string((*count)++, &key, buf, sizeof buf);
    BSON_APPEND_DOCUMENT(all, key, condition);
    bson_destroy(condition);
}

static void build_filter(const ash_object_list_options *o, int64_t now_ms, bson_t *filter)
{
    bson_t all;
    uint32_t n = 0;
    BSON_APPEND_ARRAY_BEGIN(filter, "$and", &all);
    require(&all, &n,
            BCON_NEW("expires", "{", "$not", "{", "$lte", BCON_DATE_TIME(now_ms), "}", "}"));
    if (!o->deleted)
        require(&all, &n, BCON_NEW("deleted", "{", "$exists", BCON_BOOL(false), "}"));
    if (o->prefix != NULL)
        require(&all, &n, BCON_NEW("_id", "{", "$gte", BCON_UTF8(o->prefix), "}"));
    if (o->after != NULL)
        require(&all, &n, BCON_NEW("_id", "{", "$gt", BCON_UTF8(o->after), "}"));
    if (o->after_revision != 0)
        require(&all, &n,
                BCON_NEW("revision", "{", "$gt", BCON_INT64((int64_t)o->after_revision), "}"));
    if (o->filter != NULL)
        require(&all, &n, bson_copy(o->filter));
    bson_append_array_end(filter, &all);
}

int ash__docs_list(ash_object_store *base, const ash_object_list_options *opts, const ash_op *op,
                   ash_object_listing **out, ash_error *err)
{
    ash_docs *s = ash__docs(base);
    ash_docs_config c;
    int64_t now = 0;
    bson_t filter = BSON_INITIALIZER;
    ash_find_options o = ash__docs_find_options(op);
    int rc = ash__docs_config_own(s, op, &c, err);
    if (rc == 0) {
        ash__docs_config_release(&c);
        rc = ash_store_time(s->manager->store, &now, NULL, err);
    }
    if (rc != 0)
        return rc;
    bson_t *sort = BCON_NEW(opts->by_name ? "_id" : "revision", BCON_INT32(1));
    build_filter(opts, now, &filter);
    o.sort = sort;
    docs_listing *l = new_listing(opts->limit);
    l->prefix = opts->prefix != NULL ? ash__strdup(opts->prefix) : NULL;
    l->ends_behind_prefix = opts->by_name;
    rc = ash_collection_find(s->meta, &filter, &o, &l->cursor, err);
    bson_destroy(sort);
    bson_destroy(&filter);
    if (rc != 0)
        free_listing(&l->listing);
    else
        *out = &l->listing;
    return rc;
}

int ash__docs_versions(ash_object_store *base, const char *name, int64_t limit, const ash_op *op,
                       ash_object_listing **out, ash_error *err)
{
    ash_docs *s = ash__docs(base);
    int64_t now = 0;
    docs_listing *l = new_listing(limit);
    l->is_of_versions = true;
    ash_find_options o = ash__docs_find_options(op);
    bson_t *filter = BCON_NEW("name", BCON_UTF8(name));
    bson_t *sort = BCON_NEW("name", BCON_INT32(1), "_id", BCON_INT32(-1));
    o.sort = sort;
    int rc = ash_collection_find(s->versions, filter, &o, &l->cursor, err);
    if (rc == 0)
        rc = ash__docs_find_name(s, name, op, &l->first, err);
    if (rc == 0)
        rc = ash_store_time(s->manager->store, &now, NULL, err);
    if (rc == 0 && l->first != NULL && ash__docs_is_over(l->first, now)) {
        ash_object_free(l->first);
        l->first = NULL;
    }
    bson_destroy(sort);
    bson_destroy(filter);
    if (rc != 0)
        free_listing(&l->listing);
    else
        *out = &l->listing;
    return rc;
}
