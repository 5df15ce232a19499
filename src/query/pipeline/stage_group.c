/* SPDX-License-Identifier: Apache-2.0 */
/* $group: all documents are read before the first group is given.  Groups are found by the hash of
 * their key, and given in the order in which they came up. */
#include "query/pipeline/stage.h"

#include "base/mem.h"
#include "base/share.h"
#include "query/expr/accumulate.h"
#include "query/project/reshape.h"

#include <string.h>

struct field {
    const char *name;
    ash_acc_kind kind;
    ash_expr *expr; /* NULL: $count */
};

struct group {
    uint64_t hash;
    ash_value key; /* copied */
    uint8_t *key_bytes;
    ash_acc **accs;
};

struct group_state {
    ash_expr *id;
    struct field *fields;
    uint32_t field_count;
    struct group *groups; /* in the order in which they came up */
    uint32_t count;
    uint32_t capacity;
    uint32_t *slots; /* index + 1; 0 = free */
    uint32_t slot_mask;
    size_t bytes;
    ash_share share; /* of bytes */
    ash_arena *arena;
    bool loaded;
    uint32_t given;
    ash_builder out;
};

static int parse_count(ash_stage_parser *p, ash_value arg)
{
    if (arg.type == BSON_TYPE_DOCUMENT && ash__doc_is_empty(ash__value_doc(arg)))
        return 0;
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                            "$count takes no arguments, i.e. $count:{}");
}

static int parse_field(ash_stage_parser *p, struct field *f, const ash_doc_iter *it)
{
    ash_doc_iter op;
    if (strchr(it->name, '.') != NULL)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GROUP_FIELD_DOT,
                                "The field name '%s' cannot contain '.'", it->name);
    if (it->name[0] == '$')
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GROUP_FIELD_DOLLAR,
                                "The field name '%s' cannot be an operator name", it->name);
    op = ash__doc_iter(it->value.type == BSON_TYPE_DOCUMENT ? ash__value_doc(it->value)
                                                            : ash__doc_empty);
    if (!ash__doc_iter_next(&op) || op.name[0] != '$')
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GROUP_FIELD_NOT_OBJECT,
                                "The field '%s' must be an accumulator object", it->name);
    if (ash__doc_count(ash__value_doc(it->value)) != 1)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GROUP_FIELD_NOT_ONE_OPERATOR,
                                "The field '%s' must specify one accumulator", it->name);
    if (!ash__acc_kind_find(op.name, &f->kind))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GROUP_UNKNOWN_OPERATOR,
                                "unknown group operator '%s'", op.name);
    f->name = it->name;
    if (f->kind == ASH_ACC_COUNT)
        return parse_count(p, op.value);
    if (op.value.type == BSON_TYPE_ARRAY && ash__doc_count(ash__value_doc(op.value)) != 1)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GROUP_OPERATOR_NOT_UNARY,
                                "The %s accumulator is a unary operator", op.name);
    ash_value arg = op.value;
    /* An array of one item is that item, as for all operators with one argument. */
    if (arg.type == BSON_TYPE_ARRAY)
        arg = ash__doc_get(ash__value_doc(arg), "0");
    return ash__expr_new(arg, p->pipeline->env, &f->expr, p->err);
}

static int parse_group(ash_stage_parser *p, const ash_stage_op *op, ash_value spec)
{
    int rc = 0;
    bool has_id = false;
    if (spec.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GROUP_NOT_OBJECT,
                                "a group's fields must be specified in an object");
    p->head_open = false;
    struct group_state *s = ash__stage_add(p, op, sizeof *s)->state;
    s->arena = ash__arena_new();
    s->fields = ash__alloc_array(ash__doc_count(ash__value_doc(spec)), sizeof *s->fields);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(spec));
         rc == 0 && ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "_id") != 0) {
            rc = parse_field(p, &s->fields[s->field_count++], &it);
        } else if (has_id) {
            rc = ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GROUP_ID_TWICE,
                                  "a group's _id may only be specified once");
        } else {
            has_id = true;
            rc = ash__expr_new(it.value, p->pipeline->env, &s->id, p->err);
        }
    }
    if (rc == 0 && !has_id)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_LOCATION_GROUP_WITHOUT_ID,
                                "a group specification must include an _id");
    return rc;
}

static void grow_slots(struct group_state *s)
{
    uint32_t size = s->slots == NULL ? 64 : 2 * (s->slot_mask + 1);
    ash__free(s->slots);
    s->slots = ash__alloc_array(size, sizeof *s->slots);
    s->slot_mask = size - 1;
    for (uint32_t i = 0; i < s->count; i++) {
        /* Groups keep their hashes, so that no key is hashed again. */
        uint32_t at = (uint32_t)s->groups[i].hash & s->slot_mask;
        while (s->slots[at] != 0)
            at = (at + 1) & s->slot_mask;
        s->slots[at] = i + 1;
    }
}

