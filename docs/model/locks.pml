/* SPDX-License-Identifier: Apache-2.0 */
/* One lock document and one file, shared by two Ashlar clients that may pause anywhere and a peer
 * that makes any of the npm package's moves at any moment, whether it holds the lock or not.
 *
 * Clients never look at a clock here: a paused one does not either.  What must hold then holds by
 * what the document says alone (docs/LOCKS.md, obligations 1 to 5).  Each step marked atomic is one
 * findAndModify, or one commit of a bucket.
 *
 * Between two of one process a write lock may go on by one move, which the next one learns of later;
 * a token is asked for long after the grant, or never; and readers come in two at a time.  Who stands
 * in the queue is not modelled beyond that: any entry may have ended, so any client may try.
 *
 * -DNO_FENCE    commits do not check the lock                must fail
 * -DNO_OWNER    releases and renewals do not check it either must fail
 * -DNO_SEQUENCE tokens start over with the document          must fail
 * -DNO_PASS_OWNER the lock goes on to the next without a look at whose it is   must fail
 * -DNO_BASE_OWNER tokens are read without a look at whose document it is       must fail
 *
 * -DANNOUNCED   commits without transactions: announced in the document, done in a second step if
 *               their mark still stands, and whoever is granted the lock takes marks away first.
 *               The peer does not change the file or remove the document then: that is the case
 *               which docs/LOCKS.md says cannot be had
 * -DNO_REVOKE   with it: marks are left alone                must fail */

#ifndef ROUNDS
#define ROUNDS     1 /* grants that the second client asks for; the first one: one more */
#endif
#ifndef PEER_MOVES
#define PEER_MOVES 2
#endif
#define LIVES      2 /* how often a life may end unrenewed */
#define RANGE      16

/* The lock document.  incarnation stands for its _id; 0: there is none. */
byte incarnation, made;
byte reads, writes, read_locks;
bool write_lock, write_req, expired;
byte base;          /* 0: none yet */
byte entry_n, entry_w; /* our readers' entry in `holders` */
#ifdef ANNOUNCED
byte pending[2];    /* announced by client 0 and 1: which of its changes; 0: none */
byte mark[2];       /* in the files document */
#endif

byte high = 1;      /* ROOT.lockseq */

/* The file: a version, and the token it was last changed with. */
byte version, file_token;

byte max_issued;    /* highest token handed out so far */
byte peer_writes, peer_incarnation; /* of the peer's own write grant, while it is the holder */

/* The other client waits for a write lock; and its grant, from the move to when it learns of it. */
bool waits[2], passed;
byte pass_inc, pass_writes, pass_count, pass_base;
#ifdef ANNOUNCED
byte pass_pending;
#endif
/* Whose write lock nobody has ended, rightly or by the package's ways: client 0 or 1, 3: the peer's;
 * plus 1.  Only looked at. */
byte alive;

#define named       (write_lock -> 0 : (entry_w == writes -> entry_n : 0))
#define anonymous   (write_lock || expired || read_locks < named -> 0 : read_locks - named)
#define live_named  (expired -> 0 : named)
#define free_write  ((!write_lock || expired) && anonymous + live_named == 0)
#define free_read   (!write_lock || expired)

inline make_if_missing()
{
    if
    :: incarnation == 0 ->
        made++;
        incarnation = made;
        reads = 0; writes = 0; read_locks = 0; write_lock = false; write_req = false;
        expired = false; base = 0; entry_n = 0; entry_w = 0;
#ifdef ANNOUNCED
        pending[0] = 0; pending[1] = 0;
#endif
    :: else
    fi
}

/* The client's own move from here on; what it learns of is the rest. */
inline grant_write(who)
{
    write_lock = true; write_req = false; read_locks = 0; expired = false;
    writes++; entry_n = 0; alive = who + 1
}

/* Before the caller learns of the grant. */
inline take_marks_away()
{
#ifdef ANNOUNCED
#ifndef NO_REVOKE
    atomic {
        if
        :: my_pending != 0 && mark[1 - me] == my_pending -> mark[1 - me] = 0
        :: else
        fi
    }
    atomic {
        if
        :: my_pending != 0 && pending[1 - me] == my_pending -> pending[1 - me] = 0
        :: else
        fi
    }
#endif
#endif
    skip
}

