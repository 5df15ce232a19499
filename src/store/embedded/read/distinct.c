/* SPDX-License-Identifier: Apache-2.0 */
/* Distinct: the values are kept once, in the answer itself, with a hash over their places in it. */

#include "store/embedded/read/slots.h"

#include "base/budget.h"
#include "bson/builder.h"
#include "bson/path.h"
#include "store/embedded/find/cursor.h"
#include "store/embedded/kit/give.h"
#include "store/embedded/read/views.h"

/* The values seen so far, in an open hash over places in the answer. */
typedef struct seen_values {
    ash_builder answer; /* {values: [ … */
    const ash_collation *collation;
    size_t *slots; /* offset of the value's element in the answer; 0: free */
    size_t capacity;
    size_t count;
} seen_values;

static ash_value value_at(const seen_values *s, size_t offset)
{
    /* A type byte, a name and a value: read it as the one field of a document. */
    ash_doc_iter it = {.at = s->answer.buf.data + offset,
                       .end = s->answer.buf.data + s->answer.buf.len};
    bool there = ash__doc_iter_next(&it);
    ash_assert(there);
    return it.value;
}

static size_t *find_slot(const seen_values *s, ash_value v)
{
    size_t at = (size_t)ash__value_hash(v, s->collation) & (s->capacity - 1);
    while (s->slots[at] != 0 && !ash__value_equal(value_at(s, s->slots[at]), v, s->collation))
        at = (at + 1) & (s->capacity - 1);
    return &s->slots[at];
}

static void grow(seen_values *s)
{
    /* Places are moved, not values: those stay where they are in the answer. */
    size_t *old = s->slots;
    size_t old_capacity = s->capacity;
    s->capacity = old_capacity == 0 ? 64 : 2 * old_capacity;
    s->slots = ash__alloc_array(s->capacity, sizeof *s->slots);
    for (size_t i = 0; i < old_capacity; i++)
        if (old[i] != 0)
            *find_slot(s, value_at(s, old[i])) = old[i];
    ash__free(old);
}

static void add_value(seen_values *s, ash_value v)
{
    /* Half empty, so that probing stays short. */
    if (2 * (s->count + 1) > s->capacity)
        grow(s);
    size_t *slot = find_slot(s, v);
    if (*slot != 0)
        return;
    /* Before it is appended: its element will begin here.  Never 0, which the head of the answer
     * takes. */
    *slot = s->answer.buf.len;
    ash__builder_item(&s->answer, (uint32_t)s->count++, v);
}

static bool visit_value(void *ctx, const ash_path_hit *hit)
{
    /* Arrays are unwound: their elements have come before them. */
    if (hit->value.type != 0 && (hit->is_element || hit->value.type != BSON_TYPE_ARRAY))
        add_value(ctx, hit->value);
    return true;
}

static int gather(ash_cursor *cursor, const char *key, seen_values *s, ash_error *err)
{
    ash_batch batch = {0};
    while (!batch.exhausted) {
        int rc = cursor->ops->next_batch(cursor, 1000, (size_t)16 << 20, &batch, err);
        if (rc != 0)
            return rc;
        for (size_t i = 0; rc == 0 && i < batch.count; i++) {
            rc = ash__budget_step(err);
            if (rc == 0 && !ash__path_walk(batch.docs[i], key, true, visit_value, s))
                rc = ash__budget_check(err);
        }
        if (rc != 0)
            return rc;
        /* After each batch: it can exceed the limit by a batch's values, but does not grow without
         * end. */
        if (s->answer.buf.len > ASH_DOC_MAX_BYTES)
            return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_LOCATION_DISTINCT_TOO_LARGE,
                                    "distinct too big, 16mb cap");
    }
    return 0;
}

/* The documents, of a collection or a view; env: with the collation that holds for them, to be
 * released when this succeeds. */
static int open_values(ash_embedded *s, const ash_find_spec *spec, ash_env *env, ash_cursor **out,
                       ash_error *err)
{
    ash_find_cursor *c = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash__env_init(s, &spec->opts->op, spec->opts->collation, NULL, env, err);
    if (rc == 0)
        rc = ash__find_open(s, spec, &c, &own);
    if (rc == 0) {
        /* The cursor may have taken the collection's. */
        env->query.collation = c->env.query.collation;
        *out = &c->base;
        return 0;
    }
    if (ash__view_was_refused(rc, &own))
        rc = ash__view_find(s, spec, NULL, out, err);
    else if (own.code != 0 && err != NULL)
        *err = own;
    if (rc != 0)
        ash__env_release(env);
    return rc;
}

int ash__embedded_distinct(ash_store *store, ash_ns ns, const ash_distinct_request *request,
                           const ash_op *op, bson_t *out, ash_error *err)
{
    ash_find_options opts = ASH_FIND_OPTIONS_INIT;
    ash_find_spec spec = {ns, request->filter, &opts};
    ash_cursor *c = NULL;
    ash_env env;
    opts.op = *op;
    opts.collation = request->collation;
    ash_budget outer = ash__budget_enter(op->deadline_ms, op->cancel, 0);
    int rc = open_values(ash__embedded(store), &spec, &env, &c, err);
    if (rc != 0) {
        ash__budget_leave(outer);
        return rc;
    }
    seen_values s = {.collation = &env.query.collation};
    ash__builder_begin(&s.answer);
    ash__builder_begin_array(&s.answer, "values");
    rc = gather(c, request->key, &s, err);
    ash__budget_leave(outer);
    ash__builder_end(&s.answer);
    ash__builder_end(&s.answer);
    if (rc == 0) {
        ash__doc_give(ash__builder_doc(&s.answer), out);
    }
    ash__free(s.slots);
    ash__builder_release(&s.answer);
    c->ops->free(c);
    ash__env_release(&env);
    return rc;
}
