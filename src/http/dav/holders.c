/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds what, as people want to see it, and may end it. */
#include "http/dav/holders.h"

#include "base/clock.h"
#include "base/mem.h"
#include "http/dav/locks_state.h"

#include <string.h>

typedef struct visiting {
    ash_dav_locks *locks;
    const char *path;
    void (*fn)(void *ctx, const ash_dav_holder *holder);
    void *ctx;
} visiting;

static bool is_in(const char *path, const char *folder)
{
    size_t len = strlen(folder);
    return strcmp(path, folder) == 0 || len == 1 ||
           (strncmp(path, folder, len) == 0 && path[len] == '/');
}

/* What a reference that text begins with stands for; 0: it is none. */
static char decode(const char *text, size_t *len)
{
    static const struct {
        const char *text;
        char meant;
    } references[] = {{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(references); i++) {
        *len = strlen(references[i].text);
        if (strncmp(text, references[i].text, *len) == 0)
            return references[i].meant;
    }
    *len = 1;
    return 0;
}

/* Without its tags: `<D:href>desk &amp; chair</D:href>` is "desk & chair". */
static char *plain_text(const char *xml)
{
    char *out = ash__alloc(strlen(xml) + 1);
    size_t n = 0, len = 1;
    bool in_tag = false;
    for (; *xml != '\0'; xml += len) {
        char meant = decode(xml, &len);
        in_tag = in_tag || *xml == '<';
        if (!in_tag)
            out[n++] = meant != 0 ? meant : *xml;
        in_tag = in_tag && *xml != '>';
    }
    return out;
}

static char *owner_of(const bson_t *doc, bool *webdav)
{
    bson_iter_t top, at, pid;
    *webdav = bson_iter_init(&top, doc) && bson_iter_find_descendant(&top, "meta.webdav", &at);
    if (*webdav && bson_iter_init(&top, doc) &&
        bson_iter_find_descendant(&top, "meta.owner", &at) && BSON_ITER_HOLDS_UTF8(&at))
        return plain_text(bson_iter_utf8(&at, NULL));
    if (bson_iter_init(&top, doc) && bson_iter_find_descendant(&top, "holders.0.host", &at) &&
        BSON_ITER_HOLDS_UTF8(&at) && bson_iter_init(&top, doc) &&
        bson_iter_find_descendant(&top, "holders.0.pid", &pid))
        return ash__sprintf("process %lld on %s", (long long)bson_iter_as_int64(&pid),
                            bson_iter_utf8(&at, NULL));
    return ash__strdup("a program");
}

static int64_t date_of(const bson_t *doc, const char *path)
{
    bson_iter_t top, at;
    return bson_iter_init(&top, doc) && bson_iter_find_descendant(&top, path, &at) &&
                   BSON_ITER_HOLDS_DATE_TIME(&at)
               ? bson_iter_date_time(&at)
               : 0;
}

static int visit(const visiting *v, const bson_t *doc, ash_error *err)
{
    bson_iter_t at;
    char *path = NULL;
    ash_dav_holder h = {0};
    if (!bson_iter_init_find(&at, doc, "files_id"))
        return 0;
    h.entry = bson_iter_value(&at);
    int rc = ash__dav_locks_path(v->locks, h.entry, &path, err);
    size_t len = path != NULL ? strlen(path) : 0;
    /* People write folders as they write files. */
    if (len > 1 && path[len - 1] == '/')
        path[len - 1] = '\0';
    if (rc == 0 && path != NULL && is_in(path, v->path)) {
        char *owner = owner_of(doc, &h.webdav);
        h.path = path;
        h.owner = owner;
        h.exclusive = bson_iter_init_find(&at, doc, "write_lock") && bson_iter_as_bool(&at);
        h.since_ms = date_of(doc, "holders.0.since");
        h.expires_ms = date_of(doc, "expires");
        v->fn(v->ctx, &h);
        ash__free(owner);
    }
    ash__free(path);
    return rc;
}

int ash__dav_locks_each(ash_dav_locks *l, const char *path,
                        void (*fn)(void *ctx, const ash_dav_holder *holder), void *ctx,
                        ash_error *err)
{
    visiting v = {l, path, fn, ctx};
    ash_cursor *cursor = NULL;
    ash_doc view;
    bson_t doc;
    bson_t *filter = BCON_NEW("expires", "{", "$gte", BCON_DATE_TIME(ash__clock_wall_ms()), "}",
                              "$or", "[", "{", "write_lock", BCON_BOOL(true), "}", "{",
                              "read_locks", "{", "$gt", BCON_INT32(0), "}", "}", "]");
    int rc = ash_collection_find(l->grants, filter, NULL, &cursor, err);
    bson_destroy(filter);
    while (rc == 0) {
        rc = ash_cursor_next(cursor, &view, err);
        if (rc != 0 || view.data == NULL)
            break;
        if (bson_init_static(&doc, view.data, view.len))
            rc = visit(&v, &doc, err);
    }
    ash_cursor_free(cursor);
    return rc;
}

/* ---- breaking ---- */

typedef struct breaking {
    const char *path;
    bson_value_t id;
    bool found;
} breaking;

static void note(void *ctx, const ash_dav_holder *h)
{
    breaking *b = ctx;
    if (b->found || strcmp(h->path, b->path) != 0)
        return;
    bson_value_copy(h->entry, &b->id);
    b->found = true;
}

int ash__dav_locks_break(ash_dav_locks *l, const char *path, int64_t *broken, ash_error *err)
{
    breaking b = {.path = path};
    *broken = 0;
    int rc = ash__dav_locks_each(l, path, note, &b, err);
    if (rc == 0 && b.found)
        rc = ash__dav_locks_open(l, err);
    if (rc == 0 && b.found)
        rc = ash_lock_break(l->made, &b.id, "broken by hand", err);
    *broken = rc == 0 && b.found;
    if (b.found)
        bson_value_destroy(&b.id);
    return rc;
}
