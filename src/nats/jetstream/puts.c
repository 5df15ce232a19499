/* SPDX-License-Identifier: Apache-2.0 */
#include "nats/jetstream/puts.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

static void free_put(ash_jsd_put *put)
{
    if (put == NULL)
        return;
    ash_object_writer_free(put->writer);
    ash_object_store_close(put->store);
    ash__free(put);
}

static void free_list(ash_jsd_put *list)
{
    while (list != NULL) {
        ash_jsd_put *next = list->next;
        free_put(list);
        list = next;
    }
}

/* ---- the table ---- */

typedef struct which {
    const char *store; /* NULL: of any */
    uint64_t owner;    /* 0: of anybody */
    int64_t used_before_ms;
    int most;
} which;

static bool is_meant(const ash_jsd_put *put, const which *w)
{
    return !put->in_use && put->used_ms < w->used_before_ms &&
           (w->owner == 0 || put->owner == w->owner) &&
           (w->store == NULL || strcmp(ash_object_store_name(put->store), w->store) == 0);
}

/* Takes out of the table what waits and is meant. */
static ash_jsd_put *cut_out(ash_jetstream *j, const which *w)
{
    ash_jsd_put *out = NULL;
    int most = w->most;
    ash__mutex_lock(&j->mutex);
    for (ash_jsd_put **at = &j->puts; *at != NULL && most > 0;) {
        ash_jsd_put *put = *at;
        if (!is_meant(put, w)) {
            at = &put->next;
            continue;
        }
        *at = put->next;
        put->next = out;
        out = put;
        j->put_count--;
        most--;
    }
    ash__mutex_unlock(&j->mutex);
    return out;
}

void ash__jsd_puts_tidy(ash_jetstream *j, int64_t now_ms)
{
    which w = {.used_before_ms = now_ms - ASH_JSD_PUT_IDLE_MS, .most = ASH_JSD_PUTS};
    free_list(cut_out(j, &w));
}

void ash__jsd_puts_drop_store(ash_jetstream *j, const char *store)
{
    which w = {.store = store, .used_before_ms = INT64_MAX, .most = ASH_JSD_PUTS};
    free_list(cut_out(j, &w));
}

void ash__jsd_puts_free(ash_jetstream *j)
{
    free_list(j->puts);
    j->puts = NULL;
}

static bool is_named(const ash_jsd_put *put, const char *store, const char *nuid)
{
    return strcmp(put->nuid, nuid) == 0 && strcmp(ash_object_store_name(put->store), store) == 0;
}

ash_jsd_put *ash__jsd_put_take(ash_jetstream *j, const char *store, const char *nuid, bool *busy)
{
    *busy = false;
    ash__mutex_lock(&j->mutex);
    ash_jsd_put *put = j->puts;
    while (put != NULL && !is_named(put, store, nuid))
        put = put->next;
    *busy = put != NULL && put->in_use;
    if (*busy)
        put = NULL;
    if (put != NULL)
        put->in_use = true;
    ash__mutex_unlock(&j->mutex);
    return put;
}

uint64_t ash__jsd_put_chunks(ash_jetstream *j, const char *store, const char *nuid)
{
    uint64_t chunks = 0;
    ash__mutex_lock(&j->mutex);
    for (const ash_jsd_put *put = j->puts; put != NULL; put = put->next)
        if (!put->in_use && is_named(put, store, nuid))
            chunks = put->chunks;
    ash__mutex_unlock(&j->mutex);
    return chunks;
}

void ash__jsd_put_give_back(ash_jetstream *j, ash_jsd_put *put)
{
    ash__mutex_lock(&j->mutex);
    put->in_use = false;
    put->used_ms = ash__clock_ms();
    ash__mutex_unlock(&j->mutex);
}

void ash__jsd_put_drop(ash_jetstream *j, ash_jsd_put *put)
{
    ash__mutex_lock(&j->mutex);
    for (ash_jsd_put **at = &j->puts; *at != NULL; at = &(*at)->next) {
        if (*at == put) {
            *at = put->next;
            j->put_count--;
            break;
        }
    }
    ash__mutex_unlock(&j->mutex);
    free_put(put);
}

/* Under the mutex. */
static int count_of(const ash_jetstream *j, uint64_t owner)
{
    int count = 0;
    for (const ash_jsd_put *put = j->puts; put != NULL; put = put->next)
        count += put->owner == owner ? 1 : 0;
    return count;
}

bool ash__jsd_put_share_is_used(const ash_jsd_client *c)
{
    ash_jetstream *j = c->jetstream;
    ash__mutex_lock(&j->mutex);
    bool used = count_of(j, c->id) >= ASH_JSD_PUTS_OF_ONE;
    ash__mutex_unlock(&j->mutex);
    return used;
}

