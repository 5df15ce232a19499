/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_KIT_WHEN_H
#define ASH_CMD_KIT_WHEN_H

#include <stdbool.h>
#include <stdint.h>

/* Times as people type them, the same for every verb:
 *
 *   now
 *   today                 its beginning; yesterday: a day ago, at this time of day
 *   today 09:30           yesterday 17:00; 09:30 alone: today
 *   monday                to sunday: the last one before today, at this time of day; monday 17:00
 *   2 hours ago           1.5 hours ago, an hour ago, 3d, 3 days, 1 day 2 hours ago, 2.hours.ago: seconds (s), minutes
 *                         (m), hours (h), days (d), weeks (w), months, years
 *   last week             month, year …: one ago, at this time of day
 *   2026-11-24            midnight
 *   2026-11-24 10:00      with seconds, parts of them, and a zone: Z, UTC, +01:00; RFC 3339 with T
 *   @1700000000           seconds since 1970
 *
 * Where no zone is said it is the local one (TZ, as everywhere); days and longer go by its calendar.
 * now_ms, *out_ms: since 1970.  false: it is none, or before 1970; *out_ms is as it was. */
bool ash__cmd_parse_time(const char *text, int64_t now_ms, int64_t *out_ms);
/* For messages: "… takes a time: " and this. */
#define ASH_CMD_TIME_FORMS                                                                         \
    "now, today, yesterday, \"last week\", monday, 09:30, \"2 hours ago\", 3d, 2026-11-24, "       \
    "\"2026-11-24 10:00\" (local; with Z, UTC or +01:00 behind it: there; names of other zones "   \
    "are "                                                                                         \
    "not known), @SECONDS since 1970"

#endif
