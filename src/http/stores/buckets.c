/* SPDX-License-Identifier: Apache-2.0 */
/* GridFS by HTTP. */
#include "base/base64.h"
#include "base/hash.h"
#include "base/mem.h"
#include "http/gate/may.h"
#include "http/gate/trace.h"
#include "http/source.h"
#include "http/stores/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_FILES = 1000, MAX_FILES = 10000 };

/* One request: its bucket, and what is done in it. */
typedef struct visit {
    ash_http_stores *stores;
    bool counted; /* among its uploads */
    ash_bucket *bucket;
    char *db, *name;
    ash_cursor *cursor; /* of a listing */
    ash_download *download;
    ash_file *file;
    ash_upload *upload;
    char *filename;
    char etag[160];
} visit;

static void free_visit(visit *v)
{
    if (v->counted)
        ash__stores_count_out(v->stores);
    ash_upload_free(v->upload);
    ash_download_free(v->download);
    ash_file_free(v->file);
    ash_cursor_free(v->cursor);
    ash_bucket_free(v->bucket);
    ash__free(v->filename);
    ash__free(v->db);
    ash__free(v->name);
    ash__free(v);
}

static void release(ash_exchange *x)
{
    free_visit(x->state);
}

/* ---- listing ---- */

static int more_files(ash_exchange *x, ash_buffer *out)
{
    visit *v = x->state;
    ash_doc doc;
    bson_t view;
    ash_error err = ASH_ERROR_INIT;
    while (out->len < ASH_PIECE_BYTES) {
        int rc = ash_cursor_next(v->cursor, &doc, &err);
        if (rc != 0)
            return rc;
        if (doc.data == NULL)
            return ASH_MORE_LAST;
        if (bson_init_static(&view, doc.data, doc.len))
            ash__stores_add_json(out, &view);
    }
    return ASH_MORE_TO_COME;
}

/* Names that begin with it. */
static void add_prefix(bson_t *filter, const char *prefix)
{
    ash_buffer pattern = ASH_BUFFER_INIT;
    ash__buffer_append_byte(&pattern, '^');
    for (const char *at = prefix; *at != '\0'; at++) {
        if (strchr("\\^$.|?*+()[]{}", *at) != NULL)
            ash__buffer_append_byte(&pattern, '\\');
        ash__buffer_append_byte(&pattern, (uint8_t)*at);
    }
    BSON_APPEND_REGEX(filter, "filename", ash__buffer_text(&pattern), "");
    ash__buffer_release(&pattern);
}

static void list_files(visit *v, ash_exchange *x)
{
    ash_bucket_find_options o = ASH_BUCKET_FIND_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    char *prefix = NULL, *name = NULL, *after = NULL;
    o.limit = LIST_FILES;
    if (!ash__stores_number(x, "limit", 1, MAX_FILES, &o.limit))
        return;
    bson_t filter = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("filename", BCON_INT32(1), "uploadDate", BCON_INT32(1));
    ash__http_target_query(&x->target, "prefix", &prefix);
    ash__http_target_query(&x->target, "name", &name);
    ash__http_target_query(&x->target, "after", &after);
    if (name != NULL)
        BSON_APPEND_UTF8(&filter, "filename", name);
    else if (prefix != NULL)
        add_prefix(&filter, prefix);
    if (after != NULL)
        BCON_APPEND(&filter, "$and", "[", "{", "filename", "{", "$gt", BCON_UTF8(after), "}", "}",
                    "]");
    o.sort = sort;
    if (ash_bucket_find(v->bucket, &filter, &o, &v->cursor, &err) != 0) {
        ash__answer_error(x, &err);
    } else {
        x->more = more_files;
        ash__answer_stream(x, 200, "application/x-ndjson", -1);
    }
    bson_destroy(&filter);
    bson_destroy(sort);
    ash__free(prefix);
    ash__free(name);
    ash__free(after);
}

/* ---- bytes ---- */

