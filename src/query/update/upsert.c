/* SPDX-License-Identifier: Apache-2.0 */
/* The document that an upsert inserts: the filter's equalities, then the update, then an _id. */
#include "query/update/node.h"

#include "base/budget.h"
#include "base/mem.h"

#include <string.h>

/* The document as it grows out of the filter's equalities. */
struct seed {
    const ash_update *u;
    ash_builder doc;
    ash_error *err;
    int rc;
};

/* One field more, by the machinery of $set. */
static int set_field(struct seed *s, const char *path, ash_value v)
{
    ash_update one = {.env = s->u->env, .arena = ash__arena_new()};
    ash_update_parser p = {&one, s->err};
    ash_builder grown = ASH_BUILDER_INIT;
    /* An update of its own, so that paths make documents just as they do for $set. */
    one.root = ash__update_node_new(one.arena, ASH_UPDATE_FIELDS);
    int rc = ash__update_add_mod(&p, &ash__update_field_ops[0], path, v, NULL);
    if (rc == 0) {
        ash_update_run r = {.u = &one,
                            .doc = ash__builder_doc(&s->doc),
                            .position = -1,
                            .is_insert = true,
                            .arena = one.arena,
                            .out = &grown,
                            .err = s->err};
        rc = ash__update_apply_tree(&r, one.root);
    }
    if (rc == 0) {
        ash__builder_release(&s->doc);
        s->doc = grown;
    } else {
        ash__builder_release(&grown);
    }
    ash__arena_free(one.arena);
    return rc;
}

static bool add_equality(void *ctx, const char *path, ash_value v)
{
    struct seed *s = ctx;
    /* Each field makes the document anew. */
    s->rc = ash__budget_check(s->err);
    if (s->rc != 0)
        return false;
    /* A replacement takes nothing but the _id from the filter. */
    bool is_id = strcmp(path, "_id") == 0 || strncmp(path, "_id.", 4) == 0;
    if (s->u->kind != ASH_UPDATE_REPLACE || is_id)
        s->rc = set_field(s, path, v);
    return s->rc == 0;
}

/* _id first, generated if there is none. */
static int place_id(const ash_query_env *env, ash_doc doc, ash_builder *out, ash_error *err)
{
    ash_value id = ash__doc_get(doc, "_id");
    bson_oid_t oid;
    ash__builder_begin(out);
    if (ash__value_is_missing(id)) {
        /* Of a transaction the surroundings have decided it beforehand. */
        if (env->new_id == NULL)
            bson_oid_init(&oid, NULL);
        ash__builder_oid(out, "_id", env->new_id != NULL ? env->new_id : &oid);
    } else {
        ash__builder_value(out, "_id", id);
    }
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "_id") != 0)
            ash__builder_element(out, &it);
    }
    ash__builder_end(out);
    if (ash__builder_doc(out).len > ASH_DOC_MAX_BYTES)
        return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_LOCATION_UPDATED_DOCUMENT_TOO_LARGE,
                                "Resulting document after upsert is larger than %d",
                                ASH_DOC_MAX_BYTES);
    return 0;
}

int ash__update_upsert(const ash_update *u, const ash_matcher *filter, ash_builder *out,
                       ash_error *err)
{
    struct seed s = {.u = u, .doc = ASH_BUILDER_INIT, .err = err};
    ash_builder updated = ASH_BUILDER_INIT;
    bool modified;
    ash__builder_begin(&s.doc);
    ash__builder_end(&s.doc);
    int rc = filter != NULL ? ash__matcher_equalities(filter, add_equality, &s, err) : 0;
    if (rc == 0)
        rc = s.rc;
    if (rc == 0) {
        const ash_update_subject seed = {.doc = ash__builder_doc(&s.doc), .is_insert = true};
        rc = ash__update_apply(u, &seed, &updated, &modified, NULL, err);
    }
    if (rc == 0)
        rc = place_id(u->env, ash__builder_doc(&updated), out, err);
    ash__builder_release(&s.doc);
    ash__builder_release(&updated);
    return rc;
}
