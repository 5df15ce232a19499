/* SPDX-License-Identifier: Apache-2.0 */
/* Stores as streams: making, changing, showing, deleting, listing them. */
#include "nats/jetstream/census.h"
#include "nats/jetstream/config.h"
#include "nats/jetstream/consumer.h"
#include "nats/jetstream/puts.h"
#include "nats/jetstream/subject.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/format/names.h"

#include <inttypes.h>
#include <string.h>

enum { NAMES_PAGE = 1024, LIST_PAGE = 256 };

/* ---- one stream's info ---- */

/* Appends what an info consists of: config, created, state.  The state's end is the caller's. */
static int put_info(ash_jsd_client *c, ash_object_store *s, const ash_object_status *st,
                    ash_buffer *out, ash_error *err)
{
    ash__jsd_config_write(st, out);
    int rc = ash__jsd_census_write(c->jetstream, s, st, out, err);
    if (rc == 0)
        ash__json_put_int_member(out, "consumer_count",
                                 ash__jsd_consumer_count(c, ash_object_store_name(s)));
    return rc;
}

static void answer_info(ash_jsd_request *r, ash_object_store *s, const ash_json *asks)
{
    ash_error err = ASH_ERROR_INIT;
    ash_object_status *st = NULL;
    ash_op op = ash__jsd_op();
    ash_jsd_subjects asked = {.filter = ash__json_text(asks, "subjects_filter", NULL),
                              .offset = ash__json_int(asks, "offset", 0),
                              .total = -1};
    int rc = ash_object_store_status(s, &op, &st, &err);
    if (rc == 0)
        rc = put_info(r->client, s, st, &r->answer, &err);
    if (rc == 0 && asked.filter != NULL)
        rc = ash__jsd_census_subjects(r->client->jetstream, s, &asked, &r->answer, &err);
    ash__buffer_append_byte(&r->answer, '}'); /* of the state */
    ash_object_status_free(st);
    if (rc != 0) {
        ash__jsd_fail_rc(r, rc, &err, ASH_JSD_STREAM_GENERAL);
        return;
    }
    ash__jsd_put_time(&r->answer, "ts", ash__clock_wall_ms());
    if (asked.total < 0)
        return;
    ash__json_put_int_member(&r->answer, "total", asked.total);
    ash__json_put_int_member(&r->answer, "offset", asked.offset);
    ash__json_put_int_member(&r->answer, "limit", ASH_JSD_SUBJECTS);
}

void ash__jsd_stream_info(ash_jsd_request *r)
{
    answer_info(r, r->bound, r->body);
}

/* ---- making and changing ---- */

static void fail_config(ash_jsd_request *r, ash_jsd_error error, const ash_error *err)
{
    ash__jsd_fail(r, error, err->text[0] != '\0' ? err->text : NULL);
}

void ash__jsd_stream_create(ash_jsd_request *r)
{
    ash_error err = ASH_ERROR_INIT;
    ash_object_status *said = NULL;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    ash_op op = ash__jsd_op();
    ash_jsd_error error = ash__jsd_config_read(r->body, r->store, NULL, &said, &err);
    if (error != ASH_JSD_OK) {
        fail_config(r, error, &err);
        return;
    }
    (void)ash_object_status_config(said, &config, NULL);
    int rc =
        ash_object_manager_create(r->client->jetstream->manager, &config, &op, &r->bound, &err);
    if (rc == 0 && ash__json_truth(r->body, "sealed", false))
        rc = ash_object_store_seal(r->bound, &op, &err);
    if (rc == 0)
        answer_info(r, r->bound, NULL);
    else
        ash__jsd_fail_rc(r, rc, &err, ASH_JSD_STREAM_CONFIG);
    ash_object_status_free(said);
}

