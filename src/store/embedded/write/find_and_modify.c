/* SPDX-License-Identifier: Apache-2.0 */
/* findAndModify: one document is found, changed and given back, as one apply; a retry gives the
 * same document again, which is kept with the result. */

#include "store/embedded/write/slots.h"

#include "base/clock.h"
#include "store/embedded/kit/give.h"
#include "store/embedded/write/target.h"

/* The document to give back, kept while the writer goes on. */
typedef struct answer {
    const ash_find_and_modify_options *opts;
    bson_t *value; /* initialised when has_value is set */
    bool has_value;
    bool found;
} answer;

static int take_value(answer *a, ash_target *t, ash_doc doc, const ash_match_details *details,
                      ash_error *err)
{
    ash_builder projected = ASH_BUILDER_INIT;
    int rc = 0;
    if (t->request.projection != NULL) {
        rc = ash__projection_apply(t->request.projection, doc, details, &projected, err);
        if (rc == 0)
            doc = ash__builder_doc(&projected);
    }
    if (rc == 0) {
        ash__doc_give_instead(doc, a->value);
        a->has_value = true;
    }
    ash__builder_release(&projected);
    return rc;
}

static int modify(ash_single *one, ash_changer *c, const ash_match *m, ash_error *err)
{
    answer *a = one->ctx;
    ash_builder after = ASH_BUILDER_INIT;
    bool modified = false;
    /* What is given back as it was is copied before it changes. */
    int rc = a->opts->return_new ? 0 : take_value(a, one->target, m->record.doc, &m->details, err);
    if (rc == 0)
        rc = ash__change_update(c, one->target->update, m, &after, &modified, err);
    if (rc == 0 && a->opts->return_new)
        rc = take_value(a, one->target, ash__builder_doc(&after), &m->details, err);
    if (rc == 0) {
        a->found = true;
        one->result->matched = 1;
        one->result->modified = modified;
    }
    ash__builder_release(&after);
    return rc;
}

static int insert(ash_single *one, ash_changer *c, ash_error *err)
{
    answer *a = one->ctx;
    ash_builder after = ASH_BUILDER_INIT;
    ash_match_details none = {-1};
    int rc = ash__target_upsert(one->target, c, &after, one->result, err);
    if (rc == 0 && a->opts->return_new) {
        rc = take_value(a, one->target, ash__builder_doc(&after), &none, err);
        a->found = rc == 0;
    }
    ash__builder_release(&after);
    return rc;
}

static int find_and_change(ash_single *one, ash_changer *c, ash_error *err)
{
    answer *a = one->ctx;
    ash_match m;
    /* Without a collection there is nothing to find; an upsert has made it before. */
    if (c->coll == NULL)
        return 0;
    int rc = ash__single_first(one, c, &m, err);
    if (rc != 0)
        return rc;
    if (!m.found)
        return one->create ? insert(one, c, err) : 0;
    if (!a->opts->remove)
        return modify(one, c, &m, err);
    /* Before it goes: the view ends with the deletion. */
    rc = take_value(a, one->target, m.record.doc, &m.details, err);
    if (rc == 0)
        rc = ash__change_delete(c, &m.record, err);
    if (rc == 0) {
        a->found = true;
        one->result->deleted = 1;
    }
    return rc;
}

static void encode_value(ash_single *one, ash_builder *b)
{
    const answer *a = one->ctx;
    /* Kept beside the counts of ash__retry_encode, under names that it does not use. */
    ash__builder_bool(b, "f", a->found);
    if (a->has_value)
        ash__builder_doc_value(b, "v", ash__doc_from_bson(a->value));
}

static void decode_value(ash_single *one, ash_doc stored)
{
    answer *a = one->ctx;
    ash_value v = ash__doc_get(stored, "v");
    a->found = ash__value_truthy(ash__doc_get(stored, "f"));
    a->has_value = v.type == BSON_TYPE_DOCUMENT;
    ash__doc_give_instead(a->has_value ? ash__value_doc(v) : ash__doc_empty, a->value);
}

static int check(const ash_find_and_modify_options *opts, ash_error *err)
{
    if (opts->remove && opts->update != NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "cannot specify both an update and remove=true");
    if (!opts->remove && opts->update == NULL)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "either an update or remove=true must be specified");
    if (opts->remove && opts->upsert)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "cannot specify both upsert=true and remove=true");
    if (opts->remove && opts->return_new)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "cannot specify both new=true and remove=true; 'remove' always "
                                "returns the deleted document");
    return 0;
}

int ash__embedded_find_and_modify(ash_store *store, ash_ns ns, const bson_t *filter,
                                  const ash_find_and_modify_options *opts,
                                  const ash_modify_answer *given, ash_error *err)
{
    ash_target t = {0};
    ash_target_spec spec = {.ns = ns,
                            .filter = filter,
                            .sort = opts->sort,
                            .projection = opts->projection,
                            .hint = opts->hint,
                            .collation = opts->collation,
                            .let = opts->let,
                            .update = opts->update,
                            .array_filters = opts->array_filters,
                            .op = &opts->op};
    bson_t taken = BSON_INITIALIZER;
    answer a = {.opts = opts, .value = &taken};
    ash_single one = {.target = &t,
                      .result = given->result,
                      .change = find_and_change,
                      .encode = encode_value,
                      .decode = decode_value,
                      .create = opts->upsert,
                      .ctx = &a};
    /* A projection of the new document may fail when it is written already. */
    if (opts->return_new && opts->projection != NULL)
        one.flags = ASH_APPLY_ATOMIC;
    int64_t from_ms = ash__clock_ms();
    int rc = check(opts, err);
    if (rc != 0)
        return rc;
    rc = ash__target_init(&t, ash__embedded(store), &spec, err);
    if (rc == 0)
        rc = ash__single_run(&one, err);
    if (rc == 0) {
        *given->found = a.found;
        if (!a.found)
            bson_reinit(&taken);
        bson_copy_to(&taken, given->value);
    }
    bson_destroy(&taken);
    ash__target_release(&t);
    ash__slow_note(ash__embedded(store), "findAndModify", ns, from_ms);
    return rc;
}
