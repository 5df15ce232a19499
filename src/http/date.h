/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DATE_H
#define ASH_HTTP_DATE_H

/* Dates of HTTP (RFC 9110 §5.6.7) and of WebDAV (RFC 3339). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ASH_DATE_BYTES = 40 };

/* "Sun, 06 Nov 1994 08:49:37 GMT"; milliseconds are cut off. */
void ash__date_http(char out[ASH_DATE_BYTES], int64_t ms);
/* "1994-11-06T08:49:37Z" */
void ash__date_iso(char out[ASH_DATE_BYTES], int64_t ms);
/* Any of HTTP's three forms. */
bool ash__http_date_parse(const char *text, int64_t *ms);
/* "1994-11-06T08:49:37Z", with a fraction or an offset, or the day alone (its first moment, UTC). */
bool ash__date_parse_iso(const char *text, int64_t *ms);

#endif
