/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_SCAN_REQUEST_H
#define ASH_STORE_EMBEDDED_SCAN_REQUEST_H

#include "query/plan/plan.h"
#include "query/project/project.h"
#include "store/embedded/kit/embedded.h"

/* What to look for: a filter, an order, a projection, compiled; and the plan for one collection.
 * The plan stays good from one snapshot to the next as long as its indexes exist. */
typedef struct ash_request_spec {
    const bson_t *filter;
    const bson_t *sort;
    const bson_t *projection;
    const bson_value_t *hint;
    const ash_file_rules *files; /* whom to ask about damage; NULL: nobody */
} ash_request_spec;

typedef struct ash_request {
    const ash_file_rules *files; /* of its spec */
    ash_matcher *filter;
    ash_sort_spec *sort;
    ash_projection *projection; /* or NULL */
    ash_doc min, max;           /* of the hinted index's keys, borrowed for planning; or empty */
    ash_plan *plan;             /* NULL until planned */
    ash_index_desc *descs;
    uint32_t *index_ids;
    uint32_t desc_count;
    uint32_t coll_id;
} ash_request;

/* Zero-initialise; release also after a failure. */
int ash__request_compile(ash_request *r, const ash_request_spec *spec, const ash_query_env *env,
                         ash_error *err);
/* Choose the plan (a former one is thrown away). */
int ash__request_plan(ash_request *r, const ash_coll *coll, const bson_value_t *hint,
                      ash_error *err);
/* Point the plan at a new snapshot's indexes.  ASH_ECURSOR (175) when one of them is gone. */
int ash__request_attach(ash_request *r, const ash_coll *coll, ash_error *err);
void ash__request_release(ash_request *r);

#endif
