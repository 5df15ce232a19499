/* SPDX-License-Identifier: Apache-2.0 */
/* Object stores by HTTP.  An object's ETag is its revision, so that If-Match is compare-and-set. */
#include "base/mem.h"
#include "http/gate/may.h"
#include "http/source.h"
#include "http/stores/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CONFIG_BYTES = 64 * 1024 };

typedef struct visit {
    ash_http_stores *stores;
    bool counted; /* among its uploads */
    char *store_name;
    ash_object_store *store;
    ash_object_listing *listing;
    ash_object_status_listing *status_listing;
    ash_object_reader *reader;
    ash_object_writer *writer;
    ash_object *object;
    char *name, *prefix;
    ash_buffer config;
    char etag[40];
} visit;

static void free_visit(visit *v)
{
    if (v->counted)
        ash__stores_count_out(v->stores);
    ash_object_writer_free(v->writer);
    ash_object_reader_free(v->reader);
    ash_object_listing_free(v->listing);
    ash_object_status_listing_free(v->status_listing);
    ash_object_free(v->object);
    ash_object_store_close(v->store);
    ash__buffer_release(&v->config);
    ash__free(v->store_name);
    ash__free(v->name);
    ash__free(v->prefix);
    ash__free(v);
}

static void release(ash_exchange *x)
{
    free_visit(x->state);
}

static bool is_reading(const ash_exchange *x)
{
    return strcmp(x->method, "GET") == 0 || x->is_head;
}

/* ---- JSON ---- */

static int add_object(ash_buffer *out, const ash_object *o, ash_error *err)
{
    char *text = NULL;
    int rc = ash_object_to_json(o, &text, err);
    if (rc == 0) {
        ash__buffer_append_text(out, text);
        ash__buffer_append_byte(out, '\n');
    }
    ash_object_string_free(text);
    return rc;
}

static void answer_object(ash_exchange *x, int status, const ash_object *o)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash_error err = ASH_ERROR_INIT;
    ash__answer_field(x, "ETag", "\"%llu\"", (unsigned long long)ash_object_revision(o));
    if (add_object(&out, o, &err) != 0)
        ash__answer_error(x, &err);
    else
        ash__answer_body(x, status, "application/json", out.data, out.len);
    ash__buffer_release(&out);
}

static bson_t *status_document(const ash_object_status *st)
{
    return BCON_NEW("name", BCON_UTF8(ash_object_status_name(st)), "objects",
                    BCON_INT64(ash_object_status_objects(st)), "bytes",
                    BCON_INT64(ash_object_status_bytes(st)), "sealed",
                    BCON_BOOL(ash_object_status_is_sealed(st)), "created",
                    BCON_DATE_TIME(ash_object_status_created_ms(st)), "revision",
                    BCON_INT64((int64_t)ash_object_status_revision(st)));
}

/* ---- listings ---- */

static int more_objects(ash_exchange *x, ash_buffer *out)
{
    visit *v = x->state;
    const ash_object *o = NULL;
    ash_error err = ASH_ERROR_INIT;
    while (out->len < ASH_PIECE_BYTES) {
        int rc = ash_object_listing_next(v->listing, &o, &err);
        if (rc == 0 && o != NULL)
            rc = add_object(out, o, &err);
        if (rc != 0)
            return rc;
        if (o == NULL)
            return ASH_MORE_LAST;
    }
    return ASH_MORE_TO_COME;
}

static int more_stores(ash_exchange *x, ash_buffer *out)
{
    visit *v = x->state;
    const ash_object_status *st = NULL;
    ash_error err = ASH_ERROR_INIT;
    while (out->len < ASH_PIECE_BYTES) {
        int rc = ash_object_status_listing_next(v->status_listing, &st, &err);
        if (rc != 0)
            return rc;
        if (st == NULL)
            return ASH_MORE_LAST;
        bson_t *doc = status_document(st);
        ash__stores_add_json(out, doc);
        bson_destroy(doc);
    }
    return ASH_MORE_TO_COME;
}