static int update(ash_jsd_request *r, const ash_object_status *old, const ash_object_status *said,
                  ash_error *err)
{
    ash_object_config before = ASH_OBJECT_CONFIG_INIT, now = ASH_OBJECT_CONFIG_INIT;
    ash_op op = ash__jsd_op();
    int rc = 0;
    (void)ash_object_status_config(old, &before, NULL);
    (void)ash_object_status_config(said, &now, NULL);
    if (ash__object_config_difference(&before, &now) != NULL)
        rc = ash_object_manager_update(r->client->jetstream->manager, &now, &op, err);
    if (rc == 0 && ash__json_truth(r->body, "sealed", false))
        rc = ash_object_store_seal(r->bound, &op, err);
    return rc;
}

void ash__jsd_stream_update(ash_jsd_request *r)
{
    ash_error err = ASH_ERROR_INIT;
    ash_object_status *old = NULL, *said = NULL;
    ash_op op = ash__jsd_op();
    ash_jsd_error error = ASH_JSD_OK;
    int rc = ash_object_store_status(r->bound, &op, &old, &err);
    if (rc == 0)
        error = ash__jsd_config_read(r->body, r->store, old, &said, &err);
    if (rc == 0 && error == ASH_JSD_OK && ash_object_status_is_sealed(old) &&
        !ash__json_truth(r->body, "sealed", false)) {
        error = ASH_JSD_STREAM_CONFIG;
        (void)ash__fail(&err, ASH_EREADONLY,
                        "stream configuration update can not unseal a sealed stream");
    }
    if (rc == 0 && error == ASH_JSD_OK)
        rc = update(r, old, said, &err);
    if (error != ASH_JSD_OK)
        fail_config(r, error, &err);
    else if (rc != 0)
        ash__jsd_fail_rc(r, rc, &err, ASH_JSD_STREAM_CONFIG);
    else
        answer_info(r, r->bound, NULL);
    ash_object_status_free(old);
    ash_object_status_free(said);
}

void ash__jsd_stream_delete(ash_jsd_request *r)
{
    ash_error err = ASH_ERROR_INIT;
    ash_op op = ash__jsd_op();
    ash__jsd_puts_drop_store(r->client->jetstream, r->store);
    int rc = ash_object_manager_delete(r->client->jetstream->manager, r->store, &op, &err);
    if (rc != 0)
        ash__jsd_fail_rc(r, rc, &err, ASH_JSD_STREAM_GENERAL);
    else
        ash__json_put_truth_member(&r->answer, "success", true);
}

/* ---- all of them ---- */

static bool is_asked_for(const ash_json *body, const char *store)
{
    const char *filter = ash__json_text(body, "subject", "");
    if (filter[0] == '\0')
        return true;
    char *chunks = ash__sprintf("$O.%s.C.>", store), *metas = ash__sprintf("$O.%s.M.>", store);
    bool asked = ash__jsd_subjects_meet(filter, chunks) || ash__jsd_subjects_meet(filter, metas);
    ash__free(chunks);
    ash__free(metas);
    return asked;
}

/* A stream that went meanwhile is left out. */
static int put_stream(ash_jsd_client *c, const ash_object_status *st, ash_buffer *out,
                      ash_error *err)
{
    ash_object_store *s = NULL;
    ash_buffer info = ASH_BUFFER_INIT;
    ash_op op = ash__jsd_op();
    int rc =
        ash_object_manager_bind(c->jetstream->manager, ash_object_status_name(st), &op, &s, err);
    ash__buffer_append_byte(&info, '{');
    if (rc == 0)
        rc = put_info(c, s, st, &info, err);
    if (rc == 0) {
        ash__buffer_append_byte(&info, '}'); /* of the state */
        ash__jsd_put_time(&info, "ts", ash__clock_wall_ms());
        if (out->data[out->len - 1] != '[')
            ash__buffer_append_byte(out, ',');
        ash__buffer_append(out, info.data, info.len);
        ash__buffer_append_byte(out, '}');
    }
    ash__buffer_release(&info);
    ash_object_store_close(s);
    return rc == ASH_ENOTFOUND ? 0 : rc;
}

