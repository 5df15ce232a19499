/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/retry.h"
#include "store/embedded/target.h"

static int store_result(ash_single *one, ash_writer *w, ash_error *err)
{
    const ash_op *op = one->target->spec.op;
    ash_builder b = ASH_BUILDER_INIT;
    if (op->retry == NULL)
        return 0;
    ash__builder_begin(&b);
    ash__retry_encode(&b, one->result);
    if (one->encode != NULL)
        one->encode(one, &b);
    ash__builder_end(&b);
    int rc = ash__retry_store(w, op, ash__builder_doc(&b), err);
    ash__builder_release(&b);
    return rc;
}

static int run_on_writer(ash_writer *w, void *ctx, ash_error *err)
{
    ash_single *one = ctx;
    ash_target *t = one->target;
    bson_t details = BSON_INITIALIZER;
    ash_changer c = {.store = t->store, .writer = w, .op = t->spec.op, .details = &details};
    ash_error own = ASH_ERROR_INIT;
    bool repeated = false;
    ash_doc stored;
    int rc = ash__retry_begin(w, t->spec.op, &repeated, &stored, &own);
    if (rc == 0 && repeated) {
        ash__retry_decode(stored, one->result);
        if (one->decode != NULL)
            one->decode(one, stored);
        goto out;
    }
    if (rc == 0 && one->create)
        rc = ash__coll_ensure(w, t->spec.db, t->spec.coll, &c.coll, &own);
    if (rc == 0)
        rc = ash__target_resolve(t, ash__writer_view(w), &c.coll, &own);
    if (rc == 0)
        rc = one->change(one, &c, &own);
    if (rc == 0)
        rc = store_result(one, w, &own);
out:
    if (rc != 0 && err != NULL)
        *err = own;
    if (rc == ASH_EEXISTS || rc == ASH_EINVAL)
        ash__write_result_add_error(one->result, 0, &own, bson_empty(&details) ? NULL : &details);
    bson_destroy(&details);
    return rc;
}

int ash__single_run(ash_single *one, ash_error *err)
{
    const ash_target_spec *s = &one->target->spec;
    return ash__write_run(one->target->store, s->coll, s->op, run_on_writer, one, 0, err);
}
