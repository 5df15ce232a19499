/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_MESSAGE_H
#define ASH_WIRE_MESSAGE_H

/* The bytes of MongoDB's wire protocol.  All integers are little-endian.
 *
 *   header, 16 bytes, before every message:
 *     0  int32  length of the whole message, header included
 *     4  int32  request id, chosen by the sender
 *     8  int32  response to: the request id that this answers; 0 in requests
 *    12  int32  opcode
 *
 *   OP_MSG (2013), requests and answers:
 *    16  uint32 flags: 1 checksum present, 2 more to come (a request with it is never answered),
 *               65536 exhaust allowed.  An unknown bit of the low 16 is an error, of the high 16 is
 *               ignored.
 *    20  sections, in any order:
 *          kind 0, exactly once: byte 0, one document (the command)
 *          kind 1: byte 1, int32 size (counting itself), C string name, documents to that size
 *   end  uint32 CRC-32C of all bytes before it, if flag 1 is set
 *
 *   OP_QUERY (2004), commands of older clients:
 *    16  int32 flags, C string "database.$cmd", int32 skip, int32 return, one document, perhaps one
 *        more (a projection; not read)
 *
 *   OP_REPLY (1), the answer to OP_QUERY:
 *    16  int32 flags (2: query failure, 8: await capable), int64 cursor id, int32 starting from,
 *        int32 number returned, documents
 *
 *   OP_COMPRESSED (2012), any of the above but for its header:
 *    16  int32 original opcode, int32 uncompressed size without header, byte compressor (0 none,
 *        1 snappy, 2 zlib, 3 zstd), the compressed bytes
 *
 * Example, {ping: 1, $db: "a"} with request id 1 (47 bytes):
 *   2f000000 01000000 00000000 dd070000 00000000 00 1a000000 10 70696e6700 01000000
 *   02 24646200 02000000 6100 00
 *
 * All views point into the message given and live as long as it. */

#include "base/buffer.h"
#include "bson/value.h"

enum ash_opcode {
    ASH_OP_REPLY = 1,
    ASH_OP_QUERY = 2004,
    ASH_OP_COMPRESSED = 2012,
    ASH_OP_MSG = 2013
};

enum {
    ASH_MSG_CHECKSUM = 1,
    ASH_MSG_MORE_TO_COME = 2,
    ASH_MSG_EXHAUST_ALLOWED = 65536,
    ASH_MESSAGE_HEADER_BYTES = 16,
    ASH_MESSAGE_COMPRESSED_BYTES = 25, /* header and what OP_COMPRESSED puts before its payload */
    ASH_MESSAGE_MAX_BYTES = 48000000,
    ASH_MESSAGE_ASKED_BYTES = 20000000, /* what drivers are told, so that they gather no more */
    ASH_MESSAGE_MAX_SEQUENCES = 4,
    ASH_MESSAGE_MAX_DEPTH = ASH_DOC_MAX_DEPTH + 10 /* what commands wrap around documents */
};

typedef struct ash_message_header {
    uint32_t length;
    int32_t request_id;
    int32_t response_to;
    int32_t op_code;
} ash_message_header;

/* A document sequence: a section of kind 1. */
typedef struct ash_sequence {
    const char *name;
    const uint8_t *data; /* count documents, one behind the other, each validated */
    size_t len;
    uint32_t count;
} ash_sequence;

typedef struct ash_request {
    int32_t id;
    int32_t op_code;      /* ASH_OP_MSG or ASH_OP_QUERY */
    uint32_t flags;       /* of OP_MSG */
    const char *query_ns; /* of OP_QUERY: "database.collection"; else NULL */
    ash_doc body;         /* the command, validated; of OP_QUERY unwrapped from $query */
    ash_doc wrapper;      /* of OP_QUERY: the document around $query; else data NULL */
    ash_sequence sequences[ASH_MESSAGE_MAX_SEQUENCES];
    uint32_t sequence_count;
} ash_request;

/* header: 16 bytes.  ASH_EINVAL (17) for a length or an opcode that this server does not take. */
int ash__message_header_read(const uint8_t *header, ash_message_header *out, ash_error *err);
void ash__message_header_write(uint8_t *out, const ash_message_header *header);

/* Parse and validate a whole message, header included, of opcode OP_MSG or OP_QUERY.  ASH_EINVAL
 * with 17 when its structure is broken (the connection is past help), with 22 when a document in it
 * is invalid; ASH_ETOOBIG when one is nested too deep.  out->id, op_code and flags are set as far
 * as they could be read, so that the failure can be answered. */
int ash__message_parse(const uint8_t *message, size_t len_bytes, ash_request *out, ash_error *err);

/* Is the request answered at all? */
bool ash__request_wants_reply(const ash_request *r);

/* What stands before the one document of an answer: returns its length (at most 36 bytes in out).
 * body_len: the document's length. */
enum { ASH_REPLY_PREFIX_MAX = 36 };
size_t ash__message_reply_prefix(const ash_request *r, int32_t reply_id, size_t body_len,
                                 uint8_t out[ASH_REPLY_PREFIX_MAX]);

/* Reads one document at the start of data without looking inside: false if its length is not
 * within len_bytes. */
bool ash__doc_at(const uint8_t *data, size_t len_bytes, ash_doc *out);

/* CRC-32C (Castagnoli) as OP_MSG's checksum uses it. */
uint32_t ash__crc32c(const uint8_t *data, size_t len_bytes);

#endif
