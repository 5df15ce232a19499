/* SPDX-License-Identifier: Apache-2.0 */
/* The shape of a tree where transactions notice one another only by what both write, as on MongoDB:
 * a folder must not come to lie in itself, and nothing lies in a folder that is deleted.
 *
 * Folders 1, 2 and 3 under the root, 0.  Movers move any folder into any other; one deletes a folder
 * with all below it; one puts a file into a folder.  A transaction is two atomic steps: it reads at
 * its begin, and is undone at its end if something that it writes was written meanwhile.
 *
 * -DNO_SHAPE   moves of folders do not claim the shape of the tree            must fail
 * -DNO_FOLDER  what goes into a folder, and deletions, do not claim folders   must fail */

#define ROOT    0
#define FOLDERS 4
#define GONE    9
#define FILE    4 /* its place in `parent` */

byte parent[FOLDERS + 1]; /* GONE: it is not there */

#define PROCESSES 4
short writes[PROCESSES]; /* what its open transaction will write */
bool spoiled[PROCESSES];

#define entry_bit(e) (1 << (e))
#ifdef NO_SHAPE
#define shape_bit 0
#else
#define shape_bit (1 << 5)
#endif
#ifdef NO_FOLDER
#define claim_bit(f) 0
#else
#define claim_bit(f) (1 << (6 + (f)))
#endif

/* Three folders have at most three above them. */
#define up(e)    ((e) == ROOT || (e) == GONE -> (e) : parent[e])
#define lies_in(e, f) ((e) == (f) || up(e) == (f) || up(up(e)) == (f) || up(up(up(e))) == (f))
#define is_there(e) ((e) == ROOT || parent[e] != GONE)
#define reaches_root(e) (parent[e] == GONE || up(up(up(up(e)))) == ROOT)

inline invariants()
{
    /* Neither a circle nor a folder above that is gone. */
    assert(reaches_root(1) && reaches_root(2) && reaches_root(3) && reaches_root(FILE))
}

inline tell_others(me)
{
    q = 0;
    do
    :: q < PROCESSES ->
        if
        :: q != me && (writes[q] & writes[me]) != 0 -> spoiled[q] = true
        :: else
        fi;
        q++
    :: else -> break
    od;
    q = 0
}

inline end(me)
{
    writes[me] = 0; spoiled[me] = false; possible = false
}

inline choose(f)
{
    if
    :: f = 1
    :: f = 2
    :: f = 3
    fi
}

proctype mover(byte me)
{
    byte what, to, q;
    bool possible;
    atomic {
        choose(what);
        if
        :: to = ROOT
        :: choose(to)
        fi;
        possible = is_there(what) && is_there(to) && !lies_in(to, what);
        writes[me] = entry_bit(what) | claim_bit(to) | shape_bit
    }
    atomic {
        if
        :: possible && !spoiled[me] -> d_step { parent[what] = to; tell_others(me); invariants() }
        :: else
        fi;
        end(me)
    }
}

/* A folder and all that lies in it, each of which is written and, as a folder, claimed. */
inline add_if_below(e)
{
    if
    :: is_there(e) && lies_in(e, what) -> below = below | entry_bit(e)
    :: else
    fi
}

inline take_out(e)
{
    if
    :: (below & entry_bit(e)) != 0 -> parent[e] = GONE
    :: else
    fi
}

proctype remover(byte me)
{
    byte what, below, q;
    bool possible;
    atomic {
        choose(what);
        possible = is_there(what);
        add_if_below(1); add_if_below(2); add_if_below(3); add_if_below(FILE);
        writes[me] = below | ((below & entry_bit(1)) != 0 -> claim_bit(1) : 0) |
                     ((below & entry_bit(2)) != 0 -> claim_bit(2) : 0) |
                     ((below & entry_bit(3)) != 0 -> claim_bit(3) : 0)
    }
    atomic {
        if
        :: possible && !spoiled[me] ->
            d_step {
                take_out(1); take_out(2); take_out(3); take_out(FILE);
                tell_others(me);
                invariants()
            }
        :: else
        fi;
        end(me)
    }
}

proctype writer(byte me)
{
    byte to, q;
    bool possible;
    atomic {
        choose(to);
        possible = is_there(to) && parent[FILE] == GONE;
        writes[me] = entry_bit(FILE) | claim_bit(to)
    }
    atomic {
        if
        :: possible && !spoiled[me] -> d_step { parent[FILE] = to; tell_others(me); invariants() }
        :: else
        fi;
        end(me)
    }
}

init
{
    atomic {
        parent[FILE] = GONE;
        if /* side by side, or one in another */
        :: true
        :: parent[2] = 1
        :: parent[2] = 1; parent[3] = 2
        fi;
        run mover(0);
        run mover(1);
        run remover(2);
        run writer(3)
    }
}
