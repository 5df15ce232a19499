/* SPDX-License-Identifier: Apache-2.0 */
/* Filters: parsed, tested, planned, explained.  No index may lose a document that matches. */
#include "fuzz.h"

#include "base/bytes.h"
#include "base/mem.h"
#include "query/plan/plan.h"

#include <string.h>

enum { INDEXES = 3 };

typedef struct indexes {
    bson_t *keys[INDEXES];
    ash_key_pattern patterns[INDEXES];
    ash_index_desc descs[INDEXES];
} indexes;

static indexes *all_indexes(void)
{
    static indexes x; /* for the life of the process */
    static const char *keys[] = {"{\"a\": 1}", "{\"a.b\": -1, \"b\": 1}", "{\"b\": \"hashed\"}"};
    for (int i = 0; x.keys[INDEXES - 1] == NULL && i < INDEXES; i++) {
        bson_error_t error;
        x.keys[i] = bson_new_from_json((const uint8_t *)keys[i], -1, &error);
        ash_assert(ash__key_pattern_parse(x.keys[i], i == 1, NULL, &x.patterns[i], NULL) == 0);
        x.descs[i] = (ash_index_desc){.name = keys[i],
                                      .key = x.keys[i],
                                      .pattern = &x.patterns[i],
                                      .sparse = i == 1,
                                      .multikey = i < 2};
    }
    return &x;
}

static bool in_ranges(const ash_plan *plan, ash_doc key)
{
    for (uint32_t i = 0; i < plan->range_count; i++) {
        const ash_key_range *r = &plan->ranges[i];
        if (ash__compare_bytes(key.data, key.len, r->from.data, r->from.len) >= 0 &&
            (r->to.len == 0 || ash__compare_bytes(key.data, key.len, r->to.data, r->to.len) < 0))
            return true;
    }
    return false;
}

/* A document that matches has a key that the scan meets. */
static void check_found(const ash_plan *plan, ash_doc doc)
{
    ash_key_set keys = ASH_KEY_SET_INIT;
    ash_assert(plan->kind != ASH_PLAN_EMPTY);
    if (plan->kind == ASH_PLAN_IXSCAN &&
        ash__keys_extract(plan->index->pattern, doc, &keys, NULL) == 0) {
        bool found = false;
        for (uint32_t i = 0; i < keys.count; i++)
            found = found || in_ranges(plan, ash__key_set_at(&keys, i));
        ash_assert(found);
    }
    ash__key_set_release(&keys);
}

static void check_plan(const ash_matcher *m, const ash_plan *plan)
{
    uint32_t count;
    const ash_doc *docs = fuzz_samples(&count);
    for (uint32_t i = 0; i < count; i++) {
        ash_error failed = ASH_ERROR_INIT;
        if (ash__matcher_test(m, docs[i], NULL, &failed))
            check_found(plan, docs[i]);
        fuzz_check_refusal(failed.code, &failed);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ash_error err = ASH_ERROR_INIT;
    ash_match_details details = {-1};
    ash_query_env env = {.now_ms = 1};
    ash_matcher *m = NULL;
    ash_plan *plan = NULL;
    ash_doc doc;
    bson_t filter, explained = BSON_INITIALIZER;
    uint8_t *copy = fuzz_document(data, size, &doc);
    if (copy == NULL)
        return 0;
    ash__doc_to_bson(doc, &filter);
    int result = ash__matcher_new(&filter, &env, &m, &err);
    fuzz_check_refusal(result, &err);
    if (result == 0) {
        indexes *x = all_indexes();
        ash__matcher_test(m, doc, &details, NULL);
        ash__matcher_implies(m, m);
        const ash_plan_query query = {.filter = m, .indexes = x->descs, .index_count = INDEXES};
        result = ash__plan_new(&query, &plan, &err);
        fuzz_check_refusal(result, &err);
        if (result == 0) {
            check_plan(m, plan);
            ash__plan_explain(plan, m, NULL, &explained);
        }
    }
    bson_destroy(&explained);
    ash__plan_free(plan);
    ash__matcher_free(m);
    ash__free(copy);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bson(data, size, max_size, seed);
}
