/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PIPELINE_STAGE_H
#define ASH_QUERY_PIPELINE_STAGE_H

/* Inside of pipelines.  A stage is one row in a table: how its argument is parsed and how it gives
 * its next document, for which it pulls from the stage before.  A document that a stage gives is
 * valid until its next call. */

#include "query/expr/node.h"
#include "query/pipeline/pipeline.h"

typedef struct ash_stage ash_stage;
typedef struct ash_stage_parser ash_stage_parser;

enum {
    ASH_STAGE_FIRST = 1,  /* only as the first stage */
    ASH_STAGE_LAST = 2,   /* only as the last stage of a top-level pipeline */
    ASH_STAGE_STREAM = 4, /* maps or filters: keeps nothing from one document to the next */
    ASH_STAGE_NO_FACET = 8
};

typedef struct ash_stage_op {
    const char *name;
    int flags;
    /* Adds one stage or several (ash__stage_add); or none, when the head takes it. */
    int (*parse)(ash_stage_parser *p, const struct ash_stage_op *op, ash_value spec);
    int (*next)(ash_stage *s, ash_doc *out, ash_error *err);
    void (*free)(void *state);
    const char *note; /* what differs from the server; NULL = nothing */
} ash_stage_op;

struct ash_stage {
    const ash_stage_op *op;
    ash_stage *input; /* NULL: the source */
    ash_pipeline *pipeline;
    void *state; /* the stage's own; freed by op->free */
};

enum ash_pipeline_place { ASH_PLACE_TOP, ASH_PLACE_LOOKUP, ASH_PLACE_UNION, ASH_PLACE_FACET };

struct ash_pipeline {
    const ash_query_env *env;
    ash_pipeline_host host;
    ash_arena *arena; /* the copied specification */
    ash_stage *last;  /* its inputs lead to the first */
    ash_source source;
    enum ash_pipeline_place place;
    int depth;       /* of pipelines in pipelines */
    uint32_t stages; /* its own and those of the pipelines around it */
    ash_pipeline_memory *memory;
    ash_pipeline_memory own; /* in use if the host brings none */
    size_t charged;          /* of memory */
    ash_builder matches;     /* leading filters, an open array while parsing */
    uint32_t match_count;
    ash_pipeline_head head;
};

struct ash_stage_parser {
    ash_pipeline *pipeline;
    bool head_open; /* nothing but what the head takes so far */
    bool is_first;
    bool is_last;
    ash_error *err;
};

extern const ash_stage_op ash__stage_facet_ops[];
extern const ash_stage_op ash__stage_graph_ops[];
extern const ash_stage_op ash__stage_group_ops[];
extern const ash_stage_op ash__stage_lookup_ops[];
extern const ash_stage_op ash__stage_order_ops[];
extern const ash_stage_op ash__stage_reshape_ops[];
extern const ash_stage_op ash__stage_sugar_ops[];
extern const ash_stage_op ash__stage_unwind_ops[];
extern const ash_stage_op ash__stage_write_ops[];

/* A new stage at the end, with zeroed state of that size (on the heap). */
ash_stage *ash__stage_add(ash_stage_parser *p, const ash_stage_op *op, size_t state_bytes);
/* Parse one more stage by name, as if it had been written there. */
int ash__stage_parse(ash_stage_parser *p, const char *name, ash_value spec);
bool ash__stage_is_known(const char *name); /* supported or not */
/* The next document of the stage before s; data NULL at the end. */
int ash__stage_pull(ash_stage *s, ash_doc *out, ash_error *err);

/* A pipeline inside of another one.  Its head holds only match. */
int ash__pipeline_new_inner(ash_doc stages, const ash_query_env *env, const ash_pipeline *outer,
                            enum ash_pipeline_place place, ash_pipeline **out, ash_error *err);
/* Start it over what the host finds in a collection; filter: besides the head's match, may be
 * empty. */
int ash__pipeline_start_find(ash_pipeline *p, const char *collection, ash_doc filter,
                             ash_error *err);
int ash__host_find(const ash_pipeline *p, const char *collection, ash_doc filter, ash_source *out,
                   ash_error *err);

size_t ash__memory_limit(const ash_query_env *env);
int ash__memory_error(const char *stage, ash_error *err); /* 292 */

/* doc with the value at a dotted path, into out (starting over): through documents; whatever else
 * is in the way gives place to one.  A missing value removes the field. */
void ash__doc_set_path(ash_builder *out, ash_doc doc, const char *path, ash_value v);

/* A filter of two: {$and: [a, b]}, or the one that is not empty; begins out over. */
void ash__filter_both(ash_builder *out, ash_doc a, ash_doc b);

/* "a.b" as options name a field to look at or to make: no deeper than a document may be, no empty
 * part (56), no '$' before it (16410). */
int ash__stage_field_check(const char *path, ash_error *err);

/* "$a.b" as stages name fields: the path, or NULL and 'err' with that code. */
const char *ash__stage_path(ash_value v, const char *stage, int32_t code, ash_error *err);

#endif
