/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

void rig_start(struct rig *r, enum mock_kind kind, const char *options,
               const ash_store_options *opts)
{
    char *uri;
    memset(r, 0, sizeof *r);
    r->m = mock_start(kind, NULL);
    uri = mock_uri(r->m, options);
    assert_ok(ash_store_open(uri, opts, &r->store, &r->err), &r->err);
    assert_ok(ash_collection_new(r->store, NULL, "c", &r->c, &r->err), &r->err);
    bson_free(uri);
}

void rig_finish(struct rig *r)
{
    ash_collection_free(r->c);
    ash_store_close(r->store);
    mock_finish(r->m);
}

void rig_expect_batch(struct rig *r, const char *command, const char *which, int id,
                      const char *docs)
{
    char *reply = bson_strdup_printf("{'ok': 1, 'cursor': {'id': {'$numberLong': '%d'}, 'ns': "
                                     "'test.c', '%sBatch': [%s]}}",
                                     id, which, docs);
    mock_expect(r->m, command, reply);
    bson_free(reply);
}

int rig_insert(struct rig *r, const ash_insert_options *opts, ash_write_result *result, ...)
{
    bson_t *made[16];
    ash_doc docs[16];
    const char *json;
    size_t n = 0;
    va_list args;
    int code;
    va_start(args, result);
    while ((json = va_arg(args, const char *)) != NULL) {
        made[n] = mock_json(json);
        docs[n] = (ash_doc){bson_get_data(made[n]), made[n]->len};
        n++;
    }
    va_end(args);
    code = ash_collection_insert(r->c, docs, n, opts, result, &r->err);
    while (n > 0)
        bson_destroy(made[--n]);
    return code;
}

int64_t field_of(ash_doc doc, const char *name)
{
    bson_t view;
    bson_iter_t it;
    assert_non_null(doc.data);
    assert_true(bson_init_static(&view, doc.data, doc.len));
    assert_true(bson_iter_init_find(&it, &view, name));
    return bson_iter_as_int64(&it);
}

bson_value_t doc_value(const bson_t *b)
{
    bson_value_t v = {.value_type = BSON_TYPE_DOCUMENT};
    v.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(b);
    v.value.v_doc.data_len = b->len;
    return v;
}

void assert_json(const bson_t *actual, const char *expected)
{
    bson_t *want = mock_json(expected);
    char why[256] = "";
    if (!mock_fits(want, actual, why, sizeof why) ||
        bson_count_keys(want) != bson_count_keys(actual)) {
        char *json = bson_as_relaxed_extended_json(actual, NULL);
        fail_msg("%s: %s", why, json);
    }
    bson_destroy(want);
}
