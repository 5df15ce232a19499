/* SPDX-License-Identifier: Apache-2.0 */
#include "real.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ash_store_options real_options(void)
{
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    opts.durability = ASH_DURABILITY_INTERVAL;
    opts.map_bytes = INT64_C(1) << 30;
    opts.segment_bytes = INT64_C(8) << 20;
    return opts;
}

bool real_open(real *r, const char *folder, const ash_store_options *opts)
{
    static const char *names[COPIES] = {"c0", "c1", "c2"};
    ash_error err = ASH_ERROR_INIT;
    r->opts = opts == NULL ? real_options() : *opts;
    r->folder = strdup(folder);
    if (ash_store_open(folder, &r->opts, &r->store, &err) != 0) {
        fprintf(stderr, "cannot open %s: %s\n", folder, err.text);
        return false;
    }
    for (int i = 0; i < COPIES; i++) {
        if (ash_collection_new(r->store, NULL, names[i], &r->copies[i], &err) != 0)
            return false;
    }
    return true;
}

void real_close(real *r)
{
    for (int i = 0; i < COPIES; i++)
        ash_collection_free(r->copies[i]);
    ash_store_close(r->store);
    free(r->folder);
    memset(r, 0, sizeof *r);
}

bool real_reset(real *r, uint32_t most)
{
    bson_t *capped = BCON_NEW("capped", BCON_BOOL(true), "size", BCON_INT32(1 << 20), "max",
                              BCON_INT32((int32_t)most));
    bool done = true;
    for (int i = 0; i < COPIES; i++) {
        int code = ash_collection_drop(r->copies[i], NULL, NULL);
        done = done && (code == 0 || code == ASH_ENOTFOUND) &&
               ash_collection_create(r->copies[i], most > 0 ? capped : NULL, NULL, NULL) == 0;
    }
    bson_destroy(capped);
    return done;
}

/* ---- parts of a step as BSON, freed together ---- */

typedef struct call {
    real *r;
    ash_collection *c;
    const mv *step;
    bson_t *made[16];
    uint32_t made_count;
    bson_value_t hint;
    const bson_value_t *use_hint;
    ash_error err;
    answer a;
} call;

static bson_t *make(call *k, const mv *v)
{
    if (v == NULL)
        return NULL;
    bson_t *b = mv_bson(v);
    k->made[k->made_count++] = b;
    return b;
}

static bson_t *part(call *k, const char *name)
{
    return make(k, mv_get(k->step, name));
}

static int64_t whole(const call *k, const char *name)
{
    const mv *v = mv_get(k->step, name);
    return v == NULL ? 0 : v->i;
}

static bool flag(const call *k, const char *name)
{
    return mv_get(k->step, name) != NULL;
}

static void set_hint(call *k, const char *hint)
{
    if (hint == NULL)
        return;
    k->use_hint = &k->hint;
    if (strcmp(hint, "$natural") != 0) {
        k->hint.value_type = BSON_TYPE_UTF8;
        k->hint.value.v_utf8.str = pool_text(hint);
        k->hint.value.v_utf8.len = (uint32_t)strlen(hint);
        return;
    }
    mv *natural = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(natural, "$natural", mv_int(1));
    bson_t *b = make(k, natural);
    k->hint.value_type = BSON_TYPE_DOCUMENT;
    k->hint.value.v_doc.data = (uint8_t *)pool_get(b->len);
    memcpy(k->hint.value.v_doc.data, bson_get_data(b), b->len);
    k->hint.value.v_doc.data_len = b->len;
}

static void result(call *k, int code)
{
    k->a.failed = code != 0;
    k->a.code = code == 0 ? 0 : ash_error_server_code(&k->err);
}

static void take_all(call *k, ash_cursor *cursor)
{
    int code;
    for (;;) {
        ash_doc doc;
        bson_t b;
        code = ash_cursor_next(cursor, &doc, &k->err);
        if (code != 0 || doc.data == NULL)
            break;
        if (!bson_init_static(&b, doc.data, doc.len))
            abort();
        mv_put(k->a.docs, "", mv_parse(&b));
    }
    result(k, code);
    ash_cursor_free(cursor);
}

static void find(call *k)
{
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    opts.sort = part(k, "sort");
    opts.projection = part(k, "projection");
    opts.skip = whole(k, "skip");
    opts.limit = whole(k, "limit");
    opts.hint = k->use_hint;
    ash_cursor *cursor = NULL;
    int code = ash_collection_find(k->c, part(k, "find"), &opts, &cursor, &k->err);
    if (code != 0)
        result(k, code);
    else
        take_all(k, cursor);
}

static void add_stage(mv *pipeline, const char *name, mv *argument)
{
    mv *stage = mv_new(BSON_TYPE_DOCUMENT);
    if (argument == NULL)
        return;
    mv_put(stage, name, argument);
    mv_put(pipeline, "", stage);
}

/* The same as a pipeline. */
static void aggregate(call *k)
{
    mv *pipeline = mv_new(BSON_TYPE_ARRAY);
    add_stage(pipeline, "$match", mv_get(k->step, "find"));
    add_stage(pipeline, "$sort", mv_get(k->step, "sort"));
    add_stage(pipeline, "$skip", mv_get(k->step, "skip"));
    add_stage(pipeline, "$limit", mv_get(k->step, "limit"));
    ash_cursor *cursor = NULL;
    int code = ash_collection_aggregate(k->c, make(k, pipeline), NULL, &cursor, &k->err);
    if (code != 0)
        result(k, code);
    else
        take_all(k, cursor);
}

static void count(call *k)
{
    ash_count_options opts = ASH_COUNT_OPTIONS_INIT;
    opts.hint = k->use_hint;
    result(k, ash_collection_count(k->c, part(k, "count"), &opts, &k->a.n, &k->err));
}

