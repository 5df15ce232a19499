/* SPDX-License-Identifier: Apache-2.0 */
/* Counts in three small tables and a sum.  A table is of sets of eight places; which set, a digest
 * says that nobody outside can work out, so that nobody can choose whom to push out. */
#include "user/attempts.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"

#include <arpa/inet.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WAYS = 8,
    SETS = 512, /* 4096 places of 64 bytes in each table */
    HALF_MS = 60000,
    KNOWN_MS = 7 * 24 * 3600 * 1000,
    FIRST_WAIT_MS = 125,
    DOUBLINGS = 5,    /* up to 4 s */
    WAITERS = 32,     /* more of them wait longer, each */
    MAX_LEVEL = 1000, /* from there back to nothing it takes seven minutes */
    LOG_EACH_MS = 10000,
    LOG_CROWD_MS = 1000
};

typedef struct count {
    double level; /* failures, as of level_ms */
    int64_t level_ms;
    uint32_t waiting;
    bool used;
} count;

typedef struct place {
    uint8_t key[ASH_ATTEMPT_KEY_BYTES];
    count failures;
    /* Of an address: when a line of it was logged, how many were not since.  Of a pair: when it
     * last signed in. */
    int64_t at_ms;
    int64_t skipped;
} place;

typedef struct table {
    place sets[SETS][WAYS];
    bool by_age; /* the place used least recently makes room, not the one with the least failures */
} table;

struct ash_attempts {
    uint8_t secret[16];
    ash_mutex lock; /* guards what follows */
    count all;
    int64_t line_ms; /* while many addresses fail: when a line was logged, and how many were not */
    int64_t skipped;
    table *addresses, *users, *pairs;
};

ash_attempts *ash__attempts_new(void)
{
    ash_attempts *a = ash__new(ash_attempts);
    ash__random(a->secret, sizeof a->secret);
    ash__mutex_init(&a->lock, ASH_RANK_ATTEMPTS);
    /* Pages that nobody has written to cost nothing. */
    a->addresses = ash__new(table);
    a->users = ash__new(table);
    a->pairs = ash__new(table);
    a->pairs->by_age = true;
    return a;
}

void ash__attempts_free(ash_attempts *a)
{
    if (a == NULL)
        return;
    ash__free(a->addresses);
    ash__free(a->users);
    ash__free(a->pairs);
    ash__mutex_release(&a->lock);
    ash__free(a);
}

/* ---- keys ---- */

/* Text of an IPv6 address: what one subscriber has, which is a /64; and IPv4 in disguise is IPv4. */
static bool write_network(const char *text, char *out, size_t out_bytes)
{
    struct in6_addr six;
    if (inet_pton(AF_INET6, text, &six) != 1)
        return false;
    if (IN6_IS_ADDR_V4MAPPED(&six))
        return inet_ntop(AF_INET, six.s6_addr + 12, out, (socklen_t)out_bytes) != NULL;
    memset(six.s6_addr + 8, 0, 8);
    return inet_ntop(AF_INET6, &six, out, (socklen_t)out_bytes) != NULL;
}

void ash__attempts_address(const char *remote, char *out, size_t out_bytes)
{
    const char *colon = strrchr(remote, ':');
    const char *end = strchr(remote, ']');
    char six[INET6_ADDRSTRLEN];
    if (remote[0] == '[' && end != NULL) {
        snprintf(six, sizeof six, "%.*s", (int)(end - remote - 1), remote + 1);
        /* The scope of a link-local one says which network of ours it is on. */
        if (strchr(six, '%') == NULL && write_network(six, out, out_bytes))
            return;
        snprintf(out, out_bytes, "%.*s", (int)(end - remote + 1), remote);
    } else if (write_network(remote, out, out_bytes)) {
        return;
    } else if (colon != NULL && strchr(remote, ':') == colon) {
        snprintf(out, out_bytes, "%.*s", (int)(colon - remote), remote);
    } else {
        snprintf(out, out_bytes, "%s", remote);
    }
}

static void add_text(ash_digest *d, const char *text)
{
    /* With its NUL: no two lists of texts are the same bytes. */
    if (text != NULL)
        ash__digest_add(d, text, strlen(text) + 1);
}

