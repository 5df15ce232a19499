/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_EXPR_NODE_H
#define ASH_QUERY_EXPR_NODE_H

/* Inside of expressions: the tree that parsing makes, and what operators need to evaluate it.
 *
 * Each operator is one row in the table of its family (ash__expr_string_ops …): how many arguments
 * it takes or how it parses, and the function that evaluates it.  Nodes live in the arena of their
 * expression. */

#include "query/expr/expr.h"

#define ASH_EXPR_MAX_DEPTH       200
#define ASH_EXPR_MAX_ARENA_BYTES (256u * 1024 * 1024)

typedef struct ash_node ash_node;
typedef struct ash_expr_op ash_expr_op;

/* Variables that the parser has seen defined; innermost first. */
typedef struct ash_scope {
    const char *name;
    const struct ash_scope *outer;
} ash_scope;

typedef struct ash_parse {
    ash_arena *arena;
    const ash_query_env *env;
    const ash_scope *scope;
    int depth;
    ash_error *err;
} ash_parse;

typedef struct ash_eval {
    ash_doc root;
    const ash_vars *vars;
    ash_arena *arena;
    const ash_query_env *env;
    ash_error *err;
} ash_eval;

/* A named argument; required_code 0 = optional. */
typedef struct ash_op_param {
    const char *name;
    int32_t required_code;
} ash_op_param;

struct ash_expr_op {
    const char *name;
    int min_args;
    int max_args; /* -1: any number */
    int (*eval)(const ash_node *n, ash_eval *e, ash_value *out);
    int variant; /* tells apart operators that share eval */
    /* Either positional arguments (both NULL), named ones, or a parser of its own. */
    const ash_op_param *params;
    int32_t object_code;  /* params: the argument is no document */
    int32_t unknown_code; /* params: an unknown name */
    int (*parse)(ash_parse *p, ash_value spec, ash_node *n);
    const char *note; /* what differs from the server; NULL = nothing */
};

enum ash_node_kind {
    ASH_NODE_LITERAL,
    ASH_NODE_PATH,     /* path under the root */
    ASH_NODE_VARIABLE, /* name, then path or NULL */
    ASH_NODE_OBJECT,   /* names and args */
    ASH_NODE_ARRAY,
    ASH_NODE_OPERATOR
};

struct ash_node {
    enum ash_node_kind kind;
    const ash_expr_op *op;
    ash_node **args; /* an absent named argument is NULL */
    uint32_t count;
    const char **names; /* OBJECT: field names; operators: variables they bind */
    const char *path;
    const char *name;
    ash_value literal;
    void *extra; /* an operator's own parsed data */
};

extern const ash_expr_op ash__expr_accumulate_ops[];
extern const ash_expr_op ash__expr_arith_ops[];
extern const ash_expr_op ash__expr_array_ops[];
extern const ash_expr_op ash__expr_compare_ops[];
extern const ash_expr_op ash__expr_control_ops[];
extern const ash_expr_op ash__expr_convert_ops[];
extern const ash_expr_op ash__expr_date_ops[];
extern const ash_expr_op ash__expr_date_math_ops[];
extern const ash_expr_op ash__expr_find_ops[];
extern const ash_expr_op ash__expr_loop_ops[];
extern const ash_expr_op ash__expr_object_ops[];
extern const ash_expr_op ash__expr_regex_ops[];
extern const ash_expr_op ash__expr_set_ops[];
extern const ash_expr_op ash__expr_string_ops[];
const ash_expr_op *ash__expr_op_find(const char *name);

/* Parsing.  All results live in p->arena. */
int ash__expr_parse(ash_parse *p, ash_value spec, ash_node **out);
int ash__expr_parse_list(ash_parse *p, const ash_expr_op *op, ash_value spec, ash_node *n);
int ash__expr_parse_params(ash_parse *p, const ash_expr_op *op, ash_value spec, ash_node *n);
int ash__expr_check_variable(const char *name, ash_error *err); /* a user may define it */

/* Evaluating. */
int ash__eval_node(const ash_node *n, ash_eval *e, ash_value *out);
int ash__eval_arg(const ash_node *n, uint32_t i, ash_eval *e, ash_value *out); /* absent: missing */
int ash__eval_args(const ash_node *n, ash_eval *e, ash_value **out);
/* The first argument, which has to be an array; *null: it is missing or null, and so is the result.
 * complaint: what the error with this code says before the type that was met. */
int ash__eval_array(const ash_node *n, ash_eval *e, int32_t code, const char *complaint,
                    ash_value *out, bool *null);
ash_value ash__eval_path(ash_doc doc, const char *path, ash_arena *arena);
int ash__eval_with(const ash_node *n, ash_eval *e, const char *name, ash_value v, ash_value *out);

/* Values in the arena.  A finished builder is taken over and empty afterwards. */
size_t ash__arena_used(const ash_arena *a);
/* ASH_ENOMEM (146) when it, or all of them together, took too much. */
int ash__arena_check(ash_arena *a, ash_error *err);
void *ash__arena_copy(ash_arena *a, const void *data, size_t len_bytes);
const char *ash__arena_text(ash_arena *a, const char *text, size_t len_bytes); /* NUL-terminated */
ash_value ash__arena_value(ash_arena *a, ash_value v);
ash_doc ash__arena_adopt(ash_arena *a, ash_buffer *buf);
ash_value ash__make_int32(ash_arena *a, int32_t v);
ash_value ash__make_int64(ash_arena *a, int64_t v);
ash_value ash__make_double(ash_arena *a, double v);
ash_value ash__make_date(ash_arena *a, int64_t ms);
ash_value ash__make_string(ash_arena *a, const char *text, size_t len_bytes);
ash_value ash__make_text(ash_arena *a, const char *text);
ash_value ash__make_bool(bool v);
ash_value ash__make_null(void);
/* Ends with the size check: over 16 MiB is ASH_ETOOBIG (10334). */
int ash__make_array(ash_eval *e, ash_builder *b, ash_value *out);
int ash__make_doc(ash_eval *e, ash_builder *b, ash_value *out);
int ash__make_buffer_string(ash_eval *e, ash_buffer *buf, ash_value *out);
int ash__check_size(ash_eval *e, size_t len_bytes); /* while something grows */

bool ash__nullish(ash_value v); /* missing, null or undefined */
bool ash__is_string(ash_value v);
const char *ash__type_text(ash_value v); /* the type's alias; "missing" */

/* An array as a vector of views, in the arena. */
ash_value *ash__array_items(ash_arena *a, ash_value array, uint32_t *count);
int ash__array_of(ash_eval *e, const ash_value *items, uint32_t count, ash_value *out);

/* Reads a whole number that fits an int32; false otherwise. */
bool ash__value_as_int32(ash_value v, int32_t *out);

/* Numbers, dates and timestamps as the server prints them; false for other types. */
bool ash__scalar_text(ash_value v, char *buf, size_t size_bytes);

#endif
