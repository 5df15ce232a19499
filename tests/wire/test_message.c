/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "wire/compress.h"
#include "wire/reply.h"

#include <stdio.h>
#include <string.h>

static size_t from_hex(const char *hex, uint8_t *out)
{
    size_t n = 0;
    unsigned byte;
    for (; *hex != '\0'; hex++) {
        if (*hex == ' ')
            continue;
        assert_int_equal(sscanf(hex, "%2x", &byte), 1);
        out[n++] = (uint8_t)byte;
        hex++;
    }
    return n;
}

static void test_wire_message__example_of_the_header(void **state)
{
    (void)state;
    uint8_t m[64];
    ash_request r;
    ash_error err = ASH_ERROR_INIT;
    size_t n = from_hex("2f000000 01000000 00000000 dd070000 00000000 00 1a000000 10 70696e6700 "
                        "01000000 02 24646200 02000000 6100 00",
                        m);
    assert_int_equal(n, 47);
    assert_ok(ash__message_parse(m, n, &r, &err), &err);
    assert_int_equal(r.id, 1);
    assert_int_equal(ash__value_int32(ash__doc_get(r.body, "ping")), 1);
    assert_true(ash__request_wants_reply(&r));
}

static void test_wire_message__sections_in_any_order(void **state)
{
    (void)state;
    ash_buffer b = ASH_BUFFER_INIT;
    ash_request r;
    ash_error err = ASH_ERROR_INIT;
    bson_t *doc = BCON_NEW("_id", BCON_INT32(5));
    bson_t *body = BCON_NEW("insert", "c", "$db", "test");
    const bson_t *docs[] = {doc, doc};
    message_start(&b, ASH_OP_MSG);
    message_sequence(&b, "documents", docs, 2);
    message_body(&b, body);
    message_end(&b);
    assert_ok(ash__message_parse(b.data, b.len, &r, &err), &err);
    assert_int_equal(r.sequence_count, 1);
    assert_int_equal(r.sequences[0].count, 2);
    assert_string_equal(r.sequences[0].name, "documents");
    assert_int_equal(ash__doc_count(r.body), 2);
    bson_destroy(doc);
    bson_destroy(body);
    ash__buffer_release(&b);
}

static void test_wire_message__checksum_is_verified(void **state)
{
    (void)state;
    ash_buffer b = ASH_BUFFER_INIT;
    uint8_t crc[4] = {0};
    ash_request r;
    ash_error err = ASH_ERROR_INIT;
    bson_t *body = BCON_NEW("ping", BCON_INT32(1), "$db", "a");
    assert_int_equal(ash__crc32c((const uint8_t *)"123456789", 9), 0xE3069283);
    message_start(&b, ASH_OP_MSG);
    b.data[16] = ASH_MSG_CHECKSUM;
    message_body(&b, body);
    ash__buffer_append(&b, crc, 4);
    message_end(&b);
    ash__put_le32(b.data + b.len - 4, ash__crc32c(b.data, b.len - 4));
    assert_ok(ash__message_parse(b.data, b.len, &r, &err), &err);
    b.data[b.len - 1] ^= 1;
    assert_int_equal(ash__message_parse(b.data, b.len, &r, &err), ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&err), 17);
    bson_destroy(body);
    ash__buffer_release(&b);
}

/* Every prefix, and every byte changed, must give an error or a message, never more. */
static void test_wire_message__damaged_messages_are_survived(void **state)
{
    (void)state;
    ash_buffer b = ASH_BUFFER_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash_request r;
    bson_t *doc = BCON_NEW("_id", BCON_INT32(5), "a", "[", "x", "{", "y", BCON_NULL, "}", "]");
    bson_t *body = BCON_NEW("insert", "c", "$db", "test");
    const bson_t *docs[] = {doc};
    int bad = 0;
    message_start(&b, ASH_OP_MSG);
    message_sequence(&b, "documents", docs, 1);
    message_body(&b, body);
    message_end(&b);
    for (size_t len = ASH_MESSAGE_HEADER_BYTES; len < b.len; len++) {
        uint8_t *copy = ash__memdup(b.data, len);
        ash__put_le32(copy, (uint32_t)len);
        assert_int_not_equal(ash__message_parse(copy, len, &r, &err), 0);
        ash__free(copy);
    }
    for (size_t at = 0; at < b.len; at++)
        for (int bit = 0; bit < 8; bit++) {
            uint8_t *copy = ash__memdup(b.data, b.len);
            copy[at] ^= (uint8_t)(1 << bit);
            bad += ash__message_parse(copy, b.len, &r, &err) != 0;
            ash__free(copy);
        }
    assert_true(bad > 200);
    bson_destroy(doc);
    bson_destroy(body);
    ash__buffer_release(&b);
}

static void test_wire_message__old_queries_are_unwrapped(void **state)
{
    (void)state;
    ash_buffer b = ASH_BUFFER_INIT;
    ash_request r;
    ash_error err = ASH_ERROR_INIT;
    uint8_t numbers[8] = {0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff};
    bson_t *doc = BCON_NEW("$query", "{", "ismaster", BCON_INT32(1), "}", "$readPreference", "{",
                           "mode", "primary", "}");
    message_start(&b, ASH_OP_QUERY);
    ash__buffer_append(&b, "admin.$cmd", 11);
    ash__buffer_append(&b, numbers, 8);
    ash__buffer_append(&b, bson_get_data(doc), doc->len);
    message_end(&b);
    assert_ok(ash__message_parse(b.data, b.len, &r, &err), &err);
    assert_string_equal(r.query_ns, "admin.$cmd");
    assert_int_equal(ash__value_int32(ash__doc_get(r.body, "ismaster")), 1);
    assert_non_null(r.wrapper.data);
    bson_destroy(doc);
    ash__buffer_release(&b);
}

