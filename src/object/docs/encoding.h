/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_DOCS_ENCODING_H
#define ASH_OBJECT_DOCS_ENCODING_H

/* Bytes encoded chunk by chunk: zstd's seekable format, which is one zstd frame a chunk, and a table
 * of their lengths in a skippable frame at the end.  Any zstd decodes the whole.
 *
 * The table, little endian: 0x184D2A5E, its length behind these 8 bytes; for each frame its length
 * and that of what is in it; the number of frames, a byte of 0, 0x8F92EAB1. */

#include <ashlar/bucket.h>

#include "base/buffer.h"

#define ASH_ENCODED_ENTRY  8
#define ASH_ENCODED_FOOTER 9
#define ASH_ENCODED_HEAD   8

typedef struct ash_encoder ash_encoder;
ash_encoder *ash__encoder_new(void);
void ash__encoder_free(ash_encoder *e);
/* One chunk; *data: until the next call. */
int ash__encoder_chunk(ash_encoder *e, const void *chunk, size_t len, const void **data,
                       size_t *data_len, ash_error *err);
/* The table behind all chunks; likewise. */
void ash__encoder_end(ash_encoder *e, const void **data, size_t *data_len);

/* Decodes from a download of the whole file, which stays the caller's. */
typedef struct ash_decoder ash_decoder;
/* size, chunk_size: of the object, with which the table has to agree: else ASH_ECORRUPT. */
int ash__decoder_open(ash_download *d, int64_t size, int32_t chunk_size, ash_decoder **out,
                      ash_error *err);
void ash__decoder_free(ash_decoder *d);
int ash__decoder_read(ash_decoder *d, void *buf, size_t len, size_t *got, ash_error *err);
int ash__decoder_seek(ash_decoder *d, int64_t position, ash_error *err);

#endif
