/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_FIND_UNVERIFIED_H
#define ASH_STORE_EMBEDDED_FIND_UNVERIFIED_H

#include "store/embedded/find/cursor.h"

/* Slots of a find's cursor, as in store/parts.h; and its batch of unverified documents. */
bool ash__find_take_parts(ash_cursor *cursor);
int ash__find_verify(ash_cursor *cursor, size_t index, size_t *from, size_t *to, ash_error *err);
bool ash__find_lasts(ash_cursor *cursor, size_t index);
bool ash__find_seek(ash_cursor *cursor, size_t index);
int ash__find_fill_parts(ash_find_cursor *c, ash_error *err);

#endif
