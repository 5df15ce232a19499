/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BUCKET_RESUME_H
#define ASH_BUCKET_RESUME_H

#include "bucket/bucket.h"

/* {_id: {resume: token}} */
void ash__resume_filter(bson_t *filter, const char *token);
/* The attributes of all resumable uploads; bson_destroy(). */
bson_t *ash__resume_filter_all(void);

/* ---- unfinished.c: uploads that somebody works on, or will come back to, or has forgotten ---- */

typedef struct ash_unfinished {
    const char *token; /* valid during the visit */
    const char *filename;
    int64_t bytes;    /* in whole chunks that the store has */
    int64_t last_ms;  /* when the last of them came, or that it is to be kept was last said */
    int64_t until_ms; /* when it expires */
} ash_unfinished;
/* Returns 0, or an error that ends the visits. */
typedef int (*ash_unfinished_visit)(void *ctx, ash_bucket *b, const ash_unfinished *u,
                                    ash_error *err);
int ash__unfinished_each(ash_bucket *b, ash_unfinished_visit visit, void *ctx, ash_error *err);
/* It expires now, so that the next ash_bucket_expire() deletes it; *ended false: it was finished,
 * or somebody went on with it since the visit. */
int ash__unfinished_end(ash_bucket *b, const ash_unfinished *u, bool *ended, ash_error *err);

#endif
