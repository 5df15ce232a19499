/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_FILES_DOWNLOAD_H
#define ASH_STORE_EMBEDDED_FILES_DOWNLOAD_H

#include "segment/segment.h"
#include "store/embedded/kit/batch.h"
#include "store/embedded/files/chunks.h"
#include "store/embedded/scan/plan.h"

/* The chunks of one file as they were when a cursor was opened.
 *
 * Opening walks the index once, under one snapshot, and remembers 32 bytes a chunk: large chunks
 * are pinned where they lie, small ones copied up to 16 MiB in all.  What is over that stays
 * readable through the snapshot, which is then kept (held.h).  So the file can be deleted or
 * changed meanwhile and is still read to its end.  Resting longer than the pin timeout lets go of
 * it: reading on is ASH_ECURSOR. */
typedef struct ash_download ash_download;

typedef struct ash_download_spec {
    ash_request *request; /* planned */
    const ash_op *op;
    int64_t skip;
    int64_t limit; /* 0 = none */
} ash_download_spec;

/* coll: in the reading's snapshot, which the download may take over (then it is no longer owned). */
int ash__download_open(ash_embedded *s, ash_reading *reading, const ash_coll *coll,
                       const ash_download_spec *spec, ash_download **out, ash_error *err);

/* The same without a plan, by an index that serves the range (ash__chunk_range_index). */
typedef struct ash_range_spec {
    const ash_coll *coll; /* in the reading's snapshot */
    const ash_index *index;
    const ash_chunk_range *range;
    const ash_op *op;
} ash_range_spec;
int ash__download_open_range(ash_embedded *s, ash_reading *reading, const ash_range_spec *spec,
                             ash_download **out, ash_error *err);

/* The same document unverified; payload.record NULL: not in a segment, and nothing to verify. */
int ash__download_look(ash_download *d, ash_payload *payload, ash_doc *out, ash_error *err);
/* The payload of document number `index`, which was looked at before and lasts. */
int ash__download_look_again(ash_download *d, size_t index, ash_payload *payload, ash_error *err);
/* Document number `index`: as ash__segments_verify. */
int ash__download_verify(ash_download *d, size_t index, const ash_payload *payload, size_t *from,
                         size_t *to, ash_error *err);
/* Does it lie where it is looked at until the download is freed or lapses? */
bool ash__download_lasts(const ash_download *d, size_t index);
bool ash__download_seek(ash_download *d, size_t index); /* false: there is no such document */

/* The document at the position, valid until advance's next batch begins; data NULL at the end. */
int ash__download_peek(ash_download *d, ash_doc *out, ash_error *err);
void ash__download_advance(ash_download *d);
bool ash__download_at_end(const ash_download *d);
bool ash__download_begin_batch(ash_download *d);        /* false: the pins have lapsed */
size_t ash__download_batch_from(const ash_download *d); /* number of its first document */
ash_pins *ash__download_pins(ash_download *d);
void ash__download_free(ash_download *d);

#endif
