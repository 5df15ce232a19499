/* SPDX-License-Identifier: Apache-2.0 */
/* Modifiers of arrays: $push $addToSet $pop $pull $pullAll. */
#include "query/update/node.h"

#include "base/mem.h"
#include "query/kit/sort_value.h"
#include "query/kit/value_text.h"

#include <string.h>

/* What $push was told beside the values. */
struct ash_push {
    int64_t position; /* INT64_MAX: at the end */
    int64_t slice;
    bool has_slice;
    ash_value sort;
};

static int whole_number(ash_update_parser *p, const char *clause, ash_value v, int64_t *out)
{
    if (ash__value_is_number(v) && ash__value_as_int64(v, out))
        return 0;
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                            "The value for %s must be an integer value but was given type: %s",
                            clause, ash__type_text(v));
}

static int need_each(ash_update_parser *p, const ash_mod *m, ash_value each)
{
    if (each.type == BSON_TYPE_ARRAY)
        return 0;
    return ash__fail_server(p->err, ASH_EINVAL,
                            m->op->variant == 0 ? ASH_MONGO_BAD_VALUE : ASH_MONGO_TYPE_MISMATCH,
                            "The argument to $each in %s must be an array but it was of type: %s",
                            m->op->name, ash__type_text(each));
}

/* One value becomes an array of one, so that applying knows only arrays. */
static ash_value array_of_one(ash_update_parser *p, ash_value v)
{
    ash_builder b = ASH_BUILDER_INIT;
    ash__builder_begin(&b);
    ash__builder_item(&b, 0, v);
    ash__builder_end(&b);
    ash_doc doc = ash__arena_adopt(p->u->arena, &b.buf);
    ash__builder_release(&b);
    return ash__value_of_array(doc);
}

static int parse_push_clause(ash_update_parser *p, ash_mod *m, const ash_doc_iter *it)
{
    int rc;
    if (strcmp(it->name, "$each") == 0) {
        m->operand = it->value;
        return need_each(p, m, it->value);
    }
    if (strcmp(it->name, "$position") == 0)
        return whole_number(p, "$position", it->value, &m->push->position);
    if (strcmp(it->name, "$slice") == 0) {
        m->push->has_slice = true;
        return whole_number(p, "$slice", it->value, &m->push->slice);
    }
    if (strcmp(it->name, "$sort") == 0) {
        m->push->sort = it->value;
        rc = ash__sort_by_check(it->value, p->err);
        return rc;
    }
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                            "Unrecognized clause in $push: %s", it->name);
}

static int parse_push(ash_update_parser *p, ash_mod *m, ash_value operand)
{
    m->push = ash__arena_alloc(p->u->arena, sizeof *m->push);
    *m->push = (struct ash_push){.position = INT64_MAX};
    if (operand.type != BSON_TYPE_DOCUMENT ||
        ash__value_is_missing(ash__doc_get(ash__value_doc(operand), "$each"))) {
        m->operand = array_of_one(p, operand);
        return 0;
    }
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(operand)); ash__doc_iter_next(&it);) {
        int rc = parse_push_clause(p, m, &it);
        if (rc != 0)
            return rc;
    }
    return 0;
}

/* Old items with the new ones at their position. */
static ash_value *insert_items(const ash_mod *m, ash_update_run *r, ash_value old, uint32_t *count)
{
    uint32_t old_count = 0, fresh_count;
    ash_value *items = NULL;
    if (old.type == BSON_TYPE_ARRAY)
        items = ash__array_items(r->arena, old, &old_count);
    ash_value *fresh = ash__array_items(r->arena, m->operand, &fresh_count);
    /* A negative position counts from the end. */
    int64_t at = m->push->position < 0 ? old_count + m->push->position : m->push->position;
    at = at < 0 ? 0 : at > old_count ? old_count : at;
    *count = old_count + fresh_count;
    ash_value *all = ash__arena_alloc(r->arena, *count * sizeof *all);
    for (uint32_t i = 0, k = 0, j = 0; i < *count; i++)
        all[i] = i >= at && j < fresh_count ? fresh[j++] : items[k++];
    return all;
}

static ash_eval eval_of(ash_update_run *r)
{
    return (ash_eval){.root = r->doc, .arena = r->arena, .env = r->u->env, .err = r->err};
}

