/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_LOCK_TWINS_H
#define ASH_TESTS_LOCK_TWINS_H

/* Lock documents "brief" and "whole" that begin alike, for moves that are made in brief on the one
 * and by a program on the other, and must come to the same. */

#include "lock/lock.h"

#include "lock/support.h"

typedef struct start {
    const char *what;
    const char *json; /* of the whole document but files_id; "" in front: tidied, then this */
    bool brief;       /* there is nothing to decide */
} start;

void parse_document(const char *text, bson_t *out); /* its fields, in JSON with ' for " */
/* "+…": as this library leaves a free one, with other values; "-name": without one; else the text
 * itself. */
void make_document(const char *id, const start *s, bson_t *out);
/* Of a move by h; the caller destroys. */
bson_t *lock_parameters(const fixture *f, const bson_oid_t *h);
/* But for identities and moments; `what` names the case. */
void assert_same(const char *what, const bson_t *a, const bson_t *b);
/* The grant of a document that came back; the caller releases. */
void grant_of(const bson_t *doc, bool write, const bson_oid_t *h, ash_lock_grant *g);

#endif
