/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/bytes.h"
#include "base/hash.h"
#include "base/mem.h"
#include "bson/keycode.h"
#include "bson/keycode_read.h"
#include "samples.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void check_hex(ash_value v, bool descending, const char *want)
{
    ash_buffer key = ASH_BUFFER_INIT;
    ash__keycode_append(&key, v, descending, NULL);
    char *hex = ash__alloc(2 * key.len + 1);
    ash__hex(key.data, key.len, hex);
    assert_string_equal(hex, want);
    ash__free(hex);
    ash__buffer_release(&key);
}

/* The bytes in keycode.h, and one of each other type. */
static void test_bson_keycode__disk_format(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *hex;
    } cases[] = {
        {"{'v': {'a': 1, 'b\\u0001': [-2, 'x']}}", "48306100323ff0000000000000005062010200"
                                                   "5031bfffffffffffffffff4078000000"},
        {"{'v': {'$numberLong': '9007199254740993'}}",
         "32434000000000000001400f5b08145d374b0a5e00"},
        {"{'v': null}", "20"},
        {"{'v': {'$minKey': 1}}", "10"},
        {"{'v': {'$maxKey': 1}}", "f0"},
        {"{'v': {'$numberDouble': 'NaN'}}", "30"},
        {"{'v': 0}", "32000000000000000000"},
        {"{'v': 'a\\u0000b'}", "406101016200"},
        {"{'v': {'$binary': {'base64': 'AQI=', 'subType': '04'}}}", "5800000002040102"},
        {"{'v': {'$oid': '0123456789abcdef01234567'}}", "600123456789abcdef01234567"},
        {"{'v': true}", "6801"},
        {"{'v': {'$date': {'$numberLong': '-1'}}}", "707fffffffffffffff"},
        {"{'v': {'$timestamp': {'t': 1, 'i': 2}}}", "780000000100000002"},
        {"{'v': {'$regularExpression': {'pattern': 'a', 'options': 'i'}}}", "8061006900"},
        {"{'v': {'$code': 'a'}}", "906100"},
        {"{'v': {'$code': 'a', '$scope': {}}}", "98610000"},
    };
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        bson_t *b = sample_json(cases[i].json);
        check_hex(sample_v(b), false, cases[i].hex);
        bson_destroy(b);
    }
    ash_value_box box;
    check_hex(sample_decimal(&box, "0.1"), false,
              "323fb999999999999901"
              "3fff0b00");
    check_hex(sample_decimal(&box, "-1E6000"), false,
              "3180100000000000"
              "00fe"
              "a88ff4ff");
    check_hex(ash__box_bool(&box, true), true, "97fe");
    check_hex(ash__box_double(&box, -INFINITY), false, "31800fffffffffffffff");
}

static void test_bson_keycode__hashed_part(void **state)
{
    (void)state;
    ash_buffer plain = ASH_BUFFER_INIT;
    ash_buffer hashed = ASH_BUFFER_INIT;
    bson_t *b = sample_json("{'v': 'a'}");
    ash_value_box box;
    ash__keycode_append(&plain, sample_v(b), false, NULL);
    ash__keycode_append_hash(&hashed, sample_v(b), false, NULL);
    uint64_t hash = ash__checksum(plain.data, plain.len);
    assert_true(ash__value_hash(sample_v(b), NULL) == hash);
    ash__buffer_clear(&plain);
    ash__keycode_append(&plain, ash__box_int64(&box, (int64_t)hash), false, NULL);
    assert_int_equal(plain.len, hashed.len);
    assert_memory_equal(plain.data, hashed.data, plain.len);
    ash__buffer_release(&plain);
    ash__buffer_release(&hashed);
    bson_destroy(b);
}

/* Random values, from a seed that is printed: small ranges, so that equal ones come up. */
static uint64_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % limit;
}

static void random_text(char *out, uint32_t *len)
{
    static const char letters[] = {'a', 'b', 'A', 0, 1, 2, (char)0xff, (char)0xc3};
    *len = random_below(4);
    for (uint32_t i = 0; i < *len; i++)
        out[i] = letters[random_below(sizeof letters)];
    out[*len] = 0;
}