#define owns_grant (incarnation == my_inc && write_lock && writes == my_writes)
#ifdef NO_PASS_OWNER
#define may_pass (incarnation != 0 && write_lock)
#else
#define may_pass owns_grant
#endif
#ifdef NO_BASE_OWNER
#define may_read_base (incarnation != 0)
#else
#define may_read_base owns_grant
#endif
#ifdef NO_OWNER
#define owns_write (incarnation != 0 && write_lock)
#define owns_read  (incarnation != 0 && read_locks > 0)
#else
#define owns_write (incarnation == my_inc && write_lock && writes == my_writes)
#define owns_read  (incarnation == my_inc && !write_lock && writes == my_writes && \
                    entry_w == my_writes && entry_n > 0)
#endif
#ifdef NO_FENCE
#define may_commit true
#else
#define may_commit (incarnation == my_inc && write_lock && writes == my_writes && \
                    file_token <= my_token)
#endif

#ifdef ANNOUNCED
inline commit()
{
    atomic { my_mark++; mark[me] = my_mark }
    atomic {
        if
        :: may_commit -> pending[me] = my_mark; granted = true
        :: else -> mark[me] = 0; granted = false
        fi
    }
    atomic {
        if
        :: granted && mark[me] == my_mark ->
            assert(version == seen);
            version++; seen = version; file_token = my_token; mark[me] = 0
        :: else -> granted = false
        fi
    }
    atomic {
        if
        :: pending[me] == my_mark -> pending[me] = 0
        :: else
        fi
    }
}
#else
inline commit()
{
    atomic {
        if
        :: may_commit ->
            /* Obligation 1: nobody changed the file since we looked. */
            assert(version == seen);
            version++; seen = version; file_token = my_token;
            granted = true
        :: else -> granted = false
        fi
    }
}
#endif

inline find_token()
{
#ifdef NO_SEQUENCE
    my_token = my_count
#else
    /* The grant's answer shows the base.  Without one: reserve a range, give it to the document if
     * that has none yet, look again; while the grant stands. */
    if
    :: my_base != 0 -> my_token = my_base + my_count
    :: else ->
        atomic { my_base = high; high = high + RANGE }
        atomic {
            if
            :: owns_grant && base == 0 -> base = my_base
            :: else
            fi
        }
        atomic {
            if
            :: may_read_base -> my_token = base + my_count
            :: else -> my_token = 0 /* lost before it was asked for */
            fi
        }
    fi
#endif
}

