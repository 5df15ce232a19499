/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/codec/zstd.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <zstd.h>
#include <zstd_errors.h>

enum { FRAME_MAGIC_BYTES = 4, WINDOW_LOG_MIN = 10, WINDOW_LOG_MAX = 27 };

struct ash_zstd {
    ZSTD_CCtx *encoder; /* each made when first needed */
    ZSTD_DCtx *decoder;
};

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

typedef struct tuning {
    int level, window_log, hash_log; /* hash_log: 0 as the level has it */
} tuning;

static tuning tune(size_t prefix_len, size_t len)
{
    tuning t = {.level = 3, .window_log = log_of(prefix_len + len)};
    if (prefix_len > 0 && len > (size_t)1 << 20)
        t.hash_log = t.window_log < 22 ? t.window_log : 22;
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

int ash__zstd_encode(ash_zstd *z, ash_span prefix, ash_span content, uint8_t *out, size_t room,
                     size_t *out_len, ash_error *err)
{
    *out_len = 0;
    if (z->encoder == NULL && (z->encoder = ZSTD_createCCtx()) == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory to compress a content");
    tuning t = tune(prefix.len, content.len);
    size_t rc = set_up(z->encoder, &t);
    if (!ZSTD_isError(rc))
        rc = ZSTD_CCtx_refPrefix(z->encoder, prefix.data, prefix.len);
    if (!ZSTD_isError(rc))
        rc = ZSTD_compress2(z->encoder, out, room, content.data, content.len);
    if (!ZSTD_isError(rc))
        *out_len = rc;
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
