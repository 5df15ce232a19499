/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_FORMAT_KEYS_H
#define ASH_ENGINE_FORMAT_KEYS_H

/* The LMDB databases, byte by byte.  Integers in keys are big-endian, in values little-endian.
 *
 * Checksums: sum(key, value) = XXH3-64 over 16 bytes: XXH3-64 of the value's bytes, then XXH3-64 of
 * the key's bytes (each little-endian).  The key is in it so that a value that turns up under
 * another key is found out.
 *
 * meta      text -> value, the engine's own numbers
 *           "store"      store id (16), format version (4)
 *           "collection" last collection id given (4)
 *           "index"      last index id given (4)
 *           "sequence"   no record of a finished run has a sequence at or above this (8)
 *           "open"       present (empty) from the first change of a run to its clean end
 *           "journal"    generation of the journal (8); absent in a store that never had one
 *
 * catalog   'N' db NUL name -> sum (8), BSON {id, uuid, options, indexes: [{id, ready, multikey,
 *                              rids?, kinds?, spec}]}
 *                              rids: the index became unique later; its entries are still laid
 *                              out as those of one that is not
 *                              kinds: ASH_KIND_... of all values that the index ever had; absent
 *                              in indexes made before there was that field
 *           'I' collection id (4) -> the 'N' key's db NUL name
 *           'T' collection id (4) -> nothing: it has an index with expireAfterSeconds
 *
 * records   collection id (4) record id (8)
 *           -> 0, sum (8), document                                   small
 *           -> 1, sum (8), segment (4) block (4) length (4) sequence (8)   large, in a segment
 *           The sum is of what follows it.
 *
 * index     short entries: index id (4) encoding record id (8) -> check (4)
 *           of unique indexes: index id (4) encoding -> record id (8) check (4)
 *           long entries, when the encoding has more than 483 bytes: index id (4), its first 483
 *           bytes, XXH3-128 of it whole (16), record id (8) -> the whole encoding, check (4)
 *           The check is the low half of sum(key, the value's bytes before it).  Long entries and
 *           only they have keys of 511 bytes.  Since no encoding begins another, entries that share
 *           the first 487 bytes of a long one are all long; they sort by their values.
 *
 * counts    'C' collection id (4) -> records, document bytes, storage bytes, last record id
 *                                     (8 each)
 *           'X' index id (4) -> entries, bytes of their keys (8 each)
 *           'O' -> entries of the oplog, bytes of them (8 each)
 *
 * space     segment (4) -> size in blocks, blocks in use (4 each)
 *           segment (4) slice (4) -> 1,024 bytes: blocks in use of the 8,192 from slice * 8192 on,
 *           one bit each, least significant first; absent: none is
 *
 * oplog     time (8) -> sum (8), document
 * state     the caller's key (1..400 bytes) -> sum (8), value
 * drops     'R' collection id (4) -> nothing: its records, and then its counts, are to be deleted
 *           'X' index id (4) -> nothing: its entries are to be deleted
 */

#include "base/bytes.h"
#include "base/hash.h"

#include <stddef.h>

/* The file that says: this folder is a backup that is not through yet. */
#define ASH_BACKUP_MARK "ashlar.backup"

enum ash_database {
    ASH_DB_META,
    ASH_DB_CATALOG,
    ASH_DB_RECORDS,
    ASH_DB_INDEX,
    ASH_DB_COUNTS,
    ASH_DB_SPACE,
    ASH_DB_OPLOG,
    ASH_DB_STATE,
    ASH_DB_DROPS,
    ASH_DB_COUNT
};

/* Of the superblock.  A store has version 2 from the moment on that it has a journal. */
#define ASH_FORMAT_VERSION 2
#define ASH_FORMAT_PLAIN   1
#define ASH_FORMAT_JOURNAL 2

#define ASH_SUPERBLOCK_BYTES 4096
#define ASH_SUPERBLOCK_MAGIC "ASHLARST"

enum {
    ASH_SUM_BYTES = 8,
    ASH_CHECK_BYTES = 4,
    ASH_RID_BYTES = 8,
    ASH_RECORD_KEY_BYTES = 12,
    ASH_RECORD_HEAD_BYTES = 9, /* kind and sum */
    ASH_POINTER_BYTES = 20,
    ASH_KEY_MAX = 511,
    ASH_LONG_PREFIX = 483, /* encodings up to this length are stored whole */
    ASH_LONG_HASH = 16,
    /* With LMDB's page header (16) and the record's (9): two pages.  A chunk of 4 KiB is among
     * them, so that a small file costs no sync of a segment. */
    ASH_INLINE_MAX = 8167,
    ASH_NAME_MAX = 500
};

enum ash_record_kind { ASH_RECORD_INLINE = 0, ASH_RECORD_POINTER = 1 };

static inline uint64_t ash__row_sum(const void *key, size_t key_len, const void *value, size_t len)
{
    uint8_t both[16];
    ash__put_le64(both, ash__checksum(value, len));
    ash__put_le64(both + 8, ash__checksum(key, key_len));
    return ash__checksum(both, sizeof both);
}

static inline void ash__record_key(uint8_t out[ASH_RECORD_KEY_BYTES], uint32_t coll_id,
                                   uint64_t rid)
{
    ash__put_be32(out, coll_id);
    ash__put_be64(out + 4, rid);
}

/* A letter and an id: keys of counts, drops and parts of the catalogue. */
static inline void ash__letter_key(uint8_t out[5], char letter, uint32_t id)
{
    out[0] = (uint8_t)letter;
    ash__put_be32(out + 1, id);
}

#endif
