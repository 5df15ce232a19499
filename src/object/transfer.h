/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_TRANSFER_H
#define ASH_OBJECT_TRANSFER_H

/* An object's bytes from one store into another, compared on both sides. */

#include "object/core.h"

/* What is said of an object, for a put; views point into o. */
typedef struct ash_object_said {
    ash_object_meta meta;
    bson_t headers, metadata, tags;
} ash_object_said;
void ash__object_said(const ash_object *o, const ash_object_store *to, ash_object_said *out);
/* The same without what a put alone may say. */
void ash__object_said_meta(const ash_object *o, ash_object_said *out);

typedef struct ash_object_transfer {
    ash_object_store *from, *to;
    const ash_op *op;
    ash_progress_fn progress; /* or NULL */
    void *progress_ctx;
    int64_t done, total; /* bytes, for progress */
    /* Archives are looked for beside `from`, unless one is attached: the last that was found, which is
     * attached until another is needed. */
    bool finds_archives;
    ash_object_store *archive;
} ash_object_transfer;
/* Detaches and closes what was found. */
void ash__transfer_end(ash_object_transfer *t);

/* All bytes of `from`'s object into the writer, which is sealed: its digest is the object's, or
 * ASH_ECORRUPT.  The writer is to be finished. */
int ash__transfer_bytes(ash_object_transfer *t, const ash_object *object, ash_object_writer *w,
                        ash_error *err);

/* The bytes' digest of another kind, in the ADR's notation: they are read for it. */
int ash__transfer_digest(ash_object_transfer *t, const ash_object *object, ash_digest_kind kind,
                         char out[64], ash_error *err);

/* Of a sealed writer. */
const ash_object *ash__object_writer_object(const ash_object_writer *w);
ash_object_sink *ash__object_writer_sink(const ash_object_writer *w);

#endif
