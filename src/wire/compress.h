/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_COMPRESS_H
#define ASH_WIRE_COMPRESS_H

/* OP_COMPRESSED: snappy, zlib and zstd around whole messages (layout in wire/message.h). */

#include "base/buffer.h"
#include "base/error.h"

#include <stdbool.h>

enum ash_compressor {
    ASH_COMPRESSOR_NONE = 0, /* OP_COMPRESSED may carry plain bytes */
    ASH_COMPRESSOR_SNAPPY = 1,
    ASH_COMPRESSOR_ZLIB = 2,
    ASH_COMPRESSOR_ZSTD = 3
};

/* The compressor of that name ("zstd"); false if there is none. */
bool ash__compressor_from_name(const char *name, uint8_t *out);

/* How long the message inside is, its header included; checked against ASH_MESSAGE_MAX_BYTES
 * before anything is allocated.  message: whole, opcode OP_COMPRESSED.  ASH_EINVAL (17). */
int ash__compressed_size(const uint8_t *message, size_t len_bytes, size_t *out, ash_error *err);

/* Unpack into out, which holds out_len bytes as ash__compressed_size said.  *compressor: what the
 * client used, to answer alike.  ASH_EINVAL (17) when the bytes do not give exactly that size. */
int ash__compressed_unpack(const uint8_t *message, size_t len_bytes, uint8_t *out, size_t out_len,
                           uint8_t *compressor, ash_error *err);

/* Append message, a whole one, to out as OP_COMPRESSED.  Returns false and appends nothing when it
 * would not become shorter; it is then sent as it is. */
bool ash__compressed_pack(const uint8_t *message, size_t len_bytes, uint8_t compressor,
                          ash_buffer *out);

#endif
