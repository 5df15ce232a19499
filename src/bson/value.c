/* SPDX-License-Identifier: Apache-2.0 */
/* Reading bytes that were checked when they came in (validate.c): no length is looked at twice
 * here, and nothing is copied. */
#include "bson/value.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "bson/decimal.h"

#include <math.h>
#include <string.h>

static const uint8_t empty_bytes[5] = {5, 0, 0, 0, 0};
const ash_doc ash__doc_empty = {empty_bytes, sizeof empty_bytes};

static uint32_t value_size(uint8_t type, const uint8_t *at)
{
    size_t first;
    switch (type) {
    case BSON_TYPE_DOUBLE:
    case BSON_TYPE_DATE_TIME:
    case BSON_TYPE_TIMESTAMP:
    case BSON_TYPE_INT64:
        return 8;
    case BSON_TYPE_UTF8:
    case BSON_TYPE_CODE:
    case BSON_TYPE_SYMBOL:
        return 4 + ash__get_le32(at);
    case BSON_TYPE_DOCUMENT:
    case BSON_TYPE_ARRAY:
    case BSON_TYPE_CODEWSCOPE:
        return ash__get_le32(at);
    case BSON_TYPE_BINARY:
        return 5 + ash__get_le32(at);
    case BSON_TYPE_OID:
        return 12;
    case BSON_TYPE_BOOL:
        return 1;
    case BSON_TYPE_REGEX:
        first = strlen((const char *)at) + 1;
        return (uint32_t)(first + strlen((const char *)at + first) + 1);
    case BSON_TYPE_DBPOINTER:
        return 4 + ash__get_le32(at) + 12;
    case BSON_TYPE_INT32:
        return 4;
    case BSON_TYPE_DECIMAL128:
        return 16;
    default:
        return 0;
    }
}

ash_doc_iter ash__doc_iter(ash_doc doc)
{
    ash_doc_iter it = {0};
    /* In an empty document, whose five bytes are its length and its end, both stay NULL: the walk
     * is over before it begins. */
    if (doc.len > 5) {
        it.at = doc.data + 4;
        it.end = doc.data + doc.len - 1;
    }
    return it;
}

bool ash__doc_iter_next(ash_doc_iter *it)
{
    if (it->at == it->end)
        return false;
    const uint8_t *at = it->at;
    uint8_t type = at[0];
    it->element = at;
    it->name = (const char *)at + 1;
    it->name_len = (uint32_t)strlen(it->name);
    /* Behind the type, the name and its NUL. */
    const uint8_t *data = at + 2 + it->name_len;
    uint32_t len = value_size(type, data);
    it->value = (ash_value){type, data, len};
    it->at = data + len;
    it->element_len = (uint32_t)(it->at - at);
    return true;
}

ash_value ash__doc_get_n(ash_doc doc, const char *name, size_t name_len)
{
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        if (it.name_len == name_len && memcmp(it.name, name, name_len) == 0)
            return it.value;
    }
    return ASH_VALUE_MISSING;
}

ash_value ash__doc_get(ash_doc doc, const char *name)
{
    return ash__doc_get_n(doc, name, strlen(name));
}

bool ash__doc_is_empty(ash_doc doc)
{
    return doc.len <= 5;
}

uint32_t ash__doc_count(ash_doc doc)
{
    uint32_t count = 0;
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);)
        count++;
    return count;
}

ash_doc ash__doc_from_bson(const bson_t *b)
{
    if (b == NULL)
        return ash__doc_empty;
    return (ash_doc){bson_get_data(b), b->len};
}

void ash__doc_to_bson(ash_doc doc, bson_t *out)
{
    bool ok = bson_init_static(out, doc.data, doc.len);
    ash_assert(ok);
}

static ash_value box_bytes(ash_value_box *box, uint8_t type, uint32_t len)
{
    box->value = (ash_value){type, box->bytes, len};
    return box->value;
}

ash_value ash__box_int32(ash_value_box *box, int32_t v)
{
    ash__put_le32(box->bytes, (uint32_t)v);
    return box_bytes(box, BSON_TYPE_INT32, 4);
}

