/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_ERROR_H
#define ASH_BASE_ERROR_H

#include "base/server_codes.h"

#include <ashlar/error.h>

/* Fill *err (which may be NULL) and return code, so that callers write `return ash__fail(…)`. */
int ash__fail(ash_error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The same with MongoDB's own number for the failure, one of base/server_codes.h. */
int ash__fail_server(ash_error *err, int code, int32_t server_code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The same for a failed system call: the code follows from errno_value and its text is appended. */
int ash__fail_errno(ash_error *err, int errno_value, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The library code that fits one of MongoDB's codes best (ASH_EINTERNAL if none does). */
int ash__code_from_server(int32_t server_code);

/* Put "format: " in front of the text already in *err. */
void ash__error_prefix(ash_error *err, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* An expected failure that is to be passed over: err is written only when something fails. */
int ash__unless(int expected, int rc, const ash_error *what, ash_error *err);

#endif
