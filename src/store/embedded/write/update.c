/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/write/slots.h"

#include "base/clock.h"
#include "store/embedded/write/many_documents.h"
#include "store/embedded/write/target.h"

static int update_match(ash_target *t, ash_changer *c, const ash_match *m, ash_write_result *result,
                        ash_error *err)
{
    ash_builder after = ASH_BUILDER_INIT;
    bool modified = false;
    int rc = ash__change_update(c, t->update, m, &after, &modified, err);
    if (rc == 0) {
        result->matched++;
        result->modified += modified;
    }
    ash__builder_release(&after);
    return rc;
}

/* The first match, else the upsert; nothing can come between on the writer. */
static int update_one(ash_single *one, ash_changer *c, ash_error *err)
{
    ash_target *t = one->target;
    ash_match m;
    if (c->coll == NULL)
        return 0;
    int rc = ash__single_first(one, c, &m, err);
    if (rc != 0)
        return rc;
    if (m.found)
        return update_match(t, c, &m, one->result, err);
    if (!one->create)
        return 0;
    ash_builder after = ASH_BUILDER_INIT;
    rc = ash__target_upsert(t, c, &after, one->result, err);
    ash__builder_release(&after);
    return rc;
}

static int check_update(const ash_target *t, const ash_update_options *opts, ash_error *err)
{
    /* MongoDB refuses it; each match would become the same document. */
    if (opts->multi && ash__update_kind(t->update) == ASH_UPDATE_REPLACE)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "multi update is not supported for replacement-style update");
    return 0;
}

int ash__embedded_update(ash_store *store, ash_ns ns, const ash_update_request *request,
                         const ash_update_options *opts, ash_write_result *result, ash_error *err)
{
    ash_target t = {0};
    ash_target_spec spec = {.ns = ns,
                            .filter = request->filter,
                            .hint = opts->hint,
                            .collation = opts->collation,
                            .let = opts->let,
                            .update = request->update,
                            .array_filters = opts->array_filters,
                            .op = &opts->op};
    ash_single one = {.target = &t, .result = result, .change = update_one, .create = opts->upsert};
    int64_t from_ms = ash__clock_ms();
    int rc = ash__target_init(&t, ash__embedded(store), &spec, err);
    if (rc == 0)
        rc = check_update(&t, opts, err);
    if (rc == 0 && opts->multi) {
        ash_many many = {.target = &t, .result = result, .change = update_match};
        rc = ash__many_run(&many, err);
    }
    /* An upsert of many that found none goes the way of one, which looks again on the writer. */
    if (rc == 0 && (!opts->multi || (opts->upsert && result->matched == 0)))
        rc = ash__single_run(&one, err);
    ash__target_release(&t);
    ash__slow_note(ash__embedded(store), "update", ns, from_ms);
    return rc;
}
