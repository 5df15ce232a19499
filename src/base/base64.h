/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_BASE64_H
#define ASH_BASE_BASE64_H

/* base64 as RFC 4648 has it: written with '-' and '_' (section 5), read with either alphabet. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* With padding or without; false for anything else.  *out is yours (ash__free()), with a NUL behind
 * its bytes. */
bool ash__base64_read(const char *text, size_t len, uint8_t **out, size_t *out_len);

/* Padded.  Yours: ash__free(). */
char *ash__base64_write(const void *data, size_t len);

#endif
