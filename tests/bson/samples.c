/* SPDX-License-Identifier: Apache-2.0 */
#include "samples.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "bson/keycode.h"
#include "check.h"

#include <string.h>

static void append_old_types(bson_t *b, const bson_oid_t *oid)
{
    bson_t scope;
    bson_init(&scope);
    BSON_APPEND_INT32(&scope, "n", 4);
    bson_append_undefined(b, "undefined", -1);
    bson_append_dbpointer(b, "pointer", -1, "db.things", oid);
    bson_append_code(b, "code", -1, "return 1;");
    bson_append_symbol(b, "symbol", -1, "sym", -1);
    bson_append_code_with_scope(b, "scoped", -1, "return n;", &scope);
    bson_append_timestamp(b, "timestamp", -1, 7, 8);
    bson_destroy(&scope);
}

bson_t *sample_all_types(void)
{
    bson_t *b = bson_new();
    bson_oid_t oid;
    bson_decimal128_t decimal;
    bson_t inner;
    bson_oid_init_from_string(&oid, "0123456789abcdef01234567");
    bson_decimal128_from_string("-12.340E-10", &decimal);
    bson_append_double(b, "double", -1, -0.0);
    bson_append_utf8(b, "string", -1, "a\0b", 3);
    bson_append_document_begin(b, "document", -1, &inner);
    bson_append_int32(&inner, "x", -1, 1);
    bson_append_document_end(b, &inner);
    bson_append_array_begin(b, "array", -1, &inner);
    bson_append_int32(&inner, "0", -1, 1);
    bson_append_utf8(&inner, "1", -1, "two", -1);
    bson_append_array_end(b, &inner);
    bson_append_binary(b, "binary", -1, BSON_SUBTYPE_BINARY, (const uint8_t *)"\0\1\2", 3);
    bson_append_binary(b, "old binary", -1, BSON_SUBTYPE_BINARY_DEPRECATED, (const uint8_t *)"ab",
                       2);
    bson_append_oid(b, "oid", -1, &oid);
    bson_append_bool(b, "bool", -1, true);
    bson_append_date_time(b, "date", -1, INT64_MIN);
    bson_append_null(b, "null", -1);
    bson_append_regex(b, "regex", -1, "^a.*b", "im");
    append_old_types(b, &oid);
    bson_append_int32(b, "int32", -1, INT32_MIN);
    bson_append_int64(b, "int64", -1, INT64_MAX);
    bson_append_decimal128(b, "decimal", -1, &decimal);
    bson_append_minkey(b, "min", -1);
    bson_append_maxkey(b, "max", -1);
    bson_append_int32(b, "int32", -1, 5);
    bson_append_int32(b, "", 0, 6);
    return b;
}

bson_t *sample_json(const char *json)
{
    char *text = ash__strdup(json);
    for (char *c = text; *c != 0; c++) {
        if (*c == '\'')
            *c = '"';
    }
    bson_error_t error;
    bson_t *b = bson_new_from_json((const uint8_t *)text, -1, &error);
    if (b == NULL)
        fail_msg("%s: %s", text, error.message);
    ash__free(text);
    return b;
}

ash_value sample_v(const bson_t *b)
{
    ash_value v = ash__doc_get(ash__doc_from_bson(b), "v");
    assert_false(ash__value_is_missing(v));
    return v;
}

ash_value sample_decimal(ash_value_box *box, const char *text)
{
    bson_decimal128_t d;
    if (!bson_decimal128_from_string(text, &d))
        fail_msg("no decimal: %s", text);
    ash__put_le64(box->bytes, d.low);
    ash__put_le64(box->bytes + 8, d.high);
    box->value = (ash_value){BSON_TYPE_DECIMAL128, box->bytes, 16};
    return box->value;
}

int sample_sign(int order)
{
    return (order > 0) - (order < 0);
}

int sample_compare_keys(ash_value a, ash_value b, bool descending, const ash_collation *c)
{
    ash_buffer x = ASH_BUFFER_INIT;
    ash_buffer y = ASH_BUFFER_INIT;
    ash__keycode_append(&x, a, descending, c);
    ash__keycode_append(&y, b, descending, c);
    size_t shorter = x.len < y.len ? x.len : y.len;
    int order = sample_sign(memcmp(x.data, y.data, shorter));
    if (order == 0)
        assert_int_equal(x.len, y.len);
    ash__buffer_release(&x);
    ash__buffer_release(&y);
    return order;
}

bson_t *sample_nested(int depth)
{
    bson_t *b = bson_new();
    for (int i = 1; i < depth; i++) {
        bson_t *outer = bson_new();
        bson_append_document(outer, "d", -1, b);
        bson_destroy(b);
        b = outer;
    }
    return b;
}
