/* SPDX-License-Identifier: Apache-2.0 */
#include "object/docs/encoding.h"

#include "base/error.h"
#include "base/mem.h"

#include <string.h>
#include <zstd.h>

#define MAGIC_SKIPPABLE 0x184D2A5Eu
#define MAGIC_TABLE     0x8F92EAB1u

static void append_u32(ash_buffer *b, uint32_t v)
{
    uint8_t bytes[4] = {(uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16), (uint8_t)(v >> 24)};
    ash__buffer_append(b, bytes, sizeof bytes);
}

static uint32_t read_u32(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* ---- encoding ---- */

struct ash_encoder {
    ZSTD_CCtx *zstd;
    ash_buffer frame, table;
    uint32_t count;
};

ash_encoder *ash__encoder_new(void)
{
    ash_encoder *e = ash__new(ash_encoder);
    e->zstd = ZSTD_createCCtx();
    return e;
}

void ash__encoder_free(ash_encoder *e)
{
    if (e == NULL)
        return;
    ZSTD_freeCCtx(e->zstd);
    ash__buffer_release(&e->frame);
    ash__buffer_release(&e->table);
    ash__free(e);
}

int ash__encoder_chunk(ash_encoder *e, const void *chunk, size_t len, const void **data,
                       size_t *data_len, ash_error *err)
{
    size_t room = ZSTD_compressBound(len);
    ash__buffer_clear(&e->frame);
    ash__buffer_reserve(&e->frame, room);
    size_t n = e->zstd != NULL ? ZSTD_compressCCtx(e->zstd, e->frame.data, room, chunk, len, 3)
                               : (size_t)-1;
    if (e->zstd == NULL || ZSTD_isError(n))
        return ash__fail(err, ASH_ENOMEM, "zstd: %s",
                         e->zstd != NULL ? ZSTD_getErrorName(n) : "no memory");
    append_u32(&e->table, (uint32_t)n);
    append_u32(&e->table, (uint32_t)len);
    e->count++;
    *data = e->frame.data;
    *data_len = n;
    return 0;
}

void ash__encoder_end(ash_encoder *e, const void **data, size_t *data_len)
{
    ash__buffer_clear(&e->frame);
    append_u32(&e->frame, MAGIC_SKIPPABLE);
    append_u32(&e->frame, (uint32_t)(e->table.len + ASH_ENCODED_FOOTER));
    ash__buffer_append(&e->frame, e->table.data, e->table.len);
    append_u32(&e->frame, e->count);
    ash__buffer_append_byte(&e->frame, 0);
    append_u32(&e->frame, MAGIC_TABLE);
    *data = e->frame.data;
    *data_len = e->frame.len;
}

/* ---- decoding ---- */

struct ash_decoder {
    ash_download *download;
    ZSTD_DCtx *zstd;
    int64_t *starts; /* count + 1 */
    uint32_t count;
    int64_t size, at;
    size_t chunk_size;
    uint8_t *plain, *frame; /* one chunk, and what it is made of */
    size_t plain_len, frame_room;
    int64_t have; /* number of the chunk in plain; -1: none */
};

void ash__decoder_free(ash_decoder *d)
{
    if (d == NULL)
        return;
    ZSTD_freeDCtx(d->zstd);
    ash__free(d->starts);
    ash__free(d->plain);
    ash__free(d->frame);
    ash__free(d);
}

static int say_corrupt(const char *what, ash_error *err)
{
    return ash__fail(err, ASH_ECORRUPT, "encoded bytes: %s", what);
}

static int read_at(ash_decoder *d, int64_t position, void *buf, size_t len, ash_error *err)
{
    size_t have = 0, got = 1;
    int rc = ash_download_seek(d->download, position, err);
    while (rc == 0 && have < len && got > 0) {
        rc = ash_download_read(d->download, (uint8_t *)buf + have, len - have, &got, err);
        have += got;
    }
    return rc == 0 && have < len ? say_corrupt("they end early", err) : rc;
}

static size_t plain_length(const ash_decoder *d, uint32_t n)
{
    int64_t left = d->size - (int64_t)n * (int64_t)d->chunk_size;
    return left < (int64_t)d->chunk_size ? (size_t)left : d->chunk_size;
}

static int read_entries(ash_decoder *d, const uint8_t *table, int64_t table_start, ash_error *err)
{
    d->starts = ash__alloc_array((size_t)d->count + 1, sizeof *d->starts);
    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t len = read_u32(table + (size_t)i * ASH_ENCODED_ENTRY);
        uint32_t plain = read_u32(table + (size_t)i * ASH_ENCODED_ENTRY + 4);
        if (plain != plain_length(d, i) || len > ZSTD_compressBound(plain))
            return say_corrupt("their table does not fit the object", err);
        d->starts[i + 1] = d->starts[i] + len;
    }
    return d->starts[d->count] == table_start ? 0 : say_corrupt("their table does not fit", err);
}

