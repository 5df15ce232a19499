/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions in hash chains, and each also in the list of its share, in the order of use: so the one
 * to give up in a full table is found without a search. */
#include "wire/sessions.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"

#include <string.h>

enum {
    BUCKETS = 4096,
    MOST_DESCRIBED = 100000, /* an answer's memory is bounded, however many there may be */
    SHARES = 4096 /* more than there are connections, mostly, so that each has one of its own */
};

typedef struct session {
    struct session *next;
    ash_session_id id;
    int64_t used_ms;
    size_t share; /* of the connection that last used it */
    struct session *newer, *older;
} session;

typedef struct share {
    session *newest, *oldest;
    size_t count;
} share;

struct ash_session_table {
    ash_mutex lock; /* guards all below */
    session *buckets[BUCKETS];
    share shares[SHARES];
    size_t count;
    size_t max;
    size_t sweep_at; /* bucket where the next search for expired ones begins */
};

ash_session_table *ash__sessions_new(size_t max_sessions)
{
    ash_session_table *t = ash__new(ash_session_table);
    ash__mutex_init(&t->lock, ASH_RANK_CONNECTION);
    t->max = max_sessions;
    return t;
}

void ash__sessions_free(ash_session_table *t)
{
    if (t == NULL)
        return;
    ash__sessions_end_all(t);
    ash__mutex_release(&t->lock);
    ash__free(t);
}

/* The link that points at the session, or at the NULL where it would be. */
static session **find(ash_session_table *t, const ash_session_id *id)
{
    ash__mutex_assert_held(&t->lock);
    session **link = &t->buckets[ash__checksum(id->bytes, sizeof id->bytes) % BUCKETS];
    while (*link != NULL && memcmp(&(*link)->id, id, sizeof *id) != 0)
        link = &(*link)->next;
    return link;
}

/* Newest first: the other end is the one to give up. */
static void enter_share(ash_session_table *t, session *s, size_t number)
{
    share *in = &t->shares[number];
    s->share = number;
    s->newer = NULL;
    s->older = in->newest;
    if (in->newest != NULL)
        in->newest->newer = s;
    else
        in->oldest = s;
    in->newest = s;
    in->count++;
}

static void leave_share(ash_session_table *t, session *s)
{
    share *in = &t->shares[s->share];
    if (s->newer != NULL)
        s->newer->older = s->older;
    else
        in->newest = s->older;
    if (s->older != NULL)
        s->older->newer = s->newer;
    else
        in->oldest = s->newer;
    in->count--;
}

static void drop(ash_session_table *t, session **link)
{
    session *s = *link;
    ash__mutex_assert_held(&t->lock);
    *link = s->next;
    leave_share(t, s);
    ash__free(s);
    t->count--;
}

/* Whoever begins many gives up its own before those of others: the longest unused of the largest
 * share. */
static void displace_one(ash_session_table *t, ash_session_id *out)
{
    const share *largest = &t->shares[0];
    for (size_t i = 1; i < SHARES; i++)
        if (t->shares[i].count > largest->count)
            largest = &t->shares[i];
    *out = largest->oldest->id;
    drop(t, find(t, out));
}

bool ash__sessions_touch(ash_session_table *t, const ash_session_id *id, int64_t connection_id,
                         ash_session_id *displaced)
{
    bool displaces = false;
    ash__mutex_lock(&t->lock);
    session *s = *find(t, id);
    if (s != NULL) {
        leave_share(t, s);
    } else {
        displaces = t->count >= t->max;
        if (displaces)
            displace_one(t, displaced);
        /* Anew: the one displaced may have been the end of this very chain. */
        session **link = find(t, id);
        s = *link = ash__new(session);
        s->id = *id;
        t->count++;
    }
    s->used_ms = ash__clock_ms();
    enter_share(t, s, (size_t)((uint64_t)connection_id % SHARES));
    ash__mutex_unlock(&t->lock);
    return displaces;
}

bool ash__sessions_exists(ash_session_table *t, const ash_session_id *id)
{
    ash__mutex_lock(&t->lock);
    bool exists = *find(t, id) != NULL;
    ash__mutex_unlock(&t->lock);
    return exists;
}

bool ash__sessions_end(ash_session_table *t, const ash_session_id *id)
{
    ash__mutex_lock(&t->lock);
    session **link = find(t, id);
    bool found = *link != NULL;
    if (found)
        drop(t, link);
    ash__mutex_unlock(&t->lock);
    return found;
}

void ash__sessions_end_all(ash_session_table *t)
{
    ash__mutex_lock(&t->lock);
    for (size_t i = 0; i < BUCKETS; i++)
        while (t->buckets[i] != NULL)
            drop(t, &t->buckets[i]);
    ash__mutex_unlock(&t->lock);
}

void ash__sessions_describe(ash_session_table *t, ash_builder *b)
{
    /* Who no user is: the digest of no name. */
    static const uint8_t nobody[] = {0xe3, 0xb0, 0xc4, 0x42, 0x98, 0xfc, 0x1c, 0x14,
                                     0x9a, 0xfb, 0xf4, 0xc8, 0x99, 0x6f, 0xb9, 0x24,
                                     0x27, 0xae, 0x41, 0xe4, 0x64, 0x9b, 0x93, 0x4c,
                                     0xa4, 0x95, 0x99, 0x1b, 0x78, 0x52, 0xb8, 0x55};
    /* Kept by the monotonic clock, told by the wall's. */
    int64_t ahead_ms = ash__clock_wall_ms() - ash__clock_ms();
    uint32_t count = 0;
    char name[12];
    ash__mutex_lock(&t->lock);
    for (size_t i = 0; i < BUCKETS; i++)
        for (const session *s = t->buckets[i]; s != NULL && count < MOST_DESCRIBED; s = s->next) {
            ash__builder_begin_doc(b, ash__index_name(count++, name));
            ash__builder_begin_doc(b, "_id");
            ash__builder_binary(b, "id", BSON_SUBTYPE_UUID, s->id.bytes, sizeof s->id.bytes);
            ash__builder_binary(b, "uid", BSON_SUBTYPE_BINARY, nobody, sizeof nobody);
            ash__builder_end(b);
            ash__builder_date(b, "lastUse", s->used_ms + ahead_ms);
            ash__builder_end(b);
        }
    ash__mutex_unlock(&t->lock);
}

bool ash__sessions_expire(ash_session_table *t, int64_t before_ms, ash_session_id *out)
{
    bool found = false;
    ash__mutex_lock(&t->lock);
    /* Goes on where the last call stopped, so that a sweep looks at each chain about once. */
    for (size_t n = 0; n < BUCKETS && !found; n++) {
        session **link = &t->buckets[t->sweep_at];
        while (*link != NULL && (*link)->used_ms >= before_ms)
            link = &(*link)->next;
        if (*link != NULL) {
            *out = (*link)->id;
            drop(t, link);
            found = true;
        } else {
            t->sweep_at = (t->sweep_at + 1) % BUCKETS;
        }
    }
    ash__mutex_unlock(&t->lock);
    return found;
}

size_t ash__sessions_count(ash_session_table *t)
{
    ash__mutex_lock(&t->lock);
    size_t count = t->count;
    ash__mutex_unlock(&t->lock);
    return count;
}
