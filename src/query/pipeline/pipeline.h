/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PIPELINE_PIPELINE_H
#define ASH_QUERY_PIPELINE_PIPELINE_H

#include "base/share.h"
#include "query/expr/expr.h"
#include "query/match/match.h"
#include "query/kit/sort.h"

/* An aggregation pipeline: stages that pull documents from the one before.  The surroundings give
 * the documents of a collection through the host, so that the pipeline itself does no I/O. */

/* A source of documents.  next: 0 and the document (valid until the next call), or 0 and data NULL
 * at the end. */
typedef struct ash_source {
    void *ctx;
    int (*next)(void *ctx, ash_doc *out, ash_error *err);
    void (*free)(void *ctx);
} ash_source;

/* What all pipelines of an operation take: those in one another, and those of views that they
 * read.  All zero at first.  One thread at a time; lives longer than they do.  ASH_ENOMEM (146)
 * when it is too much for one operation, or for all of them together (base/share.h). */
typedef struct ash_pipeline_memory {
    size_t used;
    ash_share share;
} ash_pipeline_memory;

typedef struct ash_pipeline_host {
    void *ctx;
    /* Documents of another collection of the same database that match filter (for $lookup,
     * $graphLookup).  stages: how many there are around the one that asks, itself included; a
     * pipeline that begins for its sake has that number in its own host. */
    int (*find)(void *ctx, const char *collection, ash_doc filter, uint32_t stages, ash_source *out,
                ash_error *err);
    /* Statistics document for $collStats with this argument. */
    int (*coll_stats)(void *ctx, ash_doc spec, bson_t *out, ash_error *err);
    /* $out and $merge: called once with a source that runs the pipeline before it; spec is the
     * stage's argument (checked by the pipeline). */
    int (*write_out)(void *ctx, bool is_merge, ash_value spec, ash_source *input, ash_error *err);
    ash_pipeline_memory *memory; /* NULL: counted by itself */
    uint32_t stages;             /* of the pipelines around it */
} ash_pipeline_host;

typedef struct ash_pipeline ash_pipeline;

/* Compiles and checks the array of stages.  Unknown stages: 40324; known but unsupported: 238 or
 * the server's own code, naming it. */
int ash__pipeline_new(const bson_t *stages, const ash_query_env *env, const ash_pipeline_host *host,
                      ash_pipeline **out, ash_error *err);
void ash__pipeline_free(ash_pipeline *p);

/* What the store can do better itself: leading $match (as one filter), then $sort, then
 * $skip/$limit directly after, are handed out here and no longer run by the pipeline.  Views, valid
 * as long as p; absent parts are empty / 0. */
typedef struct ash_pipeline_head {
    bson_t match; /* static */
    bson_t sort;  /* static */
    int64_t skip;
    int64_t limit;         /* 0 = none */
    bool is_coll_stats;    /* first stage reads no documents */
    bool is_change_stream; /* first stage is $changeStream; its spec below */
    bson_t change_stream;  /* static */
    bool has_write_out;    /* ends in $out or $merge */
    bool splits_events;    /* ends in $changeStreamSplitLargeEvent */
} ash_pipeline_head;
const ash_pipeline_head *ash__pipeline_head(ash_pipeline *p);

/* Start over input (taken over: freed with the pipeline); then next as a source. */
void ash__pipeline_start(ash_pipeline *p, ash_source input);
int ash__pipeline_next(ash_pipeline *p, ash_doc *out, ash_error *err);

/* Pass one document through stages that map or filter (change streams): *out data NULL when it was
 * filtered out. */
bool ash__pipeline_is_streaming(const ash_pipeline *p);

const ash_feature *ash__pipeline_features(void);

#endif
