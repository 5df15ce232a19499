/* SPDX-License-Identifier: Apache-2.0 */
/* {"entries":[…],"more":…}, sent as it is read: a long listing is never in memory as a whole. */
#include "base/log.h"
#include "base/mem.h"
#include "http/log.h"
#include "http/site/api.h"

#include <string.h>

typedef struct rows {
    const ash_exchange *x;
    const ash_site_mount *mount;
    ash_tree_listing *listing;
    int64_t left, damaged;
} rows;

static void release_rows(rows *r)
{
    ash_tree_listing_free(r->listing);
    ash__free(r);
}

static void release(ash_exchange *x)
{
    release_rows(x->state);
}

static void write_end(rows *r, ash_buffer *out, bool more)
{
    ash__buffer_append_byte(out, ']');
    ash__json_add_bool(out, "more", more);
    if (r->damaged > 0)
        ash__json_add_int(out, "damaged", r->damaged);
    ash__buffer_append_byte(out, '}');
}

/* Until a piece is full: ASH_MORE_TO_COME; to the end: ASH_MORE_LAST. */
static int write_rows(rows *r, ash_buffer *out, ash_error *err)
{
    while (out->len < ASH_PIECE_BYTES) {
        const ash_tree_entry *e = NULL;
        int rc = ash_tree_listing_next(r->listing, &e, err);
        if (rc == ASH_ECORRUPT) {
            r->damaged++;
            continue;
        }
        if (rc != 0)
            return rc;
        if (e == NULL || r->left == 0) {
            write_end(r, out, e != NULL);
            return ASH_MORE_LAST;
        }
        /* A version of when it lay elsewhere. */
        if (!ash__api_is_within(r->x, r->mount, e))
            continue;
        ash__api_entry(out, r->mount, e);
        r->left--;
    }
    return ASH_MORE_TO_COME;
}

static int more(ash_exchange *x, ash_buffer *out)
{
    rows *r = x->state;
    ash_error err = ASH_ERROR_INIT;
    /* A row goes on after those that are sent already. */
    ash__buffer_append_byte(out, ',');
    int rc = write_rows(r, out, &err);
    if (out->len > 1 && out->data[1] == ']') {
        memmove(out->data, out->data + 1, out->len - 1);
        out->len--;
    }
    if (rc == ASH_MORE_LAST)
        ash__buffer_append_byte(out, '\n');
    if (rc < 0) {
        char *path = ash__http_without_secrets(x->target.path);
        ash__log(ASH_LOG_ERROR, "%s: %s", path, err.text);
        ash__free(path);
    }
    return rc;
}

void ash__api_send_list(ash_api_call *c, ash_tree_listing *listing, int64_t limit)
{
    rows *r = ash__new(rows);
    ash_error err = ASH_ERROR_INIT;
    *r = (rows){.x = c->x, .mount = c->mount, .listing = listing, .left = limit};
    ash__buffer_append_text(&c->out, "{\"entries\":[");
    int rc = write_rows(r, &c->out, &err);
    if (rc == ASH_MORE_TO_COME) {
        c->x->state = r;
        c->x->release = release;
        c->x->more = more;
        ash__answer_field(c->x, "Cache-Control", "no-store");
        ash__answer_stream(c->x, 200, "application/json", -1);
        ash__buffer_append(&c->x->body, c->out.data, c->out.len);
        return;
    }
    if (rc < 0)
        ash__api_fail(c, &err);
    release_rows(r);
}