static void pack_and_unpack(uint8_t compressor, size_t body_len)
{
    ash_buffer packed = ASH_BUFFER_INIT;
    ash_error err = ASH_ERROR_INIT;
    uint8_t used;
    size_t size, len = ASH_MESSAGE_HEADER_BYTES + body_len;
    uint8_t *m = ash__alloc(len);
    ash_message_header h = {.length = (uint32_t)len, .request_id = 3, .op_code = ASH_OP_MSG};
    ash__message_header_write(m, &h);
    for (size_t i = 0; i < body_len; i++)
        m[ASH_MESSAGE_HEADER_BYTES + i] = (uint8_t)(i / 100);
    assert_true(ash__compressed_pack(m, len, compressor, &packed));
    assert_ok(ash__compressed_size(packed.data, packed.len, &size, &err), &err);
    assert_int_equal(size, len);
    uint8_t *back = ash__alloc(size);
    assert_ok(ash__compressed_unpack(packed.data, packed.len, back, size, &used, &err), &err);
    assert_int_equal(used, compressor);
    assert_memory_equal(back, m, len);
    /* A size that lies is found out, in both directions. */
    for (int change = -1; change <= 1; change += 2) {
        uint8_t *other = ash__alloc(size + 1);
        assert_int_not_equal(ash__compressed_unpack(packed.data, packed.len, other,
                                                    size + (size_t)change, &used, &err),
                             0);
        ash__free(other);
    }
    ash__free(back);
    ash__free(m);
    ash__buffer_release(&packed);
}

static void test_wire_compress__round_trip_and_bounds(void **state)
{
    (void)state;
    for (uint8_t c = ASH_COMPRESSOR_SNAPPY; c <= ASH_COMPRESSOR_ZSTD; c++) {
        pack_and_unpack(c, 500);
        pack_and_unpack(c, 300000);
    }
}

static void test_wire_compress__huge_promises_are_refused(void **state)
{
    (void)state;
    uint8_t m[40] = {0};
    size_t size;
    ash_error err = ASH_ERROR_INIT;
    ash__put_le32(m + 20, 0x7fffffff);
    assert_int_equal(ash__compressed_size(m, sizeof m, &size, &err), ASH_EINVAL);
    ash__put_le32(m + 20, 0xffffffff);
    assert_int_equal(ash__compressed_size(m, sizeof m, &size, &err), ASH_EINVAL);
    assert_int_equal(ash__compressed_size(m, 24, &size, &err), ASH_EINVAL);
}

/* Small and large documents in a batch give the bytes that libbson would. */
static void test_wire_reply__batch_is_spliced_in(void **state)
{
    (void)state;
    static char text[5000];
    ash_reply r;
    ash_buffer flat = ASH_BUFFER_INIT;
    struct iovec iov[32];
    bson_t *small = BCON_NEW("_id", BCON_INT32(1));
    memset(text, 'x', sizeof text - 1);
    bson_t *large = BCON_NEW("_id", BCON_INT32(2), "t", BCON_UTF8(text));
    bson_t *want = BCON_NEW("cursor", "{", "firstBatch", "[", BCON_DOCUMENT(small),
                            BCON_DOCUMENT(large), BCON_DOCUMENT(small), BCON_DOCUMENT(large), "]",
                            "id", BCON_INT64(9), "ns", "a.b", "}", "ok", BCON_DOUBLE(1.0));
    ash__reply_init(&r, NULL);
    ash__reply_begin(&r);
    for (int i = 0; i < 4; i++)
        ash__reply_add_item(&r, ash__doc_from_bson(i % 2 == 0 ? small : large));
    ash__reply_cursor(&r, "firstBatch", 9, "a.b", (ash_doc){NULL, 0});
    ash__builder_double(&r.body, "ok", 1.0);
    assert_int_equal(ash__reply_finish(&r), want->len);
    assert_true(ash__reply_piece_limit(&r) <= ASH_ARRAY_LEN(iov));
    size_t n = ash__reply_pieces(&r, iov);
    for (size_t i = 0; i < n; i++)
        ash__buffer_append(&flat, iov[i].iov_base, iov[i].iov_len);
    assert_int_equal(flat.len, want->len);
    assert_memory_equal(flat.data, bson_get_data(want), want->len);
    ash__reply_release(&r);
    ash__buffer_release(&flat);
    bson_destroy(small);
    bson_destroy(large);
    bson_destroy(want);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_message__example_of_the_header),
        cmocka_unit_test(test_wire_message__sections_in_any_order),
        cmocka_unit_test(test_wire_message__checksum_is_verified),
        cmocka_unit_test(test_wire_message__damaged_messages_are_survived),
        cmocka_unit_test(test_wire_message__old_queries_are_unwrapped),
        cmocka_unit_test(test_wire_compress__round_trip_and_bounds),
        cmocka_unit_test(test_wire_compress__huge_promises_are_refused),
        cmocka_unit_test(test_wire_reply__batch_is_spliced_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
