/* SPDX-License-Identifier: Apache-2.0 */
/* The filter as a list of conditions that all have to hold.  What stands below $or or $not is one
 * condition; plan.c looks into an $or if it has to. */
#include "query/plan/bounds.h"

#include "base/mem.h"

#include <string.h>

bool ash__paths_share_field(const char *a, const char *b)
{
    size_t len = strcspn(a, ".");
    return len == strcspn(b, ".") && memcmp(a, b, len) == 0;
}

static void add(ash_conjuncts *c, const char *path, const ash_match_node *node,
                const ash_match_node *elem)
{
    if (c->count == c->capacity) {
        c->capacity = c->capacity == 0 ? 8 : 2 * c->capacity;
        c->items = ash__realloc_array(c->items, c->capacity, sizeof *c->items);
    }
    c->items[c->count++] = (ash_conjunct){path, node, elem, false};
}

static const char *join(ash_conjuncts *c, const char *prefix, const char *path)
{
    if (prefix == NULL)
        return path;
    size_t prefix_len = strlen(prefix), path_len = strlen(path);
    char *joined = ash__scrap_alloc(&c->scrap, prefix_len + path_len + 2);
    memcpy(joined, prefix, prefix_len);
    joined[prefix_len] = '.';
    memcpy(joined + prefix_len + 1, path, path_len);
    return joined;
}

static void collect(ash_conjuncts *c, const ash_match_node *n, const char *prefix,
                    const ash_match_node *elem)
{
    /* Inside of an $elemMatch paths begin at the element. */
    const char *path = n->cond.path == NULL ? NULL : join(c, prefix, n->cond.path);
    switch (n->cond.kind) {
    case ASH_COND_ALWAYS:
        return;
    case ASH_COND_AND:
        for (uint32_t i = 0; i < n->cond.child_count; i++)
            collect(c, ash__match_child(n, i), prefix, elem);
        return;
    case ASH_COND_ELEM_MATCH_DOC:
        /* Kept besides what is inside it: the ranges alone never decide it. */
        add(c, NULL, n, elem);
        collect(c, ash__match_child(n, 0), path, elem != NULL ? elem : n);
        return;
    default:
        add(c, path, n, elem);
    }
}

void ash__conjuncts_of(const ash_match_node *root, ash_conjuncts *out)
{
    memset(out, 0, sizeof *out);
    collect(out, root, NULL, NULL);
}

void ash__conjuncts_release(ash_conjuncts *c)
{
    ash__free(c->items);
    ash__scrap_release(&c->scrap);
    memset(c, 0, sizeof *c);
}