static void list_stores(visit *v, ash_exchange *x)
{
    ash_error err = ASH_ERROR_INIT;
    if (!is_reading(x)) {
        ash__stores_refuse_method(x, "GET, HEAD");
    } else if (ash_object_manager_list(v->stores->objects, NULL, &v->status_listing, &err) != 0) {
        ash__answer_error(x, &err);
    } else {
        x->more = more_stores;
        ash__answer_stream(x, 200, "application/x-ndjson", -1);
    }
}

static void list_objects(visit *v, ash_exchange *x)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    int deleted = ash__stores_flag(x, "deleted");
    if (deleted < 0)
        return;
    ash__http_target_query(&x->target, "prefix", &v->prefix);
    o.by_name = true;
    o.deleted = deleted;
    o.prefix = v->prefix;
    if (ash_object_store_list(v->store, &o, NULL, &v->listing, &err) != 0) {
        ash__answer_error(x, &err);
    } else {
        x->more = more_objects;
        ash__answer_stream(x, 200, "application/x-ndjson", -1);
    }
}

static void answer_info(visit *v, ash_exchange *x, const char *name)
{
    ash_error err = ASH_ERROR_INIT;
    if (!is_reading(x))
        ash__stores_refuse_method(x, "GET, HEAD");
    else if (name[0] == '\0')
        list_objects(v, x);
    else if (ash_object_store_info(v->store, name, NULL, NULL, &v->object, &err) != 0)
        ash__answer_error(x, &err);
    else
        answer_object(x, 200, v->object);
}

/* ---- a store ---- */

/* false: it is there, and is not what it should be. */
static bool read_number(const bson_t *doc, const char *field, int64_t *out)
{
    bson_iter_t at;
    *out = 0;
    if (!bson_iter_init_find(&at, doc, field))
        return true;
    *out = bson_iter_as_int64(&at);
    return BSON_ITER_HOLDS_INT(&at) && *out >= -1;
}

static bool read_config(visit *v, const bson_t *doc, ash_object_config *c)
{
    bson_iter_t at;
    int64_t keep;
    c->name = v->store_name;
    if (!read_number(doc, "max_bytes", &c->max_bytes) || !read_number(doc, "ttl_ms", &c->ttl_ms) ||
        !read_number(doc, "keep_last", &keep) || keep > INT32_MAX || c->max_bytes < 0 ||
        c->ttl_ms < 0)
        return false;
    c->keep_last = (int32_t)keep;
    if (bson_iter_init_find(&at, doc, "compression")) {
        if (!BSON_ITER_HOLDS_BOOL(&at))
            return false;
        c->compression = bson_iter_bool(&at);
    }
    if (bson_iter_init_find(&at, doc, "description")) {
        if (!BSON_ITER_HOLDS_UTF8(&at))
            return false;
        c->description = bson_iter_utf8(&at, NULL);
    }
    return true;
}

static void make_store(visit *v, ash_exchange *x, const bson_t *doc)
{
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    ash_error err = ASH_ERROR_INIT;
    if (!read_config(v, doc, &c))
        ash__answer_text(x, 400, "a member of the configuration is not of its type");
    else if (ash_object_manager_create(v->stores->objects, &c, NULL, &v->store, &err) != 0)
        ash__answer_error(x, &err);
    else
        ash__answer_empty(x, 201);
}

static void take_config(ash_exchange *x, const void *data, size_t len)
{
    visit *v = x->state;
    if (v->config.len + len > MAX_CONFIG_BYTES)
        ash__answer_text(x, 413, "the configuration is longer than 64 KiB");
    else
        ash__buffer_append(&v->config, data, len);
}

static void finish_config(ash_exchange *x)
{
    visit *v = x->state;
    bson_error_t why = {0};
    const char *text = v->config.len > 0 ? ash__buffer_text(&v->config) : "{}";
    /* libbson takes arrays, too. */
    bool is_object = text[strspn(text, " \t\r\n")] == '{';
    bson_t *doc = is_object ? bson_new_from_json((const uint8_t *)text, -1, &why) : NULL;
    if (doc == NULL)
        ash__answer_text(x, 400, "the configuration is no JSON object: %s", why.message);
    else
        make_store(v, x, doc);
    bson_destroy(doc);
}

