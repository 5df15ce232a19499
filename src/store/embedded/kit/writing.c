/* SPDX-License-Identifier: Apache-2.0 */
/* How changes reach the writer, when they are acknowledged, and what a refused document is told. */

#include "store/embedded/kit/embedded.h"

#include "base/budget.h"
#include "base/buffer.h"
#include "bson/path.h"
#include "query/kit/value_text.h"
#include "store/embedded/kit/filters.h"
#include "store/embedded/kit/give.h"
#include "store/embedded/kit/oplog.h"

#include <string.h>

static enum ash_ack ack_for(const ash_embedded *s, const ash_write_terms *terms)
{
    const ash_op *op = terms->op;
    const char *coll = terms->coll;
    ash_durability d = op->durability != ASH_DURABILITY_DEFAULT ? op->durability : s->durability;
    switch (d) {
    case ASH_DURABILITY_INTERVAL:
        return ASH_ACK_APPLIED;
    case ASH_DURABILITY_EVERY:
        return ASH_ACK_DURABLE;
    default:
        /* Nobody can see chunks before their files document, and that one waits for the disk. */
        return coll != NULL && ash__name_ends_with(coll, ".chunks") ? ASH_ACK_APPLIED
                                                                    : ASH_ACK_DURABLE;
    }
}

/* A change and what bounds it: on the writer's thread all others wait for it. */
typedef struct bounded {
    ash_apply_fn fn;
    void *ctx;
    const ash_op *op;
} bounded;

static int run_bounded(ash_writer *w, void *ctx, ash_error *err)
{
    const bounded *b = ctx;
    ash_budget outer = ash__budget_enter(b->op->deadline_ms, b->op->cancel, ASH_BUDGET_TURN_MS);
    int rc = b->fn(w, b->ctx, err);
    ash__budget_leave(outer);
    return rc;
}

int ash__write_run(ash_embedded *s, const ash_write_terms *terms, ash_apply_fn fn, void *ctx,
                   ash_error *err)
{
    const ash_op *op = terms->op;
    ash_writer *w = ash__op_writer(op);
    bounded b = {fn, ctx, op};
    if (s->read_only)
        return ash__fail(err, ASH_EREADONLY, "the store is open for reading only");
    int rc = ash__op_check(op, err);
    if (rc != 0)
        return rc;
    ash_assert(w != NULL || op->transaction == NULL); /* a look changes nothing */
    /* Several of these come together in one commit; a transaction is one apply already. */
    if (w == NULL)
        return ash__engine_apply(s->engine, run_bounded, &b,
                                 &(ash_apply_terms){.ack = ack_for(s, terms),
                                                    .flags = terms->flags,
                                                    .deadline_ms = op->deadline_ms},
                                 err);
    /* So that a failed operation leaves the rest of the transaction as it was. */
    rc = ash__writer_savepoint(w, err);
    if (rc != 0)
        return rc;
    rc = run_bounded(w, &b, err);
    /* The first error stays: why the operation failed says more than why it could not be undone. */
    int ended = ash__writer_savepoint_end(w, rc == 0, rc == 0 ? err : NULL);
    return rc != 0 ? rc : ended;
}

bool ash__write_is_lost(int own, int whole)
{
    return whole != 0 && whole != own && whole != ASH_ETIMEOUT;
}

int ash__losses_check(ash_embedded *s, uint64_t losses, ash_error *err)
{
    if (ash__engine_losses(s->engine) == losses)
        return 0;
    return ash__fail(err, ASH_EIO, "a commit failed, and writes that this needs were lost with it");
}

int ash__coll_ensure(ash_writer *w, ash_ns ns, const ash_coll **out, ash_error *err)
{
    int rc = ash__catalog_find(ash__writer_snapshot(w), ns.db, ns.coll, out, err);
    if (rc == 0 && *out == NULL)
        rc = ash__oplog_create(w, ns, NULL, out, err);
    return rc;
}

static void give_duplicate(const ash_duplicate *dup, ash_doc value, bson_t *details)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_doc_value(&b, "keyPattern", ash__doc_from_bson(&dup->index->key));
    ash__builder_doc_value(&b, "keyValue", value);
    ash__builder_end(&b);
    ash__doc_give_instead(ash__builder_doc(&b), details);
    ash__builder_release(&b);
}

int ash__duplicate_fail(const ash_coll *c, const ash_duplicate *dup, ash_doc doc, bson_t *details,
                        ash_error *err)
{
    ash_buffer text = ASH_BUFFER_INIT;
    ash_builder value = ASH_BUILDER_INIT;
    ash_value_box box;
    char shown[ASH_TEXT_BYTES];
    const ash_key_pattern *p = &dup->index->pattern;
    ash__builder_begin(&value);
    for (uint32_t i = 0; i < p->count; i++) {
        ash_value v = ash__path_get(doc, p->parts[i].path);
        /* In an index, what is missing is null. */
        if (ash__value_is_missing(v))
            v = ash__box_null(&box);
        ash__buffer_printf(&text, "%s%s: %s", i > 0 ? ", " : "", p->parts[i].path,
                           ash__value_text(v, shown, sizeof shown));
        ash__builder_value(&value, p->parts[i].path, v);
    }
    ash__builder_end(&value);
    if (details != NULL)
        give_duplicate(dup, ash__builder_doc(&value), details);
    int rc = ash__fail_server(err, ASH_EEXISTS, ASH_MONGO_DUPLICATE_KEY,
                              "E11000 duplicate key error collection: %s.%s index: %s dup key: "
                              "{ %s }",
                              c->db, c->name, dup->index->name, ash__buffer_text(&text));
    ash__builder_release(&value);
    ash__buffer_release(&text);
    return rc;
}

static bool option_is(const ash_coll *c, const char *name, const char *text)
{
    bson_iter_t it;
    return bson_iter_init_find(&it, &c->options, name) && BSON_ITER_HOLDS_UTF8(&it) &&
           strcmp(bson_iter_utf8(&it, NULL), text) == 0;
}

int ash__coll_validate(const ash_coll *c, ash_doc doc, ash_doc old, const ash_op *op,
                       ash_error *err)
{
    if (c->validator == NULL || op->bypass_validation)
        return 0;
    /* "warn" would be a line in the log for each write; the document is stored either way. */
    if (option_is(c, "validationLevel", "off") || option_is(c, "validationAction", "warn"))
        return 0;
    bool good = false;
    int rc = ash__hooked_test(c->validator, doc, &good, err);
    if (rc != 0 || good)
        return rc;
    if (old.data != NULL && option_is(c, "validationLevel", "moderate")) {
        rc = ash__hooked_test(c->validator, old, &good, err);
        if (rc != 0 || !good)
            return rc;
    }
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_DOCUMENT_VALIDATION_FAILURE,
                            "Document failed validation");
}
