/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/jetstream/jetstream.h"

#include "nats/jetstream/census.h"
#include "nats/jetstream/consumer.h"
#include "nats/jetstream/puts.h"
#include "nats/jetstream/watch.h"

#include "base/mem.h"

#include <string.h>

ash_op ash__jsd_op(void)
{
    ash_op op = ASH_OP_INIT;
    op.deadline_ms = ash_deadline(ASH_JSD_OP_MS);
    return op;
}

/* ---- the server's side ---- */

int ash__jetstream_new(ash_store *store, ash_jetstream **out, ash_error *err)
{
    ash_object_manager *m = NULL;
    *out = NULL;
    int rc = ash_object_manager_new(store, NULL, &m, err);
    if (rc != 0)
        return rc;
    ash_jetstream *j = ash__new(ash_jetstream);
    j->manager = m;
    ash__mutex_init(&j->mutex, ASH_RANK_BUCKET);
    ash__cond_init(&j->watch_ended);
    *out = j;
    return 0;
}

void ash__jetstream_tell(ash_jetstream *j, struct ash_audit *audit)
{
    j->audit = audit;
}

void ash__jetstream_free(ash_jetstream *j)
{
    if (j == NULL)
        return;
    ash__jsd_watches_end(j);
    ash__jsd_puts_free(j);
    ash__jsd_censuses_free(j);
    ash_object_manager_close(j->manager);
    ash__cond_release(&j->watch_ended);
    ash__mutex_release(&j->mutex);
    ash__free(j);
}

/* ---- a client's ---- */

static int attach(void *ctx, ash_nats_client *client, void **state, ash_error *err)
{
    (void)err;
    ash_jsd_client *c = ash__new(ash_jsd_client);
    c->jetstream = ctx;
    c->client = client;
    ash__mutex_lock(&c->jetstream->mutex);
    c->id = ++c->jetstream->clients;
    ash__mutex_unlock(&c->jetstream->mutex);
    *state = c;
    return 0;
}

static void detach(void *state)
{
    ash_jsd_client *c = state;
    ash__jsd_consumers_end(c, NULL);
    ash__free(c->renamed);
    ash__free(c);
}

static bool publish(void *state, const ash_nats_message *m)
{
    ash_jsd_client *c = state;
    if (strncmp(m->subject, "$JS.API.", 8) == 0)
        return ash__jsd_api(c, m);
    if (strncmp(m->subject, "$O.", 3) == 0)
        return ash__jsd_publish(c, m);
    if (strncmp(m->subject, "$JS.FC.", 7) == 0) {
        ash__jsd_flow_goes_on(c, m->subject);
        return true;
    }
    return strncmp(m->subject, "$JS.ACK.", 8) == 0;
}

static int64_t pump(void *state, int64_t now_ms)
{
    return ash__jsd_deliver(state, now_ms);
}

/* Clients stay connected for days, and some forget what they began. */
static void keep_house(void *ctx, int64_t now_ms)
{
    ash__jsd_puts_tidy(ctx, now_ms);
}

static const ash_nats_service service = {
    .attach = attach, .detach = detach, .publish = publish, .pump = pump, .keep_house = keep_house};

const ash_nats_service *ash__jetstream_service(void)
{
    return &service;
}
