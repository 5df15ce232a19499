/* SPDX-License-Identifier: Apache-2.0 */
/* What changed between two versions of a text. */
#include "base/mem.h"
#include "base/text.h"
#include "http/site/api.h"
#include "http/site/diff.h"

#include <string.h>

typedef struct version {
    ash_tree_entry *entry;
    char *data; /* or NULL */
    size_t len;
} version;

static void release(version *v)
{
    ash_tree_entry_free(v->entry);
    ash__free(v->data);
}

static int read_all(ash_api_call *c, version *v, ash_error *err)
{
    ash_tree_reader *r = NULL;
    size_t size = (size_t)ash_tree_entry_length(v->entry), got = 0;
    int rc = ash_tree_open_entry(c->mount->tree, v->entry, NULL, c->x->op, &r, err);
    v->data = ash__alloc(size + 1);
    /* The read that finds the end compares the digest. */
    do {
        rc = rc == 0 ? ash_tree_reader_read(r, v->data + v->len, size + 1 - v->len, &got, err) : rc;
        v->len += rc == 0 ? got : 0;
    } while (rc == 0 && got > 0 && v->len <= size);
    ash_tree_reader_free(r);
    return rc;
}

/* name: of the parameter; the newest where it is not given.  false: x is answered. */
static bool read_version(ash_api_call *c, const char *name, version *v)
{
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_error err = ASH_ERROR_INIT;
    when.version = (int32_t)ash__api_number(c, name, 0);
    if (ash_tree_get(c->mount->tree, c->path, &when, c->x->op, &v->entry, &err) != 0)
        ash__api_fail(c, &err);
    else if (ash_tree_entry_is_folder(v->entry))
        ash__api_refuse(c, 400, "EINVAL", "%.300s is a folder", c->url_path);
    else if (ash_tree_entry_length(v->entry) > ASH_DIFF_MAX_BYTES)
        ash__api_refuse(c, 413, "ETOOBIG", "version %d has more than 1 MiB",
                        (int)ash_tree_entry_version(v->entry));
    else if (read_all(c, v, &err) != 0)
        ash__api_fail(c, &err);
    else if (memchr(v->data, '\0', v->len) != NULL || ash__text_good(v->data, v->len) != v->len)
        ash__api_refuse(c, 415, "EINVAL", "version %d is no text in UTF-8",
                        (int)ash_tree_entry_version(v->entry));
    return c->x->status == 0;
}

/* A line break in a name would be another line. */
static void write_head(ash_api_call *c, const char *mark, const version *v)
{
    ash__buffer_printf(&c->out, "%s ", mark);
    for (const char *at = c->url_path; *at != '\0'; at++)
        ash__buffer_append_byte(&c->out, (unsigned char)*at < 0x20 ? '?' : (uint8_t)*at);
    ash__buffer_printf(&c->out, "\tversion %d\n", (int)ash_tree_entry_version(v->entry));
}

void ash__api_diff(ash_api_call *c)
{
    version from = {0}, to = {0};
    if (read_version(c, "from", &from) && read_version(c, "to", &to)) {
        write_head(c, "---", &from);
        write_head(c, "+++", &to);
        if (ash__diff_unified((ash_diff_text){from.data, from.len},
                              (ash_diff_text){to.data, to.len}, &c->out)) {
            ash__answer_field(c->x, "Cache-Control", "no-store");
            ash__answer_field(c->x, "X-Content-Type-Options", "nosniff");
            ash__answer_body(c->x, 200, "text/x-diff; charset=utf-8", c->out.data, c->out.len);
        } else {
            ash__api_refuse(c, 413, "ETOOBIG", "a version has more than %d lines",
                            (int)ASH_DIFF_MAX_LINES);
        }
    }
    release(&from);
    release(&to);
}
