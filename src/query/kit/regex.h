/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_KIT_REGEX_H
#define ASH_QUERY_KIT_REGEX_H

/* A compiled regular expression (PCRE2, UTF-8) with bounded work a match, which ends with the
 * thread's budget too (base/budget.h).  Any number of threads may test with it. */

#include "base/buffer.h"
#include "bson/value.h"

typedef struct ash_regex ash_regex;

/* options: letters of "imsxu".  Errors: ASH_EINVAL with 51108 for an unknown letter, 51091 for a
 * pattern that does not compile or is longer than 32764 bytes. */
int ash__regex_new(const char *pattern, const char *options, ash_regex **out, ash_error *err);
void ash__regex_free(ash_regex *r);

/* 1 it matches somewhere, 0 it does not; ASH_EINVAL (51156) when it takes too many steps; the
 * errors of ash__budget_check. */
int ash__regex_test(const ash_regex *r, const char *text, size_t len_bytes, ash_error *err);

/* Where a match lies in the text: start and end of all of it, then of each group (SIZE_MAX: the
 * group took no part). */
typedef struct ash_regex_match {
    size_t *offsets; /* freed with ash__free() by whoever asked; NULL when there is no match */
    uint32_t pairs;
} ash_regex_match;

/* The first match at or behind byte `from`.  Results as of ash__regex_test. */
int ash__regex_find(const ash_regex *r, const char *text, size_t len_bytes, size_t from,
                    ash_regex_match *out, ash_error *err);

/* The literal every match starts with ("^abc…"), appended to out.  *whole: the pattern says nothing
 * more.  false when there is none. */
bool ash__regex_prefix(const char *pattern, const char *options, ash_buffer *out, bool *whole);

#endif
