/* SPDX-License-Identifier: Apache-2.0 */
/* Which backends there are is known here alone: everybody else has the list, or goes through it. */
#include "store/ops.h"

#ifdef ASH_HAVE_EMBEDDED
#include "store/embedded/backend.h"
#endif
#ifdef ASH_HAVE_MONGO
#include "store/mongo/mongo.h"
#endif

/* A folder's path is whatever no other backend takes, so the embedded one comes last. */
const ash_backend *const ash__backends[] = {
#ifdef ASH_HAVE_MONGO
    &ash__backend_mongo,
#endif
#ifdef ASH_HAVE_EMBEDDED
    &ash__backend_embedded,
#endif
    NULL,
};