static void make_key(const ash_attempts *a, const char *address, const ash_attempt_name *who,
                     uint8_t out[ASH_ATTEMPT_KEY_BYTES])
{
    uint8_t bytes[ASH_DIGEST_MAX_BYTES];
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    ash_assert(d != NULL);
    ash__digest_add(d, a->secret, sizeof a->secret);
    add_text(d, address);
    if (who != NULL) {
        add_text(d, who->db);
        add_text(d, who->user);
    }
    ash__digest_finish(d, bytes);
    ash__digest_free(d);
    memcpy(out, bytes, ASH_ATTEMPT_KEY_BYTES);
}

/* ---- counts ---- */

static double level_at(const count *c, int64_t now_ms)
{
    return c->level * exp2(-(double)(now_ms - c->level_ms) / HALF_MS);
}

static void add_failure(count *c, int64_t now_ms, double most)
{
    double level = level_at(c, now_ms) + 1;
    c->level = level < most ? level : most;
    c->level_ms = now_ms;
}

static int64_t wait_of(const count *c, int64_t now_ms, double free)
{
    double over = level_at(c, now_ms) - free;
    if (over <= 0)
        return 0;
    int64_t wait = (int64_t)(FIRST_WAIT_MS * exp2(over < DOUBLINGS ? over : DOUBLINGS));
    /* Many at once are not served faster than a few would be. */
    wait += wait * c->waiting / WAITERS;
    return wait < ASH_ATTEMPTS_MAX_WAIT_MS ? wait : ASH_ATTEMPTS_MAX_WAIT_MS;
}

/* ---- tables ---- */

static place *set_of(table *t, const uint8_t *key)
{
    return t->sets[(key[0] << 8 | key[1]) % SETS];
}

static place *find(table *t, const uint8_t *key)
{
    place *set = set_of(t, key);
    for (int i = 0; i < WAYS; i++)
        if (set[i].failures.used && memcmp(set[i].key, key, ASH_ATTEMPT_KEY_BYTES) == 0)
            return &set[i];
    return NULL;
}

static double worth(const table *t, const place *p, int64_t now_ms)
{
    return t->by_age ? (double)p->at_ms : level_at(&p->failures, now_ms);
}

/* The one of that key, or the one that is worth least in its place; NULL while all of the set have
 * somebody waiting. */
static place *obtain(table *t, const uint8_t *key, int64_t now_ms)
{
    place *set = set_of(t, key), *least = find(t, key);
    if (least != NULL)
        return least;
    for (int i = 0; i < WAYS; i++) {
        if (!set[i].failures.used) {
            least = &set[i];
            break;
        }
        if (set[i].failures.waiting == 0 &&
            (least == NULL || worth(t, &set[i], now_ms) < worth(t, least, now_ms)))
            least = &set[i];
    }
    if (least != NULL) {
        memset(least, 0, sizeof *least);
        memcpy(least->key, key, ASH_ATTEMPT_KEY_BYTES);
        least->failures.used = true;
        least->failures.level_ms = now_ms;
    }
    return least;
}

/* ---- attempts ---- */

/* The counts that an attempt is judged by; NULL for those that are not there. */
typedef struct counts {
    count *by[3];
} counts;

static count *count_of(table *t, const uint8_t *key)
{
    place *p = find(t, key);
    return p != NULL ? &p->failures : NULL;
}

static counts counts_of(ash_attempts *a, const ash_attempt *at)
{
    ash__mutex_assert_held(&a->lock);
    if (at->known)
        return (counts){{count_of(a->pairs, at->pair), NULL, NULL}};
    return (counts){{count_of(a->addresses, at->address),
                     at->has_user ? count_of(a->users, at->user) : NULL, &a->all}};
}

static int64_t worst_wait(const ash_attempts *a, const counts *c, int64_t now_ms)
{
    int64_t worst = 0;
    for (int i = 0; i < 3; i++) {
        if (c->by[i] == NULL)
            continue;
        int64_t wait = wait_of(c->by[i], now_ms,
                               c->by[i] == &a->all ? ASH_ATTEMPTS_FREE_IN_ALL : ASH_ATTEMPTS_FREE);
        worst = wait > worst ? wait : worst;
    }
    return worst;
}

