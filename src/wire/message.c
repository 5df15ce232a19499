/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes from strangers: each length is held against what is there before anything is done by it,
 * and each document is validated before anybody sees it. */
#include "wire/message.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

enum { MIN_DOC_BYTES = 5 }; /* a length and the byte that ends it */

static int protocol_error(ash_error *err, const char *what)
{
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_PROTOCOL_ERROR, "invalid message: %s", what);
}

int ash__message_header_read(const uint8_t *header, ash_message_header *out, ash_error *err)
{
    out->length = ash__get_le32(header);
    out->request_id = (int32_t)ash__get_le32(header + 4);
    out->response_to = (int32_t)ash__get_le32(header + 8);
    out->op_code = (int32_t)ash__get_le32(header + 12);
    if (out->op_code != ASH_OP_MSG && out->op_code != ASH_OP_QUERY &&
        out->op_code != ASH_OP_COMPRESSED)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_PROTOCOL_ERROR,
                                "opcode %d is not supported", out->op_code);
    if (out->length <= ASH_MESSAGE_HEADER_BYTES || out->length > ASH_MESSAGE_MAX_BYTES)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_PROTOCOL_ERROR,
                                "message length %u is not within 17 and %d", out->length,
                                ASH_MESSAGE_MAX_BYTES);
    return 0;
}

void ash__message_header_write(uint8_t *out, const ash_message_header *header)
{
    ash__put_le32(out, header->length);
    ash__put_le32(out + 4, (uint32_t)header->request_id);
    ash__put_le32(out + 8, (uint32_t)header->response_to);
    ash__put_le32(out + 12, (uint32_t)header->op_code);
}

bool ash__doc_at(const uint8_t *data, size_t len_bytes, ash_doc *out)
{
    if (len_bytes < MIN_DOC_BYTES)
        return false;
    uint32_t len = ash__get_le32(data);
    if (len < MIN_DOC_BYTES || len > len_bytes)
        return false;
    *out = (ash_doc){data, len};
    return true;
}

/* One validated document at *at, which moves behind it. */
static int read_doc(const uint8_t *data, size_t end, size_t *at, ash_doc *out, ash_error *err)
{
    if (!ash__doc_at(data + *at, end - *at, out))
        return protocol_error(err, "a document's length does not fit");
    *at += out->len;
    return ash__bson_validate(out->data, out->len, ASH_MESSAGE_MAX_DEPTH, err);
}

static int read_cstring(const uint8_t *data, size_t end, size_t *at, const char **out,
                        ash_error *err)
{
    const uint8_t *nul = memchr(data + *at, 0, end - *at);
    if (nul == NULL)
        return protocol_error(err, "a string does not end");
    *out = (const char *)data + *at;
    *at = (size_t)(nul - data) + 1;
    return 0;
}

static int read_sequence(const uint8_t *data, size_t end, size_t *at, ash_request *out,
                         ash_error *err)
{
    if (out->sequence_count == ASH_MESSAGE_MAX_SEQUENCES)
        return protocol_error(err, "too many document sequences");
    if (end - *at < 4)
        return protocol_error(err, "a document sequence is cut off");
    uint32_t size = ash__get_le32(data + *at);
    /* Of itself and the end of a name at least. */
    if (size < 5 || size > end - *at)
        return protocol_error(err, "a document sequence's size does not fit");
    size_t stop = *at + size;
    *at += 4;
    ash_sequence *s = &out->sequences[out->sequence_count];
    *s = (ash_sequence){0};
    int rc = read_cstring(data, stop, at, &s->name, err);
    if (rc != 0)
        return rc;
    for (uint32_t i = 0; i < out->sequence_count; i++)
        if (strcmp(out->sequences[i].name, s->name) == 0)
            return protocol_error(err, "two document sequences have one name");
    s->data = data + *at;
    s->len = stop - *at;
    while (*at < stop) {
        ash_doc doc;
        if ((rc = read_doc(data, stop, at, &doc, err)) != 0)
            return rc;
        s->count++;
    }
    out->sequence_count++;
    return 0;
}

static int check_crc(const uint8_t *message, size_t len, ash_error *err)
{
    if (ash__crc32c(message, len - 4) != ash__get_le32(message + len - 4))
        return protocol_error(err, "the checksum does not match");
    return 0;
}

