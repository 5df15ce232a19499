/* SPDX-License-Identifier: Apache-2.0 */
/* Object stores as streams: made, bound, changed, listed, deleted. */
#include "object/jetstream/format/config.h"
#include "object/jetstream/jetstream.h"
#include "object/jetstream/meta.h"
#include "object/jetstream/room.h"

#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <string.h>

void ash__js_manager_close(ash_object_manager *base)
{
    ash_js_manager *m = ash__js_manager_of(base);
    if (m->js != NULL)
        ash__js_drop_pending(m);
    for (size_t i = 0; i < m->purge_count; i++) {
        ash__free(m->purges[i].stream);
        ash__free(m->purges[i].subject);
    }
    ash__free(m->purges);
    ash__js_close(m->js);
    ash__mutex_release(&m->mutex);
    ash__free(m);
}

/* ---- the stream ---- */

/* verb: "STREAM.INFO." and the like, which the stream's name is put behind. */
static int request(const ash_js_stream *s, const char *verb, ash_buffer *body, const ash_op *op,
                   ash_json **answer, ash_error *err)
{
    char *whole = ash__sprintf("%s%s", verb, s->name);
    int rc = ash__js_request(s->js, whole, body, op, answer, err);
    ash__free(whole);
    return rc;
}

int ash__js_stream_info(ash_js *js, const char *stream, const ash_op *op, ash_json **info,
                        ash_error *err)
{
    ash_js_stream s = {.js = js, .name = stream};
    int rc = request(&s, "STREAM.INFO.", NULL, op, info, err);
    if (rc == ASH_ENOTFOUND && ash__js_number(*info) == ASH_JS_STREAM_NOT_FOUND)
        return ash__fail(err, ASH_ENOTFOUND, "no object store %s", ash__store_of_stream(stream));
    return rc;
}

static ash_object_store *bind_to(ash_object_manager *base, const char *stream, const ash_json *info)
{
    const ash_json *config = ash__json_get(info, "config");
    ash_js_store *s = ash__new(ash_js_store);
    s->base.manager = base;
    s->stream_name = ash__strdup(stream);
    s->stream = (ash_js_stream){.js = ash__js_manager_of(base)->js,
                                .name = s->stream_name,
                                .direct = ash__json_truth(config, "allow_direct", false),
                                .replicas = ash__json_int(config, "num_replicas", 1) > 1};
    s->message_ttl = ash__json_truth(config, "allow_msg_ttl", false);
    s->mirror = ash__json_get(config, "mirror") != NULL;
    s->cautious = ash__js_room_matters(ash__js_manager_of(base), config);
    return &s->base;
}

void ash__js_unbind(ash_object_store *base)
{
    ash_js_store *s = ash__js_store_of(base);
    ash__free(s->stream_name);
    ash__free(s);
}

int ash__js_bind(ash_object_manager *m, const char *name, const ash_op *op, ash_object_store **out,
                 ash_error *err)
{
    ash_json *info = NULL;
    char *stream = ash__stream_of(name);
    int rc = ash__js_stream_info(ash__js_manager_of(m)->js, stream, op, &info, err);
    if (rc == 0 && !ash__js_is_object_store(ash__json_get(info, "config")))
        rc = ash__fail(err, ASH_ENOTFOUND, "no object store %s, but another stream of its name",
                       name);
    if (rc == 0)
        *out = bind_to(m, stream, info);
    ash__json_free(info);
    ash__free(stream);
    return rc;
}

int ash__js_check_writable(const ash_js_store *s, ash_error *err)
{
    return s->mirror ? ash__fail(err, ASH_EREADONLY, "object store %s is a mirror", s->base.name)
                     : 0;
}

/* ---- making and changing ---- */

/* Is the store that is there what is asked for? */
static int compare(const ash_object_config *config, const ash_json *info, ash_error *err)
{
    ash_object_status *there = NULL;
    int rc = ash__js_read_status(info, &there, err);
    const char *field =
        rc == 0 ? ash__object_config_difference(config, &there->config.config) : NULL;
    if (field != NULL)
        rc = ash__fail(err, ASH_EEXISTS, "object store %s is there with another configuration: %s",
                       config->name, field);
    ash_object_status_free(there);
    return rc;
}