/* Which of the counts, as bits. */
static unsigned start_waiting(const counts *c)
{
    unsigned which = 0;
    for (unsigned i = 0; i < 3; i++)
        if (c->by[i] != NULL) {
            c->by[i]->waiting++;
            which |= 1u << i;
        }
    return which;
}

static void write_keys(const ash_attempts *a, const char *remote, const ash_attempt_name *who,
                       ash_attempt *out)
{
    char address[128];
    memset(out, 0, sizeof *out);
    ash__attempts_address(remote, address, sizeof address);
    out->has_user = who->user != NULL;
    make_key(a, address, NULL, out->address);
    make_key(a, address, who, out->pair);
    if (out->has_user)
        make_key(a, NULL, who, out->user);
}

int64_t ash__attempts_begin(ash_attempts *a, const char *remote, const ash_attempt_name *who,
                            int64_t now_ms, ash_attempt *out)
{
    write_keys(a, remote, who, out);
    ash__mutex_lock(&a->lock);
    const place *pair = find(a->pairs, out->pair);
    out->known = pair != NULL && now_ms - pair->at_ms < KNOWN_MS;
    counts c = counts_of(a, out);
    int64_t wait = worst_wait(a, &c, now_ms);
    if (wait > 0)
        out->waits = start_waiting(&c);
    ash__mutex_unlock(&a->lock);
    return wait;
}

static void stop_waiting(ash_attempts *a, const ash_attempt *at)
{
    /* A place with somebody waiting is nobody else's meanwhile: those of before are there. */
    counts c = counts_of(a, at);
    for (unsigned i = 0; i < 3; i++)
        if (at->waits & 1u << i)
            c.by[i]->waiting--;
}

/* Of an address that fails often, and when many do, a line from time to time says enough. */
static bool note_line(ash_attempts *a, place *address, int64_t now_ms, int64_t *skipped)
{
    bool crowd = level_at(&a->all, now_ms) > ASH_ATTEMPTS_FREE_IN_ALL;
    bool few = !crowd && level_at(&address->failures, now_ms) <= ASH_ATTEMPTS_FREE;
    int64_t *line_ms = crowd ? &a->line_ms : &address->at_ms;
    int64_t *left_out = crowd ? &a->skipped : &address->skipped;
    if (!few && now_ms - *line_ms < (crowd ? LOG_CROWD_MS : LOG_EACH_MS)) {
        (*left_out)++;
        return false;
    }
    *skipped = *left_out;
    *left_out = 0;
    *line_ms = now_ms;
    return true;
}

static bool add_failed(ash_attempts *a, const ash_attempt *at, int64_t now_ms, int64_t *skipped)
{
    place *address = obtain(a->addresses, at->address, now_ms);
    place *pair = at->known ? find(a->pairs, at->pair) : NULL;
    place *user = at->has_user && !at->known ? obtain(a->users, at->user, now_ms) : NULL;
    add_failure(&a->all, now_ms, 2 * ASH_ATTEMPTS_FREE_IN_ALL);
    if (pair != NULL)
        add_failure(&pair->failures, now_ms, MAX_LEVEL);
    if (user != NULL)
        add_failure(&user->failures, now_ms, MAX_LEVEL);
    if (address == NULL)
        return false;
    add_failure(&address->failures, now_ms, MAX_LEVEL);
    return note_line(a, address, now_ms, skipped);
}

bool ash__attempts_end(ash_attempts *a, const ash_attempt *attempt, bool succeeded, int64_t now_ms,
                       int64_t *skipped)
{
    int64_t ignored = 0;
    bool log = false;
    ash__mutex_lock(&a->lock);
    stop_waiting(a, attempt);
    if (!succeeded) {
        log = add_failed(a, attempt, now_ms, skipped != NULL ? skipped : &ignored);
    } else {
        /* What failed before stays counted: a colleague's success is no absolution of who guesses. */
        place *pair = obtain(a->pairs, attempt->pair, now_ms);
        if (pair != NULL)
            pair->at_ms = now_ms;
    }
    ash__mutex_unlock(&a->lock);
    return log;
}

void ash__attempts_drop(ash_attempts *a, const ash_attempt *attempt)
{
    ash__mutex_lock(&a->lock);
    stop_waiting(a, attempt);
    ash__mutex_unlock(&a->lock);
}
