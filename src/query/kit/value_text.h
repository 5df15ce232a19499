/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_KIT_VALUE_TEXT_H
#define ASH_QUERY_KIT_VALUE_TEXT_H

/* Values as text for error messages, in the manner of MongoDB's shell: {a: 1, b: "x"}.  Cut to the
 * given size with "..."; always NUL-terminated.  Returns buf. */

#include "bson/value.h"

#define ASH_TEXT_BYTES 160

const char *ash__value_text(ash_value v, char *buf, size_t size_bytes);
const char *ash__element_text(const char *name, ash_value v, char *buf, size_t size_bytes);

#endif
