/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include "base/error.h"

#include <string.h>

typedef struct bucket_call {
    runner *r;
    ash_bucket *bucket;
    ash_doc args;
    outcome *out;
} bucket_call;

static ash_error *error_of(const bucket_call *c)
{
    return &c->out->err;
}

/* ---- arguments ---- */

static bool id_argument(const bucket_call *c, bson_value_t *id)
{
    bson_t args;
    bson_iter_t it;
    ash__doc_to_bson(c->args, &args);
    if (!bson_iter_init_find(&it, &args, "id")) {
        ash__fail(error_of(c), ASH_EINVAL, "operation without an id");
        return false;
    }
    bson_value_copy(bson_iter_value(&it), id);
    return true;
}

static const char *name_argument(const bucket_call *c, const char *name)
{
    const char *text = spec_text(c->args, name);
    if (text == NULL)
        ash__fail(error_of(c), ASH_EINVAL, "operation without %s", name);
    return text;
}

static int64_t number_argument(const bucket_call *c, const char *name, int64_t otherwise)
{
    int64_t v;
    return ash__value_as_int64(ash__doc_get(c->args, name), &v) ? v : otherwise;
}

static ash_change_options change_options(const bucket_call *c)
{
    ash_change_options o = ASH_CHANGE_OPTIONS_INIT;
    o.timeout_ms = number_argument(c, "timeoutMS", 0);
    return o;
}

/* ---- upload ---- */

typedef struct source {
    ash_buffer bytes;
    size_t at;
} source;

static int64_t read_source(void *ctx, void *buf, size_t len, ash_error *err)
{
    source *s = ctx;
    size_t rest = s->bytes.len - s->at;
    size_t take = len < rest ? len : rest;
    (void)err;
    if (take > 0)
        memcpy(buf, s->bytes.data + s->at, take);
    s->at += take;
    return (int64_t)take;
}

static void upload(bucket_call *c, const bson_value_t *id)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    bson_t metadata;
    bson_t aliases;
    source s = {.bytes = ASH_BUFFER_INIT};
    ash_input in = {&s, read_source};
    bson_value_t made = {.value_type = BSON_TYPE_EOD};
    const char *filename = name_argument(c, "filename");
    if (filename == NULL)
        return;
    if (!spec_source(ash__doc_get(c->args, "source"), &s.bytes)) {
        ash__fail(error_of(c), ASH_EINVAL, "upload without source bytes");
        ash__buffer_release(&s.bytes);
        return;
    }
    spec_doc(c->args, "metadata", &metadata);
    spec_doc(c->args, "aliases", &aliases);
    o.chunk_size_bytes = (int32_t)number_argument(c, "chunkSizeBytes", 0);
    o.timeout_ms = number_argument(c, "timeoutMS", 0);
    o.content_type = spec_text(c->args, "contentType");
    if (ash__doc_get(c->args, "metadata").type == BSON_TYPE_DOCUMENT)
        o.metadata = &metadata;
    if (ash__doc_get(c->args, "aliases").type == BSON_TYPE_ARRAY)
        o.aliases = &aliases;
    if (id != NULL) {
        ash_bucket_upload_from_stream_with_id(c->bucket, id, filename, &in, &o, error_of(c));
    } else if (ash_bucket_upload_from_stream(c->bucket, filename, &in, &o, &made, error_of(c)) ==
               0) {
        bson_reinit(&c->out->value);
        bson_append_value(&c->out->value, "v", 1, &made);
        bson_value_destroy(&made);
    }
    ash__buffer_release(&s.bytes);
}

static void op_upload(bucket_call *c)
{
    upload(c, NULL);
}

static void op_upload_with_id(bucket_call *c)
{
    bson_value_t id;
    if (!id_argument(c, &id))
        return;
    upload(c, &id);
    bson_value_destroy(&id);
}

/* ---- download ---- */

static int write_buffer(void *ctx, const void *data, size_t len, ash_error *err)
{
    (void)err;
    ash__buffer_append(ctx, data, len);
    return 0;
}

static void return_bytes(bucket_call *c, ash_buffer *bytes)
{
    bson_reinit(&c->out->value);
    bson_append_binary(&c->out->value, "v", 1, BSON_SUBTYPE_BINARY,
                       bytes->len > 0 ? bytes->data : (const uint8_t *)"", (uint32_t)bytes->len);
}

static ash_download_options download_options(const bucket_call *c)
{
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    o.start = number_argument(c, "start", 0);
    o.end = number_argument(c, "end", 0);
    o.has_end = !ash__value_is_missing(ash__doc_get(c->args, "end"));
    o.timeout_ms = number_argument(c, "timeoutMS", 0);
    return o;
}

static void op_download(bucket_call *c)
{
    bson_value_t id;
    ash_buffer bytes = ASH_BUFFER_INIT;
    ash_output out = {&bytes, write_buffer};
    ash_download_options o = download_options(c);
    if (!id_argument(c, &id))
        return;
    if (ash_bucket_download_to_stream(c->bucket, &id, &out, &o, error_of(c)) == 0)
        return_bytes(c, &bytes);
    bson_value_destroy(&id);
    ash__buffer_release(&bytes);
}

