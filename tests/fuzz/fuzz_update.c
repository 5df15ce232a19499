/* SPDX-License-Identifier: Apache-2.0 */
/* Updates: {u: update, f: array filters, q: filter}; what comes out is BSON with its old _id. */
#include "fuzz.h"

#include "base/mem.h"
#include "query/update/update.h"

#include <string.h>

static void apply(const ash_update *u, const ash_matcher *m, ash_doc doc)
{
    ash_error err = ASH_ERROR_INIT;
    ash_match_details details = {-1};
    ash_builder out = ASH_BUILDER_INIT, changes = ASH_BUILDER_INIT;
    bool modified = false;
    if (m != NULL)
        ash__matcher_test(m, doc, &details, NULL);
    const ash_update_subject subject = {.doc = doc, .details = &details};
    int result = ash__update_apply(u, &subject, &out, &modified, &changes, &err);
    fuzz_check_refusal(result, &err);
    if (result == 0) {
        ash_doc made = ash__builder_doc(&out);
        fuzz_check_bson(made);
        ash_value before = ash__doc_get(doc, "_id"), after = ash__doc_get(made, "_id");
        ash_assert(ash__value_is_missing(before) || ash__value_compare(before, after, NULL) == 0);
        ash_assert(modified || (made.len == doc.len && memcmp(made.data, doc.data, doc.len) == 0));
        if (changes.buf.len > 0)
            fuzz_check_bson(ash__builder_doc(&changes));
    }
    ash__builder_release(&out);
    ash__builder_release(&changes);
}

static void upsert(const ash_update *u, const ash_matcher *m)
{
    ash_error err = ASH_ERROR_INIT;
    ash_builder out = ASH_BUILDER_INIT;
    int result = ash__update_upsert(u, m, &out, &err);
    fuzz_check_refusal(result, &err);
    if (result == 0) {
        ash_doc made = ash__builder_doc(&out);
        fuzz_check_bson(made);
        ash_assert(!ash__value_is_missing(ash__doc_get(made, "_id")));
    }
    ash__builder_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ash_error err = ASH_ERROR_INIT;
    ash_query_env env = {.now_ms = 1, .cluster_time = 1};
    ash_update *u = NULL;
    ash_matcher *m = NULL;
    bson_t filters, query = BSON_INITIALIZER;
    ash_doc doc;
    uint32_t count;
    uint8_t *copy = fuzz_document(data, size, &doc);
    if (copy == NULL)
        return 0;
    ash_value update = ash__doc_get(doc, "u"), f = ash__doc_get(doc, "f"),
              q = ash__doc_get(doc, "q");
    if (f.type == BSON_TYPE_ARRAY)
        ash__doc_to_bson(ash__value_doc(f), &filters);
    if (q.type == BSON_TYPE_DOCUMENT)
        ash__doc_to_bson(ash__value_doc(q), &query);
    int result =
        update.type != BSON_TYPE_DOCUMENT && update.type != BSON_TYPE_ARRAY
            ? ASH_EINVAL
            : ash__update_new(update, f.type == BSON_TYPE_ARRAY ? &filters : NULL, &env, &u, &err);
    if (update.type == BSON_TYPE_DOCUMENT || update.type == BSON_TYPE_ARRAY)
        fuzz_check_refusal(result, &err);
    if (result == 0 && ash__matcher_new(&query, &env, &m, NULL) == 0) {
        const ash_doc *docs = fuzz_samples(&count);
        for (uint32_t i = 0; i < count; i++)
            apply(u, m, docs[i]);
        upsert(u, m);
    }
    ash__matcher_free(m);
    ash__update_free(u);
    ash__free(copy);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bson(data, size, max_size, seed);
}