proctype client(byte rounds; byte me)
{
    byte my_inc, my_writes, my_count, my_token, my_base, seen;
    bool granted;
#ifdef ANNOUNCED
    byte my_pending, my_mark;
#endif
    do
    :: rounds == 0 -> break
    :: rounds > 0 ->
        d_step {
            /* What is forgotten makes no different states. */
            rounds--; granted = false;
            my_inc = 0; my_writes = 0; my_count = 0; my_token = 0; my_base = 0; seen = 0
        }
        if
        :: true -> /* a write lock, an update of two commits, and the end of it */
            atomic {
                make_if_missing();
                if
                :: free_write ->
                    assert(alive == 0);
                    grant_write(me);
                    my_inc = incarnation; my_writes = writes; my_count = reads + writes;
                    my_base = base;
#ifdef ANNOUNCED
                    my_pending = pending[1 - me];
#endif
                    granted = true
                :: else -> write_req = true; waits[me] = true
                fi
            }
            if
            :: granted
            :: atomic { !granted && !passed && waits[me] -> waits[me] = false } /* its time is over */
            :: atomic { !granted && passed && !waits[me] ->
                    passed = false; granted = true;
                    my_inc = pass_inc; my_writes = pass_writes; my_count = pass_count;
                    my_base = pass_base;
                    pass_inc = 0; pass_writes = 0; pass_count = 0; pass_base = 0;
#ifdef ANNOUNCED
                    my_pending = pass_pending;
                    pass_pending = 0;
#endif
               }
            fi;
            if
            :: !granted -> skip
            :: granted ->
                take_marks_away();
                if
                :: true -> find_token()
                :: true -> my_token = 0 /* nobody asks */
                fi;
                if
                :: my_token == 0 -> skip
                :: else ->
                    d_step {
                        /* Obligation 3: while it is held, no later token is out. */
                        assert(!(incarnation == my_inc && write_lock && writes == my_writes) ||
                               my_token > max_issued);
                        if
                        :: my_token > max_issued -> max_issued = my_token
                        :: else
                        fi
                    }
                    seen = version;
                    commit();
                    if
                    :: granted -> commit()
                    :: else
                    fi
                fi;
                if
                :: atomic { owns_write -> expired = false } /* renew */
                :: true
                fi;
                if
                :: true -> atomic {
                        if
                        :: owns_write ->
                            write_lock = false; write_req = false; expired = true; alive = 0
                        :: else
                        fi
                   }
                :: true -> atomic {
                        if
                        :: owns_write -> incarnation = 0; alive = 0 /* remove */
                        :: else
                        fi
                   }
                :: atomic { waits[1 - me] && may_pass -> /* to the next in the queue */
                        /* Obligation 5: who has lost it takes it from nobody. */
                        assert(alive == 0 || alive == me + 1);
                        grant_write(1 - me);
                        waits[1 - me] = false; passed = true;
                        pass_inc = incarnation; pass_writes = writes; pass_count = reads + writes;
                        pass_base = base;
#ifdef ANNOUNCED
                        pass_pending = pending[me];
#endif
                   }
                :: true /* dies */
                fi
            fi
        :: true -> /* a read lock: two looks at the file, believed if it was held to the end */
            atomic {
                make_if_missing();
                if
                :: free_read ->
                    assert(alive == 0);
                    if
                    :: my_count = 1
                    :: my_count = 2
                    fi;
                    read_locks = (write_lock -> 0 : anonymous + live_named) + my_count;
                    if
                    :: write_lock || expired || entry_w != writes || entry_n == 0 ->
                        entry_n = my_count; entry_w = writes
                    :: else -> entry_n = entry_n + my_count
                    fi;
                    write_lock = false; expired = false; reads = reads + my_count;
                    my_inc = incarnation; my_writes = writes; granted = true;
#ifdef ANNOUNCED
                    my_pending = pending[1 - me];
#endif
                :: else
                fi
            }
            if
            :: !granted -> skip
            :: granted ->
                take_marks_away();
                seen = version;
                my_base = version;
                do
                :: my_count == 0 -> break
                :: my_count > 0 -> atomic {
                    my_count--;
                    if
                    :: owns_read && entry_n > 1 && read_locks >= entry_n -> /* others stay */
                        assert(seen == my_base);
                        read_locks--;
                        entry_n--
                    :: owns_read ->
                        /* Obligation 4: a reader that still held its lock saw one version. */
                        assert(seen == my_base);
                        read_locks = anonymous + named - 1;
                        entry_n--;
                        if
                        :: read_locks == 0 -> expired = true
                        :: else
                        fi
                    :: else
                    fi
                   }
                od
            fi
        fi
    od
}

/* The package: it checks no ownership, so its holders' state is not even kept. */
proctype peer()
{
    byte moves;
    do
    :: moves == PEER_MOVES -> break
    :: moves < PEER_MOVES ->
        moves++;
        if
        :: true -> atomic { /* obtainReadLock */
                make_if_missing();
                if
                :: (!write_lock && !write_req) || expired ->
                    read_locks++; reads++; write_lock = false; write_req = false; expired = false;
                    alive = 0
                :: else
                fi
           }
        :: true -> atomic { /* obtainWriteLock, and what it writes while it holds it */
                make_if_missing();
                if
                :: (expired && write_req) || (!write_lock && read_locks == 0) ->
                    write_lock = true; write_req = false; read_locks = 0; writes++;
                    expired = false; peer_writes = writes; peer_incarnation = incarnation;
                    alive = 3
                :: else -> write_req = true
                fi
           }
#ifndef ANNOUNCED
        :: atomic {
                incarnation == peer_incarnation && write_lock && writes == peer_writes && !expired ->
                version++
           }
        :: atomic { incarnation != 0 && write_lock -> incarnation = 0; alive = 0 } /* removeLock */
#endif
        :: atomic { incarnation != 0 && read_locks > 0 -> read_locks--; /* releaseLock */
                if
                :: read_locks == 0 && !write_lock -> expired = true
                :: else
                fi
           }
        :: atomic { incarnation != 0 && write_lock ->
                write_lock = false; write_req = false; expired = true; alive = 0 }
        :: atomic { incarnation != 0 -> expired = false }               /* renewLock */
        :: atomic { incarnation != 0 -> write_req = false }             /* a writer timed out */
        :: skip
        fi
    od
}

proctype time()
{
    byte lives;
    do
    :: lives == LIVES -> break
    :: lives < LIVES -> lives++;
        atomic { expired = true; alive = 0 }
    od
}

init
{
    atomic {
        run client(ROUNDS + 1, 0);
        run client(ROUNDS, 1);
        run peer();
        run time()
    }
}