static void distinct(call *k)
{
    bson_t out;
    int code = ash_collection_distinct(k->c, (const char *)mv_get(k->step, "key")->data,
                                       part(k, "distinct"), NULL, NULL, &out, &k->err);
    result(k, code);
    if (code != 0)
        return;
    const mv *values = mv_get(mv_parse(&out), "values");
    for (uint32_t i = 0; i < values->count; i++) {
        mv *doc = mv_new(BSON_TYPE_DOCUMENT);
        mv_put(doc, "v", values->items[i]);
        mv_put(k->a.docs, "", doc);
    }
    bson_destroy(&out);
}

static void insert(call *k)
{
    ash_insert_options opts = ASH_INSERT_OPTIONS_INIT;
    opts.op.transaction = k->r->transaction;
    result(k, ash_collection_insert_one(k->c, part(k, "insert"), &opts, &k->err));
    k->a.n = !k->a.failed;
}

static bson_value_t as_value(const bson_t *b, bson_type_t type)
{
    bson_value_t v = {.value_type = type};
    v.value.v_doc.data = (uint8_t *)pool_get(b->len);
    memcpy(v.value.v_doc.data, bson_get_data(b), b->len);
    v.value.v_doc.data_len = b->len;
    return v;
}

static void update(call *k)
{
    ash_update_options opts = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result r;
    opts.op.transaction = k->r->transaction;
    opts.multi = flag(k, "multi");
    opts.upsert = flag(k, "upsert");
    opts.array_filters = part(k, "arrayFilters");
    opts.hint = k->use_hint;
    bson_value_t u = as_value(part(k, "u"), mv_get(k->step, "u")->type);
    ash_write_result_init(&r);
    result(k, ash_collection_update(k->c, part(k, "update"), &u, &opts, &r, &k->err));
    k->a.n = r.matched;
    k->a.modified = r.modified;
    ash_write_result_release(&r);
}

static void modify(call *k)
{
    ash_find_and_modify_options opts = ASH_FIND_AND_MODIFY_OPTIONS_INIT;
    ash_write_result r;
    bson_t value;
    bool found = false;
    bson_value_t u;
    opts.op.transaction = k->r->transaction;
    opts.sort = part(k, "sort");
    opts.projection = part(k, "projection");
    opts.remove = !flag(k, "u");
    opts.upsert = flag(k, "upsert");
    opts.return_new = flag(k, "new");
    opts.array_filters = part(k, "arrayFilters");
    opts.hint = k->use_hint;
    if (flag(k, "u")) {
        u = as_value(part(k, "u"), mv_get(k->step, "u")->type);
        opts.update = &u;
    }
    ash_write_result_init(&r);
    int code =
        ash_collection_find_and_modify(k->c, part(k, "modify"), &opts, &value, &found, &r, &k->err);
    result(k, code);
    if (code == 0 && found)
        mv_put(k->a.docs, "", mv_parse(&value));
    if (code == 0)
        bson_destroy(&value);
    ash_write_result_release(&r);
}

static void remove_docs(call *k)
{
    ash_remove_options opts = ASH_REMOVE_OPTIONS_INIT;
    ash_write_result r;
    opts.op.transaction = k->r->transaction;
    opts.just_one = flag(k, "one");
    opts.hint = k->use_hint;
    ash_write_result_init(&r);
    result(k, ash_collection_remove(k->c, part(k, "remove"), &opts, &r, &k->err));
    k->a.n = r.deleted;
    ash_write_result_release(&r);
}

static void create_index(call *k)
{
    mv *specs = mv_new(BSON_TYPE_ARRAY);
    mv_put(specs, "", mv_get(k->step, "index"));
    result(k, ash_collection_create_indexes(k->c, make(k, specs), NULL, NULL, &k->err));
}

static void reopen(call *k)
{
    char *folder = pool_text(k->r->folder);
    ash_store_options opts = k->r->opts;
    real_close(k->r);
    result(k, real_open(k->r, folder, &opts) ? 0 : -1);
}

answer real_step(real *r, uint32_t copy, const mv *step, const char *hint, char *text,
                 size_t text_bytes)
{
    static const struct {
        const char *kind;
        void (*run)(call *k);
    } kinds[] = {{"find", find},          {"count", count},        {"distinct", distinct},
                 {"insert", insert},      {"update", update},      {"modify", modify},
                 {"remove", remove_docs}, {"index", create_index}, {"reopen", reopen}};
    call k = {.r = r, .c = r->copies[copy], .step = step};
    k.a.docs = mv_new(BSON_TYPE_ARRAY);
    bool piped = hint != NULL && strcmp(hint, REAL_PIPELINE) == 0;
    set_hint(&k, piped ? NULL : hint);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(step->names[0], kinds[i].kind) == 0)
            piped ? aggregate(&k) : kinds[i].run(&k);
    }
    for (uint32_t i = 0; i < k.made_count; i++)
        bson_destroy(k.made[i]);
    snprintf(text, text_bytes, "%s", k.a.failed ? k.err.text : "");
    return k.a;
}

bool real_drop_index(real *r, uint32_t copy, const char *name)
{
    bson_value_t v = {.value_type = BSON_TYPE_UTF8};
    v.value.v_utf8.str = pool_text(name);
    v.value.v_utf8.len = (uint32_t)strlen(name);
    return ash_collection_drop_indexes(r->copies[copy], &v, NULL, NULL) == 0;
}

mv *real_documents(real *r, uint32_t copy)
{
    char text[8];
    mv *step = mv_new(BSON_TYPE_DOCUMENT);
    mv_put(step, "find", mv_new(BSON_TYPE_DOCUMENT));
    return real_step(r, copy, step, "$natural", text, sizeof text).docs;
}
