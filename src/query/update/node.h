/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_UPDATE_NODE_H
#define ASH_QUERY_UPDATE_NODE_H

/* Inside of updates.
 *
 * All modifiers of one update form one tree by the parts of their paths; two modifiers that meet on
 * one path conflict while it is built.  Applying walks the tree and the document together and
 * writes the new document from front to back.  Where several branches lead to the same element
 * (`$`, `$[]`, `$[id]` beside plain positions) they are walked as a set. */

#include "query/expr/node.h"
#include "query/update/update.h"

typedef struct ash_mod ash_mod;
typedef struct ash_update_run ash_update_run;
typedef struct ash_update_parser ash_update_parser;

/* A modifier: one row of a table. */
typedef struct ash_mod_op {
    const char *name;
    bool creates; /* makes the field where it is missing */
    int (*parse)(ash_update_parser *p, ash_mod *m, ash_value operand);
    /* The field's new value; missing: no field.  An unchanged field is *out = old. */
    int (*apply)(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out);
    int variant;
} ash_mod_op;

struct ash_mod {
    const ash_mod_op *op;
    const char *path; /* as it was written */
    ash_value operand;
    const char *source;   /* $rename */
    ash_matcher *matcher; /* $pull */
    struct ash_push *push;
    ash_mod *next; /* all of an update, for freeing */
};

enum ash_update_node_kind {
    ASH_UPDATE_LEAF,
    ASH_UPDATE_FIELDS, /* children are names, positions, or "$" */
    ASH_UPDATE_ITEMS   /* children are identifiers of array filters; "" is $[] */
};

typedef struct ash_update_node {
    enum ash_update_node_kind kind;
    const ash_mod *mod;
    const char **names; /* sorted by ash__field_order */
    struct ash_update_node **children;
    uint32_t count;
    uint32_t capacity;
} ash_update_node;

typedef struct ash_array_filter {
    const char *name;
    ash_matcher *matcher; /* tests {name: element} */
    bool used;
} ash_array_filter;

typedef struct ash_update_stage ash_update_stage;

struct ash_update {
    enum ash_update_kind kind;
    const ash_query_env *env;
    ash_arena *arena; /* holds the copied specification and the tree */
    ash_doc replacement;
    ash_update_node *root;
    ash_mod *mods;
    ash_array_filter *filters;
    uint32_t filter_count;
    bool uses_position;
    const char *dollar_path;  /* one that no document but a new one may have; or NULL */
    ash_update_stage *stages; /* pipeline */
    uint32_t stage_count;
};

struct ash_update_parser {
    ash_update *u;
    ash_error *err;
};

/* One application to one document. */
/* Where an update is at work: a field, and the one it lies in (NULL: the document). */
typedef struct ash_update_place {
    const struct ash_update_place *outer;
    const char *name;
} ash_update_place;

struct ash_update_run {
    const ash_update *u;
    ash_doc doc; /* as it was */
    int32_t position;
    bool is_insert;
    ash_arena *arena;
    ash_builder *out;
    const ash_update_place *place;
    ash_error *err;
};

/* Field names in the order in which new fields are made: numbers by value, before other names
 * compared by bytes. */
int ash__field_order(const char *a, const char *b);

extern const ash_mod_op ash__update_field_ops[];
extern const ash_mod_op ash__update_list_ops[];
extern const ash_mod_op ash__update_rename_source;

/* Parsing. */
int ash__update_parse_operators(ash_update_parser *p, ash_doc spec);
int ash__update_parse_filters(ash_update_parser *p, const bson_t *array_filters);
ash_array_filter *ash__update_filter_find(ash_update *u, const char *name);
int ash__update_add_mod(ash_update_parser *p, const ash_mod_op *op, const char *path,
                        ash_value operand, ash_mod **out);
ash_update_node *ash__update_node_new(ash_arena *a, enum ash_update_node_kind kind);

/* Applying operators: the whole new document into r->out. */
int ash__update_apply_tree(ash_update_run *r, const ash_update_node *root);
bool ash__mod_creates(const ash_mod *m, const ash_update_run *r);
/* " document {_id: 1}", for errors. */
const char *ash__run_id_text(const ash_update_run *r, char *buf, size_t size_bytes);

/* What the changes were, for change streams. */
void ash__update_changes(const ash_update *u, ash_doc before, ash_doc after, int32_t position,
                         ash_builder *changes);
void ash__doc_changes(ash_doc before, ash_doc after, ash_builder *changes);

/* Pipeline updates. */
int ash__update_parse_pipeline(ash_update_parser *p, ash_doc stages);
int ash__update_apply_pipeline(ash_update_run *r);
void ash__update_free_pipeline(ash_update *u);

#endif