static void begin_store(visit *v, ash_exchange *x)
{
    ash_error err = ASH_ERROR_INIT;
    ash_object_status *st = NULL;
    int rc = 0;
    if (strcmp(x->method, "PUT") == 0) {
        x->take = take_config;
        x->finish = finish_config;
        return;
    }
    if (strcmp(x->method, "DELETE") == 0) {
        rc = ash_object_manager_delete(v->stores->objects, v->store_name, NULL, &err);
        if (rc == 0)
            ash__answer_empty(x, 204);
    } else if (!is_reading(x)) {
        ash__stores_refuse_method(x, "GET, HEAD, PUT, DELETE");
    } else {
        rc = ash_object_manager_bind(v->stores->objects, v->store_name, NULL, &v->store, &err);
        if (rc == 0)
            rc = ash_object_store_status(v->store, NULL, &st, &err);
        if (rc == 0) {
            bson_t *doc = status_document(st);
            ash__stores_answer_json(x, 200, doc);
            bson_destroy(doc);
        }
        ash_object_status_free(st);
    }
    if (rc != 0)
        ash__answer_error(x, &err);
}

/* ---- an object's bytes ---- */

static int open_bytes(void *ctx, int64_t start, int64_t end, ash_error *err)
{
    visit *v = ctx;
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    o.start = start;
    o.end = end;
    o.revision = ash_object_is_link(v->object) ? 0 : ash_object_revision(v->object);
    return ash_object_store_open_reader(v->store, v->name, &o, NULL, &v->reader, err);
}

static int read_bytes(void *ctx, void *data, size_t len, size_t *got, ash_error *err)
{
    visit *v = ctx;
    return ash_object_reader_read(v->reader, data, len, got, err);
}

static void release_bytes(void *ctx)
{
    free_visit(ctx);
}

/* "SHA-256=" and URL-safe base64, as RFC 9530 has it. */
static void add_digest(ash_exchange *x, const ash_object *o)
{
    const char *digest = ash_object_digest(o);
    char text[64];
    size_t n = 0;
    if (strncmp(digest, "SHA-256=", 8) != 0 || strlen(digest + 8) >= sizeof text)
        return;
    for (digest += 8; *digest != '\0'; digest++)
        text[n++] = (char)(*digest == '-' ? '+' : *digest == '_' ? '/' : *digest);
    text[n] = '\0';
    ash__answer_field(x, "Repr-Digest", "sha-256=:%s:", text);
}

static void send_object(visit *v, ash_exchange *x)
{
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    o.follow = true;
    if (ash_object_store_info(v->store, v->name, &o, NULL, &v->object, &err) != 0) {
        ash__answer_error(x, &err);
        return;
    }
    snprintf(v->etag, sizeof v->etag, "\"%llu\"",
             (unsigned long long)ash_object_revision(v->object));
    add_digest(x, v->object);
    ash_http_source source = {.ctx = v,
                              .length = ash_object_size(v->object),
                              .etag = v->etag,
                              .modified_ms = ash_object_modified_ms(v->object),
                              .type = ash_object_content_type(v->object),
                              .open = open_bytes,
                              .read = read_bytes,
                              .release = release_bytes};
    x->state = NULL;
    x->release = NULL;
    ash__http_send_source(x, &source);
}

static void take(ash_exchange *x, const void *data, size_t len)
{
    visit *v = x->state;
    ash_error err = ASH_ERROR_INIT;
    if (ash_object_writer_write(v->writer, data, len, &err) != 0)
        ash__answer_error(x, &err);
}

/* What a condition counted on was otherwise. */
static void answer_change(ash_exchange *x, ash_error *err)
{
    if (err->code == ASH_ECONFLICT ||
        (err->code == ASH_EEXISTS && ash__condition_is_there(x->head)))
        err->code = ASH_ECONDITION;
    ash__answer_error(x, err);
}

static void finish(ash_exchange *x)
{
    visit *v = x->state;
    ash_error err = ASH_ERROR_INIT;
    if (ash_object_writer_finish(v->writer, NULL, &v->object, &err) != 0)
        answer_change(x, &err);
    else
        answer_object(x, 201, v->object);
}

