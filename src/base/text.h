/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_TEXT_H
#define ASH_BASE_TEXT_H

/* UTF-8 as the Unicode Standard has it: no overlong forms, no surrogates, nothing over U+10FFFF. */

#include <stddef.h>

/* Bytes of the character that text begins with; 0 when it begins with none (or len_bytes is 0). */
size_t ash__text_char(const char *text, size_t len_bytes);

/* Bytes at the start of text that are whole characters: len_bytes when all of it is UTF-8. */
size_t ash__text_good(const char *text, size_t len_bytes);

/* The order of listings of all below a folder: '/' is less than any other byte, so that each folder
 * comes before what lies in it, and that before the folder's next neighbour. */
int ash__text_compare_paths(const char *a, const char *b);

/* A user as access lists and versions name it: NAME, or NAME@DATABASE of another one than admin
 * (NULL: admin).  The caller frees. */
char *ash__text_user(const char *name, const char *db);

/* Drop the beginning of a character from the end of a text that was cut. */
void ash__text_trim(char *text);

#endif