static int open_bytes(void *ctx, int64_t start, int64_t end, ash_error *err)
{
    visit *v = ctx;
    ash_download_options o = ASH_DOWNLOAD_OPTIONS_INIT;
    o.start = start;
    o.end = end;
    o.verify = start == 0 && end == ash_file_length(v->file);
    return ash_bucket_open_download_stream(v->bucket, ash_file_id(v->file), &o, &v->download, err);
}

static int read_bytes(void *ctx, void *data, size_t len, size_t *got, ash_error *err)
{
    visit *v = ctx;
    return ash_download_read(v->download, data, len, got, err);
}

static void release_bytes(void *ctx)
{
    free_visit(ctx);
}

/* The same file is the same bytes, until it is altered: then its date or its length changes. */
static void make_etag(visit *v)
{
    bson_t id = BSON_INITIALIZER;
    const char *sha256 = ash_file_sha256(v->file);
    BSON_APPEND_VALUE(&id, "", ash_file_id(v->file));
    uint64_t sum = ash__checksum(bson_get_data(&id), id.len);
    if (sha256 != NULL)
        snprintf(v->etag, sizeof v->etag, "\"%.32s\"", sha256);
    else
        snprintf(v->etag, sizeof v->etag, "\"%016llx-%llx-%llx\"", (unsigned long long)sum,
                 (unsigned long long)ash_file_upload_date_ms(v->file),
                 (unsigned long long)ash_file_length(v->file));
    bson_destroy(&id);
}

/* As RFC 9530 has it, of what the store knows. */
static void add_digest(const ash_file *file, ash_exchange *x)
{
    const char *hex = ash_file_sha256(file);
    uint8_t bytes[32];
    if (hex == NULL || strlen(hex) != 2 * sizeof bytes || !ash__hex_read(hex, sizeof bytes, bytes))
        return;
    char *text = ash__base64_write(bytes, sizeof bytes);
    for (char *at = text; *at != '\0'; at++)
        *at = (char)(*at == '-' ? '+' : *at == '_' ? '/' : *at);
    ash__answer_field(x, "Repr-Digest", "sha-256=:%s:", text);
    ash__free(text);
}

static void send_file(visit *v, ash_exchange *x)
{
    bson_iter_t at;
    bson_t view;
    ash_doc doc = ash_file_document(v->file);
    const char *type = NULL;
    if (bson_init_static(&view, doc.data, doc.len) &&
        bson_iter_init_find(&at, &view, "contentType") && BSON_ITER_HOLDS_UTF8(&at))
        type = bson_iter_utf8(&at, NULL);
    make_etag(v);
    add_digest(v->file, x);
    ash_http_source source = {.ctx = v,
                              .length = ash_file_length(v->file),
                              .etag = v->etag,
                              .modified_ms = ash_file_upload_date_ms(v->file),
                              .type = type,
                              .open = open_bytes,
                              .read = read_bytes,
                              .release = release_bytes};
    x->state = NULL;
    x->release = NULL;
    ash__http_send_source(x, &source);
}

/* ---- uploads ---- */

static void take(ash_exchange *x, const void *data, size_t len)
{
    visit *v = x->state;
    ash_error err = ASH_ERROR_INIT;
    if (ash_upload_write(v->upload, data, len, &err) != 0)
        ash__answer_error(x, &err);
}

static void finish(ash_exchange *x)
{
    visit *v = x->state;
    ash_error err = ASH_ERROR_INIT;
    bson_t doc = BSON_INITIALIZER;
    char hex[25];
    if (ash_upload_finish(v->upload, &v->file, &err) != 0) {
        ash__answer_error(x, &err);
        return;
    }
    const bson_value_t *id = ash_file_id(v->file);
    BSON_APPEND_VALUE(&doc, "_id", id);
    BSON_APPEND_UTF8(&doc, "filename", v->filename);
    BSON_APPEND_INT64(&doc, "length", ash_file_length(v->file));
    if (ash_file_sha256(v->file) != NULL)
        BSON_APPEND_UTF8(&doc, "sha256", ash_file_sha256(v->file));
    if (id->value_type == BSON_TYPE_OID) {
        ash_buffer to = ASH_BUFFER_INIT;
        bson_oid_to_string(&id->value.v_oid, hex);
        ash__buffer_append_text(&to, ASH_SITE_RESERVED "/buckets/");
        ash__http_target_encode(&to, v->db);
        ash__buffer_append_byte(&to, '/');
        ash__http_target_encode(&to, v->name);
        ash__answer_field(x, "Location", "%s/id/%s", ash__buffer_text(&to), hex);
        ash__buffer_release(&to);
    }
    make_etag(v);
    ash__answer_field(x, "ETag", "%s", v->etag);
    ash__stores_answer_json(x, 201, &doc);
    bson_destroy(&doc);
}

