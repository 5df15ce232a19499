/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_SUBJECT_H
#define ASH_NATS_JETSTREAM_SUBJECT_H

/* Subjects of object stores, and filters with wildcards.  Pure. */

#include <stdbool.h>

/* Is there a subject that both filters match? */
bool ash__jsd_subjects_meet(const char *a, const char *b);

typedef enum ash_jsd_kind {
    ASH_JSD_NONE,   /* nothing that is served: … */
    ASH_JSD_CHUNKS, /* $O.store.C.nuid */
    ASH_JSD_META,   /* $O.store.M.base64 */
    ASH_JSD_METAS   /* $O.store.M.> */
} ash_jsd_kind;
/* What a filter of the store's stream asks for.  *name: the NUID, or the object's name, which is
 * yours; NULL for METAS. */
ash_jsd_kind ash__jsd_filter_read(const char *store, const char *filter, char **name);

#endif
