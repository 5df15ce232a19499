/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/places.h"

#include "base/hash.h"
#include "base/mem.h"

struct ash_tree_places {
    ash_tree *tree;
    ash_op op;
    bson_value_t top;
    ash_tree_place **slots; /* open addressing; a power of two, at most half full */
    size_t capacity, count;
};

ash_tree_places *ash__places_new(ash_tree *tree, const bson_value_t *top, const ash_op *op)
{
    ash_tree_places *p = ash__new(ash_tree_places);
    p->tree = tree;
    p->op = ash__tree_op(op);
    bson_value_copy(top, &p->top);
    p->capacity = 64;
    p->slots = ash__alloc_array(p->capacity, sizeof(ash_tree_place *));
    return p;
}

void ash__places_free(ash_tree_places *p)
{
    if (p == NULL)
        return;
    for (size_t i = 0; i < p->capacity; i++)
        if (p->slots[i] != NULL) {
            bson_value_destroy(&p->slots[i]->id);
            ash__free(p->slots[i]->path);
            ash__free(p->slots[i]);
        }
    ash__free(p->slots);
    bson_value_destroy(&p->top);
    ash__free(p);
}

static uint64_t hash(const bson_value_t *id)
{
    bson_t doc = BSON_INITIALIZER;
    bson_append_value(&doc, "", 0, id);
    uint64_t sum = ash__checksum(bson_get_data(&doc), doc.len);
    bson_destroy(&doc);
    return sum;
}

/* Where it is, or would be. */
static ash_tree_place **slot_of(const ash_tree_places *p, const bson_value_t *id)
{
    size_t i = (size_t)hash(id) & (p->capacity - 1);
    while (p->slots[i] != NULL && !ash__same_id(&p->slots[i]->id, id))
        i = (i + 1) & (p->capacity - 1);
    return &p->slots[i];
}

static void make_room(ash_tree_places *p)
{
    ash_tree_place **before = p->slots;
    size_t n = p->capacity;
    if (p->count * 2 < n)
        return;
    p->capacity = n * 2;
    p->slots = ash__alloc_array(p->capacity, sizeof(ash_tree_place *));
    for (size_t i = 0; i < n; i++)
        if (before[i] != NULL)
            *slot_of(p, &before[i]->id) = before[i];
    ash__free(before);
}

/* Roots are named by texts, everything else has an ObjectId: what hangs from a text that is not
 * this tree's root belongs to another one. */
static bool is_anchored(const ash_tree_chain *chain, const bson_value_t *parent, bool reached)
{
    const bson_value_t *last = chain->count > 0 ? &chain->items[0]->parent : parent;
    return reached || last->value_type == BSON_TYPE_UTF8;
}

static ash_tree_place *new_place(const ash_tree_places *p, const ash_tree_chain *chain,
                                 bool reached)
{
    ash_tree_place *place = ash__new(ash_tree_place);
    place->reached = reached;
    place->path = ash__strdup(chain->count > 0 && reached ? ash__chain_last(chain)->path : "/?");
    place->keep = (ash_tree_keep)ASH_TREE_KEEP_INIT;
    (void)ash__keep_find(chain, &place->keep);
    for (size_t i = 0; i < chain->count; i++) {
        place->below = place->below || ash__same_id(&chain->items[i]->id, &p->top);
        place->deleted = place->deleted || chain->items[i]->is_deleted;
        place->in_file = place->in_file || !chain->items[i]->is_folder;
    }
    return place;
}

int ash__places_find(ash_tree_places *p, const ash_tree_entry *e, const ash_tree_place **out,
                     ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    bool reached = false;
    *out = NULL;
    if (e->parent.value_type == BSON_TYPE_EOD)
        return 0;
    ash_tree_place **slot = slot_of(p, &e->parent);
    *out = *slot;
    if (*slot != NULL)
        return 0;
    int rc = ash__tree_climb(p->tree, e, &p->op, &chain, &reached, err);
    if (rc == 0) {
        ash_tree_place *place = new_place(p, &chain, reached);
        place->anchored = is_anchored(&chain, &e->parent, reached);
        bson_value_copy(&e->parent, &place->id);
        *slot = place;
        *out = place;
        p->count++;
        make_room(p);
    }
    ash__chain_release(&chain);
    return rc;
}

int ash__places_hold(ash_tree_places *p, const ash_tree_entry *e, ash_error *err)
{
    const ash_tree_place *found = NULL;
    int rc = ash__places_find(p, e, &found, err);
    if (rc == 0 && found != NULL)
        (*slot_of(p, &e->parent))->held = true;
    return rc;
}

bool ash__places_is_held(const ash_tree_places *p, const bson_value_t *id)
{
    const ash_tree_place *found = *slot_of(p, id);
    return found != NULL && found->held;
}
