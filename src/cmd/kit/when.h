/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_WHEN_H
#define ASH_CMD_KIT_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/* "2026-11-24", "2026-11-24 09:30", "…T09:30:15.250Z", "…+01:00", "yesterday", "2 hours ago",
 * "@1764000000": milliseconds since 1970.  Where no zone is said it is the local one.  now_ms: since
 * 1970. */
bool ash__cmd_parse_time(const char *text, int64_t now_ms, int64_t *out_ms);

#endif
