/* SPDX-License-Identifier: Apache-2.0 */
/* Building the tree of modifiers: paths, positional parts, conflicts. */
#include "query/update/node.h"

#include "base/mem.h"

#include <string.h>

static bool all_digits(const char *name)
{
    return name[0] != '\0' && name[strspn(name, "0123456789")] == '\0';
}

int ash__field_order(const char *a, const char *b)
{
    bool a_number = all_digits(a);
    bool b_number = all_digits(b);
    if (!a_number || !b_number)
        return a_number != b_number ? (a_number ? -1 : 1) : strcmp(a, b);
    /* Without leading zeros the longer number is the greater one, however long. */
    const char *x = a + strspn(a, "0");
    const char *y = b + strspn(b, "0");
    if (strlen(x) != strlen(y))
        return strlen(x) < strlen(y) ? -1 : 1;
    int order = strcmp(x, y);
    return order != 0 ? order : strcmp(a, b);
}

ash_update_node *ash__update_node_new(ash_arena *a, enum ash_update_node_kind kind)
{
    ash_update_node *n = ash__arena_alloc(a, sizeof *n);
    *n = (ash_update_node){.kind = kind};
    return n;
}

/* Where name is or belongs among n's children. */
static uint32_t child_slot(const ash_update_node *n, const char *name, bool *found)
{
    uint32_t low = 0, high = n->count;
    *found = false;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        int order = ash__field_order(n->names[mid], name);
        if (order == 0) {
            *found = true;
            return mid;
        }
        if (order < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void insert_child(ash_arena *a, ash_update_node *n, uint32_t at, const char *name,
                         ash_update_node *child)
{
    if (n->count == n->capacity) {
        uint32_t capacity = n->capacity == 0 ? 4 : 2 * n->capacity;
        const char **names = ash__arena_alloc(a, capacity * sizeof *names);
        ash_update_node **children = ash__arena_alloc(a, capacity * sizeof *children);
        if (n->count > 0) {
            memcpy(names, n->names, n->count * sizeof *names);
            memcpy(children, n->children, n->count * sizeof *children);
        }
        n->names = names;
        n->children = children;
        n->capacity = capacity;
    }
    memmove(n->names + at + 1, n->names + at, (n->count - at) * sizeof *n->names);
    memmove(n->children + at + 1, n->children + at, (n->count - at) * sizeof *n->children);
    n->names[at] = name;
    n->children[at] = child;
    n->count++;
}

/* A part of a path: its text, and the name under which it is a child. */
struct part {
    const char *name;
    bool is_items;
    bool last;
};

static int check_part(ash_update_parser *p, const char *path, const char *text, size_t len,
                      bool first)
{
    bool dollar = len > 0 && text[0] == '$';
    if (len == 0)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_EMPTY_FIELD_NAME,
                                "The update path '%s' contains an empty field name, which is not "
                                "allowed.",
                                path);
    if (dollar && first && len > 1 && text[1] == '[')
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Cannot have array filter identifier (i.e. '$[<id>]') element in "
                                "the first position in path '%s'",
                                path);
    if (dollar && first && len == 1)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Cannot have positional (i.e. '$') element in the first position "
                                "in path '%s'",
                                path);
    return 0;
}

/* $[] and $[id]: the identifier must have a filter. */
static int items_part(ash_update_parser *p, const char *path, const char *text, size_t len,
                      struct part *out)
{
    if (text[len - 1] != ']')
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Invalid array filter in path '%s'", path);
    out->is_items = true;
    out->name = ash__arena_text(p->u->arena, text + 2, len - 3);
    ash_array_filter *filter = ash__update_filter_find(p->u, out->name);
    if (out->name[0] != '\0' && filter == NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "No array filter found for identifier '%s' in path '%s'", out->name,
                                path);
    if (filter != NULL)
        filter->used = true;
    return 0;
}

static int conflict(ash_update_parser *p, const char *path, const char *end)
{
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_CONFLICTING_UPDATE_OPERATORS,
                            "Updating the path '%s' would create a conflict at '%.*s'", path,
                            (int)(end - path), path);
}

