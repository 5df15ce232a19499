/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BENCH_DOCS_H
#define ASH_BENCH_DOCS_H

/* One way to keep documents of some 500 bytes: {_id, when, tag, text}, with indexes on `when` and
 * on (tag, when).  when = _id * 7919 modulo their number, so that it is in another order. */

#include "peer.h"

enum { DOCS_A_COMMIT = 1000, DOCS_RANGE = 100, DOCS_TEXT = 450 };

extern int docs_total; /* a multiple of DOCS_A_COMMIT, and none of 7919 */

typedef struct docs_peer {
    const char *name, *setting;
    void *(*open)(const char *folder);
    void (*load)(void *docs, int first, int count); /* in one durable commit */
    int (*get)(void *docs, int id);                 /* its bytes */
    int (*range)(void *docs, int when);             /* DOCS_RANGE by when; how many came */
    void (*update)(void *docs, int id, int when);   /* durable */
    void (*close)(void *docs);
} docs_peer;

extern const docs_peer docs_ashlar, docs_sqlite;

static inline int docs_when(int id)
{
    return (int)((int64_t)id * 7919 % docs_total);
}

/* Text of DOCS_TEXT letters. */
const char *docs_text(void);

void bench_docs(const char *folder, int runs);

#endif
