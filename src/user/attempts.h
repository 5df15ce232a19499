/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_USER_ATTEMPTS_H
#define ASH_USER_ATTEMPTS_H

/* Attempts to sign in: whoever fails often waits before the next one is judged.
 *
 *   int64_t wait = ash__attempts_begin(attempts, remote, &who, now, &attempt);
 *   … answer wait milliseconds later, holding no lock (and, where peers take turns, no seat) …
 *   ash__attempts_end(attempts, &attempt, succeeded, now, &skipped)      or _drop()
 *
 * Failures are counted by address (of IPv6 its /64), by user, and in all.  Each count halves in a
 * minute.  Up to ASH_ATTEMPTS_FREE of one (ASH_ATTEMPTS_FREE_IN_ALL in all) nobody waits; beyond
 * it from 125 ms on, and twice as long with each further failure, up to 4 s; more while many of them wait,
 * up to 15 s.
 *
 * Nobody is locked out.  Whoever has signed in as a user from an address within seven days is judged
 * there by the failures of that pair alone: others, who fail from elsewhere, or as somebody else from
 * the same address, do not slow it down.  Anybody else waits for the worst of the three.
 *
 * The wait comes before the answer is known, so that hanging up early saves nothing.  An attempt
 * whose client is gone meanwhile must not be judged: drop it.
 *
 * Memory is bounded: in each table the least of eight makes room.  Names and addresses are kept as
 * digests under a secret of the process.  Any thread; a leaf lock.  Times are monotonic ms. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ash_attempts ash_attempts;

enum {
    ASH_ATTEMPTS_FREE = 10,
    ASH_ATTEMPTS_FREE_IN_ALL = 5000,
    ASH_ATTEMPTS_MAX_WAIT_MS = 15000,
    ASH_ATTEMPT_KEY_BYTES = 16
};

/* One, from begin to end or drop.  No memory of its own. */
typedef struct ash_attempt {
    uint8_t address[ASH_ATTEMPT_KEY_BYTES];
    uint8_t user[ASH_ATTEMPT_KEY_BYTES];
    uint8_t pair[ASH_ATTEMPT_KEY_BYTES];
    bool has_user;
    bool known;     /* has signed in from there lately */
    unsigned waits; /* by which counts it is among those that wait, as bits */
} ash_attempt;

/* As who; user NULL where only a token is shown, which is nobody's before it was looked up. */
typedef struct ash_attempt_name {
    const char *user;
    const char *db;
} ash_attempt_name;

ash_attempts *ash__attempts_new(void);
void ash__attempts_free(ash_attempts *a);

/* How long the attempt has to wait: 0 to ASH_ATTEMPTS_MAX_WAIT_MS.  remote: "192.0.2.1:4711",
 * "[2001:db8::1]:4711", or any other text, which then stands for itself.  Each begin has one end or
 * drop. */
int64_t ash__attempts_begin(ash_attempts *a, const char *remote, const ash_attempt_name *who,
                            int64_t now_ms, ash_attempt *out);
/* It was judged.  True when a failure should be logged: not each of many; *skipped (or NULL): how
 * many of that address, or of all when there are many, were not, since the last that was. */
bool ash__attempts_end(ash_attempts *a, const ash_attempt *attempt, bool succeeded, int64_t now_ms,
                       int64_t *skipped);
/* Its client went before it was judged. */
void ash__attempts_drop(ash_attempts *a, const ash_attempt *attempt);

/* The part of an address that counts, as text: without the port; of IPv6 the /64.  For tests. */
void ash__attempts_address(const char *remote, char *out, size_t out_bytes);

#endif