static ash_value box_int64_as(ash_value_box *box, uint8_t type, uint64_t v)
{
    ash__put_le64(box->bytes, v);
    return box_bytes(box, type, 8);
}

ash_value ash__box_int64(ash_value_box *box, int64_t v)
{
    return box_int64_as(box, BSON_TYPE_INT64, (uint64_t)v);
}

ash_value ash__box_double(ash_value_box *box, double v)
{
    ash__put_le_double(box->bytes, v);
    return box_bytes(box, BSON_TYPE_DOUBLE, 8);
}

ash_value ash__box_bool(ash_value_box *box, bool v)
{
    box->bytes[0] = v;
    return box_bytes(box, BSON_TYPE_BOOL, 1);
}

ash_value ash__box_date(ash_value_box *box, int64_t ms)
{
    return box_int64_as(box, BSON_TYPE_DATE_TIME, (uint64_t)ms);
}

ash_value ash__box_timestamp(ash_value_box *box, uint64_t v)
{
    return box_int64_as(box, BSON_TYPE_TIMESTAMP, v);
}

ash_value ash__box_oid(ash_value_box *box, const bson_oid_t *oid)
{
    memcpy(box->bytes, oid->bytes, sizeof oid->bytes);
    return box_bytes(box, BSON_TYPE_OID, sizeof oid->bytes);
}

ash_value ash__box_null(ash_value_box *box)
{
    return box_bytes(box, BSON_TYPE_NULL, 0);
}

ash_value ash__value_of_doc(ash_doc doc)
{
    return (ash_value){BSON_TYPE_DOCUMENT, doc.data, (uint32_t)doc.len};
}

ash_value ash__value_of_array(ash_doc doc)
{
    return (ash_value){BSON_TYPE_ARRAY, doc.data, (uint32_t)doc.len};
}

ash_value ash__value_of_bson_value(const bson_value_t *v, ash_doc *scratch, bson_t *holder)
{
    bson_init(holder);
    /* libbson knows how each type is written, so it writes the value, and we read it back. */
    bool ok = bson_append_value(holder, "", 0, v);
    ash_assert(ok);
    *scratch = ash__doc_from_bson(holder);
    ash_doc_iter it = ash__doc_iter(*scratch);
    ash__doc_iter_next(&it);
    return it.value;
}

ash_value ash__value_of_iter(const bson_iter_t *it)
{
    uint32_t start = it->off + 1 + (uint32_t)strlen(bson_iter_key(it)) + 1;
    return (ash_value){it->raw[it->off], it->raw + start, it->next_off - start};
}

bool ash__value_is_number(ash_value v)
{
    return v.type == BSON_TYPE_INT32 || v.type == BSON_TYPE_INT64 || v.type == BSON_TYPE_DOUBLE ||
           v.type == BSON_TYPE_DECIMAL128;
}

bool ash__value_is_null(ash_value v)
{
    return v.type == BSON_TYPE_NULL || v.type == BSON_TYPE_UNDEFINED;
}

bool ash__value_is_nan(ash_value v)
{
    if (v.type == BSON_TYPE_DOUBLE)
        return isnan(ash__value_double(v));
    return v.type == BSON_TYPE_DECIMAL128 && ash__decimal_is_nan(ash__value_decimal(v));
}

