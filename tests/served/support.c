/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/mem.h"
#include "remove_folder.h"

#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void served_start(served *s)
{
    size_t count;
    const char *listen = s->listen;
    s->opts.listen = &listen;
    s->opts.listen_count = 1;
    assert_ok(ash__server_start(s->store, &s->opts, &s->server, &s->err), &s->err);
    snprintf(s->listen, sizeof s->listen, "%s", ash__server_addresses(s->server, &count)[0]);
}

void served_open(served *s)
{
    assert_ok(ash_store_open(s->folder, NULL, &s->store, &s->err), &s->err);
    assert_ok(ash_collection_new(s->store, NULL, "things", &s->own, &s->err), &s->err);
}

static void start(served *s, bool standalone)
{
    const char *tmp = getenv("TMPDIR");
    s->folder = ash__sprintf("%s/ashlar-served-XXXXXX", tmp != NULL ? tmp : "/tmp");
    assert_non_null(mkdtemp(s->folder));
    s->opts = (ash_server_options)ASH_SERVER_OPTIONS_INIT;
    s->opts.test_commands = true;
    s->opts.standalone = standalone;
    strcpy(s->listen, "127.0.0.1:0");
    served_open(s);
    served_start(s);
    snprintf(s->uri, sizeof s->uri, "mongodb://%s/?directConnection=true", s->listen);
    assert_ok(ash_store_open(s->uri, NULL, &s->client, &s->err), &s->err);
    assert_ok(ash_collection_new(s->client, NULL, "things", &s->c, &s->err), &s->err);
}

int served_setup(void **state)
{
    served *s = ash__new(served);
    start(s, false);
    *state = s;
    return 0;
}

int served_setup_standalone(void **state)
{
    served *s = ash__new(served);
    start(s, true);
    *state = s;
    return 0;
}

int served_teardown(void **state)
{
    served *s = *state;
    ash_collection_free(s->c);
    ash_store_close(s->client);
    ash__server_stop(s->server);
    ash_collection_free(s->own);
    ash_store_close(s->store);
    remove_folder(s->folder);
    ash__free(s->folder);
    ash__free(s);
    return 0;
}

/* ---- operations, with ' for " ---- */

void served_parse(const char *text, bson_t *out)
{
    char *json = ash__sprintf("%s", text);
    bson_error_t error;
    for (char *p = json; *p != '\0'; p++)
        if (*p == '\'')
            *p = '"';
    if (!bson_init_from_json(out, json, -1, &error))
        fail_msg("bad JSON in the test: %s: %s", text, error.message);
    ash__free(json);
}

int served_insert(ash_collection *c, ash_transaction *t, const char *text, ash_error *err)
{
    ash_insert_options o = ASH_INSERT_OPTIONS_INIT;
    bson_t doc;
    served_parse(text, &doc);
    o.op.transaction = t;
    int rc = ash_collection_insert_one(c, &doc, &o, err);
    bson_destroy(&doc);
    return rc;
}

int served_update(ash_collection *c, ash_transaction *t, const char *filter, const char *change,
                  bool upsert, ash_write_result *r, ash_error *err)
{
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    bson_t query, doc;
    served_parse(filter, &query);
    served_parse(change, &doc);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(&doc);
    value.value.v_doc.data_len = doc.len;
    o.op.transaction = t;
    o.upsert = upsert;
    int rc = ash_collection_update(c, &query, &value, &o, r, err);
    bson_destroy(&query);
    bson_destroy(&doc);
    return rc;
}

int64_t served_count(ash_collection *c, ash_transaction *t, const char *filter)
{
    ash_count_options o = ASH_COUNT_OPTIONS_INIT;
    bson_t query;
    int64_t n = -1;
    ash_error err = ASH_ERROR_INIT;
    served_parse(filter, &query);
    o.op.transaction = t;
    int rc = ash_collection_count(c, &query, &o, &n, &err);
    bson_destroy(&query);
    return rc == 0 ? n : rc;
}

/* The number x of the document, or a code. */
int served_find_x(ash_collection *c, ash_transaction *t, const char *filter, int64_t *x,
                  ash_error *err)
{
    ash_find_options o = ASH_FIND_OPTIONS_INIT;
    bson_t query, doc;
    bson_iter_t it;
    served_parse(filter, &query);
    o.op.transaction = t;
    int rc = ash_collection_find_one(c, &query, &o, &doc, err);
    bson_destroy(&query);
    if (rc != 0)
        return rc;
    *x = bson_iter_init_find(&it, &doc, "x") ? bson_iter_as_int64(&it) : -1;
    bson_destroy(&doc);
    return 0;
}

bool served_run(served *s, const char *db, const bson_t *command, bson_t *reply, int32_t *code)
{
    mongoc_client_t *client = mongoc_client_new(s->uri);
    bson_error_t error = {0};
    bool ok = mongoc_client_command_simple(client, db, command, NULL, reply, &error);
    *code = ok ? 0 : (int32_t)error.code;
    mongoc_client_destroy(client);
    return ok;
}

void served_run_text(served *s, const char *text)
{
    bson_t command, reply;
    int32_t code;
    served_parse(text, &command);
    if (!served_run(s, "admin", &command, &reply, &code))
        fail_msg("%s: %d", text, (int)code);
    bson_destroy(&command);
    bson_destroy(&reply);
}
