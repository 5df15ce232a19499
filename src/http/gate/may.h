/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_MAY_H
#define ASH_HTTP_MAY_H

/* What who asks may do: everything where nobody is asked. */

#include "http/gate/gate.h"
#include "user/privilege.h"

/* All of these?  coll "": the database itself. */
bool ash__gate_may(const ash_exchange *x, const char *db, const char *coll, ash_actions actions);
bool ash__gate_may_cluster(const ash_exchange *x, ash_actions actions);

#endif