static int read_table(ash_decoder *d, ash_error *err)
{
    int64_t length = ash_file_length(ash_download_file(d->download));
    int64_t chunks = (d->size + (int64_t)d->chunk_size - 1) / (int64_t)d->chunk_size;
    uint8_t footer[ASH_ENCODED_FOOTER];
    if (length < ASH_ENCODED_HEAD + ASH_ENCODED_FOOTER)
        return say_corrupt("they are too short", err);
    int rc = read_at(d, length - ASH_ENCODED_FOOTER, footer, sizeof footer, err);
    if (rc != 0)
        return rc;
    d->count = read_u32(footer);
    int64_t start = length - ASH_ENCODED_FOOTER - (int64_t)d->count * ASH_ENCODED_ENTRY;
    if (read_u32(footer + 5) != MAGIC_TABLE || footer[4] != 0 || d->count != chunks ||
        start < ASH_ENCODED_HEAD)
        return say_corrupt("they have no table that fits", err);
    size_t len = (size_t)d->count * ASH_ENCODED_ENTRY;
    uint8_t *table = ash__try_alloc(len + 1);
    if (table == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory for a table of %zu bytes", len);
    rc = read_at(d, start, table, len, err);
    if (rc == 0)
        rc = read_entries(d, table, start - ASH_ENCODED_HEAD, err);
    ash__free(table);
    return rc;
}

int ash__decoder_open(ash_download *download, int64_t size, int32_t chunk_size, ash_decoder **out,
                      ash_error *err)
{
    ash_decoder *d = ash__new(ash_decoder);
    d->download = download;
    d->size = size;
    d->chunk_size = (size_t)chunk_size;
    d->have = -1;
    d->zstd = ZSTD_createDCtx();
    int rc = d->zstd != NULL ? read_table(d, err) : ash__fail(err, ASH_ENOMEM, "zstd: no memory");
    if (rc == 0) {
        d->frame_room = ZSTD_compressBound(d->chunk_size);
        d->plain = ash__try_alloc(d->chunk_size);
        d->frame = ash__try_alloc(d->frame_room);
        if (d->plain == NULL || d->frame == NULL)
            rc = ash__fail(err, ASH_ENOMEM, "no memory for chunks of %d bytes", chunk_size);
    }
    if (rc != 0)
        ash__decoder_free(d);
    else
        *out = d;
    return rc;
}

static int decode(ash_decoder *d, uint32_t n, ash_error *err)
{
    size_t len = (size_t)(d->starts[n + 1] - d->starts[n]);
    size_t wanted = plain_length(d, n);
    d->have = -1;
    int rc = read_at(d, d->starts[n], d->frame, len, err);
    if (rc != 0)
        return rc;
    size_t got = ZSTD_decompressDCtx(d->zstd, d->plain, wanted, d->frame, len);
    if (ZSTD_isError(got) || got != wanted)
        return say_corrupt("a chunk does not decode", err);
    d->plain_len = got;
    d->have = n;
    return 0;
}

int ash__decoder_read(ash_decoder *d, void *buf, size_t len, size_t *got, ash_error *err)
{
    *got = 0;
    if (d->at >= d->size)
        return 0;
    uint32_t n = (uint32_t)(d->at / (int64_t)d->chunk_size);
    int rc = d->have == n ? 0 : decode(d, n, err);
    if (rc != 0)
        return rc;
    size_t offset = (size_t)(d->at % (int64_t)d->chunk_size);
    *got = d->plain_len - offset < len ? d->plain_len - offset : len;
    memcpy(buf, d->plain + offset, *got);
    d->at += (int64_t)*got;
    return 0;
}

int ash__decoder_seek(ash_decoder *d, int64_t position, ash_error *err)
{
    (void)err;
    d->at = position;
    return 0;
}
