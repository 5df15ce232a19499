/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any bytes; those that pass for BSON go through everything that trusts them. */
#include "base/bytes.h"
#include "base/mem.h"
#include "bson/builder.h"
#include "bson/keycode.h"
#include "bson/path.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Twice the same document, field by field; deeper ones through their values. */
static void check_copy(ash_doc doc)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);)
        ash__builder_value_n(&b, it.name, it.name_len, it.value);
    ash__builder_end(&b);
    ash_doc copy = ash__builder_doc(&b);
    ash_assert(copy.len == doc.len && memcmp(copy.data, doc.data, doc.len) == 0);
    ash_assert(ash__doc_compare(copy, doc, NULL) == 0);
    ash__builder_release(&b);
}

static int sign(int order)
{
    return (order > 0) - (order < 0);
}

/* The order of two values is the order of their keys. */
static void check_pair(ash_value v, ash_value w, const ash_collation *c)
{
    ash_buffer x = ASH_BUFFER_INIT;
    ash_buffer y = ASH_BUFFER_INIT;
    ash__keycode_append(&x, v, false, c);
    ash__keycode_append(&y, w, false, c);
    int order = sign(ash__compare_bytes(x.data, x.len, y.data, y.len));
    ash_assert(order == sign(ash__value_compare(v, w, c)));
    ash_assert(order != 0 || ash__value_hash(v, c) == ash__value_hash(w, c));
    ash__buffer_release(&x);
    ash__buffer_release(&y);
}

static bool visit(void *ctx, const ash_path_hit *hit)
{
    size_t *bytes = ctx;
    *bytes += hit->value.len;
    return true;
}

static void check_paths(ash_doc doc, const char *name)
{
    size_t bytes = 0;
    char *path = ash__sprintf("%s.0.%s", name, name);
    ash__path_walk(doc, path, true, visit, &bytes);
    ash__path_get(doc, path);
    ash__free(path);
}

static void check_ascending(ash_doc a, ash_doc b)
{
    ash_assert(ash__compare_bytes(a.data, a.len, b.data, b.len) < 0);
}

static void check_index(ash_doc doc, const char *name)
{
    ash_key_pattern p;
    ash_key_set keys = ASH_KEY_SET_INIT;
    ash_builder b = ASH_BUILDER_INIT;
    bson_t key;
    ash__builder_begin(&b);
    ash__builder_int32(&b, name, 1);
    ash__builder_int32(&b, "a.0.b", -1);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &key);
    if (ash__key_pattern_parse(&key, true, NULL, &p, NULL) == 0) {
        ash__keys_extract(&p, doc, &keys, NULL);
        for (uint32_t i = 1; i < keys.count; i++)
            check_ascending(ash__key_set_at(&keys, i - 1), ash__key_set_at(&keys, i));
        ash__key_pattern_release(&p);
    }
    ash__key_set_release(&keys);
    ash__builder_release(&b);
}

static void check_doc(ash_doc doc)
{
    const ash_collation folded = {.ignore_case = true, .ignore_diacritics = true};
    ash_value before = ASH_VALUE_MISSING;
    check_copy(doc);
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        check_pair(it.value, before, NULL);
        check_pair(it.value, before, &folded);
        check_paths(doc, it.name);
        check_index(doc, it.name);
        before = it.value;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A copy of just that size, so that reading beyond it shows. */
    uint8_t *bytes = ash__alloc(size > 0 ? size : 1);
    if (size > 0)
        memcpy(bytes, data, size);
    if (ash__bson_validate(bytes, size, ASH_DOC_MAX_DEPTH, NULL) == 0)
        check_doc((ash_doc){bytes, size});
    ash__free(bytes);
    return 0;
}
