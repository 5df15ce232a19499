/* SPDX-License-Identifier: Apache-2.0 */
#include "service.h"

#include "check.h"

#include "base/clock.h"
#include "base/mem.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 4 * 1024 * 1024 };

typedef struct served {
    service *service;
    ash_nats_client *client;
    char *reply;
    unsigned left, len; /* of many */
    uint8_t *bytes;
    int64_t timed_ms; /* 0: none */
    atomic_bool late;
    pthread_t thread;
    bool has_thread;
} served;

static int attach(void *ctx, ash_nats_client *client, void **state, ash_error *err)
{
    service *s = ctx;
    if (s->refuses)
        return ash__fail(err, ASH_EBUSY, "nobody is served");
    served *v = ash__new(served);
    v->service = s;
    v->client = client;
    v->bytes = ash__alloc(MOST_BYTES);
    memset(v->bytes, 'x', MOST_BYTES);
    atomic_fetch_add(&s->attached, 1);
    *state = v;
    return 0;
}

static void detach(void *state)
{
    served *v = state;
    if (v->has_thread)
        pthread_join(v->thread, NULL);
    atomic_fetch_add(&v->service->detached, 1);
    ash__free(v->bytes);
    ash__free(v->reply);
    ash__free(v);
}

static void *wake_later(void *arg)
{
    served *v = arg;
    ash__clock_sleep_ms(30);
    v->late = true;
    ash__nats_wake(v->client);
    return NULL;
}

static void start_thread(served *v)
{
    if (v->has_thread)
        pthread_join(v->thread, NULL);
    assert_int_equal(pthread_create(&v->thread, NULL, wake_later, v), 0);
    v->has_thread = true;
}

static bool publish(void *state, const ash_nats_message *m)
{
    served *v = state;
    atomic_fetch_add(&v->service->published, 1);
    if (strncmp(m->subject, "echo.", 5) == 0) {
        ash_nats_message answer = *m;
        answer.to = m->reply;
        answer.reply = NULL;
        if (m->reply != NULL)
            ash__nats_deliver(v->client, &answer);
        return true;
    }
    if (strcmp(m->subject, "swallow") == 0)
        return true;
    bool many = sscanf(m->subject, "many.%u.%u", &v->left, &v->len) == 2;
    if (!many && strcmp(m->subject, "late") != 0 && strcmp(m->subject, "timed") != 0)
        return false;
    ash__free(v->reply);
    v->reply = ash__strdup(m->reply);
    if (strcmp(m->subject, "late") == 0)
        start_thread(v);
    else if (!many)
        v->timed_ms = ash__clock_ms() + 50;
    return true;
}

static void say(served *v, const char *text)
{
    ash_nats_message m = {.subject = v->reply, .data = (const uint8_t *)text, .len = strlen(text)};
    ash__nats_deliver(v->client, &m);
}

static int64_t pump(void *state, int64_t now_ms)
{
    served *v = state;
    atomic_fetch_add(&v->service->pumps, 1);
    if (atomic_exchange(&v->late, false))
        say(v, "late");
    if (v->timed_ms != 0 && now_ms >= v->timed_ms) {
        v->timed_ms = 0;
        say(v, "timed");
    }
    ash_nats_message m = {.subject = v->reply, .data = v->bytes, .len = v->len};
    for (; v->left > 0; v->left--) {
        if (ash__nats_is_full(v->client))
            return 0;
        ash__nats_deliver(v->client, &m);
    }
    return v->timed_ms != 0 ? v->timed_ms : INT64_MAX;
}

static void keep_house(void *ctx, int64_t now_ms)
{
    service *s = ctx;
    atomic_fetch_add(&s->housekeepings, now_ms > 0 ? 1 : 0);
}

static const ash_nats_service small_service = {
    .attach = attach, .detach = detach, .publish = publish, .pump = pump, .keep_house = keep_house};

void service_start(service *s, const ash_nats_server_options *opts)
{
    static const char *const listen[] = {"127.0.0.1:0"};
    ash_nats_server_options o = ASH_NATS_SERVER_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    size_t count;
    memset(s, 0, sizeof *s);
    if (opts != NULL)
        o = *opts;
    o.listen = listen;
    o.listen_count = 1;
    assert_ok(ash__nats_server_start(&small_service, s, &o, &s->server, &err), &err);
    s->port = atoi(strchr(ash__nats_server_addresses(s->server, &count)[0], ':') + 1);
}

void service_stop(service *s)
{
    ash__nats_server_stop(s->server);
    assert_int_equal(s->attached, s->detached);
}
