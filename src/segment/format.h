/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_SEGMENT_FORMAT_H
#define ASH_SEGMENT_FORMAT_H

/* Segment files, byte by byte.  All integers little-endian.
 *
 * segments/NNNNNNNN.seg (the id in hexadecimal, from 00000001) is a row of blocks of 4,096 bytes.
 * Block 0 is the file's header:
 *
 *   0   8  magic "ASHLRSEG"
 *   8   4  format version (1)
 *   12  4  segment id
 *   16  16 the store's id
 *   32  8  size of the file in blocks
 *   40  8  XXH3-64 of bytes 0..39
 *
 * Every other block is free, or belongs to one record.  A record starts at a block and takes as
 * many blocks as 48 + payload length needs; what is left of its last block is undefined.  There are
 * two forms of it.  The plain one:
 *
 *   0   4  magic "ASHR"
 *   4   4  payload length in bytes, 1 .. 16 MiB + 16 KiB
 *   8   8  sequence: unique in the store, grows with every record written
 *   16  8  collection id
 *   24  8  record id in the collection (0: not yet known when it was written)
 *   32  8  XXH3-64 of the payload
 *   40  8  XXH3-64 of bytes 0..39
 *   48  …  payload: one BSON document
 *
 * The form in pieces, so that a part of a large payload can be verified alone:
 *
 *   0   4  magic "ASHS"
 *   4  20  as above
 *   24  4  bytes a piece: a power of two from 4,096 on
 *   28  4  0
 *   32  8  XXH3-64 of all checksums that follow
 *   40  8  XXH3-64 of bytes 0..39
 *   48  8  XXH3-64 of the payload's first 256 bytes, where a chunk has all but its data
 *   56  8… XXH3-64 of each piece after them, the last of which may be shorter
 *       …  zeros up to a multiple of 64
 *       …  payload
 *
 * Payloads of more than 16 KiB are written in pieces, the smallest with which the record takes no
 * more blocks than a plain one; where no size does, it is a plain one.  So the length alone tells
 * a record's blocks, and 255 KiB with up to 400 bytes of other fields fit 256 KiB in pieces of
 * 4 KiB.
 *
 * Free blocks hold whatever was there before.  Which blocks are in use is known from the metadata
 * alone (engine/format/keys.h); a record that no pointer names, with the same sequence, does not
 * exist. */

#define ASH_SEGMENT_MAGIC        "ASHLRSEG"
#define ASH_SEGMENT_VERSION      1
#define ASH_SEGMENT_HEADER_BYTES 48
#define ASH_BLOCK_BYTES          4096
#define ASH_RECORD_MAGIC         "ASHR"
#define ASH_RECORD_PIECES_MAGIC  "ASHS"
#define ASH_RECORD_HEADER_BYTES  48
#define ASH_FIRST_PIECE_BYTES    256
#define ASH_PIECE_MIN_BYTES      4096
#define ASH_PLAIN_MAX_BYTES      16384 /* longer payloads are written in pieces */

#endif
