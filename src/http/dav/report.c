/* SPDX-License-Identifier: Apache-2.0 */
/* REPORT with version-tree (RFC 3253 §3.7): a file's versions, each with the address at which it can
 * be fetched, and copied or moved from.  Nothing else of that RFC is here: every change makes a
 * version by itself, so there is nothing to check out or in. */
#include "base/log.h"
#include "base/mem.h"
#include "http/dav/multistatus.h"
#include "http/dav/wanted.h"

#include <string.h>

enum { MAX_XML_BYTES = 64 * 1024 };

typedef struct reporting {
    ash_dav *dav;
    char *path;
    ash_dav_wanted_list wanted;
    ash_dav_facts facts;
    ash_tree_listing *listing;
    bool begun;
    ash_buffer missing;
    ash_buffer href, next; /* of this version, and of the one after it; "": it is the newest */
} reporting;

static void release(ash_exchange *x)
{
    reporting *r = x->state;
    ash__dav_wanted_release(&r->wanted);
    ash_tree_listing_free(r->listing);
    ash__buffer_release(&r->missing);
    ash__buffer_release(&r->href);
    ash__buffer_release(&r->next);
    ash__free(r->path);
    ash__free(r);
}

/* ---- one version ---- */

static void write_href(reporting *r, const ash_tree_entry *e)
{
    ash__buffer_clear(&r->href);
    ash__buffer_append_text(&r->href, ASH_DAV_RESERVED "/versions");
    ash__dav_href(r->dav, &r->href, r->path, true);
    ash__buffer_append_byte(&r->href, 'v');
    ash__buffer_append_number(&r->href, ash_tree_entry_version(e));
    ash__buffer_append_byte(&r->href, '-');
    ash__http_target_encode(&r->href, ash_tree_entry_name(e));
}

/* The properties of RFC 3253 that are served; false: it is none, or this version has none. */
static bool write_own(const reporting *r, const ash_tree_entry *e, const char *name,
                      ash_buffer *out)
{
    if (strcmp(name, "version-name") == 0) {
        ash__buffer_append_text(out, "<D:version-name>");
        ash__buffer_append_number(out, ash_tree_entry_version(e));
        ash__buffer_append_text(out, "</D:version-name>");
        return true;
    }
    if (strcmp(name, "creator-displayname") == 0 && ash_tree_entry_changed_by(e) != NULL) {
        ash__buffer_append_text(out, "<D:creator-displayname>");
        ash__xml_text(out, ash_tree_entry_changed_by(e));
        ash__buffer_append_text(out, "</D:creator-displayname>");
        return true;
    }
    if (strcmp(name, "successor-set") != 0)
        return false;
    ash__buffer_append_text(out, "<D:successor-set>");
    if (r->next.len > 0) {
        ash__buffer_append_text(out, "<D:href>");
        ash__buffer_append(out, r->next.data, r->next.len);
        ash__buffer_append_text(out, "</D:href>");
    }
    ash__buffer_append_text(out, "</D:successor-set>");
    return true;
}

static void write_version(reporting *r, const ash_tree_entry *e, ash_buffer *out)
{
    write_href(r, e);
    ash__buffer_append_text(out, "<D:response><D:href>");
    ash__buffer_append(out, r->href.data, r->href.len);
    ash__buffer_append_text(out, "</D:href><D:propstat><D:prop>");
    ash__buffer_clear(&r->missing);
    for (size_t i = 0; i < r->wanted.count; i++) {
        const ash_dav_wanted *w = &r->wanted.items[i];
        bool there = w->live != NULL
                         ? w->live->write(&r->facts, e, r->path, out)
                         : strcmp(w->space, "DAV:") == 0 && write_own(r, e, w->name, out);
        if (!there)
            ash__dav_element(&r->missing, w->space, w->name, true);
    }
    ash__buffer_append_text(out, "</D:prop>");
    ash__dav_status(out, 200);
    ash__buffer_append_text(out, "</D:propstat>");
    if (r->missing.len > 0) {
        ash__buffer_append_text(out, "<D:propstat><D:prop>");
        ash__buffer_append(out, r->missing.data, r->missing.len);
        ash__buffer_append_text(out, "</D:prop>");
        ash__dav_status(out, 404);
        ash__buffer_append_text(out, "</D:propstat>");
    }
    ash__buffer_append_text(out, "</D:response>");
    ash__buffer_clear(&r->next);
    ash__buffer_append(&r->next, r->href.data, r->href.len);
}

/* ---- the answer ---- */

static int more(ash_exchange *x, ash_buffer *out)
{
    reporting *r = x->state;
    const ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    if (!r->begun)
        ash__buffer_append_text(out, ASH_DAV_MULTISTATUS_BEGIN);
    r->begun = true;
    while (out->len < ASH_PIECE_BYTES) {
        int rc = ash_tree_listing_next(r->listing, &e, &err);
        if (rc != 0)
            ash__log(ASH_LOG_ERROR, "REPORT %s: %s", r->path, err.text);
        /* One that cannot be read is left out; the listing goes on behind it. */
        if (rc == ASH_ECORRUPT)
            continue;
        if (rc != 0)
            return rc;
        if (e == NULL) {
            ash__buffer_append_text(out, ASH_DAV_MULTISTATUS_END);
            return ASH_MORE_LAST;
        }
        /* A deletion is none that could be fetched. */
        if (!ash_tree_entry_is_deleted(e))
            write_version(r, e, out);
    }
    return ASH_MORE_TO_COME;
}

static void answer(ash_exchange *x)
{
    reporting *r = x->state;
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *e = NULL;
    int rc = ash__dav_lookup(r->dav, x->op, r->path, &e, &err);
    bool there = e != NULL, is_folder = there && ash_tree_entry_is_folder(e);
    ash_tree_entry_free(e);
    if (rc == 0 && there && !is_folder)
        rc = ash_tree_history(r->dav->tree, r->path, 0, x->op, &r->listing, &err);
    if (rc != 0) {
        ash__answer_error(x, &err);
    } else if (!there) {
        ash__answer_text(x, 404, "there is no %s", r->path);
    } else if (is_folder) {
        ash__dav_answer_condition(x, 403, "supported-report", NULL);
    } else {
        x->more = more;
        ash__answer_stream(x, 207, ASH_DAV_XML_TYPE, -1);
    }
}

static void understand(ash_exchange *x, const ash_xml_node *root)
{
    reporting *r = x->state;
    const ash_xml_node *prop;
    if (root == NULL) {
        ash__answer_text(x, 400, "a REPORT needs a body that says which");
        return;
    }
    if (strcmp(root->space, "DAV:") != 0 || strcmp(root->name, "version-tree") != 0) {
        ash__dav_answer_condition(x, 403, "supported-report", NULL);
        return;
    }
    if ((prop = ash__xml_child(root, "DAV:", "prop")) != NULL)
        ash__dav_wanted_add(&r->wanted, prop);
    answer(x);
}

void ash__dav_report(ash_dav *dav, ash_exchange *x, const char *path)
{
    reporting *r = ash__new(reporting);
    r->dav = dav;
    r->path = ash__strdup(path);
    r->facts = (ash_dav_facts){.dav = dav, .used_bytes = -1, .free_bytes = -1};
    x->state = r;
    x->release = release;
    ash__xml_collect(x, MAX_XML_BYTES, false, understand);
}