/* *info is the caller's, also after a failure. */
static int make(const ash_js_stream *s, const ash_object_config *config, const ash_op *op,
                ash_json **info, ash_error *err)
{
    ash_buffer body = ASH_BUFFER_INIT;
    ash_error why = ASH_ERROR_INIT;

    ash__js_write_config(config, NULL, &body);
    int rc = request(s, "STREAM.CREATE.", &body, op, info, &why);
    ash__buffer_release(&body);
    if (rc == 0) {
        const char *field = ash__js_config_dropped(config, ash__json_get(*info, "config"));
        return field == NULL
                   ? 0
                   : ash__fail(err, ASH_EUNSUPPORTED,
                               "this NATS server made the store without what was asked for: %s",
                               field);
    }
    if (ash__js_number(*info) != ASH_JS_STREAM_NAME_IN_USE)
        return ash__unless(0, rc, &why, err);
    ash__json_free(*info);
    *info = NULL;
    rc = ash__js_stream_info(s->js, s->name, op, info, err);
    return rc == 0 ? compare(config, *info, err) : rc;
}

int ash__js_create(ash_object_manager *m, const ash_object_config *config, const ash_op *op,
                   ash_object_store **out, ash_error *err)
{
    ash_json *info = NULL;
    char *stream = ash__stream_of(config->name);
    ash_js_stream s = {.js = ash__js_manager_of(m)->js, .name = stream};
    int rc = make(&s, config, op, &info, err);
    if (rc == 0)
        *out = bind_to(m, stream, info);
    ash__json_free(info);
    ash__free(stream);
    return rc;
}

/* A stream's update says all of it, and what the server makes of the rest of a stream that cannot be
 * changed, or is another, is not left to it. */
static int check_changeable(const ash_object_config *config, const ash_json *info, ash_error *err)
{
    const ash_json *now = ash__json_get(info, "config");
    bool in_memory = strcmp(ash__json_text(now, "storage", ""), "memory") == 0;
    if (!ash__js_is_object_store(now))
        return ash__fail(err, ASH_ENOTFOUND, "there is no object store %s", config->name);
    if (ash__json_get(now, "mirror") != NULL)
        return ash__fail(err, ASH_EREADONLY, "object store %s is a mirror", config->name);
    if (ash__json_truth(now, "sealed", false))
        return ash__fail(err, ASH_EREADONLY, "object store %s is sealed", config->name);
    if (in_memory != (config->storage == ASH_OBJECT_STORAGE_MEMORY))
        return ash__fail(err, ASH_EINVAL, "storage: that of a store never changes");
    return 0;
}

int ash__js_update(ash_object_manager *base, const ash_object_config *config, const ash_op *op,
                   ash_error *err)
{
    ash_js *js = ash__js_manager_of(base)->js;
    ash_json *info = NULL, *answer = NULL;
    ash_buffer body = ASH_BUFFER_INIT;
    char *stream = ash__stream_of(config->name);
    ash_js_stream s = {.js = js, .name = stream};
    int rc = ash__js_stream_info(js, stream, op, &info, err);
    if (rc == 0)
        rc = check_changeable(config, info, err);
    if (rc == 0) {
        ash__js_write_config(config, ash__json_get(info, "config"), &body);
        rc = request(&s, "STREAM.UPDATE.", &body, op, &answer, err);
    }
    const char *field =
        rc == 0 ? ash__js_config_dropped(config, ash__json_get(answer, "config")) : NULL;
    if (field != NULL)
        rc = ash__fail(err, ASH_EUNSUPPORTED, "this NATS server did not take: %s", field);
    ash__json_free(info);
    ash__json_free(answer);
    ash__buffer_release(&body);
    ash__free(stream);
    return rc;
}

