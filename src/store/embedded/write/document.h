/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_WRITE_DOCUMENT_H
#define ASH_STORE_EMBEDDED_WRITE_DOCUMENT_H

#include "store/embedded/kit/embedded.h"

/* A document made ready for insertion: checked, its _id generated when missing and put first. */
typedef struct ash_prepared {
    ash_doc doc;    /* as it will be stored; the caller's bytes when nothing had to change */
    uint8_t *owned; /* the bytes, when something did */
    ash_staged *staged;
} ash_prepared;

/* clock: its stamps replace empty timestamps at the top level, as the server does.  Refuses what
 * cannot be stored: 10334 too large, 22 broken, 15 too deep, 53 for an _id that is an array, a
 * regular expression or undefined, 52 for names with '$' inside it, 2 for two _ids. */
int ash__document_prepare(ash_doc in, ash_engine *clock, ash_prepared *out, ash_error *err);

/* Write a large document's payload ahead of the writer; small ones are left alone. */
int ash__document_stage(ash_embedded *s, uint32_t coll_id, ash_prepared *p, ash_error *err);
void ash__document_release(ash_embedded *s, ash_prepared *p);

#endif
