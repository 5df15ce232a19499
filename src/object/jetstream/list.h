/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_LIST_H
#define ASH_OBJECT_JETSTREAM_LIST_H

/* All meta messages of a store, in the order of their sequence: everything that was acknowledged when
 * they were opened.  One for each object; but of several servers the one that answers may be behind,
 * and then there are two of an object that was changed lately, the newer one later. */

#include "object/jetstream/jetstream.h"

typedef struct ash_js_metas ash_js_metas;

/* *out is yours: ash__js_metas_free(). */
int ash__js_metas_open(ash_js_store *s, const ash_op *op, ash_js_metas **out, ash_error *err);
/* *out, and *other (the mark of a rename; NULL: not wanted), are yours; *out NULL at the end.
 * ASH_ECORRUPT: this one cannot be read; the next call gives the one behind it. */
int ash__js_metas_next(ash_js_metas *m, ash_object **out, char **other, ash_error *err);
void ash__js_metas_free(ash_js_metas *m);

#endif