static bson_t *metadata_of(const ash_exchange *x, bool *bad)
{
    char *text = NULL;
    bson_error_t why;
    bson_t *metadata = NULL;
    *bad = false;
    if (ash__http_target_query(&x->target, "metadata", &text)) {
        metadata = bson_new_from_json((const uint8_t *)text, -1, &why);
        *bad = metadata == NULL;
    }
    ash__free(text);
    return metadata;
}

static void begin_upload(visit *v, ash_exchange *x, char *filename)
{
    ash_upload_options o = ASH_UPLOAD_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    const char *none_match = ash__head_field(x->head, "If-None-Match");
    const char *type = ash__head_field(x->head, "Content-Type");
    bool bad;
    v->filename = filename;
    v->counted = ash__stores_count_in(v->stores, x);
    if (!v->counted)
        return;
    bson_t *metadata = metadata_of(x, &bad);
    o.metadata = metadata;
    if (none_match != NULL && strcmp(none_match, "*") == 0)
        o.condition = ASH_PUT_IF_ABSENT;
    if (type != NULL && strcmp(type, "application/x-www-form-urlencoded") != 0)
        o.content_type = type;
    if (bad)
        ash__answer_text(x, 400, "`metadata` is no JSON object");
    else if (ash__head_field(x->head, "If-Match") != NULL)
        ash__answer_text(x, 501,
                         "a bucket keeps each upload as a file of its own; If-None-Match: * makes "
                         "first ones only");
    else if (ash_bucket_open_upload_stream(v->bucket, filename, &o, &v->upload, &err) != 0)
        ash__answer_error(x, &err);
    else {
        x->take = take;
        x->finish = finish;
    }
    bson_destroy(metadata);
}

/* ---- one file ---- */

static bool is_reading(const ash_exchange *x)
{
    return strcmp(x->method, "GET") == 0 || x->is_head;
}

/* 24 hexadecimal digits, or JSON: {"$oid": …}, 7, "text".  false: x is answered. */
static bool read_id(ash_exchange *x, const char *text, bson_t *holder, bson_iter_t *at)
{
    bson_error_t why;
    bson_oid_t oid;
    if (bson_oid_is_valid(text, strlen(text))) {
        bson_oid_init_from_string(&oid, text);
        bson_init(holder);
        BSON_APPEND_OID(holder, "id", &oid);
    } else {
        char *json = ash__sprintf("{\"id\": %s}", text);
        bool good = bson_init_from_json(holder, json, -1, &why);
        ash__free(json);
        if (!good) {
            ash__answer_text(x, 400, "an id is 24 hexadecimal digits, or JSON");
            return false;
        }
    }
    return bson_iter_init_find(at, holder, "id");
}

static void begin_by_id(visit *v, ash_exchange *x, const char *text)
{
    bson_t holder;
    bson_iter_t at;
    ash_error err = ASH_ERROR_INIT;
    if (!read_id(x, text, &holder, &at))
        return;
    const bson_value_t *id = bson_iter_value(&at);
    if (strcmp(x->method, "DELETE") == 0) {
        if (ash_bucket_delete(v->bucket, id, NULL, &err) != 0)
            ash__answer_error(x, &err);
        else
            ash__answer_empty(x, 204);
    } else if (!is_reading(x)) {
        ash__stores_refuse_method(x, "GET, HEAD, DELETE");
    } else if (ash_bucket_get_file(v->bucket, id, true, &v->file, &err) != 0) {
        ash__answer_error(x, &err);
    } else {
        send_file(v, x);
    }
    bson_destroy(&holder);
}

