/* SPDX-License-Identifier: Apache-2.0 */
/* PROPFIND: one scan of the folder, written as it goes; memory does not grow with it. */
#include "base/log.h"
#include "base/mem.h"
#include "http/dav/dead.h"
#include "http/dav/live.h"
#include "http/dav/multistatus.h"
#include "http/dav/wanted.h"
#include "http/squeeze.h"

#include <string.h>

enum { MAX_XML_BYTES = 64 * 1024 };

typedef struct finding {
    ash_dav *dav;
    char *path;
    int depth;
    bool all, names; /* allprop, propname; neither: the list */
    bool minimal;    /* what is not there is left out (RFC 8144) */
    ash_dav_wanted_list wanted;
    ash_dav_lock_set locks;
    ash_dav_facts facts;
    ash_tree_entry *top;
    ash_tree_listing *listing;
    bool top_done;
    ash_buffer missing, folder; /* folder: the href that its children's begin with */
    ash_buffer child;           /* a child's path */
} finding;

static void release(ash_exchange *x)
{
    finding *f = x->state;
    ash__dav_wanted_release(&f->wanted);
    ash__dav_lock_set_release(&f->locks);
    ash_tree_entry_free(f->top);
    ash_tree_listing_free(f->listing);
    ash__buffer_release(&f->missing);
    ash__buffer_release(&f->folder);
    ash__buffer_release(&f->child);
    ash__free(f->path);
    ash__free(f);
}

/* ---- one resource ---- */

static bool wants_quota(const finding *f)
{
    for (size_t i = 0; i < f->wanted.count; i++)
        if (strncmp(f->wanted.items[i].name, "quota-", 6) == 0)
            return true;
    return f->names;
}

static void write_all(finding *f, const ash_tree_entry *e, const char *path, ash_buffer *out)
{
    bson_t props;
    bson_iter_t at;
    for (const ash_dav_live *row = ash__dav_live; row->name != NULL; row++)
        if (row->in_allprop)
            row->write(&f->facts, e, path, out);
    if (!ash__dav_props(e, &props) || !bson_iter_init(&at, &props))
        return;
    while (bson_iter_next(&at)) {
        ash_dav_dead dead;
        if (ash__dav_dead_read(&at, &dead) && ash__dav_live_find(dead.space, dead.name) == NULL)
            ash__dav_dead_write(out, &dead);
        ash__dav_dead_release(&dead);
    }
}

static void write_names(finding *f, const ash_tree_entry *e, const char *path, ash_buffer *out)
{
    bson_t props;
    bson_iter_t at;
    for (const ash_dav_live *row = ash__dav_live; row->name != NULL; row++) {
        ash__buffer_clear(&f->missing);
        if (row->write(&f->facts, e, path, &f->missing))
            ash__dav_element(out, row->space, row->name, true);
    }
    ash__buffer_clear(&f->missing);
    if (!ash__dav_props(e, &props) || !bson_iter_init(&at, &props))
        return;
    while (bson_iter_next(&at)) {
        ash_dav_dead dead;
        if (ash__dav_dead_read(&at, &dead) && ash__dav_live_find(dead.space, dead.name) == NULL)
            ash__dav_element(out, dead.space, dead.name, true);
        ash__dav_dead_release(&dead);
    }
}

static void write_wanted(finding *f, const ash_tree_entry *e, const char *path, ash_buffer *out)
{
    ash__buffer_clear(&f->missing);
    for (size_t i = 0; i < f->wanted.count; i++) {
        const ash_dav_wanted *w = &f->wanted.items[i];
        bool there = w->live != NULL ? w->live->write(&f->facts, e, path, out)
                                     : ash__dav_dead_write_named(out, e, w->space, w->name);
        if (!there && !f->minimal)
            ash__dav_element(&f->missing, w->space, w->name, true);
    }
}

/* href: encoded. */
static void write_response(finding *f, const ash_tree_entry *e, const char *path, ash_buffer *out)
{
    static const char ok[] = "</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat>";
    static const char not_found[] =
        "</D:prop><D:status>HTTP/1.1 404 Not Found</D:status></D:propstat>";
    ash__buffer_append_text(out, "</D:href><D:propstat><D:prop>");
    if (wants_quota(f))
        ash__dav_facts_turn_to(&f->facts, e);
    if (f->all)
        write_all(f, e, path, out);
    if (f->names)
        write_names(f, e, path, out);
    else
        write_wanted(f, e, path, out);
    ash__buffer_append(out, ok, sizeof ok - 1);
    if (f->missing.len > 0) {
        ash__buffer_append_text(out, "<D:propstat><D:prop>");
        ash__buffer_append(out, f->missing.data, f->missing.len);
        ash__buffer_append(out, not_found, sizeof not_found - 1);
    }
    ash__buffer_append_text(out, "</D:response>");
}

static void write_top(finding *f, ash_buffer *out)
{
    bool is_folder = ash_tree_entry_is_folder(f->top);
    ash__dav_href(f->dav, &f->folder, f->path, is_folder);
    ash__buffer_append_text(out, ASH_DAV_MULTISTATUS_BEGIN "<D:response><D:href>");
    ash__buffer_append(out, f->folder.data, f->folder.len);
    write_response(f, f->top, f->path, out);
}

