/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/places.h"

#include "base/mem.h"

#include <string.h>

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
    p->op = ash__op_of(op);
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
            ash__free(p->slots[i]->name);
            ash__free(p->slots[i]);
        }
    ash__free(p->slots);
    bson_value_destroy(&p->top);
    ash__free(p);
}

/* Where it is, or would be. */
static ash_tree_place **slot_of(const ash_tree_places *p, const bson_value_t *id)
{
    size_t i = (size_t)ash__hash_id(id) & (p->capacity - 1);
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

/* Where it lies is said later: one that is met again until then lies in a circle. */
static ash_tree_place *add(ash_tree_places *p, const bson_value_t *id)
{
    ash_tree_place *place = ash__new(ash_tree_place);
    bson_value_copy(id, &place->id);
    place->keep = (ash_tree_keep)ASH_TREE_KEEP_INIT;
    place->keep.all = true;
    /* Roots are named by texts, everything else has an ObjectId. */
    place->anchored = id->value_type == BSON_TYPE_UTF8;
    *slot_of(p, id) = place;
    p->count++;
    make_room(p);
    return place;
}

/* above: of the folder in which this one lies; NULL: this is a root, or nobody knows. */
static void fill(const ash_tree_places *p, ash_tree_place *place, const ash_tree_entry *folder,
                 const ash_tree_place *above)
{
    place->below = ash__same_id(&place->id, &p->top);
    place->deleted = folder->is_deleted;
    place->in_file = !folder->is_folder;
    if (above != NULL) {
        place->reached = above->reached;
        place->anchored = above->anchored;
        place->below = place->below || above->below;
        place->deleted = place->deleted || above->deleted;
        place->in_file = place->in_file || above->in_file;
        place->keep = above->keep;
        place->name = ash__strdup(folder->name);
        place->above = above;
        place->depth = above->depth + 1;
        place->path_len = above->path_len + 1 + strlen(folder->name);
    }
    (void)ash__keep_read(folder, &place->keep);
}

/* A place that was added, and its folder. */
typedef struct step {
    ash_tree_place *place;
    ash_tree_entry *folder; /* NULL: there is none of that id */
} step;

typedef struct way {
    step *steps;
    size_t count, capacity;
} way;

/* One up.  *id: of the folder to go on with; NULL: there is none. */
static int climb_to(ash_tree_places *p, way *w, const bson_value_t **id, ash_error *err)
{
    step s = {.place = add(p, *id)};
    bool is_root;
    int rc = ash__tree_folder(p->tree, *id, &p->op, &s.folder, &is_root, err);
    *id = NULL;
    if (rc == 0 && is_root)
        s.place->reached = true;
    else if (s.folder != NULL && s.folder->parent.value_type != BSON_TYPE_EOD)
        *id = &s.folder->parent;
    w->steps = ash__grow_array(w->steps, w->count, &w->capacity, sizeof *w->steps);
    w->steps[w->count++] = s;
    return rc;
}

/* Up to the first place that is known, so that each folder is looked up once. */
static int look_up(ash_tree_places *p, const bson_value_t *id, ash_error *err)
{
    const ash_tree_place *above = NULL;
    way w = {0};
    int rc = 0;
    while (rc == 0 && id != NULL && (above = *slot_of(p, id)) == NULL)
        rc = climb_to(p, &w, &id, err);
    while (w.count > 0) {
        step s = w.steps[--w.count];
        if (rc == 0 && s.folder != NULL)
            fill(p, s.place, s.folder, above);
        above = s.place;
        ash_tree_entry_free(s.folder);
    }
    ash__free(w.steps);
    return rc;
}

int ash__places_find(ash_tree_places *p, const ash_tree_entry *e, const ash_tree_place **out,
                     ash_error *err)
{
    *out = NULL;
    if (e->parent.value_type == BSON_TYPE_EOD)
        return 0;
    int rc = *slot_of(p, &e->parent) == NULL ? look_up(p, &e->parent, err) : 0;
    if (rc == 0)
        *out = *slot_of(p, &e->parent);
    return rc;
}

static bool is_too_long(size_t depth, size_t path_len)
{
    return depth > ASH_TREE_DEPTH_MAX || path_len > ASH_TREE_PATH_MAX;
}

bool ash__place_is_last(const ash_tree_place *place, const ash_tree_entry *e)
{
    return place->reached && !is_too_long(place->depth, place->path_len) &&
           is_too_long(place->depth + 1, place->path_len + 1 + strlen(e->name));
}

/* Names that lie in one another are kept once: paths of a long chain of folders come to the square
 * of its length. */
void ash__place_set_path(const ash_tree_place *place, ash_tree_entry *e)
{
    size_t name_len = strlen(e->name), at = place->path_len + 1 + name_len;
    if (!place->reached || at > ASH_TREE_PATH_MAX) {
        ash__entry_set_path(e, ASH_TREE_NOWHERE);
        return;
    }
    char *path = ash__alloc(at + 1);
    path[at] = '\0';
    memcpy(path + at - name_len, e->name, name_len);
    at -= name_len + 1;
    path[at] = '/';
    for (; place->above != NULL; place = place->above) {
        size_t len = strlen(place->name);
        memcpy(path + at - len, place->name, len);
        at -= len + 1;
        path[at] = '/';
    }
    ash__free(e->path);
    e->path = path;
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
