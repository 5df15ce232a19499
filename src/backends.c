/* SPDX-License-Identifier: Apache-2.0 */
/* Which backends there are is known here alone: everybody else has the list, or goes through it. */
#include "object/ops.h"
#include "store/ops.h"

#ifdef ASH_HAVE_OBJECT_DOCS
#include "object/docs/docs.h"
#endif
#ifdef ASH_HAVE_OBJECT_JETSTREAM
#include "object/jetstream/backend.h"
#endif
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

/* Docs takes whatever is a store, so it comes last. */
const ash_object_backend *const ash__object_backends[] = {
#ifdef ASH_HAVE_OBJECT_JETSTREAM
    &ash__object_backend_jetstream,
#endif
#ifdef ASH_HAVE_OBJECT_DOCS
    &ash__object_backend_docs,
#endif
    NULL,
};