static int next_part(ash_update_parser *p, const char *path, const char **at, struct part *out)
{
    const char *text = *at;
    size_t len = strcspn(text, ".");
    int rc = check_part(p, path, text, len, text == path);
    if (rc != 0)
        return rc;
    *out = (struct part){.last = text[len] == '\0'};
    *at = text + len;
    if (len > 1 && text[0] == '$' && text[1] == '[')
        return items_part(p, path, text, len, out);
    out->name = ash__arena_text(p->u->arena, text, len);
    if (strcmp(out->name, "$") == 0)
        /* Whoever applies it has to match with details. */
        p->u->uses_position = true;
    return 0;
}

static int check_path(ash_update_parser *p, const char *path)
{
    int parts = 1, positions = 0;
    if (path[0] == '\0')
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_EMPTY_FIELD_NAME,
                                "An empty update path is not valid.");
    for (const char *c = path; *c != '\0'; c++) {
        parts += *c == '.';
        positions += *c == '$' && c > path && c[-1] == '.' && (c[1] == '.' || c[1] == '\0');
    }
    if (positions > 1)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Too many positional (i.e. '$') elements found in path '%s'", path);
    if (parts > ASH_DOC_MAX_DEPTH)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_OVERFLOW,
                                "update path has more than %d parts", ASH_DOC_MAX_DEPTH);
    return 0;
}

static int add_leaf(ash_update_parser *p, const char *path, const ash_mod *mod)
{
    ash_update_node *n = p->u->root;
    const char *at = path;
    for (;;) {
        struct part part;
        bool found;
        const char *start = at;
        int rc = next_part(p, path, &at, &part);
        if (rc != 0)
            return rc;
        enum ash_update_node_kind kind = part.is_items ? ASH_UPDATE_ITEMS : ASH_UPDATE_FIELDS;
        /* The first child says what kind of node it is: names and $[] cannot meet in one. */
        if (n->count == 0)
            n->kind = kind;
        else if (n->kind != kind)
            return conflict(p, path, start > path ? start - 1 : at);
        uint32_t slot = child_slot(n, part.name, &found);
        /* One path may not end at, above or below where another one ends. */
        if (found && (part.last || n->children[slot]->kind == ASH_UPDATE_LEAF))
            return conflict(p, path, at);
        if (!found)
            insert_child(
                p->u->arena, n, slot, part.name,
                ash__update_node_new(p->u->arena, part.last ? ASH_UPDATE_LEAF : ASH_UPDATE_FIELDS));
        n = n->children[slot];
        if (part.last) {
            n->mod = mod;
            return 0;
        }
        at++;
    }
}

/* A field of the document itself whose name begins with '$' is for inserts alone. */
static void note_dollar(ash_update *u, const ash_mod *m)
{
    char name[8] = "";
    size_t len = strcspn(m->path, ".");
    if (len < sizeof name)
        memcpy(name, m->path, len);
    if (m->path[0] == '$' && !ash__name_is_reference(name) && strcmp(m->op->name, "$unset") != 0 &&
        strcmp(m->op->name, "$setOnInsert") != 0)
        /* Refused only when it is applied: whether it is an insert is not known here. */
        u->dollar_path = m->path;
}

int ash__update_add_mod(ash_update_parser *p, const ash_mod_op *op, const char *path,
                        ash_value operand, ash_mod **out)
{
    int rc = check_path(p, path);
    if (rc != 0)
        return rc;
    ash_mod *m = ash__arena_alloc(p->u->arena, sizeof *m);
    /* In the list before anything can fail, which is where its matcher is freed from. */
    *m = (ash_mod){.op = op, .path = path, .operand = operand, .next = p->u->mods};
    p->u->mods = m;
    if (out != NULL)
        *out = m;
    rc = add_leaf(p, path, m);
    if (rc == 0)
        note_dollar(p->u, m);
    return rc;
}
