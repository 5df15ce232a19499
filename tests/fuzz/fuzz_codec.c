/* SPDX-License-Identifier: Apache-2.0 */
/* Contents that are decoded.  Input: a byte that says how (0 zstd, 1 zstd with a prefix, 2 raw
 * deflate, 3 gzip; +4: taken as a content, encoded and decoded), two bytes of length, which for
 * zstd is what the content should have and for the others at most; with a prefix one byte of how
 * much of the input is prefix; then the frame. */
#include "fuzz.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "tree/codec/inflate.h"
#include "tree/codec/zstd.h"

#include <string.h>

enum { HEAD_BYTES = 4, ZSTD_ALONE = 0, ZSTD_PREFIX = 1, FORMS = 4, THERE_AND_BACK = 4 };

/* Of just its size, so that a byte too many shows under a sanitizer. */
static uint8_t *exact(size_t len)
{
    return ash__alloc(len == 0 ? 1 : len);
}

static void check_zstd(ash_span prefix, ash_span frame, size_t len)
{
    ash_zstd *z = ash__zstd_new();
    uint8_t *out = exact(len);
    ash_error err;
    int rc = ash__zstd_decode(z, prefix, frame, out, len, &err);
    ash_assert(rc == 0 || rc == ASH_ECORRUPT);
    fuzz_check_refusal(rc, &err);
    ash__free(out);
    ash__zstd_free(z);
}

static void check_inflate(ash_deflate_form form, ash_span packed, size_t max)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash_error err;
    int rc = ash__inflate(form, packed.data, packed.len, max, &out, &err);
    ash_assert(rc == 0 || rc == ASH_ECORRUPT || rc == ASH_ETOOBIG);
    ash_assert(out.len <= max);
    fuzz_check_refusal(rc, &err);
    ash__buffer_release(&out);
}

static void zstd_and_back(ash_span prefix, ash_span content)
{
    ash_zstd *z = ash__zstd_new();
    ash_frame frame = {.data = exact(content.len + 1000), .room = content.len + 1000};
    uint8_t *out = exact(content.len);
    ash_error err;
    ash_assert(ash__zstd_encode(z, prefix, content, &frame, &err) == 0 && frame.len > 0);
    ash_assert(ash__zstd_decode(z, prefix, (ash_span){frame.data, frame.len}, out, content.len,
                                &err) == 0);
    ash_assert(memcmp(out, content.data, content.len) == 0);
    ash__free(frame.data);
    ash__free(out);
    ash__zstd_free(z);
}

static void deflate_and_back(ash_deflate_form form, ash_span content)
{
    ash_buffer packed = ASH_BUFFER_INIT, out = ASH_BUFFER_INIT;
    ash_error err;
    ash_assert(ash__deflate(form, content.data, content.len, &packed, &err) == 0);
    ash_assert(ash__inflate(form, packed.data, packed.len, content.len, &out, &err) == 0);
    ash_assert(out.len == content.len && memcmp(out.data, content.data, out.len) == 0);
    ash__buffer_release(&packed);
    ash__buffer_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < HEAD_BYTES)
        return 0;
    int how = data[0] % FORMS;
    size_t len = data[1] | (size_t)data[2] << 8, left = size - HEAD_BYTES;
    ash_span prefix = {data + HEAD_BYTES, how == ZSTD_PREFIX ? left * data[3] / 255 : 0};
    ash_span rest = {prefix.data + prefix.len, left - prefix.len};
    ash_deflate_form form = how == FORMS - 1 ? ASH_DEFLATE_GZIP : ASH_DEFLATE_RAW;
    bool is_zstd = how == ZSTD_ALONE || how == ZSTD_PREFIX;
    if ((data[0] & THERE_AND_BACK) != 0)
        is_zstd ? zstd_and_back(prefix, rest) : deflate_and_back(form, rest);
    else
        is_zstd ? check_zstd(prefix, rest, len) : check_inflate(form, rest, len);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bytes(data, size, max_size, seed);
}
