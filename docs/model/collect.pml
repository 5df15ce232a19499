/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of a tree, and collections that delete what nobody names (docs/TREES.md, How it works).
 *
 * Four contents: A and B, which may be made of one another; a piece P, a delta of either; and L, a
 * list of P.  Entries have a current version and one in the history.  There are a writer of B, one of
 * A (which is there already) or, with -DPIECES, one that stores P before the commit that makes L,
 * one that copies, deletes and prunes, and two collectors, which try anything at any moment: what
 * they saw before their transaction is only a hint.
 *
 * Each atomic is one operation outside of transactions, or one transaction.  With -DSNAPSHOT a
 * transaction is two of them: it reads at its begin, and is undone at its end if a document that it
 * writes was written meanwhile; all else goes unnoticed, as on MongoDB.
 *
 * At each commit: what a version names is there, and what a content is made of.  Whoever has to
 * begin again does so since somebody else was done.  All writers come to an end, and one more
 * collection leaves nothing that is not named.
 *
 * -DANY_AGE     collectors take young contents, too: safe, but pieces may go before their list is
 *               there, and a writer who has given its bytes away fails    must fail
 *               with -DMAY_FAIL, which allows him to                      must hold
 * -DNO_HOLD     a writer who found his content there trusts that          must fail
 * -DNO_RELY     a writer trusts that what he builds on is still there     must fail
 * -DNO_LOOK     a collector trusts what it saw before its transaction     must fail
 * -DNO_BASES    a collector does not look at what the contents were made of that went  must fail
 * -DNO_TOUCH_HELD, -DNO_TOUCH_BASE  with -DSNAPSHOT: looks, but writes nothing     must fail */

#ifndef EDITS
#define EDITS    2 /* copies, deletions and prunings */
#endif
#ifndef DELETIONS
#define DELETIONS 1 /* transactions of each collector */
#endif

#define NONE     0
#define A        1
#define B        2
#define P        3
#define L        4
#define CONTENTS 5 /* NONE is none */
#define ENTRIES  4

bool there[CONTENTS];
byte base[CONTENTS]; /* what it is made of */
byte current[ENTRIES], past[ENTRIES]; /* the content that the version names */

/* Of each process: what its open transaction will write; somebody else writes[me] some of that since;
 * of writers: somebody else was done since they looked. */
#define PROCESSES 6
short writes[PROCESSES];
bool spoiled[PROCESSES], moved[3];
byte busy; /* all that are not done */
bool counted_on; /* P, by a living writer, who renews it from time to time */

#define content_bit(c) (1 << (c))
#define current_bit(e) (1 << (CONTENTS + (e)))
#define past_bit(e)    (1 << (CONTENTS + ENTRIES + (e)))

#define names(c) (current[0] == c || current[1] == c || current[2] == c || current[3] == c || \
                  past[0] == c || past[1] == c || past[2] == c || past[3] == c)
#define is_base(c) (base[A] == c || base[B] == c || base[P] == c || base[L] == c)
#define named(c) (names(c) || is_base(c))
#ifdef ANY_AGE
#define is_young(c) false
#else
/* Whatever else is there may have become old meanwhile. */
#define is_young(c) ((c) == P && counted_on)
#endif
#define whole(c) ((c) == NONE || there[c])

#ifdef SNAPSHOT
#define OVERLAP ; } ; atomic {
#else
#define OVERLAP ;
#endif

inline invariants()
{
    assert(whole(current[0]) && whole(current[1]) && whole(current[2]) && whole(current[3]));
    assert(whole(past[0]) && whole(past[1]) && whole(past[2]) && whole(past[3]));
    assert(whole(base[A]) && whole(base[B]) && whole(base[P]) && whole(base[L]))
}

/* What was written, if anything. */
inline tell_others(me, written)
{
    q = 0;
    do
    :: q < PROCESSES ->
        if
        :: q != me ->
            if
            :: q < 3 -> moved[q] = true
            :: else
            fi;
            if
            :: (writes[q] & (written)) != 0 -> spoiled[q] = true
            :: else
            fi
        :: else
        fi;
        q++
    :: else -> break
    od;
    q = 0
}

inline end(me)
{
    writes[me] = 0; spoiled[me] = false
}

/* ---- a new version whose content is stored in its commit ---- */

