/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes to values.  Fields and constants are given as views; only what did not exist before is
 * made in the arena. */
#include "query/expr/node.h"

#include "base/budget.h"
#include "base/mem.h"

#include <string.h>

static int eval_object(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_builder b = ASH_BUILDER_INIT;
    int rc = 0;
    ash__builder_begin(&b);
    for (uint32_t i = 0; rc == 0 && i < n->count; i++) {
        ash_value v;
        rc = ash__eval_node(n->args[i], e, &v);
        if (rc == 0) {
            ash__builder_value(&b, n->names[i], v);
            rc = ash__check_size(e, b.buf.len);
        }
    }
    if (rc == 0)
        return ash__make_doc(e, &b, out);
    ash__builder_release(&b);
    return rc;
}

static int eval_array(const ash_node *n, ash_eval *e, ash_value *out)
{
    ash_value *items;
    int rc = ash__eval_args(n, e, &items);
    return rc != 0 ? rc : ash__array_of(e, items, n->count, out);
}

static ash_value path_of_value(ash_value v, const char *path, ash_arena *arena);

/* Arrays on the way give the array of what their documents have at the rest of the path. */
static ash_value path_through_array(ash_value array, const char *path, ash_arena *arena)
{
    ash_builder b = ASH_BUILDER_INIT;
    uint32_t n = 0;
    ash__builder_begin(&b);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(array)); ash__doc_iter_next(&it);) {
        /* Left out, not null: the result may be shorter than the array. */
        if (it.value.type != BSON_TYPE_DOCUMENT)
            continue;
        ash_value v = path_of_value(it.value, path, arena);
        if (!ash__value_is_missing(v))
            ash__builder_item(&b, n++, v);
    }
    ash__builder_end(&b);
    ash_doc doc = ash__arena_adopt(arena, &b.buf);
    ash__builder_release(&b);
    return ash__value_of_array(doc);
}

static ash_value path_of_value(ash_value v, const char *path, ash_arena *arena)
{
    while (v.type == BSON_TYPE_DOCUMENT) {
        /* Nearly all names fit; only for longer ones is memory taken. */
        char part[256];
        size_t len = strcspn(path, ".");
        bool last = path[len] == '\0';
        if (last) {
            return ash__doc_get(ash__value_doc(v), path);
        } else if (len < sizeof part) {
            memcpy(part, path, len);
            part[len] = '\0';
            v = ash__doc_get(ash__value_doc(v), part);
        } else {
            v = ash__doc_get(ash__value_doc(v), ash__arena_text(arena, path, len));
        }
        path += len + 1;
    }
    if (v.type == BSON_TYPE_ARRAY)
        return path_through_array(v, path, arena);
    return ASH_VALUE_MISSING;
}

ash_value ash__eval_path(ash_doc doc, const char *path, ash_arena *arena)
{
    return path_of_value(ash__value_of_doc(doc), path, arena);
}

static ash_value eval_variable(const ash_node *n, ash_eval *e)
{
    for (const ash_vars *v = e->vars; v != NULL; v = v->outer) {
        if (strcmp(v->name, n->name) == 0)
            return n->path == NULL ? v->value : path_of_value(v->value, n->path, e->arena);
    }
    return ASH_VALUE_MISSING;
}

static int check_budget(ash_eval *e)
{
    if (ash__query_cancelled(e->env))
        return ash__fail(e->err, ASH_EINTERRUPTED, "operation was interrupted");
    int rc = ash__arena_check(e->arena, e->err);
    return rc != 0 ? rc : ash__budget_step(e->err);
}

/* Everything but literals may take memory, and a loop may evaluate it a million times. */
int ash__eval_node(const ash_node *n, ash_eval *e, ash_value *out)
{
    if (n->kind == ASH_NODE_LITERAL) {
        *out = n->literal;
        return 0;
    }
    *out = ASH_VALUE_MISSING;
    int rc = check_budget(e);
    if (rc != 0)
        return rc;
    switch (n->kind) {
    case ASH_NODE_PATH:
        *out = n->path == NULL ? ash__value_of_doc(e->root)
                               : ash__eval_path(e->root, n->path, e->arena);
        return 0;
    case ASH_NODE_VARIABLE:
        *out = eval_variable(n, e);
        return 0;
    case ASH_NODE_OBJECT:
        return eval_object(n, e, out);
    case ASH_NODE_ARRAY:
        return eval_array(n, e, out);
    default:
        return n->op->eval(n, e, out);
    }
}

int ash__eval_arg(const ash_node *n, uint32_t i, ash_eval *e, ash_value *out)
{
    *out = ASH_VALUE_MISSING;
    if (i >= n->count || n->args[i] == NULL)
        return 0;
    return ash__eval_node(n->args[i], e, out);
}

int ash__eval_array(const ash_node *n, ash_eval *e, int32_t code, const char *complaint,
                    ash_value *out, bool *null)
{
    int rc = ash__eval_arg(n, 0, e, out);
    *null = rc == 0 && ash__nullish(*out);
    if (rc != 0 || *null || out->type == BSON_TYPE_ARRAY)
        return rc;
    return ash__fail_server(e->err, ASH_EINVAL, code, "%s%s", complaint, ash__type_text(*out));
}

int ash__eval_args(const ash_node *n, ash_eval *e, ash_value **out)
{
    ash_value *items = ash__arena_alloc(e->arena, n->count * sizeof *items);
    for (uint32_t i = 0; i < n->count; i++) {
        int rc = ash__eval_arg(n, i, e, &items[i]);
        if (rc != 0)
            return rc;
    }
    *out = items;
    return 0;
}

int ash__eval_with(const ash_node *n, ash_eval *e, const char *name, ash_value v, ash_value *out)
{
    ash_vars var = {name, v, e->vars};
    ash_eval inner = *e;
    inner.vars = &var;
    return ash__eval_node(n, &inner, out);
}