static double random_double(void)
{
    static const double picks[] = {0.0,    -0.0,     0.1,       -0.1,    1,       3,
                                   0x1p53, -0x1p53,  0x1p63,    -0x1p63, 1e34,    -1e34,
                                   0x1p62, 1e-7,     5e-324,    -5e-324, 1.7e308, -1.7e308,
                                   1e22,   INFINITY, -INFINITY, NAN,     2.5,     9007199254740994};
    return picks[random_below(ASH_ARRAY_LEN(picks))];
}

static int64_t random_int64(void)
{
    static const int64_t picks[] = {0, 1, -1, 3, 1LL << 53, INT64_MAX, INT64_MIN, 1LL << 62};
    int64_t base = picks[random_below(ASH_ARRAY_LEN(picks))];
    uint64_t moved = (uint64_t)base + random_below(5) - 2;
    return (int64_t)moved;
}

static void append_decimal(bson_t *b, const char *name)
{
    static const char *const picks[] = {"0",
                                        "-0",
                                        "0E-20",
                                        "0.1",
                                        "0.10",
                                        "-0.1",
                                        "1.0",
                                        "3.00",
                                        "NaN",
                                        "Infinity",
                                        "-Infinity",
                                        "1E400",
                                        "-1E400",
                                        "1E-6176",
                                        "-1E-6176",
                                        "1E34",
                                        "1E22",
                                        "2.5",
                                        "9007199254740993",
                                        "9223372036854775808",
                                        "9223372036854775807",
                                        "-9223372036854775808.5",
                                        "1E-7",
                                        "4.9E-324",
                                        "9007199254740993.00",
                                        "0.1000000000000000055511151231257827",
                                        "4611686018427387904",
                                        "5E-324",
                                        "1E6144"};
    bson_decimal128_t d;
    assert_true(bson_decimal128_from_string(picks[random_below(ASH_ARRAY_LEN(picks))], &d));
    bson_append_decimal128(b, name, -1, &d);
}

static void append_number(bson_t *b, const char *name)
{
    switch (random_below(4)) {
    case 0:
        bson_append_int32(b, name, -1, (int32_t)random_below(7) - 3);
        break;
    case 1:
        bson_append_int64(b, name, -1, random_int64());
        break;
    case 2:
        bson_append_double(b, name, -1, random_double());
        break;
    default:
        append_decimal(b, name);
    }
}

static void append_random(bson_t *b, const char *name, int depth);

static void append_nested(bson_t *b, const char *name, bool array, int depth)
{
    static const char *const names[] = {"a", "b", "", "a\1"};
    bson_t *inner = bson_new();
    char index[12];
    uint32_t count = random_below(4);
    for (uint32_t i = 0; i < count; i++) {
        snprintf(index, sizeof index, "%u", i);
        append_random(inner, array ? index : names[random_below(4)], depth - 1);
    }
    if (array)
        bson_append_array(b, name, -1, inner);
    else
        bson_append_document(b, name, -1, inner);
    bson_destroy(inner);
}

static void append_code_like(bson_t *b, const char *name, const char *text)
{
    bson_oid_t oid;
    bson_oid_init_from_string(&oid, "0123456789abcdef01234567");
    oid.bytes[0] = (uint8_t)random_below(2);
    bson_t *scope = bson_new();
    switch (random_below(5)) {
    case 0:
        bson_append_code(b, name, -1, text);
        break;
    case 1:
        append_number(scope, "n");
        bson_append_code_with_scope(b, name, -1, text, scope);
        break;
    case 2:
        bson_append_regex(b, name, -1, text, random_below(2) ? "i" : "");
        break;
    case 3:
        bson_append_dbpointer(b, name, -1, text, &oid);
        break;
    default:
        bson_append_oid(b, name, -1, &oid);
    }
    bson_destroy(scope);
}

static void append_plain(bson_t *b, const char *name)
{
    switch (random_below(7)) {
    case 0:
        bson_append_null(b, name, -1);
        break;
    case 1:
        bson_append_undefined(b, name, -1);
        break;
    case 2:
        bson_append_minkey(b, name, -1);
        break;
    case 3:
        bson_append_maxkey(b, name, -1);
        break;
    case 4:
        bson_append_bool(b, name, -1, random_below(2));
        break;
    case 5:
        bson_append_date_time(b, name, -1, random_int64());
        break;
    default:
        bson_append_timestamp(b, name, -1, random_below(3) * 0x7fffffffu, random_below(2));
    }
}