/* Outside of transactions: is it there, and if not, what will it be made of? */
inline seal(me, c)
{
    atomic {
        moved[me] = false;
        exists = there[c]; on = NONE;
        if
        :: !exists && c != L && there[A] && c != A -> on = A
        :: !exists && c != L && there[B] && c != B -> on = B
        :: !exists && c == L -> on = P
        :: exists || c != L -> skip
        fi
    }
}

/* The transaction.  ok: committed; again: the content moved, seal once more; neither: what
 * ash_store_transact() runs once more by itself. */
inline store(me, e, c)
{
    atomic {
        ok = false; again = false; writes[me] = 0;
        old = current[e];
        if
        :: exists ->
#ifndef NO_HOLD
            again = !there[c];
#ifndef NO_TOUCH_HELD
            writes[me] = content_bit(c)
#else
            skip
#endif
#else
            skip
#endif
        :: else ->
            again = there[c];
#ifndef NO_RELY
            again = again || !whole(on);
#ifndef NO_TOUCH_BASE
            writes[me] = content_bit(c) | (on != NONE -> content_bit(on) : 0)
#else
            writes[me] = content_bit(c)
#endif
#else
            writes[me] = content_bit(c)
#endif
        fi;
        if
        :: old != NONE && there[old] -> /* that it is let go is written there, too */
            writes[me] = writes[me] | content_bit(old)
        :: else
        fi;
        writes[me] = writes[me] | current_bit(e) | past_bit(e)
        OVERLAP
        if
        :: again -> skip
        :: !again && spoiled[me] -> skip
        :: else ->
            d_step {
                if
                :: !exists -> there[c] = true; base[c] = on
                :: else
                fi;
                if
                :: old != NONE -> past[e] = old
                :: else
                fi;
                current[e] = c;
                ok = true;
                tell_others(me, writes[me]);
                invariants()
            }
        fi;
        /* Nobody begins again for nothing; a list without its pieces is judged by its writer. */
        assert(ok || moved[me] || (c == L && !there[P]));
        end(me);
        old = NONE
    }
}

#define put(me, e, c) \
    do \
    :: !ok -> \
        seal(me, c); \
        do \
        :: store(me, e, c); \
           if \
           :: ok || again -> break \
           :: else \
           fi \
        od \
    :: else -> break \
    od

proctype writer(byte me; byte e; byte c)
{
    byte on, old, q;
    bool exists, ok, again;
    put(me, e, c);
    atomic { exists = false; again = false; ok = false; on = NONE; busy-- }
}

/* ---- a content in pieces ---- */

/* P is stored, or renewed if it is there. */
inline store_piece(me)
{
    do
    :: !ok ->
        atomic {
            moved[me] = false;
            exists = there[P]; on = NONE; again = false;
            if
            :: !exists && there[A] -> on = A
            :: !exists && there[B] -> on = B
            :: true
            fi
        }
        if
        :: exists ->
            atomic { /* one update */
                ok = there[P];
                if /* renewed: young once more */
                :: ok -> counted_on = true; tell_others(me, content_bit(P))
                :: else -> assert(moved[me])
                fi
            }
        :: else ->
            atomic {
                writes[me] = content_bit(P); again = there[P];
#ifndef NO_RELY
                again = again || !whole(on);
#ifndef NO_TOUCH_BASE
                writes[me] = writes[me] | (on != NONE -> content_bit(on) : 0);
#endif
#endif
                skip
                OVERLAP
                if
                :: again || spoiled[me] -> assert(moved[me])
                :: else ->
                    d_step {
                        there[P] = true; base[P] = on; counted_on = true;
                        ok = true;
                        tell_others(me, writes[me]);
                        invariants()
                    }
                fi;
                end(me)
            }
        fi
    :: else -> break
    od
}

proctype piece_writer(byte me; byte e)
{
    byte on, old, q;
    bool exists, ok, again;
    store_piece(me);
    atomic { ok = false; again = false; exists = false }
    do
    :: !ok ->
        seal(me, L);
        do
        :: store(me, e, L);
           if
           :: ok || again -> break
           :: else
           fi
        od;
        if
        :: again && !there[P] ->
            /* Its bytes are not here any more: the file has to be sent once more. */
#ifndef MAY_FAIL
            assert(false);
#endif
            break
        :: else
        fi
    :: else -> break
    od;
    atomic { exists = false; again = false; ok = false; on = NONE; counted_on = false; busy-- }
}

