/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the document of modifiers, and the array filters. */
#include "query/update/node.h"

#include "base/budget.h"
#include "base/mem.h"
#include "query/kit/value_text.h"

#include <string.h>

static const ash_mod_op *find_op(const char *name)
{
    static const ash_mod_op *const tables[] = {ash__update_field_ops, ash__update_list_ops};
    for (size_t t = 0; t < ASH_ARRAY_LEN(tables); t++) {
        for (const ash_mod_op *op = tables[t]; op->name != NULL; op++) {
            if (strcmp(op->name, name) == 0)
                return op;
        }
    }
    return NULL;
}

const ash_feature *ash__update_features(void)
{
    static const ash_mod_op *const tables[] = {ash__update_field_ops, ash__update_list_ops};
    static const ash_feature extra[] = {
        {"$each", "full", ""},
        {"$position", "full", ""},
        {"$slice", "full", ""},
        {"$sort", "full", ""},
        {"$ (positional)", "full", ""},
        {"$[] (all items)", "full", ""},
        {"$[<identifier>]", "full", "with arrayFilters"},
        {"pipeline", "full",
         "$set, $addFields, $unset, $project, $replaceRoot, $replaceWith; others are refused "
         "(72)"},
    };
    static ash_feature table[48];
    size_t n = 0;
    for (size_t t = 0; t < ASH_ARRAY_LEN(tables); t++) {
        for (const ash_mod_op *op = tables[t]; op->name != NULL; op++)
            table[n++] = (ash_feature){op->name, "full", ""};
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(extra); i++)
        table[n++] = extra[i];
    ash_assert(n < ASH_ARRAY_LEN(table));
    return table;
}

static int parse_modifier(ash_update_parser *p, const ash_mod_op *op, ash_value paths)
{
    char text[ASH_TEXT_BYTES];
    if (paths.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "Modifiers operate on fields but we found type %s instead. For "
                                "example: {$mod: {<field>: ...}} not {%s: %s}",
                                ash__type_text(paths), op->name,
                                ash__value_text(paths, text, sizeof text));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(paths)); ash__doc_iter_next(&it);) {
        ash_mod *m;
        int rc = ash__budget_step(p->err);
        if (rc == 0)
            rc = ash__update_add_mod(p, op, it.name, it.value, &m);
        /* In the tree already: $rename finds its own source there and adds its target. */
        if (rc == 0 && op->parse != NULL)
            rc = op->parse(p, m, it.value);
        if (rc != 0)
            return rc;
    }
    return 0;
}

static int check_filters_used(ash_update_parser *p, ash_doc spec)
{
    char text[ASH_TEXT_BYTES];
    for (uint32_t i = 0; i < p->u->filter_count; i++) {
        if (!p->u->filters[i].used)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                    "The array filter for identifier '%s' was not used in the "
                                    "update %s",
                                    p->u->filters[i].name,
                                    ash__value_text(ash__value_of_doc(spec), text, sizeof text));
    }
    return 0;
}

int ash__update_parse_operators(ash_update_parser *p, ash_doc spec)
{
    p->u->root = ash__update_node_new(p->u->arena, ASH_UPDATE_FIELDS);
    for (ash_doc_iter it = ash__doc_iter(spec); ash__doc_iter_next(&it);) {
        const ash_mod_op *op = find_op(it.name);
        if (op == NULL)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                    "Unknown modifier: %s. Expected a valid update modifier or "
                                    "pipeline-style update specified as an array",
                                    it.name);
        int rc = parse_modifier(p, op, it.value);
        if (rc != 0)
            return rc;
    }
    return check_filters_used(p, spec);
}

ash_array_filter *ash__update_filter_find(ash_update *u, const char *name)
{
    for (uint32_t i = 0; i < u->filter_count; i++) {
        if (strcmp(u->filters[i].name, name) == 0)
            return &u->filters[i];
    }
    return NULL;
}

/* The first field of the filter that is no logical operator names the identifier; the logical ones
 * are looked into. */