/* false: there is no place, or somebody else began the same one. */
static bool enter(ash_jetstream *j, ash_jsd_put *put)
{
    const char *store = ash_object_store_name(put->store);
    ash__mutex_lock(&j->mutex);
    bool good = j->put_count < ASH_JSD_PUTS && count_of(j, put->owner) < ASH_JSD_PUTS_OF_ONE;
    for (const ash_jsd_put *other = j->puts; other != NULL && good; other = other->next)
        good = !is_named(other, store, put->nuid);
    if (good) {
        put->in_use = true;
        put->next = j->puts;
        j->puts = put;
        j->put_count++;
    }
    ash__mutex_unlock(&j->mutex);
    return good;
}

/* Where a client has its share, one of its own goes. */
static void make_room(const ash_jsd_client *c)
{
    ash_jetstream *j = c->jetstream;
    which w = {.used_before_ms = ash__clock_ms() - ASH_JSD_PUT_MAKES_ROOM_MS, .most = 1};
    ash__jsd_puts_tidy(j, ash__clock_ms());
    ash__mutex_lock(&j->mutex);
    bool full = j->put_count >= ASH_JSD_PUTS;
    if (count_of(j, c->id) >= ASH_JSD_PUTS_OF_ONE) {
        w.owner = c->id;
        full = true;
    }
    ash__mutex_unlock(&j->mutex);
    if (full)
        free_list(cut_out(j, &w));
}

/* ---- a put ---- */

static int check_store(ash_jsd_put *put, const ash_op *op, ash_error *err)
{
    ash_object_status *st = NULL;
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    int rc = ash_object_store_status(put->store, op, &st, err);
    if (rc != 0)
        return rc;
    (void)ash_object_status_config(st, &c, NULL);
    put->max_bytes = c.max_bytes;
    if (ash_object_status_is_sealed(st))
        rc = ash__fail(err, ASH_EREADONLY, "object store %s is sealed",
                       ash_object_store_name(put->store));
    ash_object_status_free(st);
    return rc;
}

static int check_nuid(ash_jsd_put *put, const ash_op *op, ash_error *err)
{
    ash_object *there = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__object_find_nuid(put->store, put->nuid, op, &there, &own);
    if (rc == 0)
        rc = ash__fail(err, ASH_EEXISTS, "%.200s has those bytes, and is whole",
                       ash_object_name(there));
    else
        rc = ash__unless(ASH_ENOTFOUND, rc, &own, err);
    ash_object_free(there);
    return rc;
}

int ash__jsd_put_new(ash_jsd_client *c, ash_object_store *store, const char *nuid,
                     int32_t chunk_size, ash_jsd_put **out, ash_error *err)
{
    ash_op op = ash__jsd_op(), none = ASH_OP_INIT;
    ash_jsd_put *put = ash__new(ash_jsd_put);
    put->store = store;
    put->owner = c->id;
    int rc = strlen(nuid) < sizeof put->nuid ? 0 : ash__fail(err, ASH_EINVAL, "that is no NUID");
    if (rc == 0) {
        strcpy(put->nuid, nuid);
        rc = check_store(put, &op, err);
    }
    if (rc == 0)
        rc = check_nuid(put, &op, err);
    if (rc == 0)
        rc = ash__object_open_put(store, nuid, chunk_size, &none, &put->writer, err);
    if (rc == 0)
        make_room(c);
    if (rc == 0 && !enter(c->jetstream, put))
        rc = ash__fail(err, ASH_ENOMEM, "too many puts are under way");
    if (rc != 0)
        free_put(put);
    else
        *out = put;
    return rc;
}

uint64_t ash__jsd_put_known(const ash_jsd_put *put, const char *id)
{
    uint64_t sum = ash__checksum(id, strlen(id)) | 1;
    uint64_t oldest = put->chunks > ASH_JSD_PUT_IDS ? put->chunks - ASH_JSD_PUT_IDS : 0;
    for (uint64_t i = put->chunks; i > oldest; i--)
        if (put->ids[(i - 1) % ASH_JSD_PUT_IDS] == sum)
            return i;
    return 0;
}

int ash__jsd_put_write(ash_jsd_put *put, const char *id, const void *data, size_t len,
                       ash_error *err)
{
    int rc = 0;
    if (put->failed)
        return ash__fail(err, ASH_ESTATE, "a chunk of %s is lacking", put->nuid);
    if (put->max_bytes > 0 && ash__object_put_size(put->writer) + (int64_t)len > put->max_bytes)
        rc = ash__fail(err, ASH_ENOSPC, "object store %s has a maximum of %" PRId64 " bytes",
                       ash_object_store_name(put->store), put->max_bytes);
    if (rc == 0)
        rc = ash_object_writer_write(put->writer, data, len, err);
    if (rc == 0)
        put->ids[put->chunks++ % ASH_JSD_PUT_IDS] =
            id[0] != '\0' ? ash__checksum(id, strlen(id)) | 1 : 0;
    put->failed = rc != 0;
    return rc;
}