static void write_child(finding *f, const ash_tree_entry *e, ash_buffer *out)
{
    ash__buffer_append_text(out, "<D:response><D:href>");
    ash__buffer_append(out, f->folder.data, f->folder.len);
    ash__http_target_encode(out, ash_tree_entry_name(e));
    if (ash_tree_entry_is_folder(e))
        ash__buffer_append_byte(out, '/');
    ash__buffer_clear(&f->child);
    if (f->locks.count > 0) {
        ash__buffer_append_text(&f->child, strcmp(f->path, "/") == 0 ? "" : f->path);
        ash__buffer_append_byte(&f->child, '/');
        ash__buffer_append_text(&f->child, ash_tree_entry_name(e));
    }
    write_response(f, e, ash__buffer_text(&f->child), out);
}

/* ---- the answer ---- */

static int more(ash_exchange *x, ash_buffer *out)
{
    finding *f = x->state;
    const ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    if (!f->top_done) {
        write_top(f, out);
        f->top_done = true;
    }
    while (f->listing != NULL && out->len < ASH_PIECE_BYTES) {
        int rc = ash_tree_listing_next(f->listing, &e, &err);
        if (rc != 0)
            ash__log(ASH_LOG_ERROR, "PROPFIND %s: %s", f->path, err.text);
        /* One that cannot be read is left out; the listing goes on behind it. */
        if (rc == ASH_ECORRUPT)
            continue;
        if (rc != 0)
            return rc;
        if (e == NULL) {
            ash_tree_listing_free(f->listing);
            f->listing = NULL;
            break;
        }
        write_child(f, e, out);
    }
    if (f->listing != NULL)
        return ASH_MORE_TO_COME;
    ash__buffer_append_text(out, ASH_DAV_MULTISTATUS_END);
    return ASH_MORE_LAST;
}

static int look(finding *f, const ash_op *op, ash_error *err)
{
    int rc = ash__dav_lookup(f->dav, op, f->path, &f->top, err);
    if (rc == 0 && f->top != NULL && f->depth == 1 && ash_tree_entry_is_folder(f->top))
        rc = ash_tree_list(f->dav->tree, f->path, NULL, op, &f->listing, err);
    if (rc == 0 && f->top != NULL)
        rc = ash__dav_locks_load(f->dav->locks, &f->locks, err);
    f->facts = (ash_dav_facts){
        .dav = f->dav, .op = op, .locks = &f->locks, .used_bytes = -1, .free_bytes = -1};
    if (rc == 0 && wants_quota(f))
        ash__dav_facts_read_quota(&f->facts);
    return rc;
}

static void answer(ash_exchange *x)
{
    finding *f = x->state;
    ash_error err = ASH_ERROR_INIT;
    if (look(f, x->op, &err) != 0) {
        ash__answer_error(x, &err);
    } else if (f->top == NULL) {
        ash__answer_text(x, 404, "there is no %s", f->path);
    } else {
        x->more = more;
        if (f->minimal)
            ash__answer_field(x, "Preference-Applied", "return=minimal");
        /* What is short goes with its length. */
        int rc = more(x, &x->body);
        ash__answer_stream(x, 207, ASH_DAV_XML_TYPE,
                           rc == ASH_MORE_LAST ? (int64_t)x->body.len : -1);
        x->is_streamed = rc != ASH_MORE_LAST;
        if (x->is_streamed)
            ash__answer_squeezed(x);
    }
}

/* ---- the question ---- */

static void understand(ash_exchange *x, const ash_xml_node *root)
{
    finding *f = x->state;
    const ash_xml_node *list, *include;
    if (root == NULL) {
        f->all = true;
    } else if (strcmp(root->space, "DAV:") != 0 || strcmp(root->name, "propfind") != 0) {
        ash__answer_text(x, 400, "the body of a PROPFIND is <propfind> of the namespace DAV:");
        return;
    } else if ((list = ash__xml_child(root, "DAV:", "prop")) != NULL) {
        ash__dav_wanted_add(&f->wanted, list);
    } else if (ash__xml_child(root, "DAV:", "propname") != NULL) {
        f->names = true;
    } else if (ash__xml_child(root, "DAV:", "allprop") != NULL) {
        f->all = true;
        include = ash__xml_child(root, "DAV:", "include");
        if (include != NULL)
            ash__dav_wanted_add(&f->wanted, include);
    } else {
        ash__answer_text(x, 400, "<propfind> has neither prop, nor propname, nor allprop");
        return;
    }
    answer(x);
}

void ash__dav_propfind(ash_dav *dav, ash_exchange *x, const char *path)
{
    int depth = ash__dav_depth(x, -1);
    if (depth == -2) {
        ash__answer_text(x, 400, "Depth is 0, 1 or infinity");
        return;
    }
    if (depth == -1) {
        /* A small question with an answer without end. */
        ash__dav_answer_condition(x, 403, "propfind-finite-depth", NULL);
        return;
    }
    finding *f = ash__new(finding);
    f->dav = dav;
    f->path = ash__strdup(path);
    f->depth = depth;
    const char *brief = ash__head_field(x->head, "Brief");
    f->minimal = ash__head_has_word(x->head, "Prefer", "return=minimal") ||
                 (brief != NULL && strcmp(brief, "t") == 0);
    x->state = f;
    x->release = release;
    ash__xml_collect(x, MAX_XML_BYTES, false, understand);
}
