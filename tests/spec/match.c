/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include "bson/compare.h"

#include <stdio.h>
#include <string.h>

typedef struct pair {
    const char *path;
    ash_value expected;
    ash_value actual;
    bool root;
} pair;

static bool differ(runner *r, const pair *p)
{
    outcome a = {.err = {0}};
    outcome e = {.err = {0}};
    bson_init(&a.value);
    bson_init(&e.value);
    if (!ash__value_is_missing(p->actual))
        spec_return_value(&a, p->actual);
    if (!ash__value_is_missing(p->expected))
        spec_return_value(&e, p->expected);
    char *actual = bson_as_relaxed_extended_json(&a.value, NULL);
    char *expected = bson_as_relaxed_extended_json(&e.value, NULL);
    spec_fail(r, "%s is %.200s, expected %.200s", p->path, actual, expected);
    bson_free(actual);
    bson_free(expected);
    bson_destroy(&a.value);
    bson_destroy(&e.value);
    return false;
}

/* ---- operators ---- */

static bool match_exists(runner *r, const pair *p, ash_value arg)
{
    bool wanted = ash__value_truthy(arg);
    return wanted == !ash__value_is_missing(p->actual) || differ(r, p);
}

static bool is_of_type(const char *alias, ash_value actual)
{
    int type = 0;
    if (!ash__type_from_alias(alias, &type))
        return false;
    return type == -2 ? ash__value_is_number(actual) : type == (int)actual.type;
}

static bool match_type(runner *r, const pair *p, ash_value arg)
{
    uint32_t len;
    if (ash__value_is_missing(p->actual))
        return differ(r, p);
    if (arg.type == BSON_TYPE_UTF8)
        return is_of_type(ash__value_string(arg, &len), p->actual) || differ(r, p);
    if (arg.type != BSON_TYPE_ARRAY)
        return spec_fail(r, "%s: $$type wants a name or a list", p->path);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(arg)); ash__doc_iter_next(&it);)
        if (it.value.type == BSON_TYPE_UTF8 &&
            is_of_type(ash__value_string(it.value, &len), p->actual))
            return true;
    return differ(r, p);
}

static bool match_entity(runner *r, const pair *p, ash_value arg)
{
    uint32_t len;
    entity *e =
        arg.type == BSON_TYPE_UTF8 ? spec_entity_find(r, ash__value_string(arg, &len)) : NULL;
    if (e == NULL || (e->kind != ENTITY_VALUE && e->kind != ENTITY_SESSION))
        return spec_fail(r, "%s: no entity to match with", p->path);
    ash_value v = ash__doc_get(ash__doc_from_bson(e->value), "v");
    return spec_match(r, p->path, v, p->actual, p->root);
}

static bool match_hex_bytes(runner *r, const pair *p, ash_value arg)
{
    ash_buffer want = ASH_BUFFER_INIT;
    uint32_t len = 0;
    uint8_t subtype;
    bool ok = arg.type == BSON_TYPE_UTF8 && spec_hex_bytes(ash__value_string(arg, &len), &want) &&
              p->actual.type == BSON_TYPE_BINARY;
    if (ok) {
        const uint8_t *data = ash__value_binary(p->actual, &subtype, &len);
        ok = len == want.len && (len == 0 || memcmp(data, want.data, len) == 0);
    }
    ash__buffer_release(&want);
    return ok || differ(r, p);
}

static bool match_unset_or(runner *r, const pair *p, ash_value arg)
{
    return ash__value_is_missing(p->actual) || spec_match(r, p->path, arg, p->actual, p->root);
}

static bool match_lte(runner *r, const pair *p, ash_value arg)
{
    return (ash__value_is_number(arg) && ash__value_is_number(p->actual) &&
            ash__value_compare(p->actual, arg, NULL) <= 0) ||
           differ(r, p);
}

static bool match_as_document(runner *r, const pair *p, ash_value arg)
{
    uint32_t len;
    bson_error_t error;
    if (p->actual.type != BSON_TYPE_UTF8)
        return differ(r, p);
    const char *json = ash__value_string(p->actual, &len);
    bson_t *doc = bson_new_from_json((const uint8_t *)json, (ssize_t)len, &error);
    if (doc == NULL)
        return spec_fail(r, "%s: not JSON: %s", p->path, error.message);
    bool ok = spec_match(r, p->path, arg, ash__value_of_doc(ash__doc_from_bson(doc)), false);
    bson_destroy(doc);
    return ok;
}