static int parse_msg(const uint8_t *message, size_t len, ash_request *out, ash_error *err)
{
    size_t at = ASH_MESSAGE_HEADER_BYTES + 4;
    size_t end = len;
    int rc;
    if (len < at + 1 + MIN_DOC_BYTES)
        return protocol_error(err, "it is too short");
    out->flags = ash__get_le32(message + ASH_MESSAGE_HEADER_BYTES);
    /* The low half has what a receiver must understand. */
    if ((out->flags & 0xFFFF & ~(uint32_t)(ASH_MSG_CHECKSUM | ASH_MSG_MORE_TO_COME)) != 0)
        return protocol_error(err, "unknown flags");
    if (out->flags & ASH_MSG_CHECKSUM) {
        if ((rc = check_crc(message, len, err)) != 0)
            return rc;
        end -= 4;
    }
    while (at < end) {
        uint8_t kind = message[at++];
        if (kind == 0 && out->body.data == NULL)
            rc = read_doc(message, end, &at, &out->body, err);
        else if (kind == 1)
            rc = read_sequence(message, end, &at, out, err);
        else
            rc = protocol_error(err, kind == 0 ? "two body sections" : "unknown kind of section");
        if (rc != 0)
            return rc;
    }
    return out->body.data != NULL ? 0 : protocol_error(err, "no body section");
}

/* Old clients put the command into {$query: …, $readPreference: …}. */
static void unwrap_query(ash_request *out)
{
    ash_value query = ash__doc_get(out->body, "$query");
    if (query.type == 0)
        query = ash__doc_get(out->body, "query");
    ash_doc_iter it = ash__doc_iter(out->body);
    if (query.type != BSON_TYPE_DOCUMENT || !ash__doc_iter_next(&it) ||
        (strcmp(it.name, "$query") != 0 && strcmp(it.name, "query") != 0))
        return;
    out->wrapper = out->body;
    out->body = ash__value_doc(query);
}

static int parse_query(const uint8_t *message, size_t len, ash_request *out, ash_error *err)
{
    size_t at = ASH_MESSAGE_HEADER_BYTES + 4;
    if (len < at + 1)
        return protocol_error(err, "it is too short");
    int rc = read_cstring(message, len, &at, &out->query_ns, err);
    if (rc != 0)
        return rc;
    if (len - at < 8)
        return protocol_error(err, "it is too short");
    /* How many to skip and to return means nothing for a command. */
    at += 8;
    if ((rc = read_doc(message, len, &at, &out->body, err)) != 0)
        return rc;
    unwrap_query(out);
    ash_doc fields;
    /* A projection, which no command has a use for. */
    if (at < len && (rc = read_doc(message, len, &at, &fields, err)) != 0)
        return rc;
    return at == len ? 0 : protocol_error(err, "bytes behind the query");
}

int ash__message_parse(const uint8_t *message, size_t len_bytes, ash_request *out, ash_error *err)
{
    ash_message_header header;
    *out = (ash_request){0};
    ash_assert(len_bytes >= ASH_MESSAGE_HEADER_BYTES);
    int rc = ash__message_header_read(message, &header, err);
    if (rc != 0)
        return rc;
    /* What is known by now is enough to answer a failure. */
    out->id = header.request_id;
    out->op_code = header.op_code;
    if (header.length != len_bytes)
        return protocol_error(err, "its length is wrong");
    if (header.op_code == ASH_OP_MSG)
        return parse_msg(message, len_bytes, out, err);
    if (header.op_code == ASH_OP_QUERY)
        return parse_query(message, len_bytes, out, err);
    /* OP_COMPRESSED was taken off before this. */
    return protocol_error(err, "compressed twice");
}

bool ash__request_wants_reply(const ash_request *r)
{
    return r->op_code == ASH_OP_QUERY || (r->flags & ASH_MSG_MORE_TO_COME) == 0;
}

size_t ash__message_reply_prefix(const ash_request *r, int32_t reply_id, size_t body_len,
                                 uint8_t out[ASH_REPLY_PREFIX_MAX])
{
    bool legacy = r->op_code == ASH_OP_QUERY;
    /* Header and five numbers; or header, flags and the kind of the section. */
    size_t prefix = legacy ? 36 : 21;
    ash_message_header header = {.length = (uint32_t)(prefix + body_len),
                                 .request_id = reply_id,
                                 .response_to = r->id,
                                 .op_code = legacy ? ASH_OP_REPLY : ASH_OP_MSG};
    memset(out, 0, ASH_REPLY_PREFIX_MAX);
    ash__message_header_write(out, &header);
    if (legacy) {
        out[16] = 8; /* await capable, as all servers are */
        out[32] = 1; /* document */
    }
    return prefix;
}

uint32_t ash__crc32c(const uint8_t *data, size_t len_bytes)
{
    /* Four bits at a time: the checksum is rare, a table of 16 is enough. */
    static const uint32_t table[16] = {0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1,
                                       0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
                                       0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
                                       0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75};
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < len_bytes; i++) {
        crc ^= data[i];
        crc = table[crc & 15] ^ (crc >> 4);
        crc = table[crc & 15] ^ (crc >> 4);
    }
    return ~crc;
}
