/* SPDX-License-Identifier: Apache-2.0 */
/* Updates from outside: which of the three kinds one is, and what must hold of every result. */
#include "query/update/node.h"

#include "base/mem.h"
#include "query/kit/value_text.h"

#include <string.h>

static const ash_query_env no_env;

static int parse_replacement(ash_update_parser *p, ash_doc doc)
{
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        if (it.name[0] == '$')
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_DOLLAR_PREFIXED_FIELD_NAME,
                                    "The dollar ($) prefixed field '%s' in '%s' is not allowed in "
                                    "the context of an update's replacement document. Consider "
                                    "using an aggregation pipeline with $replaceWith.",
                                    it.name, it.name);
    }
    p->u->kind = ASH_UPDATE_REPLACE;
    p->u->replacement = doc;
    return 0;
}

static int parse(ash_update_parser *p, ash_value spec, const bson_t *array_filters)
{
    bool has_filters =
        array_filters != NULL && !ash__doc_is_empty(ash__doc_from_bson(array_filters));
    if (spec.type != BSON_TYPE_DOCUMENT && spec.type != BSON_TYPE_ARRAY)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "Update argument must be either an object or an array");
    ash_doc doc = ash__value_doc(spec);
    ash_doc_iter it = ash__doc_iter(doc);
    bool operators =
        spec.type == BSON_TYPE_DOCUMENT && ash__doc_iter_next(&it) && it.name[0] == '$';
    if (has_filters && !operators)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "arrayFilters may not be specified for %s updates",
                                spec.type == BSON_TYPE_ARRAY ? "pipeline-style"
                                                             : "replacement-style");
    if (spec.type == BSON_TYPE_ARRAY) {
        p->u->kind = ASH_UPDATE_PIPELINE;
        return ash__update_parse_pipeline(p, doc);
    }
    if (!operators)
        return parse_replacement(p, doc);
    p->u->kind = ASH_UPDATE_OPERATORS;
    int rc = has_filters ? ash__update_parse_filters(p, array_filters) : 0;
    return rc != 0 ? rc : ash__update_parse_operators(p, doc);
}

int ash__update_new(ash_value update, const bson_t *array_filters, const ash_query_env *env,
                    ash_update **out, ash_error *err)
{
    ash_update *u = ash__new(ash_update);
    ash_update_parser p = {u, err};
    *out = NULL;
    u->arena = ash__arena_new();
    u->env = env != NULL ? env : &no_env;
    int rc = parse(&p, ash__arena_value(u->arena, update), array_filters);
    if (rc == 0)
        *out = u;
    else
        ash__update_free(u);
    return rc;
}

void ash__update_free(ash_update *u)
{
    if (u == NULL)
        return;
    for (ash_mod *m = u->mods; m != NULL; m = m->next)
        ash__matcher_free(m->matcher);
    for (uint32_t i = 0; i < u->filter_count; i++)
        ash__matcher_free(u->filters[i].matcher);
    ash__update_free_pipeline(u);
    ash__arena_free(u->arena);
    ash__free(u);
}

enum ash_update_kind ash__update_kind(const ash_update *u)
{
    return u->kind;
}

bool ash__update_uses_position(const ash_update *u)
{
    return u->uses_position;
}

/* The document's _id, else the replacement's, then the replacement's other fields. */
static int apply_replacement(ash_update_run *r)
{
    ash_value id = ash__doc_get(r->doc, "_id");
    ash_value new_id = ash__doc_get(r->u->replacement, "_id");
    ash__builder_begin(r->out);
    /* Another _id is written as well, for check_id() to refuse. */
    if (ash__value_is_missing(id) ||
        (!ash__value_is_missing(new_id) && !ash__value_equal(id, new_id, NULL)))
        id = new_id;
    ash__builder_value(r->out, "_id", id);
    for (ash_doc_iter it = ash__doc_iter(r->u->replacement); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "_id") != 0)
            ash__builder_element(r->out, &it);
    }
    ash__builder_end(r->out);
    return 0;
}

static int check_id(const ash_update_run *r, ash_doc after)
{
    char text[ASH_TEXT_BYTES];
    ash_value before_id = ash__doc_get(r->doc, "_id");
    ash_value id = ash__doc_get(after, "_id");
    if (ash__value_is_missing(before_id) ||
        (!ash__value_is_missing(id) && ash__value_equal(before_id, id, NULL)))
        return 0;
    if (r->u->kind == ASH_UPDATE_OPERATORS)
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_IMMUTABLE_FIELD,
                                "Performing an update on the path '_id' would modify the immutable "
                                "field '_id'");
    return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_IMMUTABLE_FIELD,
                            "After applying the update, the (immutable) field '_id' was found to "
                            "have been altered to %s",
                            ash__element_text("_id", id, text, sizeof text));
}

static int check_limits(ash_doc after, ash_error *err)
{
    if (after.len > ASH_DOC_MAX_BYTES)
        return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_LOCATION_UPDATED_DOCUMENT_TOO_LARGE,
                                "Resulting document after update is larger than %d",
                                ASH_DOC_MAX_BYTES);
    if (ash__bson_validate(after.data, after.len, ASH_DOC_MAX_DEPTH, NULL) != 0)
        return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_OVERFLOW,
                                "Resulting document after update is nested deeper than %d",
                                ASH_DOC_MAX_DEPTH);
    return 0;
}

/* Nested names may begin with '$', those of a document that is inserted may, too. */
static int check_dollar(const ash_update_run *r)
{
    const char *path = r->u->dollar_path;
    if (path == NULL || r->is_insert)
        return 0;
    return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_DOLLAR_PREFIXED_FIELD_NAME,
                            "The dollar ($) prefixed field '%.*s' in '%s' is not valid for "
                            "storage.",
                            (int)strcspn(path, "."), path, path);
}

static int run_update(ash_update_run *r)
{
    int rc = check_dollar(r);
    if (rc != 0)
        return rc;
    switch (r->u->kind) {
    case ASH_UPDATE_OPERATORS:
        return ash__update_apply_tree(r, r->u->root);
    case ASH_UPDATE_REPLACE:
        return apply_replacement(r);
    default:
        return ash__update_apply_pipeline(r);
    }
}

int ash__update_apply(const ash_update *u, const ash_update_subject *subject, ash_builder *out,
                      bool *modified, ash_builder *changes, ash_error *err)
{
    ash_doc doc = subject->doc;
    ash_update_run r = {.u = u,
                        .doc = doc,
                        .position = subject->details != NULL ? subject->details->array_index : -1,
                        .is_insert = subject->is_insert,
                        .arena = ash__arena_new(),
                        .out = out,
                        .err = err};
    int rc = run_update(&r);
    ash_doc after = {NULL, 0};
    if (rc == 0) {
        after = ash__builder_doc(out);
        /* By bytes: 1 set to 1.0 is a change, 1 set to 1 is none. */
        *modified = after.len != doc.len || memcmp(after.data, doc.data, doc.len) != 0;
        /* A document as it was has its _id, its size and its depth. */
        rc = *modified ? check_id(&r, after) : 0;
    }
    if (rc == 0 && *modified)
        rc = check_limits(after, err);
    /* A replacement is told by its new document. */
    if (rc == 0 && changes != NULL && u->kind == ASH_UPDATE_OPERATORS)
        ash__update_changes(u, doc, after, r.position, changes);
    else if (rc == 0 && changes != NULL && u->kind == ASH_UPDATE_PIPELINE)
        ash__doc_changes(doc, after, changes);
    ash__arena_free(r.arena);
    return rc;
}
