/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of types, as $type and $jsonSchema take them. */
#include "query/match/schema.h"

#include <string.h>

uint32_t ash__type_bit(uint8_t type)
{
    if (type == (uint8_t)BSON_TYPE_MINKEY)
        return 1U << 30;
    if (type == (uint8_t)BSON_TYPE_MAXKEY)
        return 1U << 29;
    /* MinKey and MaxKey, 255 and 127, have taken the upper bits. */
    return type < 29 ? 1U << type : 0;
}

static int add_alias(const char *alias, uint32_t *types, ash_error *err)
{
    int type;
    if (!ash__type_from_alias(alias, &type) || type == 0)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE, "Unknown type name alias: %s",
                                alias);
    *types |= type == -2 ? ASH_TYPE_BITS_NUMBER : ash__type_bit((uint8_t)type);
    return 0;
}

static int add_number(ash_value v, uint32_t *types, ash_error *err)
{
    int64_t number;
    bool whole = ash__value_as_int64(v, &number);
    bool known = whole && ((number >= BSON_TYPE_DOUBLE && number <= BSON_TYPE_DECIMAL128) ||
                           number == -1 || number == 127);
    if (!known)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Invalid numerical type code: %lld",
                                whole ? (long long)number : 0LL);
    *types |= ash__type_bit((uint8_t)number);
    return 0;
}

static int add_one(ash_value v, uint32_t *types, ash_error *err)
{
    uint32_t len;
    if (v.type == BSON_TYPE_UTF8)
        return add_alias(ash__value_string(v, &len), types, err);
    if (ash__value_is_number(v))
        return add_number(v, types, err);
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                            "type must be represented as a number or a string");
}

int ash__type_set_parse(ash_value v, uint32_t *types, ash_error *err)
{
    if (v.type != BSON_TYPE_ARRAY)
        return add_one(v, types, err);
    if (ash__doc_is_empty(ash__value_doc(v)))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "a type set must match at least one type");
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(v)); rc == 0 && ash__doc_iter_next(&it);)
        rc = add_one(it.value, types, err);
    return rc;
}
