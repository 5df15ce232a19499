/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/support.h"

#include "base/clock.h"
#include "base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

live *live_now;

static void connect_manager(live *l)
{
    assert_ok(ash_object_manager_open(servers_uri(l->servers), NULL, &l->manager, &l->err),
              &l->err);
}

static int start(int count)
{
    live_now = ash__new(live);
    if (!servers_are_there())
        return 0;
    live_now->servers = servers_start(count, NULL);
    connect_manager(live_now);
    return 0;
}

int live_start(void **state)
{
    (void)state;
    return start(1);
}

int live_start_cluster(void **state)
{
    (void)state;
    return start(MAX_SERVERS);
}

int live_stop(void **state)
{
    (void)state;
    ash_object_manager_close(live_now->manager);
    servers_stop(live_now->servers);
    ash__free(live_now);
    return 0;
}

int live_new_store(void **state)
{
    static int number;
    live *l = live_now;
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    *state = l;
    if (l->servers == NULL)
        return 0;
    snprintf(l->name, sizeof l->name, "store-%d", number++);
    config.name = l->name;
    assert_ok(ash_object_manager_create(l->manager, &config, NULL, &l->store, &l->err), &l->err);
    l->stream = ((ash_js_store *)l->store)->stream;
    return 0;
}

int live_close_store(void **state)
{
    live *l = *state;
    ash_object_store_close(l->store);
    l->store = NULL;
    if (l->servers != NULL)
        (void)ash_object_manager_delete(l->manager, l->name, NULL, NULL);
    return 0;
}

uint8_t *live_bytes(uint32_t seed, size_t len)
{
    uint8_t *data = ash__alloc(len + 1);
    uint32_t state = seed * 2 + 1;
    for (size_t i = 0; i < len; i++) {
        state = state * 1664525 + 1013904223;
        data[i] = (uint8_t)(state >> 24);
    }
    return data;
}

void live_put(live *l, const char *name, const void *data, size_t len, ash_object **out)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = name;
    assert_ok(ash_object_store_put_bytes(l->store, &meta, data, len, NULL, NULL, out, &l->err),
              &l->err);
}

void live_expect(live *l, const char *name, const void *data, size_t len)
{
    ash_object_read_options opts = ASH_OBJECT_READ_OPTIONS_INIT;
    uint8_t *got = NULL;
    size_t got_len = 0;
    opts.max_bytes = INT64_C(4) << 30;
    assert_ok(ash_object_store_get_bytes(l->store, name, &opts, NULL, &got, &got_len, &l->err),
              &l->err);
    assert_int_equal(got_len, len);
    assert_true(len == 0 || memcmp(got, data, len) == 0);
    ash_object_bytes_free(got);
}

ash_json *live_request(live *l, const char *verb, const char *body)
{
    ash_buffer text = ASH_BUFFER_INIT;
    ash_json *answer = NULL;
    ash__buffer_append_text(&text, body);
    for (size_t i = 0; i < text.len; i++)
        text.data[i] = text.data[i] == '\'' ? '"' : text.data[i];
    assert_ok(ash__js_request(l->stream.js, verb, &text, NULL, &answer, &l->err), &l->err);
    ash__buffer_release(&text);
    return answer;
}

uint64_t live_count(live *l, const char *subject)
{
    char *verb = ash__sprintf("STREAM.INFO.%s", l->stream.name);
    char *body = ash__sprintf("{'subjects_filter':'%s'}", subject);
    ash_json *answer = live_request(l, verb, body);
    const ash_json *subjects = ash__json_get(ash__json_get(answer, "state"), "subjects");
    uint64_t count = 0;
    for (const ash_json *s = subjects != NULL ? subjects->first : NULL; s != NULL; s = s->next)
        count += strtoull(s->text, NULL, 10);
    ash__json_free(answer);
    ash__free(verb);
    ash__free(body);
    return count;
}

uint64_t live_chunks(live *l)
{
    char *subject = ash__sprintf("$O.%s.C.>", l->name);
    uint64_t count = live_count(l, subject);
    ash__free(subject);
    return count;
}

uint64_t live_metas(live *l)
{
    char *subject = ash__sprintf("$O.%s.M.>", l->name);
    uint64_t count = live_count(l, subject);
    ash__free(subject);
    return count;
}

uint64_t live_publish(live *l, const char *subject, const void *data, size_t len,
                      const char *header)
{
    natsMsg *message = NULL;
    ash_js_ack ack;
    assert_int_equal(natsMsg_Create(&message, subject, NULL, data, (int)len), NATS_OK);
    if (header != NULL) {
        char *name = ash__strndup(header, strcspn(header, ":"));
        assert_int_equal(natsMsgHeader_Set(message, name, header + strlen(name) + 2), NATS_OK);
        ash__free(name);
    }
    assert_ok(ash__js_publish(l->stream.js, message, NULL, &ack, &l->err), &l->err);
    natsMsg_Destroy(message);
    return ack.sequence;
}

bool live_has_2_10(live *l)
{
    return l->manager->can.metadata;
}

bool live_has_2_11(live *l)
{
    return l->manager->can.object_ttl;
}