static int apply_push(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out)
{
    char text[ASH_TEXT_BYTES];
    uint32_t count, from = 0;
    ash_eval e = eval_of(r);
    if (!ash__value_is_missing(old) && old.type != BSON_TYPE_ARRAY)
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The field '%s' must be an array but is of type %s in document %s",
                                m->path, ash__type_text(old),
                                ash__run_id_text(r, text, sizeof text));
    ash_value *items = insert_items(m, r, old, &count);
    /* In the server's order: all are inserted, then sorted, then cut. */
    if (!ash__value_is_missing(m->push->sort))
        ash__sort_values(items, count, m->push->sort, &r->u->env->collation);
    if (m->push->has_slice) {
        int64_t slice = m->push->slice;
        /* The lowest int64 has no counterpart. */
        int64_t keep = slice == INT64_MIN ? INT64_MAX : slice < 0 ? -slice : slice;
        keep = keep > count ? count : keep;
        from = slice < 0 ? count - (uint32_t)keep : 0;
        count = (uint32_t)keep;
    }
    return ash__array_of(&e, items + from, count, out);
}

static int parse_add_to_set(ash_update_parser *p, ash_mod *m, ash_value operand)
{
    ash_value each = ASH_VALUE_MISSING;
    if (operand.type == BSON_TYPE_DOCUMENT) {
        ash_doc_iter it = ash__doc_iter(ash__value_doc(operand));
        if (ash__doc_iter_next(&it) && strcmp(it.name, "$each") == 0) {
            each = it.value;
            if (ash__doc_iter_next(&it))
                return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                        "Found unexpected fields after $each in $addToSet: %s",
                                        it.name);
        }
    }
    if (ash__value_is_missing(each)) {
        m->operand = array_of_one(p, operand);
        return 0;
    }
    m->operand = each;
    return need_each(p, m, each);
}

/* A hash set of views. */
struct value_set {
    ash_value *slots;
    uint32_t mask;
    const ash_collation *collation;
};

static struct value_set set_new(ash_update_run *r, uint32_t count)
{
    /* At most half full, so that a search always ends, and soon. */
    uint32_t size = 8;
    while (size < 2 * count)
        size *= 2;
    struct value_set s = {ash__arena_alloc(r->arena, size * sizeof *s.slots), size - 1,
                          &r->u->env->collation};
    memset(s.slots, 0, size * sizeof *s.slots);
    return s;
}

/* Where it is, or would be. */
static ash_value *set_slot(const struct value_set *s, ash_value v)
{
    uint32_t at = (uint32_t)ash__value_hash(v, s->collation) & s->mask;
    while (!ash__value_is_missing(s->slots[at]) && !ash__value_equal(s->slots[at], v, s->collation))
        at = (at + 1) & s->mask;
    return &s->slots[at];
}

static bool set_has(const struct value_set *s, ash_value v)
{
    return !ash__value_is_missing(*set_slot(s, v));
}

static bool set_add(struct value_set *s, ash_value v)
{
    ash_value *slot = set_slot(s, v);
    if (!ash__value_is_missing(*slot))
        return false;
    *slot = v;
    return true;
}

static int apply_add_to_set(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out)
{
    uint32_t old_count = 0, fresh_count;
    ash_value *items = NULL;
    ash_eval e = eval_of(r);
    if (!ash__value_is_missing(old) && old.type != BSON_TYPE_ARRAY)
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Cannot apply $addToSet to non-array field. Field named '%s' has "
                                "non-array type %s",
                                m->path, ash__type_text(old));
    if (old.type == BSON_TYPE_ARRAY)
        items = ash__array_items(r->arena, old, &old_count);
    ash_value *fresh = ash__array_items(r->arena, m->operand, &fresh_count);
    struct value_set set = set_new(r, old_count + fresh_count);
    ash_value *all = ash__arena_alloc(r->arena, (old_count + fresh_count) * sizeof *all);
    uint32_t count = old_count;
    for (uint32_t i = 0; i < old_count; i++) {
        /* Old items stay, duplicates too; only new ones are held against the set. */
        all[i] = items[i];
        set_add(&set, items[i]);
    }
    for (uint32_t i = 0; i < fresh_count; i++) {
        if (set_add(&set, fresh[i]))
            all[count++] = fresh[i];
    }
    /* Nothing was added: the field is untouched, not written anew. */
    if (count == old_count && !ash__value_is_missing(old)) {
        *out = old;
        return 0;
    }
    return ash__array_of(&e, all, count, out);
}

