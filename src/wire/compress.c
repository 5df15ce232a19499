/* SPDX-License-Identifier: Apache-2.0 */
/* OP_COMPRESSED, by the layout in message.h.  A size that a client tells is believed only within
 * the bounds of a message, since memory is taken by it before a byte is unpacked. */
#include "wire/compress.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "wire/message.h"

#include <snappy-c.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

enum { ZSTD_LEVEL = 3 }; /* zstd's own default; zlib below is at its fastest */

static const struct {
    const char *name;
    uint8_t id;
} compressors[] = {
    {"zstd", ASH_COMPRESSOR_ZSTD},
    {"snappy", ASH_COMPRESSOR_SNAPPY},
    {"zlib", ASH_COMPRESSOR_ZLIB},
};

bool ash__compressor_from_name(const char *name, uint8_t *out)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(compressors); i++)
        if (strcmp(compressors[i].name, name) == 0) {
            *out = compressors[i].id;
            return true;
        }
    return false;
}

int ash__compressed_size(const uint8_t *message, size_t len_bytes, size_t *out, ash_error *err)
{
    if (len_bytes < ASH_MESSAGE_COMPRESSED_BYTES)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_PROTOCOL_ERROR,
                                "compressed message is too short");
    uint32_t size = ash__get_le32(message + 20);
    if (size == 0 || size > ASH_MESSAGE_MAX_BYTES - ASH_MESSAGE_HEADER_BYTES)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_PROTOCOL_ERROR,
                                "uncompressed size %u is out of bounds", size);
    *out = ASH_MESSAGE_HEADER_BYTES + (size_t)size;
    return 0;
}

static bool unpack_zlib(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
    uLongf got = (uLongf)out_len;
    return uncompress(out, &got, in, (uLong)in_len) == Z_OK && got == out_len;
}

static bool unpack_snappy(const uint8_t *in, size_t in_len, uint8_t *out, size_t out_len)
{
    size_t got = 0;
    if (snappy_uncompressed_length((const char *)in, in_len, &got) != SNAPPY_OK || got != out_len)
        return false;
    return snappy_uncompress((const char *)in, in_len, (char *)out, &got) == SNAPPY_OK &&
           got == out_len;
}

static bool unpack(uint8_t compressor, const uint8_t *in, size_t in_len, uint8_t *out,
                   size_t out_len)
{
    switch (compressor) {
    /* A client may wrap what it does not compress. */
    case ASH_COMPRESSOR_NONE:
        if (in_len == out_len)
            memcpy(out, in, in_len);
        return in_len == out_len;
    case ASH_COMPRESSOR_SNAPPY:
        return unpack_snappy(in, in_len, out, out_len);
    case ASH_COMPRESSOR_ZLIB:
        return unpack_zlib(in, in_len, out, out_len);
    case ASH_COMPRESSOR_ZSTD:
        /* An error is a number beyond every length. */
        return ZSTD_decompress(out, out_len, in, in_len) == out_len;
    default:
        return false;
    }
}

int ash__compressed_unpack(const uint8_t *message, size_t len_bytes, uint8_t *out, size_t out_len,
                           uint8_t *compressor, ash_error *err)
{
    ash_message_header header = {.length = (uint32_t)out_len,
                                 .request_id = (int32_t)ash__get_le32(message + 4),
                                 .response_to = (int32_t)ash__get_le32(message + 8),
                                 .op_code = (int32_t)ash__get_le32(message + 16)};
    *compressor = message[24];
    ash__message_header_write(out, &header);
    if (!unpack(*compressor, message + ASH_MESSAGE_COMPRESSED_BYTES,
                len_bytes - ASH_MESSAGE_COMPRESSED_BYTES, out + ASH_MESSAGE_HEADER_BYTES,
                out_len - ASH_MESSAGE_HEADER_BYTES))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_PROTOCOL_ERROR,
                                "compressed message (compressor %u) does not unpack to its size",
                                *compressor);
    return 0;
}

static size_t pack_bound(uint8_t compressor, size_t len)
{
    switch (compressor) {
    case ASH_COMPRESSOR_SNAPPY:
        return snappy_max_compressed_length(len);
    case ASH_COMPRESSOR_ZLIB:
        return compressBound((uLong)len);
    case ASH_COMPRESSOR_ZSTD:
        return ZSTD_compressBound(len);
    default:
        return 0;
    }
}

/* The compressed length, or 0. */
static size_t pack(uint8_t compressor, const uint8_t *in, size_t in_len, uint8_t *out, size_t room)
{
    size_t got = room;
    uLongf zlib_got = (uLongf)room;
    switch (compressor) {
    case ASH_COMPRESSOR_SNAPPY:
        return snappy_compress((const char *)in, in_len, (char *)out, &got) == SNAPPY_OK ? got : 0;
    case ASH_COMPRESSOR_ZLIB:
        return compress2(out, &zlib_got, in, (uLong)in_len, Z_BEST_SPEED) == Z_OK ? zlib_got : 0;
    case ASH_COMPRESSOR_ZSTD:
        got = ZSTD_compress(out, room, in, in_len, ZSTD_LEVEL);
        return ZSTD_isError(got) ? 0 : got;
    default:
        return 0;
    }
}

bool ash__compressed_pack(const uint8_t *message, size_t len_bytes, uint8_t compressor,
                          ash_buffer *out)
{
    const uint8_t *in = message + ASH_MESSAGE_HEADER_BYTES;
    size_t in_len = len_bytes - ASH_MESSAGE_HEADER_BYTES;
    size_t bound = pack_bound(compressor, in_len);
    if (bound == 0)
        return false;
    ash__buffer_reserve(out, bound + ASH_MESSAGE_COMPRESSED_BYTES);
    uint8_t *start = out->data + out->len;
    size_t got = pack(compressor, in, in_len, start + ASH_MESSAGE_COMPRESSED_BYTES, bound);
    /* What does not shrink goes as it is: unpacking is work for the client, too. */
    if (got == 0 || got + ASH_MESSAGE_COMPRESSED_BYTES >= len_bytes)
        return false;
    memcpy(start, message, ASH_MESSAGE_HEADER_BYTES);
    ash__put_le32(start, (uint32_t)(got + ASH_MESSAGE_COMPRESSED_BYTES));
    /* The original opcode moves behind the header, whose own is put in its place. */
    memcpy(start + 16, message + 12, 4);
    ash__put_le32(start + 12, ASH_OP_COMPRESSED);
    ash__put_le32(start + 20, (uint32_t)in_len);
    start[24] = compressor;
    out->len += got + ASH_MESSAGE_COMPRESSED_BYTES;
    return true;
}
