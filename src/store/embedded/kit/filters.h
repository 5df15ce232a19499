/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_FILTERS_H
#define ASH_STORE_EMBEDDED_KIT_FILTERS_H

#include "engine/engine.h"
#include "query/match/match.h"

/* Validators and filters of partial indexes, as the engine keeps them for us. */
extern const ash_filter_hooks ash__embedded_hooks;

const ash_matcher *ash__hooked_matcher(const void *filter); /* NULL gives NULL */
/* A document that the filter cannot be evaluated for does not match.  ASH_ETIMEOUT and
 * ASH_EINTERRUPTED: it was given up (base/budget.h). */
int ash__hooked_test(const void *filter, ash_doc doc, bool *matches, ash_error *err);

#endif
