/* SPDX-License-Identifier: Apache-2.0 */
/* MongoDB's names of the types, both ways. */
#include "bson/value.h"

#include "base/mem.h"

#include <string.h>

static const struct type_alias {
    uint8_t type;
    const char *name;
} aliases[] = {
    {BSON_TYPE_DOUBLE, "double"},
    {BSON_TYPE_UTF8, "string"},
    {BSON_TYPE_DOCUMENT, "object"},
    {BSON_TYPE_ARRAY, "array"},
    {BSON_TYPE_BINARY, "binData"},
    {BSON_TYPE_UNDEFINED, "undefined"},
    {BSON_TYPE_OID, "objectId"},
    {BSON_TYPE_BOOL, "bool"},
    {BSON_TYPE_DATE_TIME, "date"},
    {BSON_TYPE_NULL, "null"},
    {BSON_TYPE_REGEX, "regex"},
    {BSON_TYPE_DBPOINTER, "dbPointer"},
    {BSON_TYPE_CODE, "javascript"},
    {BSON_TYPE_SYMBOL, "symbol"},
    {BSON_TYPE_CODEWSCOPE, "javascriptWithScope"},
    {BSON_TYPE_INT32, "int"},
    {BSON_TYPE_TIMESTAMP, "timestamp"},
    {BSON_TYPE_INT64, "long"},
    {BSON_TYPE_DECIMAL128, "decimal"},
    {BSON_TYPE_MINKEY, "minKey"},
    {BSON_TYPE_MAXKEY, "maxKey"},
};

const char *ash__type_name(uint8_t type)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(aliases); i++) {
        if (aliases[i].type == type)
            return aliases[i].name;
    }
    return type == 0 ? "missing" : "unknown";
}

bool ash__type_from_alias(const char *alias, int *type)
{
    if (strcmp(alias, "number") == 0) {
        *type = ASH_TYPE_ANY_NUMBER;
        return true;
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(aliases); i++) {
        if (strcmp(aliases[i].name, alias) == 0) {
            *type = aliases[i].type;
            return true;
        }
    }
    return false;
}