static bool match_as_root(runner *r, const pair *p, ash_value arg)
{
    return spec_match(r, p->path, arg, p->actual, true);
}

static bool match_placeholder(runner *r, const pair *p, ash_value arg)
{
    (void)arg;
    return spec_fail(r, "%s: a placeholder matches nothing", p->path);
}

static const struct {
    const char *name;
    bool (*match)(runner *r, const pair *p, ash_value arg);
} operators[] = {
    {"$$exists", match_exists},
    {"$$type", match_type},
    {"$$matchesEntity", match_entity},
    {"$$matchesHexBytes", match_hex_bytes},
    {"$$unsetOrMatches", match_unset_or},
    {"$$sessionLsid", match_entity},
    {"$$lte", match_lte},
    {"$$matchAsDocument", match_as_document},
    {"$$matchAsRoot", match_as_root},
    {"$$placeholder", match_placeholder},
};

/* An operator is a document's only field. */
static bool is_operator(ash_value v, ash_doc_iter *it)
{
    if (v.type != BSON_TYPE_DOCUMENT || ash__doc_count(ash__value_doc(v)) != 1)
        return false;
    *it = ash__doc_iter(ash__value_doc(v));
    return ash__doc_iter_next(it) && strncmp(it->name, "$$", 2) == 0;
}

static bool match_operator(runner *r, const pair *p, const ash_doc_iter *it)
{
    for (size_t i = 0; i < sizeof operators / sizeof operators[0]; i++)
        if (strcmp(it->name, operators[i].name) == 0)
            return operators[i].match(r, p, it->value);
    return spec_fail(r, "%s: operator %s is not known", p->path, it->name);
}

/* ---- values ---- */

static bool match_documents(runner *r, const pair *p)
{
    char path[300];
    if (p->actual.type != BSON_TYPE_DOCUMENT)
        return differ(r, p);
    ash_doc expected = ash__value_doc(p->expected);
    ash_doc actual = ash__value_doc(p->actual);
    for (ash_doc_iter it = ash__doc_iter(expected); ash__doc_iter_next(&it);) {
        snprintf(path, sizeof path, "%s.%s", p->path, it.name);
        if (!spec_match(r, path, it.value, ash__doc_get(actual, it.name), false))
            return false;
    }
    for (ash_doc_iter it = ash__doc_iter(actual); !p->root && ash__doc_iter_next(&it);)
        if (ash__value_is_missing(ash__doc_get(expected, it.name)))
            return spec_fail(r, "%s has an unexpected field %s", p->path, it.name);
    return true;
}

/* The documents of a result's list are roots of their own. */
static bool match_arrays(runner *r, const pair *p)
{
    char path[300];
    if (p->actual.type != BSON_TYPE_ARRAY)
        return differ(r, p);
    ash_doc_iter a = ash__doc_iter(ash__value_doc(p->actual));
    ash_doc_iter e = ash__doc_iter(ash__value_doc(p->expected));
    if (ash__doc_count(ash__value_doc(p->actual)) != ash__doc_count(ash__value_doc(p->expected)))
        return differ(r, p);
    while (ash__doc_iter_next(&a) && ash__doc_iter_next(&e)) {
        snprintf(path, sizeof path, "%s[%s]", p->path, a.name);
        if (!spec_match(r, path, e.value, a.value, p->root))
            return false;
    }
    return true;
}

bool spec_match(runner *r, const char *path, ash_value expected, ash_value actual, bool root)
{
    pair p = {path, expected, actual, root};
    ash_doc_iter it;
    if (is_operator(expected, &it))
        return match_operator(r, &p, &it);
    if (expected.type == BSON_TYPE_DOCUMENT)
        return match_documents(r, &p);
    if (expected.type == BSON_TYPE_ARRAY)
        return match_arrays(r, &p);
    if (ash__value_is_number(expected) && ash__value_is_number(actual))
        return ash__value_compare(expected, actual, NULL) == 0 || differ(r, &p);
    return ash__value_identical(expected, actual) || differ(r, &p);
}
