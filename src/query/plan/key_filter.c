/* SPDX-License-Identifier: Apache-2.0 */
/* Values are read back from a key, and the conditions on them are tried; what the key cannot tell
 * is unsure, and remains so through $and, $or, $nor and $not unless something else decides.
 *
 * A key has forgotten types: int32, int64, double and decimal of one value; string and symbol;
 * null, undefined and missing.  So only conditions are tried for which these are alike. */
#include "query/plan/key_filter.h"

#include "base/mem.h"
#include "bson/keycode_read.h"
#include "query/match/node.h"

#include <math.h>
#include <string.h>

/* So many keys show whether it is of use; if none was decided, reading keys only costs time. */
enum { TRIES = 64 };

typedef struct part {
    ash_keycode_room room;
    ash_value value;
    bool known; /* value is what the key says; if it is null, the field may be missing */
} part;

struct ash_key_filter {
    const ash_matcher *matcher;
    const ash_index_desc *index; /* whose pattern may be another one each time */
    part *parts;
    uint32_t count; /* also when the index is gone */
    uint32_t tried;
    uint32_t decided;
};

/* Whoever names a position may mean an item or a field, and the key does not tell. */
static bool names_position(const char *path)
{
    const char *rest = path;
    uint32_t index;
    while (rest != NULL) {
        const char *at = rest;
        if (ash__path_index(at, ash__path_part(at, &rest), &index))
            return true;
    }
    return false;
}

static const part *part_of(const ash_key_filter *f, const char *path)
{
    for (uint32_t i = 0; path != NULL && i < f->count; i++)
        if (strcmp(f->index->pattern->parts[i].path, path) == 0)
            return &f->parts[i];
    return NULL;
}

static bool is_tried(enum ash_condition_kind kind)
{
    switch (kind) {
    case ASH_COND_EQ:
    case ASH_COND_GT:
    case ASH_COND_GTE:
    case ASH_COND_LT:
    case ASH_COND_LTE:
    case ASH_COND_IN:
    case ASH_COND_MOD:
    case ASH_COND_REGEX:
        return true;
    default:
        return false;
    }
}

static bool any_tried(const ash_key_filter *f, const ash_match_node *n)
{
    if (is_tried(n->cond.kind))
        return part_of(f, n->cond.path) != NULL;
    bool logical = n->cond.kind == ASH_COND_AND || n->cond.kind == ASH_COND_OR ||
                   n->cond.kind == ASH_COND_NOR || n->cond.kind == ASH_COND_NOT;
    for (uint32_t i = 0; logical && i < n->cond.child_count; i++)
        if (any_tried(f, ash__match_child(n, i)))
            return true;
    return false;
}

ash_key_filter *ash__key_filter_new(const ash_matcher *m, const ash_index_desc *index)
{
    const ash_key_pattern *pattern = index->pattern;
    ash_key_filter f = {.matcher = m, .index = index, .count = pattern->count};
    for (uint32_t i = 0; i < pattern->count; i++)
        if (names_position(pattern->parts[i].path))
            return NULL;
    /* Folded strings cannot be read back, and one key of several does not speak for the
     * document. */
    if (pattern->has_collation || index->multikey)
        return NULL;
    f.parts = ash__alloc_array(pattern->count, sizeof *f.parts);
    if (!any_tried(&f, m->root)) {
        ash__free(f.parts);
        return NULL;
    }
    ash_key_filter *out = ash__new(ash_key_filter);
    *out = f;
    return out;
}

void ash__key_filter_free(ash_key_filter *f)
{
    if (f == NULL)
        return;
    for (uint32_t i = 0; i < f->count; i++)
        ash__keycode_room_release(&f->parts[i].room);
    ash__free(f->parts);
    ash__free(f);
}

