/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/write.h"

#include "base/mem.h"
#include "tree/codec/inflate.h"

#include <string.h>

/* How a content is kept that is here as a whole. */

/* Shorter ones have too little in them that an earlier one could have. */
enum { DELTA_MIN_BYTES = 256 };

static void keep_raw(ash_content_writer *w, ash_plan *p)
{
    ash__free(p->packed);
    p->packed = NULL;
    p->store = NULL;
    p->data = w->bytes;
    p->len = w->len;
}

/* For v7files: deflate, where that saves a tenth. */
static int choose_seed_form(ash_content_writer *w, ash_error *err)
{
    ash_buffer out = ASH_BUFFER_INIT;
    int rc = ash__deflate(ASH_DEFLATE_RAW, w->bytes, w->len, &out, err);
    if (rc == 0 && out.len <= w->len - w->len / 10) {
        w->plan.len = out.len;
        w->plan.data = w->plan.packed = ash__buffer_detach(&out);
        w->plan.store = "z";
    }
    ash__buffer_release(&out);
    return rc;
}

/* A frame of at most `room` bytes; none: the plan stays as it is. */
static int try_frame(ash_content_writer *w, ash_span prefix, size_t room, const char *store,
                     ash_error *err)
{
    size_t len = 0;
    uint8_t *out = room > 0 ? ash__try_alloc(room) : NULL;
    if (room > 0 && out == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory for a frame of %zu bytes", room);
    if (w->zstd == NULL)
        w->zstd = ash__zstd_new();
    int rc = room > 0 ? ash__zstd_encode(w->zstd, prefix, (ash_span){w->bytes, w->len}, out, room,
                                         &len, err)
                      : 0;
    if (rc != 0 || len == 0) {
        ash__free(out);
        return rc;
    }
    ash__free(w->plan.packed);
    w->plan.data = w->plan.packed = out;
    w->plan.len = len;
    w->plan.store = store;
    return 0;
}

/* The content to build on: the one before or, where its chain is as long as they get, the nearest
 * below it whose chain is short. */
static int find_base(ash_content_writer *w, ash_fetch *f, ash_content_id *base, int32_t *depth,
                     ash_error *err)
{
    *base = w->before;
    for (int i = 0; i < ASH_DELTA_LEVELS_MAX && base->len == w->id.len; i++) {
        bson_t doc;
        bool found = false;
        ash_form form;
        int rc = ash__find_content(w->c, base, &f->op, &doc, &found, err);
        if (rc != 0 || !found) {
            base->len = 0;
            return rc;
        }
        rc = ash__form_read(&doc, &form, NULL);
        *depth = rc == 0 && form.kind == ASH_FORM_DELTA ? form.depth : 0;
        bool usable = rc == 0 && form.size > 0 && form.size <= ASH_CONTENT_WHOLE_MAX;
        bool at_cap = i == 0 ? *depth >= ASH_CHAIN_MAX : *depth > 1;
        if (usable && at_cap && form.part_count > 0)
            *base = form.parts[0].id;
        else if (!usable)
            base->len = 0;
        ash__form_release(&form);
        bson_destroy(&doc);
        if (!usable || !at_cap)
            return 0;
    }
    base->len = 0;
    return 0;
}

static int try_delta(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_fetch f;
    ash_blob *prefix = NULL;
    ash_content_id base = {.len = 0};
    int32_t depth = 0;
    int rc = ash__fetch_init(&f, w->c, op, err);
    if (rc == 0)
        rc = find_base(w, &f, &base, &depth, err);
    /* A base that cannot be read costs the versions that stand on it already, not this one. */
    if (rc == 0 && base.len != 0 && ash__fetch_whole(&f, &base, &prefix, NULL) == 0) {
        rc =
            try_frame(w, (ash_span){prefix->data, prefix->len}, w->len - w->len / 10, "delta", err);
        if (rc == 0 && w->plan.packed != NULL) {
            w->plan.base = base;
            w->plan.base_len = (int64_t)prefix->len;
            w->plan.depth = depth + 1;
            w->plan.bases = ash__memdup(&base, sizeof base);
            w->plan.base_count = 1;
        }
    }
    ash__blob_release(prefix);
    ash__fetch_release(&f);
    return rc;
}

/* No delta any more: the frame stands by itself. */
static void forget_base(ash_plan *p)
{
    ash__free(p->bases);
    p->bases = NULL;
    p->base_count = 0;
    p->base.len = 0;
    p->depth = 0;
}

int ash__choose_form(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_plan *p = &w->plan;
    int rc = 0;
    keep_raw(w, p);
    if (w->c->digest == ASH_DIGEST_SHA1)
        return choose_seed_form(w, err);
    if (w->before.len != 0 && w->len >= DELTA_MIN_BYTES)
        rc = try_delta(w, op, err);
    if (rc != 0)
        return rc;
    /* A delta of a quarter is not beaten; one that is not clearly smaller makes a chain for
     * nothing. */
    if (p->packed != NULL && p->len < w->len / 4)
        return 0;
    size_t room = w->len - w->len / 10;
    if (p->packed != NULL && p->len + p->len / 10 < room)
        room = p->len + p->len / 10;
    rc = try_frame(w, (ash_span){NULL, 0}, room, "zstd", err);
    if (rc == 0 && p->store != NULL && strcmp(p->store, "zstd") == 0)
        forget_base(p);
    return rc;
}
