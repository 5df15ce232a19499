/* SPDX-License-Identifier: Apache-2.0 */
/* Find: the two questions that buckets and drivers ask most have short ways of their own;
 * everything else is planned. */

#include "store/embedded/read/slots.h"

#include "store/embedded/files/chunks.h"
#include "store/embedded/find/cursor.h"
#include "store/embedded/read/views.h"
#include "store/embedded/scan/by_id.h"

int ash__embedded_find(ash_store *store, ash_ns ns, const bson_t *filter,
                       const ash_find_options *opts, ash_cursor **out, ash_error *err)
{
    ash_embedded *s = ash__embedded(store);
    ash_find_spec spec = {ns, filter, opts};
    ash_find_cursor *c = NULL;
    ash_error own = ASH_ERROR_INIT;
    ash_chunk_range range;
    ash_value id;
    int rc = 0;
    *out = NULL;
    /* What a driver is given of a file, and which version of its chunks, is kept account of. */
    bool is_told =
        opts->op.reader != 0 && opts->op.transaction == NULL &&
        (ash__name_ends_with(ns.coll, ".files") || ash__name_ends_with(ns.coll, ".chunks"));
    if (!is_told && ash__point_applies(filter, opts, &id))
        rc = ash__point_find(s, ns, id, &opts->op, out, err);
    if (!is_told && *out == NULL && rc == 0 && ash__chunk_range_of(filter, opts, &range)) {
        rc = ash__find_open_chunks(s, ns, &range, opts, &c, err);
        *out = c != NULL ? &c->base : NULL;
    }
    if (rc != 0 || *out != NULL)
        return rc;
    /* The general way, also for what the short ones have left: large documents, collections without
     * the index. */
    rc = ash__find_open(s, &spec, &c, &own);
    if (ash__view_was_refused(rc, &own))
        return ash__view_find(s, &spec, NULL, out, err);
    if (rc != 0 && err != NULL)
        *err = own;
    *out = c != NULL ? &c->base : NULL;
    return rc;
}