static void read_parts(ash_key_filter *f, ash_doc key)
{
    size_t at = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        const ash_key_part *from = &f->index->pattern->parts[i];
        part *p = &f->parts[i];
        p->known = false;
        if (at >= key.len)
            continue;
        size_t bytes = ash__keycode_read_part(key.data + at, key.len - at, from->descending,
                                              &p->room, &p->value);
        p->known = bytes > 0 && !from->hashed && !ash__value_is_missing(p->value);
        /* Without its length nothing behind a part can be found. */
        at = bytes > 0 ? at + bytes : key.len;
    }
}

/* Where a number's type decides how it is cut, or an extreme compares with every type. */
static bool depends_on_type(const ash_match_node *n, ash_value v)
{
    if (n->cond.kind != ASH_COND_MOD || v.type != BSON_TYPE_DOUBLE)
        return false;
    double number = ash__value_double(v);
    return !(fabs(number) < 9007199254740992.0) || number != floor(number);
}

static enum ash_key_verdict verdict_of(bool matches)
{
    return matches ? ASH_KEY_MATCHES : ASH_KEY_FAILS;
}

static enum ash_key_verdict negate(enum ash_key_verdict v)
{
    if (v == ASH_KEY_UNSURE)
        return v;
    return verdict_of(v == ASH_KEY_FAILS);
}

static enum ash_key_verdict try_leaf(const ash_key_filter *f, const ash_match_node *n,
                                     ash_match_run *run)
{
    int32_t ignored;
    const part *p = is_tried(n->cond.kind) ? part_of(f, n->cond.path) : NULL;
    if (p == NULL || !p->known || depends_on_type(n, p->value))
        return ASH_KEY_UNSURE;
    bool matches = ash__match_leaf(run, n, p->value, &ignored);
    return run->has_failed ? ASH_KEY_UNSURE : verdict_of(matches);
}

static enum ash_key_verdict try_node(const ash_key_filter *f, const ash_match_node *n,
                                     ash_match_run *run);

/* decisive: what one child says for all. */
static enum ash_key_verdict try_children(const ash_key_filter *f, const ash_match_node *n,
                                         enum ash_key_verdict decisive, ash_match_run *run)
{
    enum ash_key_verdict all = negate(decisive);
    for (uint32_t i = 0; i < n->cond.child_count; i++) {
        enum ash_key_verdict one = try_node(f, ash__match_child(n, i), run);
        if (one == decisive)
            return one;
        if (one == ASH_KEY_UNSURE)
            all = one;
    }
    return all;
}

static enum ash_key_verdict try_node(const ash_key_filter *f, const ash_match_node *n,
                                     ash_match_run *run)
{
    switch (n->cond.kind) {
    case ASH_COND_AND:
        return try_children(f, n, ASH_KEY_FAILS, run);
    case ASH_COND_OR:
        return try_children(f, n, ASH_KEY_MATCHES, run);
    case ASH_COND_NOR:
        return negate(try_children(f, n, ASH_KEY_MATCHES, run));
    case ASH_COND_NOT:
        return negate(try_node(f, ash__match_child(n, 0), run));
    case ASH_COND_ALWAYS:
        return ASH_KEY_MATCHES;
    case ASH_COND_NEVER:
        return ASH_KEY_FAILS;
    default:
        return try_leaf(f, n, run);
    }
}

enum ash_key_verdict ash__key_filter_test(ash_key_filter *f, ash_doc key)
{
    /* What fails here fails again on the document, and is told then. */
    ash_error failed = ASH_ERROR_INIT;
    ash_match_run run = {.matcher = f->matcher, .failed = &failed};
    read_parts(f, key);
    enum ash_key_verdict v = try_node(f, f->matcher->root, &run);
    if (run.has_failed)
        v = ASH_KEY_UNSURE;
    if (f->tried <= TRIES) {
        f->tried++;
        f->decided += v != ASH_KEY_UNSURE;
    }
    return v;
}

bool ash__key_filter_is_idle(const ash_key_filter *f)
{
    return f->tried > TRIES && f->decided == 0;
}