static struct group *new_group(struct group_state *s, ash_value key, uint64_t hash,
                               const ash_query_env *env)
{
    if (s->count == s->capacity) {
        s->capacity = s->capacity == 0 ? 32 : 2 * s->capacity;
        s->groups = ash__realloc_array(s->groups, s->capacity, sizeof *s->groups);
    }
    struct group *g = &s->groups[s->count++];
    g->hash = hash;
    g->key_bytes = ash__memdup(key.data, key.len);
    g->key = (ash_value){key.type, g->key_bytes, key.len};
    g->accs = ash__alloc_array(s->field_count, sizeof(ash_acc *));
    /* 64: an allowance for the slots and the allocator. */
    s->bytes += sizeof *g + key.len + 64;
    for (uint32_t i = 0; i < s->field_count; i++) {
        g->accs[i] = ash__acc_new(s->fields[i].kind, env);
        s->bytes += ash__acc_bytes(g->accs[i]);
    }
    return g;
}

static struct group *find_group(struct group_state *s, ash_value key, const ash_query_env *env)
{
    uint64_t hash = ash__value_hash(key, &env->collation);
    if (s->slots == NULL || s->count * 2 > s->slot_mask)
        grow_slots(s);
    uint32_t at = (uint32_t)hash & s->slot_mask;
    for (; s->slots[at] != 0; at = (at + 1) & s->slot_mask) {
        struct group *g = &s->groups[s->slots[at] - 1];
        /* The whole hash first, which is cheaper than comparing keys that are documents. */
        if (g->hash == hash && ash__value_equal(g->key, key, &env->collation))
            return g;
    }
    s->slots[at] = s->count + 1;
    return new_group(s, key, hash, env);
}

static int add_doc(struct group_state *s, ash_doc doc, const ash_query_env *env, ash_error *err)
{
    ash_value key, v;
    ash__arena_reset(s->arena);
    int rc = ash__expr_eval(s->id, doc, NULL, s->arena, &key, err);
    if (rc != 0)
        return rc;
    /* A missing key makes the same group as null. */
    struct group *g = find_group(s, ash__value_is_missing(key) ? ash__make_null() : key, env);
    for (uint32_t i = 0; rc == 0 && i < s->field_count; i++) {
        v = ASH_VALUE_MISSING;
        if (s->fields[i].expr != NULL)
            rc = ash__expr_eval(s->fields[i].expr, doc, NULL, s->arena, &v, err);
        /* Also after a failure the sum stays right. */
        size_t before = ash__acc_bytes(g->accs[i]);
        if (rc == 0)
            rc = ash__acc_add(g->accs[i], v, err);
        s->bytes += ash__acc_bytes(g->accs[i]) - before;
    }
    if (rc == 0 && s->bytes > ash__memory_limit(env))
        return ash__memory_error("$group", err);
    return rc == 0 ? ash__share_grow(&s->share, s->bytes, "$group", err) : rc;
}

static int next_group(ash_stage *stage, ash_doc *out, ash_error *err)
{
    struct group_state *s = stage->state;
    ash_doc doc;
    int rc = 0;
    while (!s->loaded && (rc = ash__stage_pull(stage, &doc, err)) == 0 && doc.data != NULL) {
        rc = add_doc(s, doc, stage->pipeline->env, err);
        if (rc != 0)
            return rc;
    }
    if (rc != 0)
        return rc;
    s->loaded = true;
    if (s->given == s->count)
        return 0;
    const struct group *g = &s->groups[s->given++];
    ash__builder_begin(&s->out);
    ash__builder_value(&s->out, "_id", g->key);
    for (uint32_t i = 0; i < s->field_count; i++)
        ash__builder_value(&s->out, s->fields[i].name, ash__acc_result(g->accs[i]));
    ash__builder_end(&s->out);
    *out = ash__builder_doc(&s->out);
    return ash__made_check("$group", *out, err);
}

static void free_group(void *state)
{
    struct group_state *s = state;
    for (uint32_t i = 0; i < s->count; i++) {
        for (uint32_t k = 0; k < s->field_count; k++)
            ash__acc_free(s->groups[i].accs[k]);
        ash__free(s->groups[i].accs);
        ash__free(s->groups[i].key_bytes);
    }
    for (uint32_t i = 0; i < s->field_count; i++)
        ash__expr_free(s->fields[i].expr);
    ash__expr_free(s->id);
    ash__free(s->groups);
    ash__free(s->fields);
    ash__free(s->slots);
    ash__share_shrink(&s->share, 0);
    ash__arena_free(s->arena);
    ash__builder_release(&s->out);
}

const ash_stage_op ash__stage_group_ops[] = {
    {"$group", 0, parse_group, next_group, free_group,
     "accumulators: $sum, $avg, $min, $max, $first, $last, $push, $addToSet, $count, "
     "$mergeObjects, $stdDevPop, $stdDevSamp; others are refused (15952); never spills to disk"},
    {NULL},
};
