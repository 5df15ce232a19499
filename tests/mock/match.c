/* SPDX-License-Identifier: Apache-2.0 */
#include "mock/mock.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bson_t *mock_json(const char *text)
{
    bson_error_t error = {0};
    char *json = strdup(text);
    bson_t *b;
    for (char *p = json; *p != '\0'; p++) {
        if (*p == '\'')
            *p = '"';
    }
    b = bson_new_from_json((const uint8_t *)json, -1, &error);
    if (b == NULL)
        fail_msg("%s: %s", json, error.message);
    free(json);
    return b;
}

static bool is_text(const bson_iter_t *it, const char *text)
{
    return BSON_ITER_HOLDS_UTF8(it) && strcmp(bson_iter_utf8(it, NULL), text) == 0;
}

static bool is_number(const bson_iter_t *it)
{
    return BSON_ITER_HOLDS_INT(it) || BSON_ITER_HOLDS_DOUBLE(it);
}

static double number_of(const bson_iter_t *it)
{
    return BSON_ITER_HOLDS_DOUBLE(it) ? bson_iter_double(it) : (double)bson_iter_as_int64(it);
}

/* A bson_t points into itself, so it cannot be returned by value. */
static void view_of(const bson_iter_t *it, bson_t *view)
{
    uint32_t len = 0;
    const uint8_t *data = NULL;
    if (BSON_ITER_HOLDS_ARRAY(it))
        bson_iter_array(it, &len, &data);
    else
        bson_iter_document(it, &len, &data);
    assert_true(bson_init_static(view, data, len));
}

static bool scalars_equal(const bson_iter_t *a, const bson_iter_t *b)
{
    bson_t one = BSON_INITIALIZER, two = BSON_INITIALIZER;
    bool same;
    if (is_number(a) && is_number(b))
        return number_of(a) == number_of(b);
    bson_append_iter(&one, "v", 1, a);
    bson_append_iter(&two, "v", 1, b);
    same = bson_equal(&one, &two);
    bson_destroy(&one);
    bson_destroy(&two);
    return same;
}

static bool value_fits(const bson_iter_t *expected, const bson_iter_t *actual, char *why,
                       size_t why_bytes)
{
    bson_t want, have;
    if (is_text(expected, "$any"))
        return true;
    if (bson_iter_type(expected) != bson_iter_type(actual) ||
        !(BSON_ITER_HOLDS_DOCUMENT(expected) || BSON_ITER_HOLDS_ARRAY(expected))) {
        if (scalars_equal(expected, actual))
            return true;
        snprintf(why, why_bytes, "another value at %s", bson_iter_key(expected));
        return false;
    }
    view_of(expected, &want);
    view_of(actual, &have);
    if (BSON_ITER_HOLDS_ARRAY(expected) && bson_count_keys(&want) != bson_count_keys(&have)) {
        snprintf(why, why_bytes, "another number of items in %s", bson_iter_key(expected));
        return false;
    }
    return mock_fits(&want, &have, why, why_bytes);
}

bool mock_fits(const bson_t *expected, const bson_t *actual, char *why, size_t why_bytes)
{
    bson_iter_t want, have;
    if (!bson_iter_init(&want, expected))
        return false;
    while (bson_iter_next(&want)) {
        bool there = bson_iter_init_find(&have, actual, bson_iter_key(&want));
        if (is_text(&want, "$none") && !there)
            continue;
        if (!there || is_text(&want, "$none")) {
            snprintf(why, why_bytes, "%s %s", there ? "unwanted" : "missing", bson_iter_key(&want));
            return false;
        }
        if (!value_fits(&want, &have, why, why_bytes))
            return false;
    }
    return true;
}