int ash__js_remove(ash_object_manager *m, const char *name, const ash_op *op, ash_error *err)
{
    ash_json *info = NULL;
    char *stream = ash__stream_of(name);
    ash_js *js = ash__js_manager_of(m)->js;
    ash_js_stream s = {.js = js, .name = stream};
    /* Never a stream that is something else. */
    int rc = ash__js_stream_info(js, stream, op, &info, err);
    if (rc == 0 && !ash__js_is_object_store(ash__json_get(info, "config")))
        rc = ash__fail(err, ASH_ENOTFOUND, "no object store %s", name);
    if (rc == 0) {
        ash_error why = ASH_ERROR_INIT;
        rc = request(&s, "STREAM.DELETE.", NULL, op, NULL, &why);
        /* A second copy of the request finds it gone. */
        rc = ash__unless(ASH_ENOTFOUND, rc, &why, err);
    }
    ash__json_free(info);
    ash__free(stream);
    return rc;
}

/* ---- flags of the stream ---- */

static int set_flag(const ash_js_stream *s, const char *flag, const ash_op *op, bool *kept,
                    ash_error *err)
{
    ash_json *info = NULL, *answer = NULL;
    ash_buffer body = ASH_BUFFER_INIT;
    int rc = ash__js_stream_info(s->js, s->name, op, &info, err);
    *kept = rc == 0 && ash__json_truth(ash__json_get(info, "config"), flag, false);
    if (rc == 0 && !*kept) {
        ash__js_write_flag(ash__json_get(info, "config"), flag, &body);
        rc = request(s, "STREAM.UPDATE.", &body, op, &answer, err);
        *kept = rc == 0 && ash__json_truth(ash__json_get(answer, "config"), flag, false);
    }
    ash__json_free(info);
    ash__json_free(answer);
    ash__buffer_release(&body);
    return rc;
}

int ash__js_seal(ash_object_store *base, const ash_op *op, ash_error *err)
{
    ash_js_store *s = ash__js_store_of(base);
    bool sealed = false;
    int rc = set_flag(&s->stream, "sealed", op, &sealed, err);
    if (rc == 0 && !sealed)
        rc = ash__fail(err, ASH_EUNSUPPORTED, "this NATS server does not seal streams");
    return rc;
}

int ash__js_allow_ttl(ash_js_store *s, const ash_op *op, ash_error *err)
{
    bool allowed = __atomic_load_n(&s->message_ttl, __ATOMIC_RELAXED);
    int rc = 0;
    if (allowed)
        return 0;
    rc = set_flag(&s->stream, "allow_msg_ttl", op, &allowed, err);
    if (rc == 0 && !allowed)
        rc = ash__fail(err, ASH_EUNSUPPORTED,
                       "ttl_ms: this NATS server knows no expiry of single "
                       "objects");
    if (rc == 0)
        __atomic_store_n(&s->message_ttl, true, __ATOMIC_RELAXED);
    return rc;
}

/* ---- looking ---- */

int ash__js_status(ash_object_store *base, const ash_op *op, ash_object_status **out,
                   ash_error *err)
{
    ash_js_store *s = ash__js_store_of(base);
    ash_json *info = NULL;
    int rc = ash__js_stream_info(s->stream.js, s->stream.name, op, &info, err);
    if (rc == 0)
        rc = ash__js_read_status(info, out, err);
    ash__json_free(info);
    return rc;
}

static int add_stores(void *ctx, const ash_json *answer, int64_t *count, ash_error *err)
{
    const ash_json *streams = ash__json_get(answer, "streams");
    int rc = 0;
    for (const ash_json *info = streams != NULL ? streams->first : NULL; rc == 0 && info != NULL;
         info = info->next) {
        ash_object_status *status = NULL;
        ++*count;
        if (!ash__js_is_object_store(ash__json_get(info, "config")))
            continue;
        rc = ash__js_read_status(info, &status, err);
        if (rc == 0)
            ash__status_listing_add(ctx, status);
    }
    return rc;
}

int ash__js_list_stores(ash_object_manager *base, const ash_op *op, ash_object_status_listing *out,
                        ash_error *err)
{
    ash_js_paged p = {"STREAM.LIST", "subject", "$O.*.C.>", add_stores, out};
    return ash__js_each_page(ash__js_manager_of(base)->js, &p, op, err);
}