static int parse_pop(ash_update_parser *p, ash_mod *m, ash_value operand)
{
    char text[ASH_TEXT_BYTES];
    int64_t n;
    bool is_number = ash__value_is_number(operand) && ash__value_as_int64(operand, &n);
    if (!is_number)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "Expected a number in: %s",
                                ash__element_text(m->path, operand, text, sizeof text));
    if (n != 1 && n != -1)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_FAILED_TO_PARSE,
                                "$pop expects 1 or -1, found: %lld", (long long)n);
    return 0;
}

static int apply_pop(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out)
{
    uint32_t count;
    int64_t end;
    ash_eval e = eval_of(r);
    *out = old;
    if (ash__value_is_missing(old))
        return 0;
    if (old.type != BSON_TYPE_ARRAY)
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "Path '%s' contains an element of non-array type '%s'", m->path,
                                ash__type_text(old));
    ash_value *items = ash__array_items(r->arena, old, &count);
    if (count == 0)
        return 0;
    ash__value_as_int64(m->operand, &end);
    return ash__array_of(&e, end < 0 ? items + 1 : items, count - 1, out);
}

/* A document is a condition, a regular expression matches; any other value pulls its equals. */
static int parse_pull(ash_update_parser *p, ash_mod *m, ash_value operand)
{
    ash_builder b = ASH_BUILDER_INIT;
    int rc;
    if (operand.type == BSON_TYPE_DOCUMENT)
        return ash__matcher_new_for_value(operand, p->u->env, &m->matcher, p->err);
    if (operand.type != BSON_TYPE_REGEX)
        return 0;
    ash__builder_begin(&b);
    ash__builder_value(&b, "$regex", operand);
    ash__builder_end(&b);
    rc = ash__matcher_new_for_value(ash__value_of_doc(ash__builder_doc(&b)), p->u->env, &m->matcher,
                                    p->err);
    ash__builder_release(&b);
    return rc;
}

/* $pullAll: what is in the list.  Both may be as long as a document allows. */
static void pull_listed(const ash_mod *m, ash_update_run *r, ash_value *items, uint32_t count,
                        uint32_t *kept)
{
    uint32_t listed;
    ash_value *list = ash__array_items(r->arena, m->operand, &listed);
    struct value_set set = set_new(r, listed);
    for (uint32_t i = 0; i < listed; i++)
        set_add(&set, list[i]);
    for (uint32_t i = 0; i < count; i++) {
        if (!set_has(&set, items[i]))
            items[(*kept)++] = items[i];
    }
}

/* variant 1: every value of a list. */
static int apply_pull(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out)
{
    uint32_t count, kept = 0;
    ash_eval e = eval_of(r);
    *out = old;
    if (ash__value_is_missing(old))
        return 0;
    if (old.type != BSON_TYPE_ARRAY)
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Cannot apply %s to a non-array value", m->op->name);
    ash_value *items = ash__array_items(r->arena, old, &count);
    if (m->op->variant == 1)
        pull_listed(m, r, items, count, &kept);
    for (uint32_t i = 0; m->op->variant == 0 && i < count; i++) {
        bool pulled = false;
        int rc = 0;
        if (m->matcher != NULL)
            rc = ash__matcher_check_value(m->matcher, items[i], &pulled, r->err);
        else
            pulled = ash__value_equal(m->operand, items[i], &r->u->env->collation);
        if (rc != 0)
            return rc;
        if (!pulled)
            items[kept++] = items[i];
    }
    return kept == count ? 0 : ash__array_of(&e, items, kept, out);
}

static int parse_pull_all(ash_update_parser *p, ash_mod *m, ash_value operand)
{
    (void)m;
    if (operand.type == BSON_TYPE_ARRAY)
        return 0;
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                            "$pullAll requires an array argument but was given a %s",
                            ash__type_text(operand));
}

const ash_mod_op ash__update_list_ops[] = {
    {"$push", true, parse_push, apply_push, 0},
    {"$addToSet", true, parse_add_to_set, apply_add_to_set, 1},
    {"$pop", false, parse_pop, apply_pop, 0},
    {"$pull", false, parse_pull, apply_pull, 0},
    {"$pullAll", false, parse_pull_all, apply_pull, 1},
    {NULL},
};
