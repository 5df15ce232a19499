/* SPDX-License-Identifier: Apache-2.0 */
#include "query/project/node.h"

#include "base/mem.h"

#include <string.h>

ash_project_node *ash__project_node_new(const char *name, size_t len)
{
    ash_project_node *n = ash__new(ash_project_node);
    n->name = ash__strndup(name, len);
    return n;
}

void ash__project_node_free(ash_project_node *n)
{
    if (n == NULL)
        return;
    for (uint32_t i = 0; i < n->count; i++)
        ash__project_node_free(n->children[i]);
    ash__matcher_free(n->elem_match);
    ash__expr_free(n->expr);
    ash__free(n->children);
    ash__free(n->name);
    ash__free(n);
}

ash_project_node *ash__project_node_find(const ash_project_node *n, const char *name, size_t len)
{
    for (uint32_t i = 0; i < n->count; i++)
        if (strncmp(n->children[i]->name, name, len) == 0 && n->children[i]->name[len] == 0)
            return n->children[i];
    return NULL;
}

void ash__project_node_add(ash_project_node *parent, ash_project_node *child)
{
    parent->children =
        ash__realloc_array(parent->children, parent->count + 1, sizeof *parent->children);
    parent->children[parent->count++] = child;
}

void ash__projection_free(ash_projection *p)
{
    if (p == NULL)
        return;
    ash__project_node_free(p->root);
    ash__free(p);
}

bool ash__projection_needs_details(const ash_projection *p)
{
    return p->needs_details;
}

const ash_feature *ash__projection_features(void)
{
    static const ash_feature table[] = {
        {"$", "full", ""},      {"$elemMatch", "full", ""},
        {"$slice", "full", ""}, {"$meta", "refused", "40218: there is no metadata"},
        {NULL, NULL, NULL},
    };
    return table;
}
