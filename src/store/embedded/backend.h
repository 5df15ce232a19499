/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_BACKEND_H
#define ASH_STORE_EMBEDDED_BACKEND_H

/* The embedded backend: MongoDB's operations on the document engine and the query library, in a
 * folder of the process's own. */

#include "store/ops.h"

extern const ash_backend ash__backend_embedded;

#endif