bool ash__value_identical(ash_value a, ash_value b)
{
    /* The data of a value without bytes may be NULL, which memcmp may not be given. */
    return a.type == b.type && a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

ash_doc ash__value_doc(ash_value v)
{
    /* Code with scope is its own length, then a string with a length in front, then the scope. */
    if (v.type != BSON_TYPE_CODEWSCOPE)
        return (ash_doc){v.data, v.len};
    uint32_t before = 8 + ash__get_le32(v.data + 4);
    return (ash_doc){v.data + before, v.len - before};
}

const char *ash__value_string(ash_value v, uint32_t *len)
{
    const uint8_t *at = v.type == BSON_TYPE_CODEWSCOPE ? v.data + 4 : v.data;
    if (len != NULL)
        *len = ash__get_le32(at) - 1;
    return (const char *)at + 4;
}

bool ash__name_is_reference(const char *name)
{
    return strcmp(name, "$ref") == 0 || strcmp(name, "$id") == 0 || strcmp(name, "$db") == 0;
}

const uint8_t *ash__value_binary(ash_value v, uint8_t *subtype, uint32_t *len)
{
    if (subtype != NULL)
        *subtype = v.data[4];
    if (len != NULL)
        *len = ash__get_le32(v.data);
    return v.data + 5;
}

const uint8_t *ash__value_binary_content(ash_value v, uint32_t *len)
{
    uint8_t subtype;
    const uint8_t *data = ash__value_binary(v, &subtype, len);
    if (subtype != BSON_SUBTYPE_BINARY_DEPRECATED)
        return data;
    if (*len < 4 || ash__get_le32(data) != *len - 4)
        return NULL;
    *len -= 4;
    return data + 4;
}

const char *ash__value_regex(ash_value v, const char **options)
{
    const char *pattern = (const char *)v.data;
    if (options != NULL)
        *options = pattern + strlen(pattern) + 1;
    return pattern;
}

int32_t ash__value_int32(ash_value v)
{
    return (int32_t)ash__get_le32(v.data);
}

int64_t ash__value_int64(ash_value v)
{
    return (int64_t)ash__get_le64(v.data);
}

int64_t ash__value_integer(ash_value v)
{
    return v.type == BSON_TYPE_INT32 ? ash__value_int32(v) : ash__value_int64(v);
}

double ash__value_double(ash_value v)
{
    return ash__get_le_double(v.data);
}

bool ash__value_bool(ash_value v)
{
    return v.data[0] != 0;
}

const bson_oid_t *ash__value_oid(ash_value v)
{
    /* bson_oid_t is twelve bytes without alignment. */
    return (const bson_oid_t *)v.data;
}

bool ash__value_as_int64(ash_value v, int64_t *out)
{
    double d;
    switch (v.type) {
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
        *out = ash__value_integer(v);
        return true;
    case BSON_TYPE_DOUBLE:
        d = ash__value_double(v);
        /* So written, NaN fails too; 2^63 itself is one too many for an int64. */
        if (!(d >= -0x1p63 && d < 0x1p63) || d != trunc(d))
            return false;
        *out = (int64_t)d;
        return true;
    case BSON_TYPE_DECIMAL128:
        return ash__decimal_to_int64(ash__value_decimal(v), true, out);
    default:
        return false;
    }
}

bool ash__value_as_double(ash_value v, double *out)
{
    switch (v.type) {
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
        /* Rounded beyond 2^53: whoever needs the exact order asks ash__number_compare(). */
        *out = (double)ash__value_integer(v);
        return true;
    case BSON_TYPE_DOUBLE:
        *out = ash__value_double(v);
        return true;
    case BSON_TYPE_DECIMAL128:
        *out = ash__decimal_to_double(ash__value_decimal(v));
        return true;
    default:
        return false;
    }
}

const char *ash__value_utf8(ash_value v, const char *otherwise)
{
    uint32_t len;
    return v.type == BSON_TYPE_UTF8 ? ash__value_string(v, &len) : otherwise;
}

const char *ash__doc_utf8(ash_doc doc, const char *name, const char *otherwise)
{
    return ash__value_utf8(ash__doc_get(doc, name), otherwise);
}

bool ash__value_truthy(ash_value v)
{
    switch (v.type) {
    case 0:
    case BSON_TYPE_NULL:
    case BSON_TYPE_UNDEFINED:
        return false;
    case BSON_TYPE_BOOL:
        return ash__value_bool(v);
    case BSON_TYPE_INT32:
    case BSON_TYPE_INT64:
        return ash__value_integer(v) != 0;
    case BSON_TYPE_DOUBLE:
        /* NaN is true, as it is to the server. */
        return ash__value_double(v) != 0;
    case BSON_TYPE_DECIMAL128:
        return !ash__decimal_is_zero(ash__value_decimal(v));
    default:
        return true;
    }
}
