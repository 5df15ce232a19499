/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BASE_LOG_H
#define ASH_BASE_LOG_H

#include <ashlar/log.h>

/* Hand one line to the program's log callback, if it set one.  Thread-safe. */
void ash__log(ash_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
