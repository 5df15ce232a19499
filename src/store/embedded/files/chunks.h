/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_FILES_CHUNKS_H
#define ASH_STORE_EMBEDDED_FILES_CHUNKS_H

/* What the backend knows of GridFS: collections named X.chunks hold {_id, files_id, n, data}. */

#include "query/plan/plan.h"
#include "store/embedded/kit/embedded.h"

/* The one files_id that every match has, or missing.  A view into the filter. */
ash_value ash__chunks_file_of(const ash_matcher *filter);

/* The number n of a chunk from its key in an index on (files_id, n); -1: not known, or no whole
 * number.  scratch: a buffer to be used again. */
int64_t ash__chunks_number(const ash_plan *plan, ash_value file, ash_doc key, ash_buffer *scratch);
/* The same where the key is known to begin with the file's id, of so many bytes. */
int64_t ash__chunk_key_number(ash_doc key, size_t file_bytes, bool descending);

/* A find of chunks of one file in order of n, as a bucket's download asks for them: it goes to the
 * index without matcher and planner. */
typedef struct ash_chunk_range {
    ash_value file;      /* a view of the filter */
    int64_t first, last; /* < 0: all from the first, to the last */
} ash_chunk_range;
/* Is the find of that kind and nothing more? */
bool ash__chunk_range_of(const bson_t *filter, const ash_find_options *opts, ash_chunk_range *out);
/* The index that serves it, or NULL: then it is planned like any other. */
const ash_index *ash__chunk_range_index(const ash_coll *coll);
/* The range's bounds in that index, from <= key < to, into empty buffers; returns how many bytes of
 * each key are the file's id. */
size_t ash__chunk_range_keys(const ash_chunk_range *range, ash_buffer *from, ash_buffer *to);

/* For a collection of chunks: put "file … chunk …: " in front of an error.  file may be missing; n
 * -1: not known. */
void ash__chunk_error(const char *coll, ash_value file, int64_t n, ash_error *err);

#endif
