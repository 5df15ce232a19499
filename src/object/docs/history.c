/* SPDX-License-Identifier: Apache-2.0 */
#include "object/docs/history.h"

#include "base/mem.h"

enum { PAGE = 64 }; /* objects, whose documents may have 64 KiB each */

struct ash_docs_history {
    ash_docs *store;
    const ash_op *op;
    uint64_t seen;               /* told up to it */
    uint64_t until;              /* and no further */
    ash_object_listing *current; /* NULL: all of it was read */
    ash_object *page[PAGE];
    size_t at, count;
    ash_cursor *past; /* versions up to the end of the page */
    ash_object *version;
};

static void end_page(ash_docs_history *h)
{
    while (h->at < h->count)
        ash_object_free(h->page[h->at++]);
    ash_object_free(h->version);
    h->version = NULL;
    ash_cursor_free(h->past);
    h->past = NULL;
}

void ash__docs_history_free(ash_docs_history *h)
{
    if (h == NULL)
        return;
    end_page(h);
    ash_object_listing_free(h->current);
    ash__free(h);
}

int ash__docs_history_open(ash_docs *s, const ash_op *op, uint64_t until, ash_docs_history **out,
                           ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_docs_history *h = ash__new(ash_docs_history);
    h->store = s;
    h->op = op;
    h->until = until;
    o.deleted = true;
    int rc = ash__docs_list(&s->base, &o, op, &h->current, err);
    if (rc == 0)
        *out = h;
    else
        ash__docs_history_free(h);
    return rc;
}

ash_docs_history *ash__docs_history_before(ash_docs *s, const ash_op *op, uint64_t after,
                                           ash_object *object)
{
    ash_docs_history *h = ash__new(ash_docs_history);
    h->store = s;
    h->op = op;
    h->seen = after;
    h->until = ash_object_revision(object);
    h->page[h->count++] = object;
    return h;
}

static int open_past(ash_docs_history *h, uint64_t until, ash_error *err)
{
    ash_find_options o = ash__docs_find_options(h->op);
    bson_t *filter = BCON_NEW("_id", "{", "$gt", BCON_INT64((int64_t)h->seen), "$lte",
                              BCON_INT64((int64_t)until), "}");
    bson_t *sort = BCON_NEW("_id", BCON_INT32(1));
    o.sort = sort;
    int rc = ash_collection_find(h->store->versions, filter, &o, &h->past, err);
    bson_destroy(sort);
    bson_destroy(filter);
    return rc;
}

static int read_page(ash_docs_history *h, ash_error *err)
{
    int rc = 0;
    h->at = h->count = 0;
    while (rc == 0 && h->current != NULL && h->count < PAGE) {
        const ash_object *o = NULL;
        rc = ash_object_listing_next(h->current, &o, err);
        if (rc == 0 && o != NULL && ash_object_revision(o) <= h->until) {
            h->page[h->count++] = ash_object_copy(o);
        } else if (rc == 0) {
            ash_object_listing_free(h->current);
            h->current = NULL;
        }
    }
    uint64_t last = h->current == NULL ? h->until : ash_object_revision(h->page[h->count - 1]);
    return rc == 0 ? open_past(h, last, err) : rc;
}

static int read_version(ash_docs_history *h, ash_error *err)
{
    ash_doc doc = {NULL, 0};
    int rc = 0;
    if (h->past == NULL && h->current != NULL)
        return 0; /* not before its page */
    if (h->past == NULL)
        rc = open_past(h, h->until, err);
    if (rc == 0)
        rc = ash_cursor_next(h->past, &doc, err);
    return rc == 0 && doc.data != NULL ? ash__docs_object(doc, &h->version, err) : rc;
}

static ash_object *take_version(ash_docs_history *h)
{
    ash_object *version = h->version;
    h->version = NULL;
    return version;
}

/* The one that comes first. */
static ash_object *take_first(ash_docs_history *h)
{
    const ash_object *object = h->at < h->count ? h->page[h->at] : NULL;
    if (object == NULL)
        return take_version(h);
    if (h->version != NULL && ash_object_revision(h->version) < ash_object_revision(object))
        return take_version(h);
    if (h->version != NULL && ash_object_revision(h->version) == ash_object_revision(object))
        ash_object_free(take_version(h)); /* it was replaced between */
    return h->page[h->at++];
}

int ash__docs_history_next(ash_docs_history *h, ash_object **out, ash_error *err)
{
    int rc = 0;
    *out = NULL;
    while (rc == 0 && *out == NULL) {
        if (h->version == NULL)
            rc = read_version(h, err);
        if (rc != 0)
            break;
        *out = take_first(h);
        if (*out != NULL || h->current == NULL)
            break;
        end_page(h);
        rc = read_page(h, err);
    }
    if (*out != NULL)
        h->seen = ash_object_revision(*out);
    return rc;
}
