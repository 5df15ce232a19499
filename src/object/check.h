/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_CHECK_H
#define ASH_OBJECT_CHECK_H

/* Checks of single things that callers say; ASH_EINVAL with a text that names `what`. */

#include "object/info.h"

int ash__object_text_check(const char *text, const char *what, ash_error *err);
/* A document of strings; NULL is one. */
int ash__object_strings_check(const bson_t *map, const char *what, ash_error *err);
int ash__object_digest_check(ash_digest_kind kind, ash_error *err);
int ash__object_chunk_size_check(int32_t size, ash_error *err);

#endif