static void append_random(bson_t *b, const char *name, int depth)
{
    char text[8];
    uint32_t len;
    random_text(text, &len);
    switch (random_below(depth > 0 ? 8 : 6)) {
    case 0:
    case 1:
        append_number(b, name);
        break;
    case 2:
        bson_append_utf8(b, name, -1, text, (int)len);
        break;
    case 3:
        bson_append_binary(b, name, -1, random_below(2) ? 0 : 5, (const uint8_t *)text, len);
        break;
    case 4:
        append_plain(b, name);
        break;
    case 5:
        if (random_below(3) == 0)
            bson_append_symbol(b, name, -1, text, (int)len);
        else
            append_code_like(b, name, text);
        break;
    default:
        append_nested(b, name, random_below(2), depth);
    }
}

static void fail_pair(const bson_t *a, const bson_t *b, int want, int got)
{
    fail_msg("%s with %s: compare %d, keys %d", bson_as_canonical_extended_json(a, NULL),
             bson_as_canonical_extended_json(b, NULL), want, got);
}

static void check_pair(const bson_t *a, const bson_t *b, const ash_collation *c)
{
    ash_value v = sample_v(a);
    ash_value w = sample_v(b);
    int want = sample_sign(ash__value_compare(v, w, c));
    for (int descending = 0; descending < 2; descending++) {
        int got = sample_compare_keys(v, w, descending, c);
        if (got != (descending ? -want : want))
            fail_pair(a, b, want, got);
    }
    assert_int_equal(sample_sign(ash__value_compare(w, v, c)), -want);
    if (want == 0)
        assert_true(ash__value_hash(v, c) == ash__value_hash(w, c));
}

#define POOL 400

static void test_bson_keycode__orders_as_compare(void **state)
{
    (void)state;
    bson_t *pool[POOL];
    uint64_t seed;
    ash__random(&seed, sizeof seed);
    random_state = seed | 1;
    print_message("# seed %llu\n", (unsigned long long)seed);
    const ash_collation folded = {.ignore_case = true, .ignore_diacritics = true};
    for (int i = 0; i < POOL; i++) {
        pool[i] = bson_new();
        append_random(pool[i], "v", 2);
    }
    for (int i = 0; i < POOL; i++) {
        for (int j = 0; j < POOL; j++) {
            check_pair(pool[i], pool[j], NULL);
            if ((i + j) % 4 == 0)
                check_pair(pool[i], pool[j], &folded);
        }
    }
    for (int i = 0; i < POOL; i++)
        bson_destroy(pool[i]);
}

static void check_in_bracket(ash_value v, bool descending)
{
    ash_buffer key = ASH_BUFFER_INIT;
    ash_buffer start = ASH_BUFFER_INIT;
    ash_buffer end = ASH_BUFFER_INIT;
    ash__keycode_append(&key, v, descending, NULL);
    ash__keycode_append_bracket_start(&start, v.type, descending);
    ash__keycode_append_bracket_end(&end, v.type, descending);
    assert_true(memcmp(start.data, key.data, 1) <= 0);
    assert_true(memcmp(key.data, end.data, 1) < 0);
    ash__buffer_release(&key);
    ash__buffer_release(&start);
    ash__buffer_release(&end);
}

static void test_bson_keycode__brackets(void **state)
{
    (void)state;
    bson_t *b = sample_all_types();
    for (ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(b)); ash__doc_iter_next(&it);) {
        check_in_bracket(it.value, false);
        check_in_bracket(it.value, true);
    }
    bson_destroy(b);
}

static void test_bson_keycode__successor(void **state)
{
    (void)state;
    ash_buffer buf = ASH_BUFFER_INIT;
    ash__buffer_append(&buf, "\x01\xff\xff", 3);
    assert_true(ash__keycode_successor(&buf));
    assert_int_equal(buf.len, 1);
    assert_int_equal(buf.data[0], 2);
    ash__buffer_clear(&buf);
    ash__buffer_append(&buf, "\xff\xff", 2);
    assert_false(ash__keycode_successor(&buf));
    ash__buffer_release(&buf);
}

