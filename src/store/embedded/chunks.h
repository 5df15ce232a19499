/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_CHUNKS_H
#define ASH_STORE_EMBEDDED_CHUNKS_H

/* What the backend knows of GridFS: collections named X.chunks hold {_id, files_id, n, data}. */

#include "query/plan.h"

/* The one files_id that every match has, or missing.  A view into the filter. */
ash_value ash__chunks_file_of(const ash_matcher *filter);

/* The number n of a chunk from its key in an index on (files_id, n), without decoding: keys come in
 * order, so it is nearly always the expected one; later ones are searched for.  -1: not known.
 * scratch: a buffer to be used again. */
int64_t ash__chunks_number(const ash_plan *plan, ash_value file, ash_doc key, int64_t expected,
                           ash_buffer *scratch);

/* For a collection of chunks: put "file … chunk … of …: " in front of an error.  filter may be
 * NULL; n -1: not known. */
void ash__chunk_error(const char *coll, const ash_matcher *filter, int64_t n, ash_error *err);

#endif