/* If-Match has a revision, If-None-Match a star.  false: x is answered. */
static bool read_conditions(ash_exchange *x, ash_object_change_options *o)
{
    const char *match = ash__head_field(x->head, "If-Match");
    const char *none = ash__head_field(x->head, "If-None-Match");
    char *end = NULL;
    o->if_absent = none != NULL && strcmp(none, "*") == 0;
    if (match == NULL)
        return true;
    o->if_revision = match[0] == '"' ? strtoull(match + 1, &end, 10) : 0;
    if (o->if_revision == 0 || end == NULL || strcmp(end, "\"") != 0)
        ash__answer_text(x, 412, "If-Match has to be the object's ETag");
    return x->status == 0;
}

static void begin_put(visit *v, ash_exchange *x)
{
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    ash_error err = ASH_ERROR_INIT;
    char *description = NULL;
    ash__http_target_query(&x->target, "description", &description);
    meta.name = v->name;
    meta.description = description;
    meta.content_type = ash__head_field(x->head, "Content-Type");
    v->counted = read_conditions(x, &o) && ash__stores_count_in(v->stores, x);
    if (v->counted) {
        if (ash_object_store_open_writer(v->store, &meta, &o, NULL, &v->writer, &err) != 0)
            answer_change(x, &err);
        x->take = take;
        x->finish = finish;
    }
    ash__free(description);
}

static void begin_delete(visit *v, ash_exchange *x)
{
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    if (!read_conditions(x, &o))
        return;
    if (ash_object_store_delete(v->store, v->name, &o, NULL, NULL, &err) != 0)
        answer_change(x, &err);
    else
        ash__answer_empty(x, 204);
}

static void begin_data(visit *v, ash_exchange *x, const char *name)
{
    v->name = ash__strdup(name);
    if (name[0] == '\0')
        ash__answer_text(x, 404, "an object's name is missing");
    else if (is_reading(x))
        send_object(v, x);
    else if (strcmp(x->method, "PUT") == 0)
        begin_put(v, x);
    else if (strcmp(x->method, "DELETE") == 0)
        begin_delete(v, x);
    else
        ash__stores_refuse_method(x, "GET, HEAD, PUT, DELETE");
}

/* ---- requests ---- */

static void begin_in_store(visit *v, ash_exchange *x, const char *rest)
{
    ash_error err = ASH_ERROR_INIT;
    char *how = ash__stores_next_name(&rest);
    const char *name = rest[0] == '/' ? rest + 1 : "";
    if (how == NULL)
        begin_store(v, x);
    else if (strcmp(how, "info") != 0 && strcmp(how, "data") != 0)
        ash__answer_text(x, 404, "objects are below info/ and data/");
    else if (ash_object_manager_bind(v->stores->objects, v->store_name, NULL, &v->store, &err) != 0)
        ash__answer_error(x, &err);
    else if (strcmp(how, "info") == 0)
        answer_info(v, x, name);
    else
        begin_data(v, x, name);
    ash__free(how);
}

/* Stores come and go with their collections, so what is asked is asked of the whole database.  true:
 * x is answered. */
static bool refuse(const visit *v, ash_exchange *x)
{
    const ash_actions changes = ASH_CAN(FIND) | ASH_CAN(INSERT) | ASH_CAN(UPDATE) |
                                ASH_CAN(REMOVE) | ASH_CAN(CREATE_COLLECTION) |
                                ASH_CAN(DROP_COLLECTION);
    bool may = ash__gate_may(x, ash_store_default_db(v->stores->store), "",
                             ash__method_is_safe(x->method) ? ASH_CAN(FIND) : changes);
    if (!may)
        ash__gate_refuse(x);
    return !may;
}

void ash__objects_begin(void *ctx, ash_exchange *x, const char *rest)
{
    visit *v = ash__new(visit);
    v->stores = ctx;
    x->state = v;
    x->release = release;
    v->store_name = ash__stores_next_name(&rest);
    if (refuse(v, x))
        return;
    if (v->store_name == NULL)
        list_stores(v, x);
    else
        begin_in_store(v, x, rest);
}
