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
/* Is it a field of that form? */
bool ash__object_document_has(const char *name);
/* Of what was JSON: tags come out of the headers again.  New; bson_destroy(). */
bson_t *ash__object_document_with_tags(const bson_t *doc);
/* "2024-02-05T10:11:12.345678Z", or with +hh:mm.  false: none, or before 1970, as the zero time of Go
 * is. */
bool ash__object_time(const char *text, int64_t *ms);

#endif
