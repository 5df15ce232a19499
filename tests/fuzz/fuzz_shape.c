/* SPDX-License-Identifier: Apache-2.0 */
/* Projections and sorts: {p: projection, s: sort, q: filter}. */
#include "fuzz.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "query/kit/sort.h"
#include "query/project/project.h"

static void project(const bson_t *spec, const ash_query_env *env, const ash_matcher *m)
{
    ash_error err = ASH_ERROR_INIT;
    ash_projection *p = NULL;
    ash_builder out = ASH_BUILDER_INIT;
    uint32_t count;
    const ash_doc *docs = fuzz_samples(&count);
    fuzz_check_refusal(ash__projection_new(spec, env, &p, &err), &err);
    for (uint32_t i = 0; p != NULL && i < count; i++) {
        ash_match_details details = {-1};
        if (m != NULL)
            ash__matcher_test(m, docs[i], &details, NULL);
        int result = ash__projection_apply(p, docs[i], &details, &out, &err);
        fuzz_check_refusal(result, &err);
        if (result == 0)
            fuzz_check_bson(ash__builder_doc(&out));
    }
    ash__projection_free(p);
    ash__builder_release(&out);
}

/* What comes out is in order, and as much as went in. */
static void check_order(ash_sorter *sorter, const ash_sort_spec *spec, uint32_t count)
{
    ash_buffer keys[2] = {ASH_BUFFER_INIT, ASH_BUFFER_INIT};
    uint64_t order, last = 0;
    uint32_t met = 0;
    for (ash_doc doc; ash__sorter_next(sorter, &doc, &order); met++, last = order) {
        ash_buffer *now = &keys[met % 2], *before = &keys[(met + 1) % 2];
        now->len = 0;
        ash__sort_key(spec, doc, now);
        int c = met == 0 ? -1 : ash__compare_bytes(before->data, before->len, now->data, now->len);
        ash_assert(c < 0 || (c == 0 && last < order));
    }
    ash_assert(met == count);
    ash__buffer_release(&keys[0]);
    ash__buffer_release(&keys[1]);
}

static void sort(const bson_t *spec, const ash_query_env *env)
{
    ash_error err = ASH_ERROR_INIT;
    ash_sort_spec *s = NULL;
    ash_sorter *sorter = NULL;
    uint32_t count, added = 0;
    const ash_doc *docs = fuzz_samples(&count);
    int result = ash__sort_spec_new(spec, env, &s, &err);
    fuzz_check_refusal(result, &err);
    if (result == 0 && ash__sort_spec_pattern(s) != NULL) {
        sorter = ash__sorter_new(s, 0, env);
        for (uint32_t i = 0; i < count; i++) {
            result = ash__sorter_add(sorter, docs[i], i, &err);
            fuzz_check_refusal(result, &err);
            added += result == 0;
        }
        ash__sorter_finish(sorter);
        check_order(sorter, s, added);
    }
    ash__sorter_free(sorter);
    ash__sort_spec_free(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ash_query_env env = {.now_ms = 1};
    ash_matcher *m = NULL;
    bson_t spec;
    ash_doc doc;
    uint8_t *copy = fuzz_document(data, size, &doc);
    if (copy == NULL)
        return 0;
    ash_value p = ash__doc_get(doc, "p"), s = ash__doc_get(doc, "s"), q = ash__doc_get(doc, "q");
    if (q.type == BSON_TYPE_DOCUMENT) {
        ash__doc_to_bson(ash__value_doc(q), &spec);
        ash__matcher_new(&spec, &env, &m, NULL);
    }
    if (p.type == BSON_TYPE_DOCUMENT) {
        ash__doc_to_bson(ash__value_doc(p), &spec);
        project(&spec, &env, m);
    }
    if (s.type == BSON_TYPE_DOCUMENT) {
        ash__doc_to_bson(ash__value_doc(s), &spec);
        sort(&spec, &env);
    }
    ash__matcher_free(m);
    ash__free(copy);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bson(data, size, max_size, seed);
}