static int put_page(ash_jsd_request *r, bool names, int64_t offset, int64_t *total, ash_error *err)
{
    ash_object_status_listing *l = NULL;
    const ash_object_status *st = NULL;
    ash_op op = ash__jsd_op();
    int64_t page = names ? NAMES_PAGE : LIST_PAGE;
    int rc = ash_object_manager_list(r->client->jetstream->manager, &op, &l, err);
    while (rc == 0 && (rc = ash_object_status_listing_next(l, &st, err)) == 0 && st != NULL) {
        const char *name = ash_object_status_name(st);
        int64_t at = *total;
        if (!is_asked_for(r->body, name))
            continue;
        ++*total;
        if (at < offset || at >= offset + page || r->answer.len > ASH_JSD_MESSAGE_BYTES)
            continue;
        if (names)
            ash__buffer_printf(&r->answer, "%s\"" ASH_STREAM_PREFIX "%s\"",
                               r->answer.data[r->answer.len - 1] == '[' ? "" : ",", name);
        else
            rc = put_stream(r->client, st, &r->answer, err);
    }
    ash_object_status_listing_free(l);
    return rc;
}

static void list(ash_jsd_request *r, bool names)
{
    ash_error err = ASH_ERROR_INIT;
    int64_t offset = ash__json_int(r->body, "offset", 0), total = 0;
    ash__json_put_key(&r->answer, "streams");
    ash__buffer_append_byte(&r->answer, '[');
    int rc = put_page(r, names, offset > 0 ? offset : 0, &total, &err);
    ash__buffer_append_byte(&r->answer, ']');
    if (rc != 0) {
        ash__jsd_fail_rc(r, rc, &err, ASH_JSD_STREAM_GENERAL);
        return;
    }
    ash__json_put_int_member(&r->answer, "total", total);
    ash__json_put_int_member(&r->answer, "offset", offset > 0 ? offset : 0);
    ash__json_put_int_member(&r->answer, "limit", names ? NAMES_PAGE : LIST_PAGE);
}

void ash__jsd_stream_names(ash_jsd_request *r)
{
    list(r, true);
}

void ash__jsd_stream_list(ash_jsd_request *r)
{
    list(r, false);
}

/* ---- the account ---- */

void ash__jsd_account_info(ash_jsd_request *r)
{
    ash_object_status_listing *l = NULL;
    const ash_object_status *st = NULL;
    ash_error err = ASH_ERROR_INIT;
    ash_op op = ash__jsd_op();
    int64_t streams = 0, bytes = 0;
    int rc = ash_object_manager_list(r->client->jetstream->manager, &op, &l, &err);
    while (rc == 0 && (rc = ash_object_status_listing_next(l, &st, &err)) == 0 && st != NULL) {
        streams++;
        bytes += ash_object_status_bytes(st);
    }
    ash_object_status_listing_free(l);
    if (rc != 0) {
        ash__jsd_fail_rc(r, rc, &err, ASH_JSD_STREAM_GENERAL);
        return;
    }
    ash__json_put_int_member(&r->answer, "memory", 0);
    ash__json_put_int_member(&r->answer, "storage", bytes);
    ash__json_put_int_member(&r->answer, "streams", streams);
    ash__json_put_int_member(&r->answer, "consumers", r->client->consumer_count);
    ash__json_put_key(&r->answer, "limits");
    ash__buffer_append_text(
        &r->answer, "{\"max_memory\":-1,\"max_storage\":-1,\"max_streams\":-1,\"max_consumers\":-1,"
                    "\"max_ack_pending\":-1,\"memory_max_stream_bytes\":-1,"
                    "\"storage_max_stream_bytes\":-1,\"max_bytes_required\":false}");
    ash__json_put_key(&r->answer, "api");
    ash__buffer_append_text(&r->answer, "{\"total\":0,\"errors\":0}");
}
