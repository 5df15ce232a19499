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
 * many blocks as 48 + payload length needs; what is left of its last block is undefined:
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
 * Free blocks hold whatever was there before.  Which blocks are in use is known from the metadata
 * alone (engine/keys.h); a record that no pointer names, with the same sequence, does not exist. */

#define ASH_SEGMENT_MAGIC        "ASHLRSEG"
#define ASH_SEGMENT_VERSION      1
#define ASH_SEGMENT_HEADER_BYTES 48
#define ASH_BLOCK_BYTES          4096
#define ASH_RECORD_MAGIC         "ASHR"
#define ASH_RECORD_HEADER_BYTES  48

#endif
