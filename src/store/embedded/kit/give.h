/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_KIT_GIVE_H
#define ASH_STORE_EMBEDDED_KIT_GIVE_H

/* Inside, documents are made by a builder; the caller of a store has them as libbson's.  This is
 * where they change hands. */

#include "bson/builder.h"

/* A copy for the caller; initialises *out. */
static inline void ash__doc_give(ash_doc doc, bson_t *out)
{
    bson_t view;
    ash__doc_to_bson(doc, &view);
    bson_copy_to(&view, out);
}

/* The same in the place of a document that is initialised. */
static inline void ash__doc_give_instead(ash_doc doc, bson_t *out)
{
    bson_t view;
    ash__doc_to_bson(doc, &view);
    bson_reinit(out);
    bson_concat(out, &view);
}

#endif
