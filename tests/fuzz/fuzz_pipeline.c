/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines: {p: [stages]} over some documents, which are also every other collection. */
#include "fuzz.h"

#include "base/mem.h"
#include "query/pipeline/pipeline.h"

enum { MOST_DOCUMENTS = 200 };

typedef struct list {
    uint32_t at;
} list;

static int next_sample(void *ctx, ash_doc *out, ash_error *err)
{
    list *l = ctx;
    uint32_t count;
    const ash_doc *docs = fuzz_samples(&count);
    (void)err;
    *out = l->at < count ? docs[l->at++] : (ash_doc){NULL, 0};
    return 0;
}

static ash_source samples(void)
{
    return (ash_source){ash__new(list), next_sample, ash__free};
}

static int find(void *ctx, const char *collection, ash_doc filter, uint32_t stages, ash_source *out,
                ash_error *err)
{
    ash_matcher *m = NULL;
    bson_t spec;
    (void)ctx;
    (void)collection;
    (void)stages;
    fuzz_check_bson(filter);
    ash__doc_to_bson(filter, &spec);
    int result = ash__matcher_new(&spec, NULL, &m, err);
    ash__matcher_free(m);
    if (result == 0)
        *out = samples();
    return result;
}

static int coll_stats(void *ctx, ash_doc spec, bson_t *out, ash_error *err)
{
    (void)ctx;
    (void)spec;
    (void)err;
    bson_init(out);
    return bson_append_int32(out, "count", -1, 5) ? 0 : ASH_EINTERNAL;
}

static int write_out(void *ctx, bool is_merge, ash_value spec, ash_source *input, ash_error *err)
{
    ash_doc doc = {NULL, 0};
    int result = 0;
    (void)ctx;
    (void)is_merge;
    (void)spec;
    for (int i = 0; result == 0 && i < MOST_DOCUMENTS; i++) {
        result = input->next(input->ctx, &doc, err);
        if (result == 0 && doc.data == NULL)
            break;
        if (result == 0)
            fuzz_check_bson(doc);
    }
    return result;
}

static void run(ash_pipeline *p)
{
    ash_error err = ASH_ERROR_INIT;
    ash__pipeline_is_streaming(p);
    ash__pipeline_start(p, samples());
    for (int i = 0; i < MOST_DOCUMENTS; i++) {
        ash_doc doc;
        int result = ash__pipeline_next(p, &doc, &err);
        fuzz_check_refusal(result, &err);
        if (result != 0 || doc.data == NULL)
            break;
        fuzz_check_bson(doc);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const ash_pipeline_host host = {
        .find = find, .coll_stats = coll_stats, .write_out = write_out};
    ash_query_env env = {.now_ms = 1, .cluster_time = 1, .memory_limit_bytes = 1 << 20};
    ash_error err = ASH_ERROR_INIT;
    ash_pipeline *p = NULL;
    bson_t stages;
    ash_doc doc;
    uint8_t *copy = fuzz_document(data, size, &doc);
    if (copy == NULL)
        return 0;
    ash_value list_of = ash__doc_get(doc, "p");
    if (list_of.type == BSON_TYPE_ARRAY) {
        ash__doc_to_bson(ash__value_doc(list_of), &stages);
        int result = ash__pipeline_new(&stages, &env, &host, &p, &err);
        fuzz_check_refusal(result, &err);
        if (result == 0 && !ash__pipeline_head(p)->is_change_stream)
            run(p);
    }
    ash__pipeline_free(p);
    ash__free(copy);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    return mutate_bson(data, size, max_size, seed);
}
