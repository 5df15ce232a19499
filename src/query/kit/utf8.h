/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_KIT_UTF8_H
#define ASH_QUERY_KIT_UTF8_H

/* Counting characters (code points) in UTF-8; bytes that are no UTF-8 count one each at most. */

#include <stdint.h>

uint32_t ash__utf8_length(const char *text, uint32_t len_bytes);
/* Byte offset of the n-th code point, len_bytes when there are fewer. */
uint32_t ash__utf8_offset(const char *text, uint32_t len_bytes, uint32_t n);
/* Decodes one character: its value, and its length in bytes (at least 1) in *size. */
uint32_t ash__utf8_decode(const char *text, uint32_t len_bytes, uint32_t *size);

#endif
