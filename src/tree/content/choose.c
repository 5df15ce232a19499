/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/write.h"

#include "base/mem.h"
#include "tree/codec/inflate.h"

#include <string.h>

/* How a content is kept that is here as a whole. */

/* Shorter ones have too little in them that an earlier one could have. */
enum { DELTA_MIN_BYTES = 512 };

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

static void take_codec(ash_content_writer *w)
{
    if (w->zstd == NULL)
        w->zstd = ash__codec_take(w->c);
}

int ash__plan_frame(ash_content_writer *w, ash_plan *plan, ash_span prefix, ash_span data,
                    size_t room, ash_error *err)
{
    if (room == 0)
        return 0;
    ash_frame out = {.data = ash__try_alloc(room), .room = room};
    if (out.data == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory for a frame of %zu bytes", room);
    take_codec(w);
    int rc = ash__zstd_encode(w->zstd, prefix, data, &out, err);
    if (rc != 0 || out.len == 0) {
        ash__free(out.data);
        return rc;
    }
    uint8_t *fitting = ash__try_resize(out.data, out.len);
    ash__free(plan->packed);
    plan->data = plan->packed = fitting != NULL ? fitting : out.data;
    plan->len = out.len;
    return 0;
}

enum { SAMPLE = 16 * 1024, SAMPLES = 3, RANDOM_IN_A_ROW = 8 };

static bool is_sample_random(ash_content_writer *w, ash_span sample)
{
    uint8_t out[SAMPLE - SAMPLE / 10];
    ash_frame frame = {.data = out, .room = sample.len - sample.len / 10};
    return ash__zstd_encode(w->zstd, (ash_span){NULL, 0}, sample, &frame, NULL) == 0 &&
           frame.len == 0;
}

bool ash__looks_random(ash_content_writer *w, ash_span data)
{
    enum { WORTHWHILE = 64 * 1024, PART = 16, SMALLER_PART = 64 };
    if (data.len < WORTHWHILE)
        return false;
    /* Looking costs a fifth of trying, at most; and a sixtieth, where one piece after the other was
     * random before. */
    bool all = w->random_in_a_row < RANDOM_IN_A_ROW;
    size_t part = data.len / (all ? PART : SMALLER_PART), len = part < SAMPLE ? part : SAMPLE;
    take_codec(w);
    for (size_t i = 0; i < SAMPLES; i++) {
        ash_span sample = {data.data + i * ((data.len - len) / (SAMPLES - 1)), len};
        if ((all || i == w->random_in_a_row % SAMPLES) && !is_sample_random(w, sample)) {
            w->random_in_a_row = 0;
            return false;
        }
    }
    w->random_in_a_row++;
    return true;
}

/* *out NULL: a base that cannot be read costs the versions that stand on it already, not this one.
 * Of a long chain of deltas only two contents are ever in memory, and pieces, which several of a
 * list may stand on. */
static int fetch_base(ash_content_writer *w, const ash_content_id *base, const ash_op *op,
                      ash_blob **out, ash_error *err)
{
    enum { PIECES_BYTES = 8 * 1024 * 1024 };
    ash_fetch f;
    *out = NULL;
    int rc = ash__fetch_init(&f, w->c, op, err);
    f.cache_bytes = PIECES_BYTES;
    if (rc == 0 && base->len != 0)
        (void)ash__fetch_whole(&f, base, out, NULL);
    ash__fetch_release(&f);
    return rc;
}

/* Of bytes that are not the base's: whoever heals the base would damage what stands on it. */
static void forget_frame(ash_content_writer *w)
{
    ash__free(w->plan.packed);
    w->plan.packed = NULL;
    w->plan.data = w->bytes;
    w->plan.len = w->len;
}

static int try_delta(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_blob *prefix = NULL;
    ash_content_id base = {.len = 0};
    int32_t depth = 0;
    int rc = ash__choose_base(w, op, &base, &depth, err);
    if (rc == 0)
        rc = fetch_base(w, &base, op, &prefix, err);
    if (rc == 0 && prefix != NULL) {
        rc = ash__plan_frame(w, &w->plan, (ash_span){prefix->data, prefix->len},
                             (ash_span){w->bytes, w->len}, w->len - w->len / 10, err);
        if (rc == 0 && w->plan.packed != NULL && !ash__blob_is(prefix, &base))
            forget_frame(w);
        if (rc == 0 && w->plan.packed != NULL) {
            const ash_form_part part = {.id = base, .len = (int64_t)prefix->len};
            w->plan.store = "delta";
            w->plan.depth = depth + 1;
            w->plan.parts = ash__memdup(&part, sizeof part);
            w->plan.part_count = 1;
        }
    }
    ash__blob_release(prefix);
    return rc;
}

/* A frame by itself, where that saves a tenth; a delta that is not clearly smaller than it makes a
 * chain for nothing. */
static int try_alone(ash_content_writer *w, ash_error *err)
{
    ash_plan *p = &w->plan, alone = {0};
    size_t room = w->len - w->len / 10;
    if (p->packed != NULL && p->len + p->len / 10 < room)
        room = p->len + p->len / 10;
    int rc =
        ash__plan_frame(w, &alone, (ash_span){NULL, 0}, (ash_span){w->bytes, w->len}, room, err);
    if (rc == 0 && alone.packed != NULL) {
        alone.store = "zstd";
        alone.sketched = p->sketched;
        alone.sketch = p->sketch;
        ash__plan_release(p);
        *p = alone;
    }
    return rc;
}

int ash__choose_form(ash_content_writer *w, const ash_op *op, ash_error *err)
{
    ash_plan *p = &w->plan;
    int rc = 0;
    p->data = w->bytes;
    p->len = w->len;
    if (w->c->digest == ASH_DIGEST_SHA1)
        return choose_seed_form(w, err);
    if (w->len >= DELTA_MIN_BYTES) {
        ash__sketch_make(w->bytes, w->len, &p->sketch);
        p->sketched = true;
        /* What stands on the damaged one already must not be what its heir stands on. */
        if (!w->damaged)
            rc = try_delta(w, op, err);
    }
    /* What is a quarter of it is not beaten. */
    if (rc != 0 || (p->packed != NULL && p->len < w->len / 4) ||
        ash__looks_random(w, (ash_span){w->bytes, w->len}))
        return rc;
    return try_alone(w, err);
}
