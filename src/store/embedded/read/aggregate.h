/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_READ_AGGREGATE_H
#define ASH_STORE_EMBEDDED_READ_AGGREGATE_H

#include "query/pipeline/pipeline.h"
#include "store/embedded/kit/embedded.h"

/* What pipelines run on: the host's context, and the stages that write. */
typedef struct ash_agg_host {
    ash_embedded *store;
    ash_op op;
    char *db;
    char *coll; /* NULL: of the database */
    const bson_t *collation;
    bson_t *details; /* ash_aggregate_options.error_details */
    int view_depth;  /* how many views' stages this one runs for */
    uint32_t stages; /* of the pipelines around this one */
    ash_pipeline_memory *memory;
} ash_agg_host;

void ash__agg_host_init(ash_agg_host *h, ash_pipeline_host *out);

/* One aggregate, as the slot is asked for it. */
typedef struct ash_agg_spec {
    ash_ns ns;
    const bson_t *pipeline;
    const ash_aggregate_options *opts;
    const ash_agg_host *outer; /* what reads the view that pipeline came from, or NULL */
} ash_agg_spec;
int ash__agg_open(ash_embedded *s, const ash_agg_spec *spec, ash_cursor **out, ash_error *err);

/* Both read input to its end. */
int ash__agg_out(ash_agg_host *h, ash_value spec, ash_source *input, ash_error *err);
int ash__agg_merge(ash_agg_host *h, ash_value spec, ash_source *input, ash_error *err);

/* Where $out and $merge write: a name, or {db, coll}.  out: a view. */
int ash__agg_namespace(const ash_agg_host *h, ash_value spec, ash_ns *out, ash_error *err);

#endif
