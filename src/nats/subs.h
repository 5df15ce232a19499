/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_SUBS_H
#define ASH_NATS_SUBS_H

/* The subscriptions of one client.  One thread. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ASH_NATS_MOST_SUBS = 4096,
    ASH_NATS_SUBS_BYTES = 1024 * 1024 /* most of their texts together */
};

/* A queue group: of its subscriptions that match a message one gets it. */
typedef struct ash_nats_group {
    char *name;
    size_t users;
    uint64_t served; /* the message that it had last */
} ash_nats_group;

typedef struct ash_nats_sub {
    uint64_t delivered;
    uint64_t max; /* it ends after so many; 0: it does not */
    bool wild;
    char *subject;
    char *sid;             /* lies behind the subject */
    ash_nats_group *group; /* NULL: none */
    size_t bytes;
} ash_nats_sub;

typedef struct ash_nats_sub_list {
    ash_nats_sub **items;
    size_t count, capacity;
} ash_nats_sub_list;

typedef struct ash_nats_subs {
    ash_nats_sub_list by_sid;  /* all, in the order of their sids */
    ash_nats_sub_list literal; /* those without wildcards, in the order of their subjects */
    ash_nats_sub_list wild;    /* the others */
    size_t bytes;
    uint64_t messages; /* so many were looked up */
} ash_nats_subs;

/* Zero-initialised is empty. */
void ash__nats_subs_release(ash_nats_subs *subs);

/* The pattern is valid.  A sid that is there already keeps what it has.  false: there are too many,
 * or their texts are too long. */
bool ash__nats_subs_add(ash_nats_subs *subs, const char *subject, const char *queue,
                        const char *sid);
/* After max messages in all, those included that it had; 0: now.  A sid that nobody has is fine. */
void ash__nats_subs_end(ash_nats_subs *subs, const char *sid, uint64_t max);

/* Does one match? */
bool ash__nats_subs_match(const ash_nats_subs *subs, const char *subject);

/* Those that are to have a message; NULL when there are no more.  Nothing may be added or ended, and
 * no other message looked up, in between. */
typedef struct ash_nats_matches {
    const ash_nats_subs *subs;
    const char *subject;
    size_t literal, wild; /* the next ones to look at */
} ash_nats_matches;
ash_nats_matches ash__nats_matches_of(ash_nats_subs *subs, const char *subject);
ash_nats_sub *ash__nats_matches_next(ash_nats_matches *m);

/* Drops those that have had their last message. */
void ash__nats_subs_drop_done(ash_nats_subs *subs);

#endif
