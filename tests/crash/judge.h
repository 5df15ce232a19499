/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_JUDGE_H
#define ASH_TESTS_CRASH_JUDGE_H

/* What becomes of a damaged store: see judge.c. */

#include "stock.h"

/* One process's doings, in memory that it shares with the one that made it. */
typedef struct scene {
    stock stock;
    stock_view view;
    bool clean;     /* what the check said */
    char told[160]; /* by the check, or by an open that failed */
} scene;

typedef struct judge {
    const stock *sound; /* what is in the store */
    const char *folder; /* of copies */
    void (*copy)(void *ctx, const char *folder);
    void *ctx;
    const char *ashlar; /* or NULL */
    bool served;        /* the server shall be one */
    bool loud;
    uint64_t seed; /* of what is written */
    scene *scene;
} judge;

enum { JUDGED_SEEN = 1, JUDGED_REFUSED = 2, JUDGED_DIED = 4, JUDGED_WRONG = 8, JUDGED_UNSEEN = 16 };
#define JUDGED_BAD (JUDGED_DIED | JUDGED_WRONG | JUDGED_UNSEEN)

typedef struct verdict {
    unsigned is;
    char text[600]; /* what is bad */
} verdict;

scene *scene_new(void);
void judge_store(judge *j, verdict *out);

#endif
