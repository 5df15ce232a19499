/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include "base/error.h"

#include <string.h>

typedef struct read_call {
    ash_collection *c;
    ash_doc args;
    outcome *out;
} read_call;

int spec_collect(ash_cursor *cursor, bson_t *array, ash_error *err)
{
    for (uint32_t i = 0;; i++) {
        ash_doc doc;
        bson_t view;
        char key[12];
        const char *name;
        int rc = ash_cursor_next(cursor, &doc, err);
        if (rc != 0 || doc.data == NULL)
            return rc;
        ash__doc_to_bson(doc, &view);
        size_t len = bson_uint32_to_string(i, &name, key, sizeof key);
        bson_append_document(array, name, (int)len, &view);
    }
}

static int64_t number_argument(const read_call *call, const char *name)
{
    int64_t v;
    return ash__value_as_int64(ash__doc_get(call->args, name), &v) ? v : 0;
}

static void find(read_call *call, bool only_first)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_t filter;
    bson_t sort;
    bson_t projection;
    bson_t array = BSON_INITIALIZER;
    spec_doc(call->args, "filter", &filter);
    spec_doc(call->args, "sort", &sort);
    spec_doc(call->args, "projection", &projection);
    o.sort = bson_empty(&sort) ? NULL : &sort;
    o.projection = bson_empty(&projection) ? NULL : &projection;
    o.skip = number_argument(call, "skip");
    o.limit = only_first ? 1 : number_argument(call, "limit");
    o.batch_size = (int32_t)number_argument(call, "batchSize");
    int rc = ash_collection_find(call->c, &filter, &o, &cursor, &call->out->err);
    if (rc == 0)
        rc = spec_collect(cursor, &array, &call->out->err);
    if (rc == 0 && only_first)
        spec_return_value(call->out, ash__doc_get(ash__doc_from_bson(&array), "0"));
    else if (rc == 0)
        spec_return_array(call->out, &array);
    ash_cursor_free(cursor);
    bson_destroy(&array);
}

static void op_find(read_call *call)
{
    find(call, false);
}

static void op_find_one(read_call *call)
{
    find(call, true);
}

static void op_count(read_call *call)
{
    bson_t filter;
    bson_t count = BSON_INITIALIZER;
    int64_t n = 0;
    spec_doc(call->args, "filter", &filter);
    if (ash_collection_count(call->c, &filter, NULL, &n, &call->out->err) == 0) {
        bson_append_int64(&count, "v", 1, n);
        bson_destroy(&call->out->value);
        bson_copy_to(&count, &call->out->value);
    }
    bson_destroy(&count);
}

static void op_distinct(read_call *call)
{
    bson_t filter;
    bson_t values;
    const char *field = spec_text(call->args, "fieldName");
    spec_doc(call->args, "filter", &filter);
    if (field == NULL)
        ash__fail(&call->out->err, ASH_EINVAL, "distinct without fieldName");
    else if (ash_collection_distinct(call->c, field, &filter, NULL, NULL, &values,
                                     &call->out->err) == 0) {
        spec_return_value(call->out, ash__doc_get(ash__doc_from_bson(&values), "values"));
        bson_destroy(&values);
    }
}

static void op_aggregate(read_call *call)
{
    ash_cursor *cursor = NULL;
    bson_t pipeline;
    bson_t array = BSON_INITIALIZER;
    spec_doc(call->args, "pipeline", &pipeline);
    int rc = ash_collection_aggregate(call->c, &pipeline, NULL, &cursor, &call->out->err);
    if (rc == 0)
        rc = spec_collect(cursor, &array, &call->out->err);
    if (rc == 0)
        spec_return_array(call->out, &array);
    ash_cursor_free(cursor);
    bson_destroy(&array);
}

static void op_list_indexes(read_call *call)
{
    ash_cursor *cursor = NULL;
    bson_t array = BSON_INITIALIZER;
    int rc = ash_collection_list_indexes(call->c, NULL, &cursor, &call->out->err);
    if (rc == 0)
        rc = spec_collect(cursor, &array, &call->out->err);
    if (rc == 0)
        spec_return_array(call->out, &array);
    ash_cursor_free(cursor);
    bson_destroy(&array);
}

static void op_create_index(read_call *call)
{
    bson_t specs = BSON_INITIALIZER;
    bson_t spec;
    bson_t keys;
    const char *name = spec_text(call->args, "name");
    spec_doc(call->args, "keys", &keys);
    bson_append_document_begin(&specs, "0", 1, &spec);
    bson_append_document(&spec, "key", 3, &keys);
    bson_append_utf8(&spec, "name", 4, name != NULL ? name : "index", -1);
    if (ash__value_truthy(ash__doc_get(call->args, "unique")))
        bson_append_bool(&spec, "unique", 6, true);
    bson_append_document_end(&specs, &spec);
    ash_collection_create_indexes(call->c, &specs, NULL, NULL, &call->out->err);
    bson_destroy(&specs);
}

static void op_drop_index(read_call *call)
{
    const char *name = spec_text(call->args, "name");
    bson_value_t index = {.value_type = BSON_TYPE_UTF8};
    bson_t holder = BSON_INITIALIZER;
    bson_iter_t it;
    bson_append_utf8(&holder, "v", 1, name != NULL ? name : "", -1);
    if (bson_iter_init_find(&it, &holder, "v")) {
        bson_value_copy(bson_iter_value(&it), &index);
        ash_collection_drop_indexes(call->c, &index, NULL, &call->out->err);
        bson_value_destroy(&index);
    }
    bson_destroy(&holder);
}

static const struct {
    const char *name;
    void (*run)(read_call *call);
} operations[] = {
    {"find", op_find},
    {"findOne", op_find_one},
    {"countDocuments", op_count},
    {"estimatedDocumentCount", op_count},
    {"distinct", op_distinct},
    {"aggregate", op_aggregate},
    {"listIndexes", op_list_indexes},
    {"createIndex", op_create_index},
    {"dropIndex", op_drop_index},
};

enum call spec_collection_op(runner *r, entity *e, const char *name, ash_doc args, outcome *out)
{
    read_call call = {e->collection, args, out};
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(name, operations[i].name) == 0) {
            operations[i].run(&call);
            return CALLED;
        }
    }
    return spec_write_op(r, e, name, args, out);
}
