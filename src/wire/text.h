/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_TEXT_H
#define ASH_WIRE_TEXT_H

#include "bson/builder.h"

/* A text for people, as a string of valid UTF-8: messages quote what clients sent and are cut at
 * some byte, and drivers refuse an answer with a broken character in it.  Bytes that belong to no
 * character become '?'. */
void ash__wire_text(ash_builder *b, const char *name, const char *text);

#endif
