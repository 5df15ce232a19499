/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_CARE_FINDINGS_H
#define ASH_STORE_EMBEDDED_CARE_FINDINGS_H

#include "bson/builder.h"
#include "store/embedded/kit/embedded.h"
#include "engine/check/check.h"

/* What a check or a backup found, for a report.  One has to fit a document, so of many findings the
 * first are kept; all are counted. */

typedef struct ash_finding {
    char *text;
    bson_t *facts;
    bson_t *file; /* of a chunk: what ash__findings_name learned, or NULL */
} ash_finding;

typedef struct ash_findings {
    ash_finding *items;
    uint32_t kept;
    uint32_t count;
    uint32_t invalid; /* of them, documents that cannot be read */
} ash_findings;

void ash__findings_add(ash_findings *f, const char *text, const bson_t *facts);
/* Say of damaged chunks which file they belong to.  Where the store is so damaged that this cannot
 * be found out, what is known is said. */
void ash__findings_name(ash_findings *f, ash_engine *e);
/* An array of {text, …facts, filename, files_id, n}. */
void ash__findings_list(const ash_findings *f, ash_builder *b, const char *name);
void ash__findings_release(ash_findings *f);

/* findings_files.c: in a child process.  Tells of each chunk among the findings that has no file
 * yet {i, n, files_id, filename, why}: what is not known is left out; why: the reason that there is
 * no name.  The last that is told of a finding counts.  by_index: look in the index which chunk a
 * record is, since what a damaged document says may be wrong. */
bool ash__finding_is_chunk(const ash_finding *f);
void ash__findings_look(const ash_findings *f, bool by_index, ash_probe *p, ash_snapshot *snap);

#endif
