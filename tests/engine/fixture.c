/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "base/mem.h"
#include "remove_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fixture_remove(const char *folder)
{
    remove_folder(folder);
}

int fixture_setup(void **state)
{
    fixture *f = ash__new(fixture);
    strcpy(f->folder, "/tmp/ash-engine-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    f->opts.segment_bytes = 2 << 20;
    f->opts.map_bytes = INT64_C(1) << 32;
    fixture_open(f);
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    fixture *f = *state;
    fixture_close(f);
    fixture_remove(f->folder);
    ash__free(f);
    return 0;
}

void fixture_open(fixture *f)
{
    assert_ok(ash__engine_open(f->folder, &f->opts, &f->engine, &f->err), &f->err);
}

void fixture_close(fixture *f)
{
    ash__engine_close(f->engine);
    f->engine = NULL;
}

void fixture_reopen(fixture *f)
{
    fixture_close(f);
    fixture_open(f);
}

void fixture_apply(fixture *f, ash_apply_fn fn, void *ctx, enum ash_ack ack, int expect)
{
    int result = ash__engine_apply(f->engine, fn, ctx, &(ash_apply_terms){.ack = ack}, &f->err);
    if (result != expect)
        fail_msg("apply gave %d, not %d: %s", result, expect, f->err.text);
}

struct change {
    const char *coll;
    const char *json;
    ash_doc doc;
    ash_staged *staged;
    uint64_t rid;
};

static int find_coll(ash_writer *w, const char *name, const ash_coll **out, ash_error *err)
{
    int result = ash__catalog_find(ash__writer_snapshot(w), "test", name, out, err);
    assert_true(result != 0 || *out != NULL);
    return result;
}

static int create(ash_writer *w, void *ctx, ash_error *err)
{
    struct change *change = ctx;
    bson_t *options = NULL;
    const ash_coll *c;
    if (change->json != NULL)
        options = bson_new_from_json((const uint8_t *)change->json, -1, NULL);
    int result = ash__catalog_create(w, "test", change->coll, options, &c, err);
    bson_destroy(options);
    return result;
}

void fixture_create(fixture *f, const char *name, const char *options_json)
{
    struct change change = {.coll = name, .json = options_json};
    fixture_apply(f, create, &change, ASH_ACK_APPLIED, 0);
}

static int make_index(ash_writer *w, void *ctx, ash_error *err)
{
    struct change *change = ctx;
    const ash_coll *c;
    const ash_index *i;
    ash_index_build b = {0};
    bson_t *spec = bson_new_from_json((const uint8_t *)change->json, -1, NULL);
    assert_non_null(spec);
    int result = find_coll(w, change->coll, &c, err);
    if (result == 0)
        result = ash__index_create(w, c, spec, &i, err);
    if (result == 0)
        b = (ash_index_build){.coll = c, .index = i, .rid = 1};
    while (result == 0 && b.rid != 0)
        result = ash__index_build(w, &b, 3, NULL, err);
    if (result == 0)
        result = ash__index_ready(w, c, i, err);
    bson_destroy(spec);
    return result;
}

void fixture_index(fixture *f, const char *coll, const char *spec_json)
{
    struct change change = {.coll = coll, .json = spec_json};
    fixture_apply(f, make_index, &change, ASH_ACK_APPLIED, 0);
}

static int insert(ash_writer *w, void *ctx, ash_error *err)
{
    struct change *change = ctx;
    const ash_coll *c;
    int result = find_coll(w, change->coll, &c, err);
    if (result == 0)
        result = ash__record_insert(w, c, &(ash_content){change->doc, change->staged}, &change->rid,
                                    NULL, err);
    if (result == 0)
        change->staged = NULL;
    return result;
}

static int replace(ash_writer *w, void *ctx, ash_error *err)
{
    struct change *change = ctx;
    const ash_coll *c;
    int result = find_coll(w, change->coll, &c, err);
    if (result == 0)
        result = ash__record_replace(w, c, change->rid, &(ash_content){change->doc, change->staged},
                                     NULL, err);
    if (result == 0)
        change->staged = NULL;
    return result;
}

static int delete_one(ash_writer *w, void *ctx, ash_error *err)
{
    struct change *change = ctx;
    const ash_coll *c;
    int result = find_coll(w, change->coll, &c, err);
    return result == 0 ? ash__record_delete(w, c, change->rid, err) : result;
}

static uint32_t coll_id(fixture *f, const char *name)
{
    ash_snapshot *snap = fixture_snapshot(f);
    uint32_t id = fixture_coll(f, snap, name)->id;
    ash__snapshot_close(snap);
    return id;
}

static int change_doc(fixture *f, struct change *change, const bson_t *doc, ash_apply_fn fn,
                      enum ash_ack ack)
{
    change->doc = ash__doc_from_bson(doc);
    if (doc->len > ash__engine_inline_max(f->engine)) {
        struct iovec parts[2] = {{(void *)(uintptr_t)change->doc.data, 10},
                                 {(void *)(uintptr_t)(change->doc.data + 10), doc->len - 10}};
        int staged = ash__staged_write(f->engine, coll_id(f, change->coll), parts, 2,
                                       &change->staged, &f->err);
        if (staged != 0)
            return staged;
    }
    int result = ash__engine_apply(f->engine, fn, change, &(ash_apply_terms){.ack = ack}, &f->err);
    ash__staged_free(f->engine, change->staged);
    return result;
}

int fixture_insert(fixture *f, const char *coll, const bson_t *doc, enum ash_ack ack, uint64_t *rid)
{
    struct change change = {.coll = coll};
    int result = change_doc(f, &change, doc, insert, ack);
    if (rid != NULL)
        *rid = change.rid;
    return result;
}

int fixture_insert_json(fixture *f, const char *coll, const char *json)
{
    bson_error_t error;
    bson_t *doc = bson_new_from_json((const uint8_t *)json, -1, &error);
    if (doc == NULL)
        fail_msg("%s: %s", json, error.message);
    int result = fixture_insert(f, coll, doc, ASH_ACK_APPLIED, NULL);
    bson_destroy(doc);
    return result;
}

int fixture_replace(fixture *f, const char *coll, uint64_t rid, const bson_t *doc)
{
    struct change change = {.coll = coll, .rid = rid};
    return change_doc(f, &change, doc, replace, ASH_ACK_APPLIED);
}

int fixture_delete(fixture *f, const char *coll, uint64_t rid)
{
    struct change change = {.coll = coll, .rid = rid};
    return ash__engine_apply(f->engine, delete_one, &change,
                             &(ash_apply_terms){.ack = ASH_ACK_DURABLE}, &f->err);
}

static void fill(int32_t id, uint8_t *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        data[i] = (uint8_t)((uint32_t)id * 131 + i * 7 + (i >> 8));
}

bson_t *fixture_chunk(int32_t id, int32_t n, size_t len)
{
    bson_t *doc = bson_new();
    uint8_t *data = ash__alloc(len);
    fill(id, data, len);
    BSON_APPEND_INT32(doc, "_id", id);
    BSON_APPEND_INT32(doc, "n", n);
    BSON_APPEND_BINARY(doc, "data", BSON_SUBTYPE_BINARY, data, (uint32_t)len);
    ash__free(data);
    return doc;
}

bool fixture_chunk_is(ash_doc doc, int32_t id, int32_t n, size_t len)
{
    bson_t *want = fixture_chunk(id, n, len);
    bool same = doc.len == want->len && memcmp(doc.data, bson_get_data(want), doc.len) == 0;
    bson_destroy(want);
    return same;
}

ash_snapshot *fixture_snapshot(fixture *f)
{
    ash_snapshot *snap = NULL;
    assert_ok(ash__snapshot_open(f->engine, &snap, &f->err), &f->err);
    return snap;
}

const ash_coll *fixture_coll(fixture *f, ash_snapshot *snap, const char *name)
{
    const ash_coll *c = NULL;
    assert_ok(ash__catalog_find(snap, "test", name, &c, &f->err), &f->err);
    assert_non_null(c);
    return c;
}

const ash_index *fixture_find_index(const ash_coll *c, const char *name)
{
    for (uint32_t i = 0; i < c->index_count; i++) {
        if (strcmp(c->indexes[i].name, name) == 0)
            return &c->indexes[i];
    }
    fail_msg("no index called %s", name);
    return NULL;
}

uint64_t fixture_count(fixture *f, const char *coll)
{
    ash_snapshot *snap = fixture_snapshot(f);
    ash_coll_stats stats;
    assert_ok(ash__coll_stats(snap, fixture_coll(f, snap, coll), &stats, &f->err), &f->err);
    ash__snapshot_close(snap);
    return stats.count;
}

size_t fixture_scan(fixture *f, ash_snapshot *snap, const ash_index *i, bool backward,
                    uint64_t *rids, size_t max)
{
    const ash_scan_range all = {.backward = backward};
    ash_scan *s = ash__scan_index(snap, i, &all, NULL);
    ash_scan_hit hit;
    bool found = true;
    size_t count = 0;
    while (found && count < max) {
        assert_ok(ash__scan_next(s, &hit, &found, &f->err), &f->err);
        if (found)
            rids[count++] = hit.rid;
    }
    ash__scan_free(s);
    return count;
}

static void complain(void *ctx, const char *text, const bson_t *facts)
{
    (void)ctx, (void)facts;
    print_error("check: %s\n", text);
}

void fixture_check(fixture *f)
{
    ash_check_report report;
    ash_check_options opts = {.payloads = true, .finding = complain};
    assert_ok(ash__engine_check(f->engine, &opts, &report, &f->err), &f->err);
    assert_int_equal(report.findings, 0);
}
