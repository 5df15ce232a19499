/* SPDX-License-Identifier: Apache-2.0 */
/* Messages: as they come, with the length put right, and unpacked. */
#include "fuzz.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "wire/compress.h"
#include "wire/message.h"

#include <string.h>

enum { MOST_UNPACKED = 1 << 20 };

static void check_request(const ash_request *r)
{
    uint8_t prefix[ASH_REPLY_PREFIX_MAX];
    fuzz_check_bson(r->body);
    for (uint32_t i = 0; i < r->sequence_count; i++) {
        const ash_sequence *s = &r->sequences[i];
        size_t at = 0;
        for (uint32_t k = 0; k < s->count; k++) {
            ash_doc doc;
            ash_assert(ash__doc_at(s->data + at, s->len - at, &doc));
            fuzz_check_bson(doc);
            at += doc.len;
        }
        ash_assert(at == s->len && strlen(s->name) > 0);
    }
    ash_assert(ash__message_reply_prefix(r, 1, 100, prefix) <= sizeof prefix);
    ash__request_wants_reply(r);
}

static void parse(const uint8_t *message, size_t size)
{
    ash_error err = ASH_ERROR_INIT;
    ash_request r;
    int result = ash__message_parse(message, size, &r, &err);
    fuzz_check_refusal(result, &err);
    if (result == 0)
        check_request(&r);
}

static void unpack(const uint8_t *message, size_t size)
{
    ash_error err = ASH_ERROR_INIT;
    size_t len;
    uint8_t compressor;
    if (ash__compressed_size(message, size, &len, &err) != 0 || len > MOST_UNPACKED)
        return;
    uint8_t *out = ash__alloc(len);
    int result = ash__compressed_unpack(message, size, out, len, &compressor, &err);
    fuzz_check_refusal(result, &err);
    if (result == 0)
        parse(out, len);
    ash__free(out);
}

static void take(const uint8_t *message, size_t size)
{
    ash_error err = ASH_ERROR_INIT;
    ash_message_header header;
    int result = ash__message_header_read(message, &header, &err);
    fuzz_check_refusal(result, &err);
    if (result != 0 || header.length != size)
        return;
    if (header.op_code == ASH_OP_COMPRESSED)
        unpack(message, size);
    else
        parse(message, size);
}

/* What is packed comes out again. */
static void check_packing(const uint8_t *message, size_t size)
{
    for (uint8_t compressor = ASH_COMPRESSOR_SNAPPY; compressor <= ASH_COMPRESSOR_ZSTD;
         compressor++) {
        ash_buffer packed = ASH_BUFFER_INIT;
        size_t len;
        uint8_t used;
        if (ash__compressed_pack(message, size, compressor, &packed)) {
            ash_assert(ash__compressed_size(packed.data, packed.len, &len, NULL) == 0);
            ash_assert(len == size);
            uint8_t *out = ash__alloc(len);
            ash_assert(ash__compressed_unpack(packed.data, packed.len, out, len, &used, NULL) == 0);
            ash_assert(used == compressor && memcmp(out + 16, message + 16, size - 16) == 0);
            ash__free(out);
        }
        ash__buffer_release(&packed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < ASH_MESSAGE_HEADER_BYTES)
        return 0;
    uint8_t *message = ash__memdup(data, size);
    take(message, size);
    ash__put_le32(message, (uint32_t)size);
    take(message, size);
    if (size > 200)
        check_packing(message, size);
    ash__free(message);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bytes(data, size, max_size, seed);
}
