/* SPDX-License-Identifier: Apache-2.0 */
/* Where an operation reads, and what its query is compiled with. */

#include "store/embedded/kit/embedded.h"

#include "base/clock.h"
#include "query/expr/expr.h"
#include "store/embedded/kit/dated_snapshot.h"

#include <string.h>

bool ash__embedded_is_closing(ash_embedded *s)
{
    ash__monitor_lock(s->monitor);
    bool closing = s->closing;
    ash__monitor_unlock(s->monitor);
    return closing;
}

ash_writer *ash__op_writer(const ash_op *op)
{
    return op->transaction != NULL ? ((ash_embedded_tx *)(void *)op->transaction)->writer : NULL;
}

int ash__reading_begin(ash_embedded *s, const ash_op *op, ash_reading *out, ash_error *err)
{
    ash_writer *w = ash__op_writer(op);
    *out = (ash_reading){0};
    int rc = ash__op_check(op, err);
    if (rc != 0)
        return rc;
    /* On the writer everything that the transaction did is seen, and nothing has to be closed. */
    if (w != NULL) {
        out->snap = ash__writer_snapshot(w);
        return 0;
    }
    if (op->transaction != NULL) {
        /* The look's snapshot; a download may take it over from there (hold_snapshot). */
        out->lender = ((ash_embedded_tx *)(void *)op->transaction)->look;
        out->snap = out->lender->snap;
        return 0;
    }
    out->store = s;
    if (op->at_time != 0)
        return ash__dated_snapshot_enter(s, op, &out->dated, &out->snap, err);
    rc = ash__snapshot_open(s->engine, &out->snap, err);
    out->owned = rc == 0;
    return rc;
}

void ash__reading_end(ash_reading *r)
{
    if (r->owned)
        ash__snapshot_close(r->snap);
    if (r->dated != NULL)
        ash__dated_snapshot_leave(r->store, r->dated);
    *r = (ash_reading){0};
}

/* `let` may hold expressions over nothing: they become constants once. */
static int evaluate_let(const bson_t *let, ash_env *env, ash_error *err)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash_arena *arena = ash__arena_new();
    int rc = 0;
    ash__builder_begin(&b);
    ash_doc_iter it = ash__doc_iter(ash__doc_from_bson(let));
    while (rc == 0 && ash__doc_iter_next(&it)) {
        ash_expr *e = NULL;
        ash_value v = ASH_VALUE_MISSING;
        rc = ash__expr_new(it.value, &env->query, &e, err);
        if (rc == 0)
            rc = ash__expr_eval(e, ash__doc_empty, NULL, arena, &v, err);
        if (rc == 0)
            ash__builder_value(&b, it.name, v);
        ash__expr_free(e);
    }
    ash__builder_end(&b);
    if (rc == 0) {
        ash_doc doc = ash__builder_doc(&b);
        /* A copy: the builder goes, and a cursor may live long. */
        env->let = bson_new_from_data(doc.data, doc.len);
        env->query.let = env->let;
    }
    ash__builder_release(&b);
    ash__arena_free(arena);
    return rc;
}

int ash__env_init(ash_embedded *s, const ash_op *op, const bson_t *collation, const bson_t *let,
                  ash_env *out, ash_error *err)
{
    memset(out, 0, sizeof *out);
    out->query.now_ms = ash__clock_wall_ms();
    /* A list of operations that is run again has to come to the same results. */
    if (op->transaction != NULL && op->transaction->now_ms != 0)
        out->query.now_ms = op->transaction->now_ms;
    if (op->transaction != NULL && op->transaction->has_new_id)
        out->query.new_id = &op->transaction->new_id;
    out->query.cluster_time = ash__oplog_time(s->engine);
    out->query.cancelled = op->cancel;
    out->query.deadline_ms = op->deadline_ms;
    if (collation != NULL && !bson_empty(collation)) {
        /* {locale: "simple"} is byte order, and still the operation's own choice. */
        bool is_simple = false;
        int rc = ash__collation_parse(collation, &out->query.collation, &is_simple, err);
        if (rc != 0)
            return rc;
        out->has_collation = true;
    }
    if (let != NULL && !bson_empty(let))
        return evaluate_let(let, out, err);
    return 0;
}

void ash__env_release(ash_env *env)
{
    if (env->let != NULL)
        bson_destroy(env->let);
    env->let = NULL;
}

bool ash__env_adopt(ash_env *env, const ash_coll *coll)
{
    /* The operation's own goes first. */
    if (env->has_collation || coll == NULL || !coll->has_collation)
        return false;
    env->query.collation = coll->collation;
    return true;
}

bool ash__name_ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name);
    size_t m = strlen(suffix);
    return n > m && memcmp(name + n - m, suffix, m) == 0;
}
