/* SPDX-License-Identifier: Apache-2.0 */
/* Each limit is a moment: when all that was taken is paid for, at the pace of the limit. */
#include "user/usage.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#include <stdatomic.h>
#include <string.h>

enum { LISTS = 256, SECOND_US = 1000000 };

struct ash_usage {
    struct ash_usage *next; /* the table's lock */
    char *name;
    int64_t connections;  /* the table's lock */
    _Atomic bool unpaced; /* neither operations nor bytes are limited */
    ash_mutex lock;       /* guards what follows */
    ash_limits limits;
    int64_t operations_paid_us, bytes_paid_us;
};

struct ash_usage_table {
    ash_mutex lock; /* guards the lists */
    ash_usage *lists[LISTS];
};

static int64_t read_limit(ash_doc limits, const char *name)
{
    int64_t n = 0;
    return ash__value_as_int64(ash__doc_get(limits, name), &n) && n > 0 ? n : 0;
}

void ash__limits_read(ash_doc user, ash_limits *out)
{
    ash_value v = ash__doc_get(user, "limits");
    ash_doc limits = v.type == BSON_TYPE_DOCUMENT ? ash__value_doc(v) : ash__doc_empty;
    out->connections = read_limit(limits, "connections");
    out->operations = read_limit(limits, "operations");
    out->bytes = read_limit(limits, "bytes");
}

ash_usage_table *ash__usage_table_new(void)
{
    ash_usage_table *t = ash__new(ash_usage_table);
    ash__mutex_init(&t->lock, ASH_RANK_USAGE);
    return t;
}

/* Names come from documents of the store, not from who would like them to collide. */
static ash_usage **list_of(ash_usage_table *t, const char *name)
{
    uint32_t hash = 5381;
    for (; *name != '\0'; name++)
        hash = hash * 33 + (uint8_t)*name;
    return &t->lists[hash % LISTS];
}

static ash_usage *obtain(ash_usage_table *t, const char *name)
{
    ash_usage **list = list_of(t, name);
    ash__mutex_assert_held(&t->lock);
    for (ash_usage *u = *list; u != NULL; u = u->next)
        if (strcmp(u->name, name) == 0)
            return u;
    ash_usage *u = ash__new(ash_usage);
    u->name = ash__strdup(name);
    ash__mutex_init(&u->lock, ASH_RANK_PACE);
    u->next = *list;
    *list = u;
    return u;
}

static void drop(ash_usage **at)
{
    ash_usage *u = *at;
    *at = u->next;
    ash__mutex_release(&u->lock);
    ash__free(u->name);
    ash__free(u);
}

/* Of a list, those whom nobody has and who have paid: who goes and comes back has to pay first. */
static void drop_unused(ash_usage_table *t, ash_usage **list)
{
    int64_t now_us = ash__clock_us();
    ash__mutex_assert_held(&t->lock);
    for (ash_usage **at = list; *at != NULL;) {
        ash_usage *u = *at;
        if (u->connections > 0 || u->operations_paid_us > now_us || u->bytes_paid_us > now_us)
            at = &u->next;
        else
            drop(at);
    }
}

void ash__usage_table_free(ash_usage_table *t)
{
    if (t == NULL)
        return;
    for (size_t i = 0; i < LISTS; i++)
        while (t->lists[i] != NULL) {
            ash_assert(t->lists[i]->connections == 0);
            drop(&t->lists[i]);
        }
    ash__mutex_release(&t->lock);
    ash__free(t);
}

int ash__usage_enter(ash_usage_table *t, const char *user, const char *db, const ash_limits *limits,
                     ash_usage **out, ash_error *err)
{
    char *name = ash__sprintf("%s.%s", db, user);
    int rc = 0;
    *out = NULL;
    ash__mutex_lock(&t->lock);
    ash_usage *u = obtain(t, name);
    if (limits->connections > 0 && u->connections >= limits->connections) {
        rc = ash__fail_server(err, ASH_EBUSY, ASH_MONGO_INGRESS_REQUEST_RATE_LIMIT_EXCEEDED,
                              "%.100s@%.63s has %lld connections already, and may not have more",
                              user, db, (long long)u->connections);
        drop_unused(t, list_of(t, name));
    } else {
        u->connections++;
        *out = u;
    }
    ash__mutex_unlock(&t->lock);
    if (rc == 0)
        ash__usage_limit(u, limits);
    ash__free(name);
    return rc;
}

void ash__usage_leave(ash_usage_table *t, ash_usage *u)
{
    if (u == NULL)
        return;
    ash__mutex_lock(&t->lock);
    u->connections--;
    drop_unused(t, list_of(t, u->name));
    ash__mutex_unlock(&t->lock);
}

void ash__usage_limit(ash_usage *u, const ash_limits *limits)
{
    ash__mutex_lock(&u->lock);
    u->limits = *limits;
    atomic_store(&u->unpaced, limits->operations == 0 && limits->bytes == 0);
    ash__mutex_unlock(&u->lock);
}

/* How long until no more than a second's worth is unpaid. */
static int64_t wait_for(int64_t limit, int64_t paid_us, int64_t now_us)
{
    int64_t wait = limit > 0 ? paid_us - SECOND_US - now_us : 0;
    return wait > 0 ? wait : 0;
}

static void pay(int64_t *paid_us, int64_t amount, int64_t limit, int64_t now_us)
{
    if (limit == 0)
        return;
    if (*paid_us < now_us)
        *paid_us = now_us;
    *paid_us += (int64_t)((double)amount * SECOND_US / (double)limit);
}

int ash__usage_take(ash_usage *u, int64_t now_us, int64_t *wait_ms, ash_error *err)
{
    *wait_ms = 0;
    if (atomic_load_explicit(&u->unpaced, memory_order_relaxed))
        return 0;
    ash__mutex_lock(&u->lock);
    int64_t operations = wait_for(u->limits.operations, u->operations_paid_us, now_us);
    int64_t bytes = wait_for(u->limits.bytes, u->bytes_paid_us, now_us);
    int64_t wait = operations > bytes ? operations : bytes;
    bool fits = wait < ASH_USAGE_MAX_WAIT_MS * INT64_C(1000);
    if (fits)
        pay(&u->operations_paid_us, 1, u->limits.operations, now_us);
    ash_limits limits = u->limits;
    ash__mutex_unlock(&u->lock);
    *wait_ms = (wait + 999) / 1000;
    if (fits)
        return 0;
    return ash__fail_server(err, ASH_EBUSY, ASH_MONGO_INGRESS_REQUEST_RATE_LIMIT_EXCEEDED,
                            "%.160s may have %lld %s a second, and has had more", u->name,
                            (long long)(bytes > operations ? limits.bytes : limits.operations),
                            bytes > operations ? "bytes" : "operations");
}

int64_t ash__usage_wait(ash_usage *u, int64_t now_us)
{
    if (atomic_load_explicit(&u->unpaced, memory_order_relaxed))
        return 0;
    ash__mutex_lock(&u->lock);
    int64_t wait_us = wait_for(u->limits.bytes, u->bytes_paid_us, now_us);
    ash__mutex_unlock(&u->lock);
    return (wait_us + 999) / 1000;
}

void ash__usage_add_bytes(ash_usage *u, int64_t bytes, int64_t now_us)
{
    if (u == NULL || atomic_load_explicit(&u->unpaced, memory_order_relaxed))
        return;
    ash__mutex_lock(&u->lock);
    pay(&u->bytes_paid_us, bytes, u->limits.bytes, now_us);
    ash__mutex_unlock(&u->lock);
}
