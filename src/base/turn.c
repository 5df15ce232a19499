/* SPDX-License-Identifier: Apache-2.0 */
/* The line is a list through the owners' own turns: taking a place or leaving allocates nothing,
 * and can be done by whoever makes a change final. */
#include "base/turn.h"

#include "base/clock.h"

#include <stddef.h>

static _Thread_local ash_turn *current;

void ash__turns_init(ash_turns *t)
{
    ash__mutex_init(&t->lock, ASH_RANK_TURNS);
    t->first = t->last = NULL;
}

void ash__turns_release(ash_turns *t)
{
    ash__mutex_release(&t->lock);
}

void ash__turn_begin(ash_turn *turn, ash_turns *turns)
{
    *turn = (ash_turn){.turns = turns};
    ash__cond_init(&turn->first);
    current = turn;
}

void ash__turn_end(ash_turn *turn)
{
    /* Nobody may find a turn in the line whose memory is gone. */
    ash__turn_leave(turn);
    ash__cond_release(&turn->first);
    current = NULL;
}

ash_turn *ash__turn_current(void)
{
    return current;
}

void ash__turn_queued(ash_turn *turn)
{
    if (turn != NULL && turn->queued != NULL)
        turn->queued(turn);
}

static void take_out(ash_turn *turn)
{
    ash_turns *t = turn->turns;
    ash__mutex_assert_held(&t->lock);
    if (!turn->placed)
        return;
    if (turn->prev != NULL)
        turn->prev->next = turn->next;
    else
        t->first = turn->next;
    if (turn->next != NULL)
        turn->next->prev = turn->prev;
    else
        t->last = turn->prev;
    turn->placed = false;
    if (turn->prev == NULL && t->first != NULL)
        ash__cond_signal(&t->first->first);
    /* Its owner may be waiting to become the first, and has no place to wait for now. */
    ash__cond_signal(&turn->first);
}

void ash__turn_place(ash_turn *turn)
{
    if (turn == NULL)
        return;
    ash_turns *t = turn->turns;
    ash__mutex_lock(&t->lock);
    /* It may have made a change before; what counts is the last. */
    take_out(turn);
    turn->prev = t->last;
    turn->next = NULL;
    turn->placed = true;
    if (t->last != NULL)
        t->last->next = turn;
    else
        t->first = turn;
    t->last = turn;
    ash__mutex_unlock(&t->lock);
}

void ash__turn_leave(ash_turn *turn)
{
    if (turn == NULL)
        return;
    ash__mutex_lock(&turn->turns->lock);
    take_out(turn);
    ash__mutex_unlock(&turn->turns->lock);
}

void ash__turn_wait(ash_turn *turn)
{
    ash_turns *t = turn->turns;
    int64_t until = ash__clock_deadline(ASH_TURN_MS);
    ash__mutex_lock(&t->lock);
    while (turn->placed && t->first != turn)
        /* Whoever is before it for that long may be waiting for a client that does not read: they
         * all lose their places, and this one tells what it did. */
        if (!ash__cond_wait_until(&turn->first, &t->lock, until))
            while (turn->placed && t->first != turn)
                take_out(t->first);
    ash__mutex_unlock(&t->lock);
}
