/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_VIEW_H
#define ASH_STORE_EMBEDDED_KIT_VIEW_H

/* What a view is: a collection without documents whose options are {viewOn, pipeline}.  Finds,
 * aggregates, counts and distinct go through it (views.h); everything else is refused. */

#include "engine/engine.h"

bool ash__coll_is_view(const ash_coll *c); /* NULL is none */

/* 0 for a collection, and for none (NULL); else ASH_EUNSUPPORTED (166). */
int ash__view_refuse(const ash_coll *c, ash_error *err);

/* Is that how a call failed? */
bool ash__view_was_refused(int rc, const ash_error *err);

#endif
