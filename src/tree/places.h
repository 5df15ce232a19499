/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_PLACES_H
#define ASH_TREE_PLACES_H

/* Where folders lie, remembered while many entries are looked at: by the folder's id, its path, its
 * rule of history, and whether it is the folder in question or below it. */

#include "tree/keep.h"

typedef struct ash_tree_place {
    bson_value_t id;
    char *name;                         /* as it is, or was last; own */
    const struct ash_tree_place *above; /* where it lies; with `reached` */
    size_t depth, path_len; /* names in its path, and its bytes; the root's: 0; with `reached` */
    bool reached;           /* it hangs from this tree's root */
    bool below;             /* `top`, or below it */
    bool anchored;          /* it hangs from some root */
    bool deleted;           /* it, or a folder above it */
    bool in_file;           /* likewise: is no folder */
    bool held;              /* something in it stays: ash__places_hold() */
    ash_tree_keep keep;
} ash_tree_place;

typedef struct ash_tree_places ash_tree_places;
/* top: copied. */
ash_tree_places *ash__places_new(ash_tree *tree, const bson_value_t *top, const ash_op *op);
void ash__places_free(ash_tree_places *p);
/* Of the folder in which the entry lies; borrowed until free.  For a root's own document: of the
 * root.  NULL: nothing says where. */
int ash__places_find(ash_tree_places *p, const ash_tree_entry *e, const ash_tree_place **out,
                     ash_error *err);
/* Of an entry that lies there. */
void ash__place_set_path(const ash_tree_place *place, ash_tree_entry *e);
/* The path of such an entry is longer than a path may be; the folder's own is not. */
bool ash__place_is_last(const ash_tree_place *place, const ash_tree_entry *e);
/* Remembers that the entry's folder has something in it that stays. */
int ash__places_hold(ash_tree_places *p, const ash_tree_entry *e, ash_error *err);
/* Was that said of the folder of this id? */
bool ash__places_is_held(const ash_tree_places *p, const bson_value_t *id);

#endif