/* ---- copies, deletions, pruning ---- */

inline copy(me)
{
    atomic {
        if
        :: c = current[0]
        :: c = past[0] /* a version, or an entry that comes back */
        :: c = past[2]
        fi;
        writes[me] = current_bit(3);
        again = !whole(c) || c == NONE || current[3] != NONE;
#ifndef NO_TOUCH_HELD
        writes[me] = writes[me] | content_bit(c)
#else
        skip
#endif
        OVERLAP
        if
        :: again || spoiled[me]
        :: else -> d_step { current[3] = c; tell_others(me, writes[me]); invariants() }
        fi;
        end(me);
        c = NONE; again = false
    }
}

inline delete(me, e)
{
    atomic {
        c = current[e];
        writes[me] = current_bit(e) | past_bit(e) | (c != NONE -> content_bit(c) : 0);
        again = c == NONE
        OVERLAP
        if
        :: again || spoiled[me]
        :: else -> d_step { current[e] = NONE; past[e] = c; tell_others(me, writes[me]); invariants() }
        fi;
        end(me);
        c = NONE; again = false
    }
}

inline prune(me, e)
{
    atomic {
        past[e] = NONE;
        tell_others(me, past_bit(e))
    }
}

proctype editor(byte me)
{
    byte edits, c, q;
    bool again;
    do
    :: edits == EDITS -> break
    :: edits < EDITS ->
        edits++;
        if
        :: copy(me)
        :: delete(me, 0)
        :: delete(me, 2)
        :: prune(me, 0)
        :: prune(me, 2)
        fi
    od;
    atomic { edits = 0; busy-- }
}

/* ---- collection ---- */

#define goes(c) (there[c] && !is_young(c) && !named(c))

inline remove_content(c)
{
    there[c] = false; base[c] = NONE
}

inline may_go(c)
{
    if
    :: (among & content_bit(c)) != 0 && goes(c) -> gone = gone | content_bit(c)
    :: else
    fi
}

inline remove_if(c)
{
    if
    :: (gone & content_bit(c)) != 0 -> remove_content(c)
    :: else
    fi
}

inline look()
{
    may_go(A); may_go(B); may_go(P); may_go(L)
}

proctype collector(byte me)
{
    byte deletions, q;
    short among, gone;
    do
    :: deletions == DELETIONS -> break
    :: deletions < DELETIONS ->
        deletions++;
        atomic {
            if /* several in one transaction, or one */
            :: among = 31
            :: among = content_bit(A)
            :: among = content_bit(B)
            :: among = content_bit(P)
            fi;
#ifdef NO_LOOK
            look() }; atomic {
#else
            look();
#endif
            writes[me] = gone
            OVERLAP
            if
            :: gone == 0 || spoiled[me]
            :: else ->
                d_step {
                    remove_if(A); remove_if(B); remove_if(P); remove_if(L);
                    tell_others(me, gone);
                    invariants()
                }
            fi;
            end(me);
            among = 0; gone = 0
        }
    od;
    atomic { deletions = 0; busy-- }
}

/* When all are done: the last collection, of all contents in some order, and then of what those were
 * made of that went. */
proctype last_collector()
{
    byte c, down, next;
    if
    :: busy == 0 -> down = 0
    :: busy == 0 -> down = 1
    fi;
    d_step {
        c = 1;
        do
        :: c < CONTENTS ->
            next = (down -> CONTENTS - c : c);
            do
            :: next != NONE && goes(next) ->
#ifdef NO_BASES
                remove_content(next); next = NONE
#else
                down = down | (base[next] << 1);
                remove_content(next);
                next = down >> 1; down = down & 1
#endif
            :: else -> break
            od;
            c++
        :: else -> break
        od;
        assert((!there[A] || named(A)) && (!there[B] || named(B)) && (!there[P] || named(P)) &&
               (!there[L] || named(L)))
    }
}

init
{
    atomic {
        there[A] = true;
        current[0] = A; /* entry 0 becomes B, 1 will be A as well, 2 L, 3 a copy */
        busy = 5;
        run writer(0, 0, B);
#ifdef PIECES
        run piece_writer(2, 2);
#else
        run writer(1, 1, A);
#endif
        run editor(3);
        run collector(4);
        run collector(5);
        run last_collector()
    }
}
