/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/budget.h"
#include "base/clock.h"
#include "base/mem.h"
#include "query/pipeline/pipeline.h"

#include <stdlib.h>
#include <string.h>

/* Pipelines that read what are pipelines again, as views on views are. */

typedef struct level {
    int height; /* of the tree above its leaves */
    ash_pipeline_memory *memory;
    size_t *most;
    int64_t *opened;
    uint32_t stages;
} level;

static const char both[] = "[{\"$unionWith\":\"below\"},{\"$unionWith\":\"below\"}]";

static int open_level(level *of, ash_pipeline **out, ash_error *err);

typedef struct opened {
    level at;
    ash_pipeline *pipeline;
} opened;

static int next_opened(void *ctx, ash_doc *out, ash_error *err)
{
    return ash__pipeline_next(((opened *)ctx)->pipeline, out, err);
}

static void free_opened(void *ctx)
{
    ash__pipeline_free(((opened *)ctx)->pipeline);
    ash__free(ctx);
}

static int find_below(void *ctx, const char *collection, ash_doc filter, uint32_t stages,
                      ash_source *out, ash_error *err)
{
    const level *above = ctx;
    (void)collection;
    (void)filter;
    *out = (ash_source){NULL, NULL, NULL};
    ++*above->opened;
    if (above->height == 0)
        return 0;
    opened *o = ash__new(opened);
    o->at = *above;
    o->at.height--;
    o->at.stages = stages;
    int rc = open_level(&o->at, &o->pipeline, err);
    if (rc != 0)
        ash__free(o);
    else
        *out = (ash_source){o, next_opened, free_opened};
    return rc;
}

static int open_level(level *of, ash_pipeline **out, ash_error *err)
{
    ash_pipeline_host host = {
        .ctx = of, .find = find_below, .memory = of->memory, .stages = of->stages};
    bson_t *stages = bson_new_from_json((const uint8_t *)both, -1, NULL);
    int rc = ash__pipeline_new(stages, NULL, &host, out, err);
    if (of->memory->used > *of->most)
        *of->most = of->memory->used;
    bson_destroy(stages);
    return rc;
}

static int run(int height, uint32_t stages, size_t *most, int64_t *count, ash_error *err)
{
    ash_pipeline_memory memory = {0};
    level top = {.height = height, .memory = &memory, .most = most, .opened = count};
    ash_pipeline *p = NULL;
    ash_doc doc;
    top.stages = stages;
    *most = 0;
    *count = 0;
    int rc = open_level(&top, &p, err);
    if (rc == 0)
        rc = ash__pipeline_next(p, &doc, err);
    ash__pipeline_free(p);
    assert_int_equal(memory.used, 0);
    return rc;
}

static void test_query_pipeline_nesting__only_the_path_takes_memory(void **state)
{
    ash_error err = ASH_ERROR_INIT;
    size_t low, high;
    int64_t count;
    (void)state;
    assert_ok(run(2, 0, &low, &count, &err), &err);
    assert_int_equal(count, 2 + 4 + 8);
    assert_ok(run(10, 0, &high, &count, &err), &err);
    assert_int_equal(count, (1 << 12) - 2);
    assert_true(low > 0 && high <= low * 5);
}

static void test_query_pipeline_nesting__stages_around_count(void **state)
{
    ash_error err = ASH_ERROR_INIT;
    size_t most;
    int64_t count;
    (void)state;
    assert_ok(run(3, 1000 - 8, &most, &count, &err), &err);
    assert_int_equal(run(4, 1000 - 8, &most, &count, &err), ASH_EINVAL);
    assert_int_equal(ash_error_server_code(&err), 7749501);
}

static void test_query_pipeline_nesting__time_is_bounded(void **state)
{
    ash_error err = ASH_ERROR_INIT;
    size_t most;
    int64_t count;
    (void)state;
    ash_budget outer = ash__budget_enter(ash__clock_coarse_ms() + 50, NULL, 0);
    int rc = run(40, 0, &most, &count, &err);
    ash__budget_leave(outer);
    assert_int_equal(rc, ASH_ETIMEOUT);
}

static void test_query_pipeline_nesting__memory_is_bounded(void **state)
{
    ash_error err = ASH_ERROR_INIT;
    ash_pipeline_memory memory = {.used = (size_t)256 << 20};
    ash_pipeline_host host = {.memory = &memory};
    ash_pipeline *p = NULL;
    bson_t stages = BSON_INITIALIZER;
    (void)state;
    assert_int_equal(ash__pipeline_new(&stages, NULL, &host, &p, &err), ASH_ENOMEM);
    assert_int_equal(ash_error_server_code(&err), 146);
    memory.used = 0;
    assert_ok(ash__pipeline_new(&stages, NULL, &host, &p, &err), &err);
    ash__pipeline_free(p);
    assert_int_equal(memory.used, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_query_pipeline_nesting__only_the_path_takes_memory),
        cmocka_unit_test(test_query_pipeline_nesting__stages_around_count),
        cmocka_unit_test(test_query_pipeline_nesting__time_is_bounded),
        cmocka_unit_test(test_query_pipeline_nesting__memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
