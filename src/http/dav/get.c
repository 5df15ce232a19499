/* SPDX-License-Identifier: Apache-2.0 */
#include "base/mem.h"
#include "http/dav/bytes.h"
#include "http/dav/resource.h"
#include "store/parts.h"

#include <string.h>

/* A folder by itself, for who has no use for the page: one name a line, folders with '/'. */
typedef struct listing {
    ash_tree_listing *l;
} listing;

static void release(ash_exchange *x)
{
    listing *s = x->state;
    ash_tree_listing_free(s->l);
    ash__free(s);
}

static int more(ash_exchange *x, ash_buffer *out)
{
    listing *s = x->state;
    const ash_tree_entry *e = NULL;
    ash_error err = ASH_ERROR_INIT;
    while (out->len < ASH_PIECE_BYTES) {
        int rc = ash_tree_listing_next(s->l, &e, &err);
        if (rc == ASH_ECORRUPT)
            continue;
        if (rc != 0)
            return rc;
        if (e == NULL)
            return ASH_MORE_LAST;
        ash__dav_add_line(out, ash_tree_entry_name(e), ash_tree_entry_is_folder(e));
    }
    return ASH_MORE_TO_COME;
}

static void send_names(ash_dav *dav, ash_exchange *x, const char *path)
{
    ash_error err = ASH_ERROR_INIT;
    listing *s = ash__new(listing);
    x->state = s;
    x->release = release;
    x->more = more;
    if (ash_tree_list(dav->tree, path, NULL, x->op, &s->l, &err) != 0)
        ash__answer_error(x, &err);
    else
        ash__answer_stream(x, 200, "text/plain; charset=utf-8", -1);
}

void ash__dav_get(ash_dav *dav, ash_exchange *x, const char *path)
{
    ash_error err = ASH_ERROR_INIT;
    ash_tree_entry *e = NULL;
    uint64_t moment;
    /* What is kept was for whoever may read it: users are looked up. */
    bool known = x->op == NULL && ash__store_moment(dav->store, &moment);
    ash_kept_file *kept =
        known && !x->target.is_folder ? ash__kept_file_find(dav->kept, path, moment) : NULL;
    if (kept != NULL) {
        ash__dav_send_kept(x, dav, kept);
    } else if (ash__dav_lookup(dav, x->op, path, &e, &err) != 0) {
        ash__answer_error(x, &err);
    } else if (e == NULL || (x->target.is_folder && !ash_tree_entry_is_folder(e))) {
        ash__answer_text(x, 404, "there is no %s", path);
        ash_tree_entry_free(e);
    } else if (ash_tree_entry_is_folder(e)) {
        ash_tree_entry_free(e);
        send_names(dav, x, path);
    } else {
        ash__dav_send_current(x, dav, e,
                              known ? &(ash_kept_facts){.path = path, .moment = moment} : NULL);
    }
}
