/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_KILLS_H
#define ASH_TESTS_MODEL_KILLS_H

/* The model's steps in a process that is killed at random moments.
 *
 * The parent keeps the model, the child (kills_work.c) works on the store and counts on a page that
 * they share what was acknowledged.  Steps depend on the seed and the model alone, so that after a
 * kill the parent does the same ones on the model until it stands where the store has to be
 * (kills_settle.c).  Beside the model's collections the store has parcels (parcels.h), which a TTL
 * index takes away, and rows, whose index is built and dropped all the time (care.h). */

#include <stdatomic.h>

#include "crash/rng.h"
#include "scenario.h"

enum {
    KILLS_DEEDS = 400, /* the most that one process does */
    KILLS_TOKEN_BYTES = 512
};

/* Where the change stream of the parcels goes on. */
typedef struct kills_token {
    int64_t seen; /* the parcel of that event */
    uint32_t len; /* 0: none yet */
    uint8_t bytes[KILLS_TOKEN_BYTES];
} kills_token;

typedef struct kills_page {
    atomic_bool opened;
    /* Of the present process: writes to the model's collections that were acknowledged, and how
     * many of them are on the disk whatever the durability; parcels likewise. */
    atomic_uint_least64_t done, flushed;
    atomic_uint_least64_t parcels_done, parcels_flushed;
    /* The one that newest names is whole. */
    kills_token tokens[2];
    atomic_uint newest;
    /* Of the whole run. */
    atomic_uint_least64_t steps, answers, events, lost_histories, builds, compactions, checks,
        transactions, reopens;
} kills_page;

/* One process, from the parent's side. */
typedef struct kills_round {
    uint64_t seed;   /* of its steps */
    int64_t parcels; /* the number of its first parcel */
    bool strict;     /* acknowledged is on the disk; else it is soon */
    bool quiet;      /* leaves the model's reads out, so that the engine may put off commits */
} kills_round;

/* What is done next: one step, done to each copy by itself or to all of them in one transaction,
 * perhaps after a transaction with the same step that is taken back. */
typedef struct kills_deed {
    bson_t *step; /* the caller destroys */
    bool together;
    bool taken_back;
    bool parcel; /* first sends one */
    bool flush;  /* afterwards asks for the disk */
} kills_deed;

kills_deed kills_next(rng *r, const model *m);
/* Does the step on the model: what a store must answer, and the copies that a write goes to (a bit
 * each; none: a read, or nobody knows).  Is it done to them as one? */
answer kills_model(model *m, const kills_deed *d, const mv *step, uint32_t *copies, bool *as_one);

ash_store_options kills_options(const kills_round *round);

/* The child; s->m is the model, s->r not open.  Exits with 0 when all is done. */
_Noreturn void kills_work(scenario *s, const char *folder, const kills_round *round,
                          kills_page *page);

/* After a kill: brings the model to where the store is, and the store to the end of the step that
 * was under way.  *next_parcel: the number of the next process's first.  False when the store is
 * not as it must be; that is printed. */
bool kills_settle(model *m, const char *folder, const kills_round *round, const kills_page *page,
                  int64_t *next_parcel);

/* Until the time is over; false at the first difference. */
bool kills_run(uint64_t seed, int64_t seconds, const char *folder);

#endif
