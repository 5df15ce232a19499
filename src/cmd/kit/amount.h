/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_AMOUNT_H
#define ASH_CMD_KIT_AMOUNT_H

#include <stdbool.h>
#include <stdint.h>

/* Amounts as people type them, without a word about those that are none: false, and *out is as it
 * was.  Times have s, m, h or d behind them, or nothing for seconds; sizes k, M or G, of 1024. */
bool ash__amount_time(const char *text, double *seconds);
bool ash__amount_size(const char *text, double *bytes);
/* Whole ones from min to max. */
bool ash__amount_seconds(const char *text, int64_t min, int64_t max, int64_t *out);
bool ash__amount_number(const char *text, int64_t min, int64_t max, int64_t *out);

#endif
