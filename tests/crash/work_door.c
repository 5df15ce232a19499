/* SPDX-License-Identifier: Apache-2.0 */
/* Object stores as a work with a twin, through a server of NATS' protocol: what its acknowledgements
 * promise.  Each thread is one client after the other, with an object store of its own. */
#include "twin.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/mem.h"
#include "model.h"
#include "nats/jetstream/jetstream.h"
#include "nats/jetstream/puts.h"
#include "nats/near_client.h"
#include "object/info.h"
#include "object/jetstream/format/names.h"
#include "object_steps.h"
#include "scratch.h"

#include <stdio.h>
#include <string.h>

_Static_assert((int)SHARES == (int)OBJECT_THREADS, "each has a store of its own");

enum { CHUNK = 131072 };

struct share {
    object_worker own; /* looks at what is there */
    ash_jetstream *jetstream;
    near_client *client;
};

int share_open(ash_store *store, uint64_t seed, uint32_t thread, share **out, ash_error *err)
{
    share *s = *out = ash__new(share);
    int rc = object_worker_open(&s->own, store, seed, thread, err);
    if (rc == 0)
        rc = ash__jetstream_new(store, &s->jetstream, err);
    if (rc == 0)
        s->client = near_client_new(ash__jetstream_service(), s->jetstream);
    return rc;
}

void share_close(share *s)
{
    if (s == NULL)
        return;
    if (s->client != NULL)
        near_client_free(s->client);
    ash__jetstream_free(s->jetstream);
    object_worker_close(&s->own);
    ash__free(s);
}

uint32_t share_thread(const share *s)
{
    return s->own.thread;
}

/* ---- messages ---- */

/* true: it was acknowledged. */
static bool say(share *s, const char *subject, const void *data, size_t len)
{
    ash_buffer *heard = near_client_heard(s->client);
    ash_nats_message m = {.subject = subject, .reply = "_I.a", .data = data, .len = len};
    ash__buffer_clear(heard);
    bool good = near_client_publish(s->client, &m);
    return good && heard->len > 0 && strstr(ash__buffer_text(heard), "\"error\":") == NULL;
}

static bool ask(share *s, const char *verb, const char *body)
{
    char *subject = ash__sprintf("$JS.API.STREAM.%s.OBJ_%s", verb, s->own.name);
    bool good = say(s, subject, body, strlen(body));
    ash__free(subject);
    return good;
}

static void digest_of(const uint8_t *data, size_t len, char out[64])
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    ash__digest_add(d, data, len);
    (void)ash__digest_finish(d, bytes);
    ash__digest_free(d);
    ash__digest_text(ASH_DIGEST_SHA256, bytes, out);
}

/* What the meta message of an object says. */
typedef struct said {
    const char *name, *nuid, *digest;
    size_t size;
    uint32_t number; /* in its description */
    bool deleted;
} said;

static bool say_meta(share *s, const said *o)
{
    char *subject = ash__meta_subject(s->own.name, o->name);
    char *body = ash__sprintf(
        "{\"name\":\"%s\",\"description\":\"%u\",\"options\":{\"max_chunk_size\":%d},"
        "\"bucket\":\"%s\",\"nuid\":\"%s\",\"size\":%zu,\"mtime\":\"0001-01-01T00:00:00Z\","
        "\"chunks\":%zu,\"digest\":\"%s\"%s}",
        o->name, (unsigned)o->number, (int)CHUNK, s->own.name, o->nuid, o->size,
        (o->size + CHUNK - 1) / CHUNK, o->digest, o->deleted ? ",\"deleted\":true" : "");
    bool good = say(s, subject, body, strlen(body));
    ash__free(subject);
    ash__free(body);
    return good;
}

/* ---- steps ---- */

enum kind { PUT, LEAVE, DESCRIBE, RENAME, DELETE, PURGE, DROP, KINDS };
static const char *const kind_names[KINDS] = {"put",    "leave", "describe", "rename",
                                              "delete", "purge", "drop"};
/* Of a hundred steps. */
static const uint32_t shares[KINDS] = {50, 8, 8, 12, 10, 7, 5};

typedef struct door_step {
    enum kind kind;
    char name[8], to[8];
    size_t size;
    uint32_t number;
} door_step;

static door_step choose_step(uint64_t seed, uint32_t thread, uint32_t number)
{
    static const size_t sizes[] = {0, 7, 7000, 100000, 131072, 131073, 300007, 700000};
    rng r = rng_for(seed * 1000003 + number, 90 + thread);
    door_step s = {.kind = PUT};
    uint32_t die = rng_below(&r, 100);
    while (s.kind < DROP && die >= shares[s.kind])
        die -= shares[s.kind++];
    snprintf(s.name, sizeof s.name, "%c", (char)('a' + rng_below(&r, 5)));
    snprintf(s.to, sizeof s.to, "%c", (char)('a' + rng_below(&r, 5)));
    s.size = sizes[rng_below(&r, ASH_ARRAY_LEN(sizes))];
    s.number = number;
    return s;
}