static void begin_by_name(visit *v, ash_exchange *x, const char *name)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t revision = -1;
    if (!ash__stores_number(x, "revision", INT32_MIN, INT32_MAX, &revision))
        return;
    if (strcmp(x->method, "PUT") == 0) {
        begin_upload(v, x, ash__strdup(name));
    } else if (strcmp(x->method, "DELETE") == 0) {
        if (ash_bucket_delete_by_name(v->bucket, name, NULL, &err) != 0)
            ash__answer_error(x, &err);
        else
            ash__answer_empty(x, 204);
    } else if (!is_reading(x)) {
        ash__stores_refuse_method(x, "GET, HEAD, PUT, DELETE");
    } else if (ash_bucket_get_file_by_name(v->bucket, name, (int32_t)revision, true, &v->file,
                                           &err) != 0) {
        ash__answer_error(x, &err);
    } else {
        send_file(v, x);
    }
}

static void begin_bucket(visit *v, ash_exchange *x)
{
    char *name = NULL;
    if (is_reading(x))
        list_files(v, x);
    else if (strcmp(x->method, "POST") != 0)
        ash__stores_refuse_method(x, "GET, HEAD, POST");
    else if (!ash__http_target_query(&x->target, "name", &name))
        ash__answer_text(x, 400, "`name` is needed: what the file is to be called");
    else {
        ash__trace_text(x, "name", name);
        begin_upload(v, x, name);
    }
}

/* What the same would need on the wire. */
static ash_actions actions_of(const ash_exchange *x)
{
    if (ash__method_is_safe(x->method))
        return ASH_CAN(FIND);
    return strcmp(x->method, "DELETE") == 0 ? ASH_CAN(REMOVE) : ASH_CAN(INSERT);
}

/* A tree's contents have no access lists, and would be read past those of the files that they are
 * of. */
static bool is_of_tree(const char *bucket)
{
    return strncmp(bucket, "v7files", strlen("v7files")) == 0 ||
           strncmp(bucket, "v7.fs", strlen("v7.fs")) == 0;
}

/* true: x is answered. */
static bool refuse(const visit *v, ash_exchange *x)
{
    char *files = ash__sprintf("%s.files", v->name), *chunks = ash__sprintf("%s.chunks", v->name);
    bool may = ash__gate_may(x, v->db, files, actions_of(x)) &&
               ash__gate_may(x, v->db, chunks, actions_of(x)) &&
               (x->op == NULL || !is_of_tree(v->name));
    ash__free(files);
    ash__free(chunks);
    if (!may)
        ash__gate_refuse(x);
    return !may;
}

void ash__buckets_begin(void *ctx, ash_exchange *x, const char *rest)
{
    ash_http_stores *s = ctx;
    ash_bucket_options o = ASH_BUCKET_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    visit *v = ash__new(visit);
    v->stores = s;
    x->state = v;
    x->release = release;
    v->db = ash__stores_next_name(&rest);
    v->name = ash__stores_next_name(&rest);
    o.db = v->db;
    o.bucket_name = v->name;
    if (v->name == NULL) {
        ash__answer_text(x, 404, "a bucket is at " ASH_SITE_RESERVED "/buckets/DATABASE/BUCKET");
        return;
    }
    if (refuse(v, x))
        return;
    if (ash_bucket_new(s->store, &o, &v->bucket, &err) != 0) {
        ash__answer_error(x, &err);
        return;
    }
    char *how = ash__stores_next_name(&rest);
    if (how == NULL)
        begin_bucket(v, x);
    else if (strcmp(how, "id") == 0 && rest[0] == '/')
        begin_by_id(v, x, rest + 1);
    else if (strcmp(how, "name") == 0 && rest[0] == '/')
        begin_by_name(v, x, rest + 1);
    else
        ash__answer_text(x, 404, "files are below id/ and name/");
    ash__free(how);
}
