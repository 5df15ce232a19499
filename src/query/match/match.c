/* SPDX-License-Identifier: Apache-2.0 */
/* A filter from outside.  Its copy is what the tree's paths and operands point into. */
#include "query/match/node.h"

#include "base/mem.h"

static ash_matcher *matcher_new(ash_doc filter, const ash_query_env *env)
{
    ash_matcher *m = ash__new(ash_matcher);
    m->bytes = ash__memdup(filter.data, filter.len);
    m->filter = (ash_doc){m->bytes, filter.len};
    if (env != NULL)
        m->collation = env->collation;
    m->has_collation = m->collation.ignore_case || m->collation.ignore_diacritics;
    return m;
}

static ash_match_parser parser_of(const ash_matcher *m, const ash_query_env *env, ash_error *err)
{
    return (ash_match_parser){env, ash__matcher_collation(m), err};
}

int ash__matcher_new(const bson_t *filter, const ash_query_env *env, ash_matcher **out,
                     ash_error *err)
{
    ash_matcher *m = matcher_new(ash__doc_from_bson(filter), env);
    ash_match_parser p = parser_of(m, env, err);
    int rc = ash__match_parse_doc(&p, m->filter, 1, &m->root);
    if (rc != 0) {
        ash__matcher_free(m);
        m = NULL;
    }
    *out = m;
    return rc;
}

/* {"": v}: a value of any kind as a document. */
static void wrap_value(ash_builder *b, ash_value v)
{
    ash__builder_begin(b);
    ash__builder_value(b, "", v);
    ash__builder_end(b);
}

int ash__matcher_new_for_value(ash_value condition, const ash_query_env *env, ash_matcher **out,
                               ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    wrap_value(&b, condition);
    ash_matcher *m = matcher_new(ash__builder_doc(&b), env);
    ash__builder_release(&b);
    ash_match_parser p = parser_of(m, env, err);
    ash_value own = ash__doc_get(m->filter, "");
    /* {$gt: 3} and 3 test the value itself, as the field "" of a document; {a: 1} tests what the
     * value has. */
    m->bare = own.type != BSON_TYPE_DOCUMENT || ash__match_is_value_operators(own, false);
    int rc = ash__match_parse_doc(&p, m->bare ? m->filter : ash__value_doc(own), 1, &m->root);
    if (rc != 0) {
        ash__matcher_free(m);
        m = NULL;
    }
    *out = m;
    return rc;
}

void ash__matcher_free(ash_matcher *m)
{
    if (m == NULL)
        return;
    ash__match_node_free(m->root);
    ash__free(m->bytes);
    ash__free(m);
}

/* What failed comes back apart from the answer, so that a $not around it cannot turn it into a
 * match. */
static bool finish(const ash_match_run *run, bool matched)
{
    return matched && !run->has_failed;
}

bool ash__matcher_test(const ash_matcher *m, ash_doc doc, ash_match_details *details,
                       ash_error *failed)
{
    ash_match_run run = {m, doc, failed, false};
    if (details != NULL)
        details->array_index = -1;
    if (m->bare) {
        bool matches = false;
        ash__matcher_check_value(m, ash__value_of_doc(doc), &matches, failed);
        return matches;
    }
    return finish(&run, ash__match_doc(&run, m->root, doc, details));
}

int ash__matcher_check(const ash_matcher *m, ash_doc doc, ash_match_details *details, bool *matches,
                       ash_error *err)
{
    ash_error failed = ASH_ERROR_INIT;
    *matches = ash__matcher_test(m, doc, details, &failed);
    if (failed.code != 0 && err != NULL)
        *err = failed;
    return failed.code;
}

int ash__matcher_check_value(const ash_matcher *m, ash_value v, bool *matches, ash_error *err)
{
    ash_error failed = ASH_ERROR_INIT;
    /* $expr sees the value in the root; it is set below, when there is one. */
    ash_match_run run = {m, {NULL, 0}, &failed, false};
    ash_builder b = ASH_BUILDER_INIT;
    bool matched = false;
    if (m->bare) {
        wrap_value(&b, v);
        run.root = ash__builder_doc(&b);
        matched = ash__match_doc(&run, m->root, run.root, NULL);
    } else if (v.type == BSON_TYPE_DOCUMENT) {
        run.root = ash__value_doc(v);
        matched = ash__match_doc(&run, m->root, run.root, NULL);
    }
    ash__builder_release(&b);
    *matches = finish(&run, matched);
    if (failed.code != 0 && err != NULL)
        *err = failed;
    return failed.code;
}

ash_doc ash__matcher_filter(const ash_matcher *m)
{
    return m->filter;
}

bool ash__matcher_is_empty(const ash_matcher *m)
{
    return m->root->cond.kind == ASH_COND_ALWAYS;
}

const ash_condition *ash__matcher_root(const ash_matcher *m)
{
    return &m->root->cond;
}

ash_match_node *ash__match_node_new(enum ash_condition_kind kind, const char *path)
{
    ash_match_node *n = ash__new(ash_match_node);
    n->cond.kind = kind;
    n->cond.path = path;
    n->bare = path == NULL;
    return n;
}

void ash__match_node_free(ash_match_node *n)
{
    if (n == NULL)
        return;
    for (uint32_t i = 0; i < n->cond.child_count; i++)
        ash__match_node_free(ash__match_child(n, i));
    ash__free(n->cond.children);
    ash__free(n->bits.positions);
    ash__match_set_release(&n->set);
    ash__free(n->regex_value);
    ash__regex_free(n->regex);
    ash__expr_free(n->expr);
    ash__schema_free(n->schema);
    ash__free(n);
}

void ash__match_node_add(ash_match_node *parent, ash_match_node *child)
{
    uint32_t count = parent->cond.child_count;
    /* Full at each power of two, and doubled then. */
    if ((count & (count - 1)) == 0)
        parent->cond.children = ash__realloc_array(
            parent->cond.children, count == 0 ? 1 : 2 * count, sizeof *parent->cond.children);
    parent->cond.children[count] = &child->cond;
    parent->cond.child_count++;
}

ash_match_node *ash__match_node_simplify(ash_match_node *list)
{
    if (list->cond.child_count == 0) {
        list->cond.kind = ASH_COND_ALWAYS;
        return list;
    }
    if (list->cond.child_count > 1)
        return list;
    ash_match_node *only = ash__match_child(list, 0);
    /* The child moves out before the list is freed. */
    list->cond.child_count = 0;
    ash__match_node_free(list);
    return only;
}