void step_describe(uint64_t seed, uint32_t thread, uint32_t number, char *out, size_t bytes)
{
    door_step s = choose_step(seed, thread, number);
    snprintf(out, bytes, "%s %s (to %s, %zu bytes), step %u of thread %u", kind_names[s.kind],
             s.name, s.to, s.size, (unsigned)number, (unsigned)thread);
}

bool step_is_prune(uint64_t seed, uint32_t thread, uint32_t number)
{
    (void)seed;
    (void)thread;
    (void)number;
    return false;
}

/* The chunks, and what ends a put, if it is to end.  Under one NUID, however often it is tried. */
static bool put(share *s, const door_step *p, bool ends)
{
    char nuid[32], digest[64], *subject;
    uint8_t *data = ash__alloc(p->size + 1);
    bool good = true;
    snprintf(nuid, sizeof nuid, "NUID%u", (unsigned)p->number);
    subject = ash__chunk_subject(s->own.name, nuid);
    model_fill(880 + p->number, data, p->size);
    digest_of(data, p->size, digest);
    for (size_t at = 0; at < p->size && good; at += CHUNK)
        good = say(s, subject, data + at, p->size - at < CHUNK ? p->size - at : CHUNK);
    said o = {p->name, nuid, digest, p->size, p->number, false};
    good = good && (!ends || say_meta(s, &o));
    /* Its bytes are not waited for any longer. */
    if (!ends)
        ash__jetstream_service()->keep_house(s->jetstream,
                                             ash__clock_ms() + ASH_JSD_PUT_IDLE_MS + 1);
    ash__free(subject);
    ash__free(data);
    return good;
}

static bool has(const share *s, const char *name)
{
    return ash_object_store_info(s->own.objects, name, NULL, NULL, NULL, NULL) == 0;
}

/* What is there under the name, with other words, or another name.  *done: it was there to be changed.
 * false: what is to be acknowledged was refused, or the other way round; so no step is taken for done
 * that a server was only too slow for. */
static bool say_again(share *s, const door_step *p, const char *to, bool deleted, bool *done)
{
    ash_object *o = NULL;
    *done = false;
    if (ash_object_store_info(s->own.objects, p->name, NULL, NULL, &o, NULL) != 0)
        return true;
    bool taken = strcmp(p->name, to) != 0 && has(s, to);
    said again = {
        to,     ash_object_nuid(o), ash_object_digest(o), (size_t)ash_object_size(o), p->number,
        deleted};
    *done = say_meta(s, &again);
    ash_object_free(o);
    return *done == !taken;
}

static bool purge(share *s, const char *name)
{
    char *subject = ash__meta_subject(s->own.name, name);
    char *body = ash__sprintf("{\"filter\":\"%s\"}", subject);
    bool good = ask(s, "PURGE", body);
    ash__free(subject);
    ash__free(body);
    return good;
}

static bool create(share *s)
{
    char *body = ash__sprintf("{\"name\":\"OBJ_%s\",\"subjects\":[\"$O.%s.C.>\",\"$O.%s.M.>\"]}",
                              s->own.name, s->own.name, s->own.name);
    bool good = ask(s, "CREATE", body);
    ash__free(body);
    return good;
}

/* After its store came or went. */
static int look_again(share *s, ash_error *err)
{
    object_worker was = s->own;
    object_worker_close(&s->own);
    return object_worker_open(&s->own, was.store, was.seed, was.thread, err);
}

int share_do(share *s, uint32_t number, ash_error *err)
{
    door_step p = choose_step(s->own.seed, s->own.thread, number);
    bool good = true, done;
    if (s->own.objects == NULL)
        return create(s) ? look_again(s, err) : ash__fail(err, ASH_EIO, "cannot create a stream");
    switch (p.kind) {
    case PUT:
    case LEAVE:
        good = put(s, &p, p.kind == PUT);
        break;
    case DESCRIBE:
        good = say_again(s, &p, p.name, false, &done);
        break;
    case RENAME:
        /* As clients do: the old name goes behind the new one. */
        good = say_again(s, &p, p.to, false, &done);
        if (good && done && strcmp(p.name, p.to) != 0)
            good = purge(s, p.name);
        break;
    case DELETE:
        good = say_again(s, &p, p.name, true, &done);
        break;
    case PURGE:
        good = purge(s, p.name);
        break;
    default:
        good = ask(s, "DELETE", "");
        return good ? look_again(s, err) : ash__fail(err, ASH_EIO, "cannot delete a stream");
    }
    return good ? 0
                : ash__fail(err, ASH_EIO, "%s: %.300s", kind_names[p.kind],
                            ash__buffer_text(near_client_heard(s->client)));
}

/* ---- what is there ---- */

int share_portrait(share *s, ash_buffer *out, ash_error *err)
{
    return object_portrait(&s->own, out, err);
}

bool share_clean_up(share *s, ash_error *err)
{
    int64_t left = 0;
    int rc = object_read_all(&s->own, err);
    if (rc == 0)
        rc = object_sweep(&s->own, &left, err);
    if (rc == 0 && left != 0)
        rc = ash__fail(err, ASH_ECONDITION, "a sweep left %lld that nobody has", (long long)left);
    return rc == 0 && object_read_all(&s->own, err) == 0;
}
