/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_COPY_H
#define ASH_OBJECT_COPY_H

/* What the parts of a copy share: which objects (copy.c), bringing one (bring.c), what a name had
 * before (past.c). */

#include "object/transfer.h"

typedef struct ash_copy_run {
    ash_object_transfer transfer;
    const ash_object_copy_options *opts;
    ash_object_copy_report *report;
    bool reads_past; /* versions are wanted, and the source has them */
    bool keeps_past; /* and the target's configuration keeps them, … */
    int32_t most;    /* … of each name so many; < 0: nobody counts */
} ash_copy_run;

/* ---- bring.c ---- */

/* *same: nothing is to be brought.  Bytes are read where the digests are of two kinds. */
int ash__copy_compare(ash_copy_run *c, const ash_object *object, const ash_object *there,
                      bool *same, ash_error *err);
/* there: what the target has under the name, deleted or not; NULL: nothing.  final: not just a version,
 * so that its end goes along.  *made: what the target has then; yours. */
int ash__copy_bring(ash_copy_run *c, const ash_object *object, const ash_object *there, bool final,
                    ash_object **made, ash_error *err);

/* ---- past.c ---- */

/* What a name had, oldest first, the current one last. */
typedef struct ash_copy_past {
    ash_object **items;
    size_t count, capacity;
} ash_copy_past;
int ash__copy_past(ash_object_store *s, const char *name, const ash_op *op, ash_copy_past *out,
                   ash_error *err);
void ash__copy_past_release(ash_copy_past *p);
/* How many of the source's the target has, from the oldest on; *known false: what it has now is none
 * of them. */
int ash__copy_align(ash_copy_run *c, const ash_copy_past *source, const ash_copy_past *target,
                    size_t *count, bool *known, ash_error *err);

#endif