static void test_bson_keycode__reads_whole_numbers(void **state)
{
    (void)state;
    static const struct {
        double value;
        int64_t n; /* -1: none */
    } cases[] = {{0, 0},    {1, 1},    {255, 255},   {1e15, 1000000000000000},
                 {-1, -1},  {0.5, -1}, {1e300, -1},  {9007199254740992.0, 9007199254740992},
                 {NAN, -1}, {-0.0, 0}, {4097, 4097}, {INFINITY, -1}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(cases); i++) {
        ash_value_box box;
        ash_buffer key = ASH_BUFFER_INIT;
        int64_t n = -1;
        ash__keycode_append(&key, ash__box_double(&box, cases[i].value), false, NULL);
        assert_int_equal(ash__keycode_read_whole(key.data, key.len, &n), cases[i].n >= 0);
        assert_int_equal(n, cases[i].n);
        /* Neither a part of it nor more. */
        ash__buffer_append_byte(&key, 0);
        assert_false(ash__keycode_read_whole(key.data, key.len, &n));
        assert_false(ash__keycode_read_whole(key.data, key.len - 2, &n));
        ash__buffer_release(&key);
    }
    ash_value_box box;
    ash_buffer key = ASH_BUFFER_INIT;
    int64_t n;
    ash__keycode_append(&key, ash__box_int64(&box, 9007199254740993), false, NULL);
    assert_false(ash__keycode_read_whole(key.data, key.len, &n));
    ash__buffer_release(&key);
}

/* A value comes back equal or not at all; its encoding's end is told, or it is not. */
static void read_back(ash_value v, const ash_buffer *key, ash_keycode_room *room)
{
    ash_value got;
    size_t bytes = ash__keycode_read(key->data, key->len, room, &got);
    assert_true(bytes == 0 || bytes == key->len);
    if (!ash__value_is_missing(got))
        assert_int_equal(ash__value_compare(v, got, NULL), 0);
    for (size_t len = 0; len < key->len; len++) {
        uint8_t *part = ash__memdup(key->data, len > 0 ? len : 1); /* no byte more is looked at */
        assert_int_equal(ash__keycode_read(part, len, room, &got), 0);
        ash__free(part);
    }
}

static void test_bson_keycode__values_are_read_back(void **state)
{
    (void)state;
    bson_t *all = sample_all_types();
    bson_t *more = sample_json(
        "{'a': '', 'b': '\\u0000\\u0001x\\u0001', 'c': -1.5, 'd': {'$numberDecimal': '-0.1'}, 'e': "
        "{'$numberLong': '-9007199254740993'}, 'f': {'$numberDouble': 'NaN'}, 'g': {'$date': "
        "{'$numberLong': '-5'}}, 'h': {'$numberDouble': '-Infinity'}, 'i': false}");
    ash_keycode_room room = {.text = ASH_BUFFER_INIT};
    const bson_t *const docs[] = {all, more};
    uint32_t told = 0;
    for (size_t i = 0; i < ASH_ARRAY_LEN(docs); i++)
        for (ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(docs[i]));
             ash__doc_iter_next(&it);) {
            ash_buffer key = ASH_BUFFER_INIT;
            ash_value got;
            ash__keycode_append(&key, it.value, false, NULL);
            read_back(it.value, &key, &room);
            ash__keycode_read(key.data, key.len, &room, &got);
            told += !ash__value_is_missing(got);
            ash__buffer_release(&key);
        }
    assert_true(told >= 12);
    ash__keycode_room_release(&room);
    bson_destroy(all);
    bson_destroy(more);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bson_keycode__disk_format),
        cmocka_unit_test(test_bson_keycode__hashed_part),
        cmocka_unit_test(test_bson_keycode__orders_as_compare),
        cmocka_unit_test(test_bson_keycode__brackets),
        cmocka_unit_test(test_bson_keycode__reads_whole_numbers),
        cmocka_unit_test(test_bson_keycode__successor),
        cmocka_unit_test(test_bson_keycode__values_are_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
