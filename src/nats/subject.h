/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_SUBJECT_H
#define ASH_NATS_SUBJECT_H

/* Subjects: tokens between dots.  In a pattern the token "*" stands for any one token, and ">" at the
 * end for one or more. */

#include <stdbool.h>

/* No empty token, no blank, no control character. */
bool ash__nats_subject_valid(const char *subject);
/* A subject that may be subscribed to: ">" stands at the end only. */
bool ash__nats_pattern_valid(const char *pattern);
/* Has a valid pattern tokens that stand for others? */
bool ash__nats_has_wildcards(const char *pattern);
/* Both valid; tokens of the subject stand for themselves. */
bool ash__nats_matches(const char *pattern, const char *subject);

#endif
