/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_DOCUMENT_H
#define ASH_OBJECT_DOCUMENT_H

/* The one form of an object's document (info.h), from whatever somebody wrote. */

#include <bson/bson.h>

#define ASH_HEADER_TYPE "Content-Type"
#define ASH_HEADER_TAGS "Ashlar-Tags" /* in JSON, which has no field for tags */

/* Fields in their order, numbers and dates in their types, maps without what cannot be in them;
 * what is empty is left out.  New; bson_destroy(). */
bson_t *ash__object_document_order(const bson_t *doc);

#endif