static void op_download_by_name(bucket_call *c)
{
    ash_buffer bytes = ASH_BUFFER_INIT;
    ash_output out = {&bytes, write_buffer};
    ash_download_options o = download_options(c);
    const char *filename = name_argument(c, "filename");
    if (filename == NULL)
        return;
    o.has_revision = !ash__value_is_missing(ash__doc_get(c->args, "revision"));
    o.revision = (int32_t)number_argument(c, "revision", -1);
    if (ash_bucket_download_to_stream_by_name(c->bucket, filename, &out, &o, error_of(c)) == 0)
        return_bytes(c, &bytes);
    ash__buffer_release(&bytes);
}

/* ---- the rest ---- */

static void op_delete(bucket_call *c)
{
    bson_value_t id;
    ash_change_options o = change_options(c);
    if (!id_argument(c, &id))
        return;
    ash_bucket_delete(c->bucket, &id, &o, error_of(c));
    bson_value_destroy(&id);
}

static void op_delete_by_name(bucket_call *c)
{
    ash_change_options o = change_options(c);
    const char *filename = name_argument(c, "filename");
    if (filename != NULL)
        ash_bucket_delete_by_name(c->bucket, filename, &o, error_of(c));
}

static void op_rename(bucket_call *c)
{
    bson_value_t id;
    ash_change_options o = change_options(c);
    const char *to = name_argument(c, "newFilename");
    if (to == NULL || !id_argument(c, &id))
        return;
    ash_bucket_rename(c->bucket, &id, to, &o, error_of(c));
    bson_value_destroy(&id);
}

static void op_rename_by_name(bucket_call *c)
{
    ash_change_options o = change_options(c);
    const char *from = name_argument(c, "filename");
    const char *to = name_argument(c, "newFilename");
    if (from != NULL && to != NULL)
        ash_bucket_rename_by_name(c->bucket, from, to, &o, error_of(c));
}

static void op_drop(bucket_call *c)
{
    ash_change_options o = change_options(c);
    ash_bucket_drop(c->bucket, &o, error_of(c));
}

static void op_find(bucket_call *c)
{
    ash_bucket_find_options o = ASH_BUCKET_FIND_OPTIONS_INIT;
    ash_cursor *cursor = NULL;
    bson_t filter;
    bson_t sort;
    bson_t array = BSON_INITIALIZER;
    spec_doc(c->args, "filter", &filter);
    spec_doc(c->args, "sort", &sort);
    o.allow_disk_use = ash__value_truthy(ash__doc_get(c->args, "allowDiskUse"));
    o.no_cursor_timeout = ash__value_truthy(ash__doc_get(c->args, "noCursorTimeout"));
    o.batch_size = (int32_t)number_argument(c, "batchSize", 0);
    o.limit = number_argument(c, "limit", 0);
    o.skip = number_argument(c, "skip", 0);
    o.max_time_ms = number_argument(c, "maxTimeMS", 0);
    if (!bson_empty(&sort))
        o.sort = &sort;
    int rc = ash_bucket_find(c->bucket, &filter, &o, &cursor, error_of(c));
    if (rc == 0)
        rc = spec_collect(cursor, &array, error_of(c));
    if (rc == 0)
        spec_return_array(c->out, &array);
    ash_cursor_free(cursor);
    bson_destroy(&array);
}

static const struct {
    const char *name;
    void (*run)(bucket_call *c);
} operations[] = {
    {"upload", op_upload},     {"uploadWithId", op_upload_with_id},
    {"download", op_download}, {"downloadByName", op_download_by_name},
    {"delete", op_delete},     {"deleteByName", op_delete_by_name},
    {"rename", op_rename},     {"renameByName", op_rename_by_name},
    {"drop", op_drop},         {"find", op_find},
};

/* The format wants a runner to fail over what it does not know, not to pass over it. */
static bool knows_arguments(bucket_call *c)
{
    static const char *const known[] = {"id",        "filename",       "newFilename",
                                        "source",    "chunkSizeBytes", "metadata",
                                        "aliases",   "revision",       "contentType",
                                        "start",     "disableMD5",     "end",
                                        "timeoutMS", "filter",         "sort",
                                        "skip",      "limit",          "batchSize",
                                        "maxTimeMS", "session",        "noCursorTimeout",
                                        "comment",   "allowDiskUse"};
    for (ash_doc_iter it = ash__doc_iter(c->args); ash__doc_iter_next(&it);) {
        bool found = false;
        for (size_t i = 0; !found && i < sizeof known / sizeof known[0]; i++)
            found = strcmp(it.name, known[i]) == 0;
        if (!found)
            return spec_fail(c->r, "argument %s is not known", it.name);
    }
    return true;
}

enum call spec_bucket_op(runner *r, entity *e, const char *name, ash_doc args, outcome *out)
{
    bucket_call c = {r, e->bucket, args, out};
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        if (strcmp(name, operations[i].name) == 0) {
            if (!knows_arguments(&c))
                return UNKNOWN_OPERATION;
            operations[i].run(&c);
            return CALLED;
        }
    }
    return UNKNOWN_OPERATION;
}
