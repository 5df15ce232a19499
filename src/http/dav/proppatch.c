/* SPDX-License-Identifier: Apache-2.0 */
/* PROPPATCH: all of it or nothing, in the order in which it stands, as one version of the entry. */
#include "base/mem.h"
#include "http/date.h"
#include "http/dav/dead.h"
#include "http/dav/live.h"
#include "http/dav/multistatus.h"
#include "http/dav/upload.h"

#include <string.h>

enum { MAX_XML_BYTES = 1024 * 1024, MAX_CHANGES = 512 };

typedef struct change {
    const ash_xml_node *node;
    bool remove;
    int status; /* 0: can be done */
} change;

typedef struct patching {
    ash_dav *dav;
    char *path;
    ash_dav_guard guard;
    change *changes;
    size_t count;
} patching;

static void release(ash_exchange *x)
{
    patching *p = x->state;
    ash__dav_guard_release(&p->guard);
    ash__free(p->changes);
    ash__free(p->path);
    ash__free(p);
}

/* ---- what is asked ---- */

static bool is_dav(const ash_xml_node *n, const char *name)
{
    return strcmp(n->space, "DAV:") == 0 && strcmp(n->name, name) == 0;
}

/* false: too many. */
static bool gather(patching *p, const ash_xml_node *root)
{
    for (const ash_xml_node *step = root->first; step != NULL; step = step->next) {
        bool remove = is_dav(step, "remove");
        const ash_xml_node *list = ash__xml_child(step, "DAV:", "prop");
        if (list == NULL || (!remove && !is_dav(step, "set")))
            continue;
        for (const ash_xml_node *n = list->first; n != NULL; n = n->next) {
            if (p->count == MAX_CHANGES)
                return false;
            p->changes[p->count++] = (change){.node = n, .remove = remove};
        }
    }
    return true;
}

/* A time that clients may set: the file's, as the user's system has it. */
static bool is_time(const ash_xml_node *n)
{
    return is_dav(n, "getlastmodified") || (strcmp(n->space, ASH_DAV_WINDOWS) == 0 &&
                                            strcmp(n->name, "Win32LastModifiedTime") == 0);
}

static void judge(change *c, int64_t *modified_ms)
{
    const ash_dav_live *live = ash__dav_live_find(c->node->space, c->node->name);
    if (live != NULL && live->is_protected)
        c->status = 403;
    else if (is_time(c->node) && !c->remove && !ash__http_date_parse(c->node->text, modified_ms) &&
             !ash__date_parse_iso(c->node->text, modified_ms))
        c->status = 409;
    else if (is_dav(c->node, "getlastmodified") && c->remove)
        c->status = 403;
}

static bson_t *props_of(const patching *p)
{
    bson_t *props = bson_new();
    for (size_t i = 0; i < p->count; i++) {
        const ash_xml_node *n = p->changes[i].node;
        bson_iter_t before;
        if (is_dav(n, "getlastmodified"))
            continue;
        char *key = ash__dav_dead_key(n->space, n->name);
        /* The last word on a property counts. */
        if (bson_iter_init_find(&before, props, key)) {
            bson_t *without = bson_new();
            bson_copy_to_excluding_noinit(props, without, key, NULL);
            bson_destroy(props);
            props = without;
        }
        if (p->changes[i].remove)
            BSON_APPEND_NULL(props, key);
        else if (n->language != NULL)
            BCON_APPEND(props, key, "{", "xml", BCON_UTF8(n->inner != NULL ? n->inner : ""), "lang",
                        BCON_UTF8(n->language), "}");
        else
            BSON_APPEND_UTF8(props, key, n->inner != NULL ? n->inner : "");
        ash__free(key);
    }
    return props;
}

/* ---- the answer ---- */

static void write_status(const patching *p, int status, ash_buffer *out)
{
    bool any = false;
    for (size_t i = 0; i < p->count; i++) {
        if (p->changes[i].status != status)
            continue;
        if (!any)
            ash__buffer_append_text(out, "<D:propstat><D:prop>");
        any = true;
        ash__dav_element(out, p->changes[i].node->space, p->changes[i].node->name, true);
    }
    if (!any)
        return;
    ash__buffer_append_text(out, "</D:prop>");
    ash__dav_status(out, status);
    if (status == 403)
        ash__buffer_append_text(out, "<D:error><D:cannot-modify-protected-property/></D:error>");
    ash__buffer_append_text(out, "</D:propstat>");
}

static void answer(ash_exchange *x, const patching *p)
{
    static const int statuses[] = {200, 403, 409, 424, 507};
    ash_buffer out = ASH_BUFFER_INIT;
    ash__buffer_append_text(&out, ASH_DAV_MULTISTATUS_BEGIN "<D:response><D:href>");
    ash__dav_href(p->dav, &out, p->path, ash_tree_entry_is_folder(p->guard.entry));
    ash__buffer_append_text(&out, "</D:href>");
    for (size_t i = 0; i < ASH_ARRAY_LEN(statuses); i++)
        write_status(p, statuses[i], &out);
    ash__buffer_append_text(&out, "</D:response>" ASH_DAV_MULTISTATUS_END);
    ash__answer_body(x, 207, ASH_DAV_XML_TYPE, out.data, out.len);
    ash__buffer_release(&out);
}

static int apply(patching *p, const ash_op *op, int64_t modified_ms, ash_error *err)
{
    ash_tree_change_options o = ASH_TREE_CHANGE_OPTIONS_INIT;
    bson_t *props = props_of(p);
    o.fence = p->guard.fence;
    o.if_version = p->guard.if_version;
    o.modified_ms = modified_ms;
    o.props = props;
    int rc = ash_tree_set(p->dav->tree, p->path, &o, op, NULL, err);
    bson_destroy(props);
    return rc;
}

static void set_statuses(patching *p, int from, int to)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->changes[i].status == from)
            p->changes[i].status = to;
}

static void change_all(ash_exchange *x, patching *p)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t modified_ms = 0;
    bool refused = false;
    for (size_t i = 0; i < p->count; i++) {
        judge(&p->changes[i], &modified_ms);
        refused = refused || p->changes[i].status != 0;
    }
    if (refused) {
        set_statuses(p, 0, 424);
        answer(x, p);
        return;
    }
    int rc = apply(p, x->op, modified_ms, &err);
    if (rc == 0 || rc == ASH_ETOOBIG) {
        set_statuses(p, 0, rc == 0 ? 200 : 507);
        answer(x, p);
    } else {
        ash__dav_answer_change(x, &err);
    }
}

static void understand(ash_exchange *x, const ash_xml_node *root)
{
    patching *p = x->state;
    if (root == NULL || !is_dav(root, "propertyupdate")) {
        ash__answer_text(x, 400,
                         "the body of a PROPPATCH is <propertyupdate> of the namespace DAV:");
        return;
    }
    p->changes = ash__alloc_array(MAX_CHANGES, sizeof *p->changes);
    if (!gather(p, root))
        ash__answer_text(x, 413, "there are too many properties in one request");
    else
        change_all(x, p);
}

void ash__dav_proppatch(ash_dav *dav, ash_exchange *x, const char *path)
{
    patching *p = ash__new(patching);
    p->dav = dav;
    p->path = ash__strdup(path);
    x->state = p;
    x->release = release;
    if (!ash__dav_guard(dav, x, path, ASH_GUARD_BYTES, &p->guard))
        return;
    if (p->guard.entry == NULL)
        ash__answer_text(x, 404, "there is no %s", path);
    else
        ash__xml_collect(x, MAX_XML_BYTES, true, understand);
}
