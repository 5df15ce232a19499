/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_FIND_CURSOR_H
#define ASH_STORE_EMBEDDED_FIND_CURSOR_H

#include "query/plan/cover.h"
#include "query/pipeline/pipeline.h"
#include "store/embedded/kit/batch.h"
#include "store/embedded/files/download.h"
#include "store/embedded/scan/plan.h"
#include "store/embedded/files/versions.h"

/* A find's cursor.
 *
 *   STREAM     each batch opens a snapshot, goes on behind the last record and lets go of it
 *   SORTED     the first batch reads everything into the sorter
 *   DOWNLOAD   everything was found and pinned when the cursor was opened (download.h) */
enum ash_cursor_mode {
    ASH_CURSOR_EMPTY,
    ASH_CURSOR_STREAM,
    ASH_CURSOR_SORTED,
    ASH_CURSOR_DOWNLOAD
};

typedef struct ash_find_cursor {
    ash_cursor base;
    ash_embedded *store;
    ash_op op;
    char *db;
    char *coll;
    uint8_t uuid[16];
    ash_env env;
    ash_request request;
    ash_scan_plan scan;
    ash_cover *cover; /* the projection, from keys alone where they tell; or NULL */
    enum ash_cursor_mode mode;
    int64_t skip;  /* still to be skipped */
    int64_t limit; /* still to be given; < 0: no limit */
    bool exhausted;
    bool show_record_id;
    bool gives_files; /* to a reader, who may ask for their chunks next */
    ash_giving giving;
    uint64_t commit;  /* of the snapshot last read from */
    uint64_t pending; /* a record that did not fit the last batch; 0: none */
    bool past_damage;
    ash_error damage;     /* of a document that was passed over, to be told before anything else */
    uint64_t damaged_rid; /* the last of these */

    ash_sorter *sorter; /* SORTED, once filled */
    ash_doc next_sorted;
    uint64_t next_sorted_rid;
    ash_download *download;
    bool in_parts;         /* its caller verifies (parts.h) … */
    ash_payload *payloads; /* … these, one for each document of the batch */
    size_t payload_capacity;

    bool tailable;
    bool await_data;
    int64_t await_ms;

    ash_batch_memory batch;
    ash_builder projected;
    ash_builder numbered; /* with $recordId */
} ash_find_cursor;

extern const ash_cursor_ops ash__find_cursor_ops;

/* Open a find; as the slot, but typed. */
typedef struct ash_find_spec {
    ash_ns ns;
    const bson_t *filter;
    const ash_find_options *opts;
} ash_find_spec;
int ash__find_open(ash_embedded *s, const ash_find_spec *spec, ash_find_cursor **out,
                   ash_error *err);

/* The same for the chunks of one file, without matcher and planner.  *out NULL and 0: it takes a
 * plan. */
int ash__find_open_chunks(ash_embedded *s, ash_ns ns, const ash_chunk_range *range,
                          const ash_find_options *opts, ash_find_cursor **out, ash_error *err);

/* Tailable cursors.  check: an attached cursor's position still exists (136 when the capped
 * collection has overwritten it).  wait: look again whenever something was committed, until the
 * batch has a document or the wait is over; seen: the newest change already looked at. */
typedef int (*ash_tail_look)(ash_find_cursor *c, uint64_t *seen, ash_error *err);
int ash__tail_check(ash_find_cursor *c, ash_error *err);
int ash__tail_wait(ash_find_cursor *c, uint64_t seen, ash_tail_look look, ash_error *err);

/* As a source of a pipeline: takes the cursor over. */
ash_source ash__source_from_cursor(ash_cursor *cursor);

#endif
