/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_PROJECT_NODE_H
#define ASH_QUERY_PROJECT_NODE_H

/* A projection is a tree of field names. */

#include "query/expr/expr.h"
#include "query/project/project.h"

enum ash_project_kind {
    ASH_PROJECT_TREE,       /* a field with children */
    ASH_PROJECT_INCLUDE,    /* {a: 1} */
    ASH_PROJECT_EXCLUDE,    /* {a: 0} */
    ASH_PROJECT_SLICE,      /* {a: {$slice: …}} */
    ASH_PROJECT_ELEM_MATCH, /* {a: {$elemMatch: …}}, not below another field */
    ASH_PROJECT_COMPUTED    /* {a: "$b"} */
};

typedef struct ash_project_node {
    enum ash_project_kind kind;
    char *name;
    bool positional;     /* on the way to a "path.$": the first array here is cut to one element */
    bool has_computed;   /* itself or below */
    int64_t skip, limit; /* SLICE; limit < 0: only skip, counted from the end when negative */
    ash_matcher *elem_match;
    ash_expr *expr;
    struct ash_project_node **children;
    uint32_t count;
} ash_project_node;

struct ash_projection {
    ash_project_node *root;
    bool exclusion; /* what the tree does not name stays */
    bool needs_details;
    bool has_computed;
};

ash_project_node *ash__project_node_new(const char *name, size_t len);
void ash__project_node_free(ash_project_node *n);
ash_project_node *ash__project_node_find(const ash_project_node *n, const char *name, size_t len);
void ash__project_node_add(ash_project_node *parent, ash_project_node *child);

#endif
