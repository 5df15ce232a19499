/* SPDX-License-Identifier: Apache-2.0 */
#include "naive.h"

#include "number.h"

#include <math.h>
#include <string.h>

static int rank(bson_type_t type)
{
    switch (type) {
    case BSON_TYPE_MINKEY:
        return -1;
    case BSON_TYPE_UNDEFINED:
        return 0;
    case BSON_TYPE_NULL:
        return 5;
    case BSON_TYPE_UTF8:
        return 15;
    case BSON_TYPE_DOCUMENT:
        return 20;
    case BSON_TYPE_ARRAY:
        return 25;
    case BSON_TYPE_BINARY:
        return 30;
    case BSON_TYPE_OID:
        return 35;
    case BSON_TYPE_BOOL:
        return 40;
    case BSON_TYPE_DATE_TIME:
        return 45;
    case BSON_TYPE_TIMESTAMP:
        return 47;
    case BSON_TYPE_REGEX:
        return 50;
    case BSON_TYPE_MAXKEY:
        return 127;
    default:
        return 10; /* numbers */
    }
}

static int compare_bytes(const mv *a, const mv *b)
{
    size_t shorter = a->len < b->len ? a->len : b->len;
    int c = shorter == 0 ? 0 : memcmp(a->data, b->data, shorter);
    return c != 0 ? c : (a->len > b->len) - (a->len < b->len);
}

static int compare_binary(const mv *a, const mv *b)
{
    if (a->len != b->len)
        return a->len < b->len ? -1 : 1;
    if (a->subtype != b->subtype)
        return a->subtype < b->subtype ? -1 : 1;
    return compare_bytes(a, b);
}

/* Field by field: type, then name, then value; what ends first is less. */
static int compare_children(const mv *a, const mv *b)
{
    for (uint32_t i = 0; i < a->count && i < b->count; i++) {
        const mv *x = a->items[i], *y = b->items[i];
        int c = rank(x->type) - rank(y->type);
        if (c == 0 && a->type == BSON_TYPE_DOCUMENT)
            c = strcmp(a->names[i], b->names[i]);
        if (c == 0)
            c = naive_compare(x, y);
        if (c != 0)
            return c;
    }
    return (a->count > b->count) - (a->count < b->count);
}

int naive_compare(const mv *a, const mv *b)
{
    int c = rank(a->type) - rank(b->type);
    if (c != 0)
        return c;
    if (mv_is_number(a))
        return naive_number_compare(a, b);
    switch (a->type) {
    case BSON_TYPE_UTF8:
    case BSON_TYPE_OID:
        return compare_bytes(a, b);
    case BSON_TYPE_DOCUMENT:
    case BSON_TYPE_ARRAY:
        return compare_children(a, b);
    case BSON_TYPE_BINARY:
        return compare_binary(a, b);
    case BSON_TYPE_BOOL:
    case BSON_TYPE_DATE_TIME:
        return (a->i > b->i) - (a->i < b->i);
    case BSON_TYPE_TIMESTAMP:
        return ((uint64_t)a->i > (uint64_t)b->i) - ((uint64_t)a->i < (uint64_t)b->i);
    case BSON_TYPE_REGEX:
        c = strcmp((const char *)a->data, (const char *)b->data);
        return c != 0 ? c : strcmp(a->options, b->options);
    default:
        return 0;
    }
}
