/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_USER_PREPARE_H
#define ASH_USER_PREPARE_H

/* SASLprep (RFC 4013): equal passwords of different spellings become the same bytes. */

#include "base/error.h"

/* *out is yours: ash__free().  ASH_EINVAL for what is no UTF-8, forbidden (control characters, code
 * points not assigned in Unicode 3.2), mixes directions, or has nothing left; its text never shows
 * any of it. */
int ash__saslprep(const char *text, char **out, ash_error *err);

#endif
