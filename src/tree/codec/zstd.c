/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/codec/zstd.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <stdbool.h>
#include <string.h>
/* For an allocator of one's own. */
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

enum { FRAME_MAGIC_BYTES = 4, WINDOW_LOG_MIN = 10, WINDOW_LOG_MAX = 27 };

struct ash_zstd {
    ZSTD_CCtx *encoder; /* each made when first needed */
    ZSTD_DCtx *decoder;
};

/* The tables are looked at all over: with small pages, finding the page takes as long as the look. */
static void *alloc_tables(void *ctx, size_t size_bytes)
{
    (void)ctx;
    return ash__try_alloc_large(size_bytes);
}

static void free_tables(void *ctx, void *tables)
{
    (void)ctx;
    ash__free(tables);
}

ash_zstd *ash__zstd_new(void)
{
    return ash__new(ash_zstd);
}

void ash__zstd_free(ash_zstd *z)
{
    if (z == NULL)
        return;
    ZSTD_freeCCtx(z->encoder);
    ZSTD_freeDCtx(z->decoder);
    ash__free(z);
}

/* The smallest power of two that is not below len. */
static int log_of(size_t len)
{
    int log = WINDOW_LOG_MIN;
    while (log < WINDOW_LOG_MAX && (size_t)1 << log < len)
        log++;
    return log;
}

/* 0: as the level has it. */
typedef struct tuning {
    int level, window_log, hash_log, search_log, min_match;
} tuning;

/* Text, unlike programs and what is compressed already, holds no zero byte; some places tell. */
static bool seems_text(ash_span content)
{
    enum { PLACES = 64, PLACE_BYTES = 64 };
    size_t step = content.len / PLACES;
    for (size_t i = 0; i < PLACES && step >= PLACE_BYTES; i++)
        if (memchr(content.data + i * step, 0, PLACE_BYTES) != NULL)
            return false;
    return true;
}

/* Chosen by measuring releases of text and of programs, each against the one before.  The levels'
 * own tables are made for contents without a prefix: what they forget of a long one is a delta's
 * greatest loss.  The thorough levels enter each byte's place and forget the oldest; text, which
 * repeats itself, leaves room, but of anything else a prefix longer than the table is lost to them.
 * The fast level enters a third of the places.  What has a prefix is mostly long matches: shorter
 * ones than six bytes, which the levels look for, take the places of those.  Long-distance
 * matching makes every delta longer: it splits what these find. */
static tuning tune(size_t prefix_len, ash_span content)
{
    enum { SMALL_BYTES = 1 << 20, MEDIUM_BYTES = 32 << 20 };
    size_t reach = prefix_len + content.len;
    tuning t = {.level = 9, .window_log = log_of(reach), .min_match = prefix_len > 0 ? 6 : 0};
    if (content.len <= SMALL_BYTES)
        return t;
    bool thorough = reach <= MEDIUM_BYTES && seems_text(content);
    if (prefix_len == 0) {
        t.level = thorough ? 7 : 3;
        return t;
    }
    int most = thorough ? 21 : reach <= MEDIUM_BYTES ? 22 : 23;
    t.level = thorough ? 8 : 3;
    t.search_log = thorough ? 5 : 0;
    t.hash_log = t.window_log < most ? t.window_log : most;
    return t;
}

static size_t set_up(ZSTD_CCtx *c, const tuning *t)
{
    const struct {
        ZSTD_cParameter name;
        int value;
    } parameters[] = {
        {ZSTD_c_compressionLevel, t->level},
        {ZSTD_c_windowLog, t->window_log},
        {ZSTD_c_hashLog, t->hash_log},
        {ZSTD_c_searchLog, t->search_log},
        {ZSTD_c_minMatch, t->min_match},
        {ZSTD_c_contentSizeFlag, 1},
        {ZSTD_c_checksumFlag, 0},
        {ZSTD_c_dictIDFlag, 0},
    };
    size_t rc = ZSTD_CCtx_reset(c, ZSTD_reset_session_and_parameters);
    for (size_t i = 0; i < ASH_ARRAY_LEN(parameters) && !ZSTD_isError(rc); i++)
        rc = ZSTD_CCtx_setParameter(c, parameters[i].name, parameters[i].value);
    return rc;
}

/* Of the codec's own calls only memory can be wanting; anything else is a bug. */
static int fail_encoder(size_t rc, ash_error *err)
{
    if (ZSTD_getErrorCode(rc) == ZSTD_error_memory_allocation)
        return ash__fail(err, ASH_ENOMEM, "no memory to compress a content");
    return ash__fail(err, ASH_EINTERNAL, "cannot compress a content: %s", ZSTD_getErrorName(rc));
}

int ash__zstd_encode(ash_zstd *z, ash_span prefix, ash_span content, ash_frame *out, ash_error *err)
{
    const ZSTD_customMem memory = {alloc_tables, free_tables, NULL};
    out->len = 0;
    if (z->encoder == NULL && (z->encoder = ZSTD_createCCtx_advanced(memory)) == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory to compress a content");
    tuning t = tune(prefix.len, content);
    size_t rc = set_up(z->encoder, &t);
    if (!ZSTD_isError(rc))
        rc = ZSTD_CCtx_refPrefix(z->encoder, prefix.data, prefix.len);
    if (!ZSTD_isError(rc))
        rc = ZSTD_compress2(z->encoder, out->data, out->room, content.data, content.len);
    if (!ZSTD_isError(rc))
        out->len = rc;
    else if (ZSTD_getErrorCode(rc) != ZSTD_error_dstSize_tooSmall)
        return fail_encoder(rc, err);
    return 0;
}

/* One frame of today's format, neither skippable nor of the time before 1.0, and nothing behind
 * it. */
static bool is_one_frame(ash_span frame, size_t len)
{
    return frame.len > FRAME_MAGIC_BYTES && ash__get_le32(frame.data) == ZSTD_MAGICNUMBER &&
           ZSTD_getFrameContentSize(frame.data, frame.len) == len &&
           ZSTD_findFrameCompressedSize(frame.data, frame.len) == frame.len;
}

int ash__zstd_decode(ash_zstd *z, ash_span prefix, ash_span frame, uint8_t *out, size_t len,
                     ash_error *err)
{
    if (!is_one_frame(frame, len))
        return ash__fail(err, ASH_ECORRUPT, "not a zstd frame of %zu bytes", len);
    if (z->decoder == NULL && (z->decoder = ZSTD_createDCtx()) == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory to decompress a content");
    size_t rc = ZSTD_DCtx_reset(z->decoder, ZSTD_reset_session_only);
    if (!ZSTD_isError(rc))
        rc = ZSTD_DCtx_refPrefix(z->decoder, prefix.data, prefix.len);
    if (!ZSTD_isError(rc))
        rc = ZSTD_decompressDCtx(z->decoder, out, len, frame.data, frame.len);
    if (ZSTD_isError(rc) || rc != len)
        return ash__fail(err, ASH_ECORRUPT, "a zstd frame does not unpack: %s",
                         ZSTD_isError(rc) ? ZSTD_getErrorName(rc) : "its length is wrong");
    return 0;
}
