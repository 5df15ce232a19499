/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_LOCK_BRIEF_H
#define ASH_LOCK_BRIEF_H

/* Moves of a lock that nobody else wants, in brief.
 *
 * The programs (programs.h) decide by whatever a lock document may say, which takes a pipeline of
 * five stages.  A document that is whole, free and without waiters leaves nothing to decide: there
 * a filter says so, and a few plain changes do what the program would have done, to the byte (but
 * for the moment).  Where the filter finds nothing, nothing was changed, and the program is run.
 *
 * Whether it is worth trying is a guess: of the resource, by the last answer; of one that is new
 * here, by how such guesses went (ash_lock_guess). */

#include "lock/lock.h"

/* As the programs OBTAIN_READ (without a join) and OBTAIN_WRITE would make that move.  With upsert, a
 * document that is missing is made. */
int ash__lock_brief_obtain(ash_lock_collection *c, const ash_lock_move *move, bson_t *doc,
                           bool *found, ash_error *err);
/* As OBTAIN_WRITE for the first in the queue, when the lock is free and it is not the readers' turn;
 * waiters that died are left where they are. */
int ash__lock_brief_follow(ash_lock_collection *c, const ash_lock_move *move, bson_t *doc,
                           bool *found, ash_error *err);
/* As RELEASE_WRITE by g's holder and OBTAIN_WRITE by the first in the queue, whom the parameters q
 * are of, at one moment; not when it would be the readers' turn. */
int ash__lock_brief_pass(ash_lock_collection *c, const ash_lock_grant *g, const bson_t *q,
                         bson_t *doc, bool *found, ash_error *err);
/* As RELEASE_READ while others stay in the entry; entries that ended are left where they are. */
int ash__lock_brief_leave(ash_lock_collection *c, const ash_lock_grant *g, bson_t *doc, bool *found,
                          ash_error *err);
/* As the programs RELEASE_READ, of the last reader, and RELEASE_WRITE. */
int ash__lock_brief_release(ash_lock_collection *c, const ash_lock_grant *g, bson_t *doc,
                            bool *found, ash_error *err);

/* Has the document waiters, or a request of somebody who waits elsewhere? */
bool ash__lock_is_wanted(const bson_t *doc);
/* The same, or is it held? */
bool ash__lock_is_busy(const bson_t *doc);

/* Is it worth trying? */
bool ash__lock_guess(ash_lock_collection *c, const ash_lock_resource *r);
/* How it went. */
void ash__lock_guessed(ash_lock_collection *c, bool right);

#endif