static const char *filter_field(ash_doc filter, int depth)
{
    /* Bounded, since nobody has looked at the filter's depth yet. */
    for (ash_doc_iter it = ash__doc_iter(filter); depth < 20 && ash__doc_iter_next(&it);) {
        const char *found = NULL;
        if (it.name[0] != '$')
            return it.name;
        if (it.value.type == BSON_TYPE_ARRAY || it.value.type == BSON_TYPE_DOCUMENT) {
            ash_doc_iter item = ash__doc_iter(ash__value_doc(it.value));
            while (found == NULL && ash__doc_iter_next(&item)) {
                if (item.value.type == BSON_TYPE_DOCUMENT)
                    found = filter_field(ash__value_doc(item.value), depth + 1);
            }
        }
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* All fields of the filter, those below logical operators too, are the identifier or below it. */
static int check_single_name(ash_update_parser *p, ash_doc filter, const char *name)
{
    int rc = 0;
    for (ash_doc_iter it = ash__doc_iter(filter); rc == 0 && ash__doc_iter_next(&it);) {
        size_t len = strcspn(it.name, ".");
        bool is_logical = strcmp(it.name, "$and") == 0 || strcmp(it.name, "$or") == 0 ||
                          strcmp(it.name, "$nor") == 0;
        if (it.name[0] != '$' && (len != strlen(name) || memcmp(it.name, name, len) != 0))
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                    "Error parsing array filter :: caused by :: Expected a single "
                                    "top-level field name, found '%s' and '%.*s'",
                                    name, (int)len, it.name);
        if (!is_logical || it.value.type != BSON_TYPE_ARRAY)
            continue;
        ash_doc_iter item = ash__doc_iter(ash__value_doc(it.value));
        while (rc == 0 && ash__doc_iter_next(&item))
            if (item.value.type == BSON_TYPE_DOCUMENT)
                rc = check_single_name(p, ash__value_doc(item.value), name);
    }
    return rc;
}

static int filter_name(ash_update_parser *p, ash_doc filter, const char **out)
{
    const char *field = filter_field(filter, 0);
    if (field == NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "Cannot use an expression without a top-level field name in "
                                "arrayFilters");
    const char *name = ash__arena_text(p->u->arena, field, strcspn(field, "."));
    /* The server's rule for identifiers. */
    bool ok = name[0] >= 'a' && name[0] <= 'z';
    for (const char *c = name; *c != '\0'; c++)
        ok = ok &&
             ((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9'));
    if (!ok)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Error parsing array filter :: caused by :: The top-level field "
                                "name must be an alphanumeric string beginning with a lowercase "
                                "letter, found '%s'",
                                name);
    *out = name;
    return check_single_name(p, filter, name);
}

static int parse_filter(ash_update_parser *p, ash_value spec)
{
    bson_t filter;
    const char *name = NULL;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "array filters must be objects, found %s", ash__type_text(spec));
    int rc = filter_name(p, ash__value_doc(spec), &name);
    if (rc != 0)
        return rc;
    if (ash__update_filter_find(p->u, name) != NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "Found multiple array filters with the same top-level field name "
                                "%s",
                                name);
    ash_array_filter *f = &p->u->filters[p->u->filter_count];
    ash__doc_to_bson(ash__value_doc(spec), &filter);
    rc = ash__matcher_new(&filter, p->u->env, &f->matcher, p->err);
    if (rc != 0) {
        ash__error_prefix(p->err, "Error parsing array filter");
        return rc;
    }
    f->name = name;
    p->u->filter_count++;
    return 0;
}

int ash__update_parse_filters(ash_update_parser *p, const bson_t *array_filters)
{
    ash_doc list = ash__doc_from_bson(array_filters);
    p->u->filters = ash__arena_alloc(p->u->arena, ash__doc_count(list) * sizeof *p->u->filters);
    memset(p->u->filters, 0, ash__doc_count(list) * sizeof *p->u->filters);
    for (ash_doc_iter it = ash__doc_iter(list); ash__doc_iter_next(&it);) {
        int rc = parse_filter(p, it.value);
        if (rc != 0)
            return rc;
    }
    return 0;
}
