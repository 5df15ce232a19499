/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_KEYCODE_READ_H
#define ASH_BSON_KEYCODE_READ_H

#include "base/buffer.h"
#include "bson/value.h"

/* Room for a value that is read back from its encoding; zero-initialised is fine. */
typedef struct ash_keycode_room {
    ash_value_box box;
    ash_buffer text;
    ash_buffer turned; /* the bytes of a descending part, as if it were ascending */
} ash_keycode_room;

/* Reads the first value of an ascending encoding (bson/keycode.h) that was made without a
 * collation.  Returns its bytes; 0 when not even they can be told, as of objects.  An encoding has
 * forgotten some types: a number that a double holds comes back as a double, a symbol as a string,
 * missing and undefined as null.  *out is missing where the value cannot be told.  It points into
 * room. */
size_t ash__keycode_read(const uint8_t *code, size_t len, ash_keycode_room *room, ash_value *out);
/* The same of a part of a key, whose bytes are turned round where it is descending. */
size_t ash__keycode_read_part(const uint8_t *code, size_t len, bool descending,
                              ash_keycode_room *room, ash_value *out);
void ash__keycode_room_release(ash_keycode_room *room);

#endif
