/* SPDX-License-Identifier: Apache-2.0 */
/* Modifiers of one value: $set $unset $inc $mul $min $max $rename $setOnInsert $currentDate $bit.
 */
#include "query/update/node.h"

#include "base/mem.h"
#include "bson/number.h"
#include "bson/path.h"
#include "query/kit/value_text.h"

#include <stdio.h>
#include <string.h>

enum { PLAIN, ON_INSERT, INC, MUL, MIN, MAX };

const char *ash__run_id_text(const ash_update_run *r, char *buf, size_t size_bytes)
{
    return ash__element_text("_id", ash__doc_get(r->doc, "_id"), buf, size_bytes);
}

/* The last part of a path, as messages name a field. */
static const char *field_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot != NULL ? dot + 1 : path;
}

static int apply_set(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out)
{
    *out = m->op->variant == ON_INSERT && !r->is_insert ? old : m->operand;
    return 0;
}

static int apply_unset(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out)
{
    (void)m;
    (void)r;
    (void)old;
    *out = ASH_VALUE_MISSING;
    return 0;
}

static int parse_number(ash_update_parser *p, ash_mod *m, ash_value operand)
{
    char text[ASH_TEXT_BYTES];
    if (ash__value_is_number(operand))
        return 0;
    return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                            "Cannot %s with non-numeric argument: %s",
                            m->op->variant == INC ? "increment" : "multiply",
                            ash__element_text(m->path, operand, text, sizeof text));
}

/* What $mul makes of a missing field: zero of the operand's type. */
static int zero_like(ash_update_run *r, ash_value like, ash_value *out)
{
    ash_value_box *box = ash__arena_alloc(r->arena, sizeof *box);
    int rc = ash__number_convert(ash__make_int32(r->arena, 0), like.type, box, r->err);
    if (rc == 0)
        *out = box->value;
    return rc;
}

static int apply_arith(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out)
{
    char text[ASH_TEXT_BYTES], current[64];
    bool is_inc = m->op->variant == INC;
    if (ash__value_is_missing(old)) {
        *out = m->operand;
        return is_inc ? 0 : zero_like(r, m->operand, out);
    }
    if (!ash__value_is_number(old))
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "Cannot apply %s to a value of non-numeric type. %s has the field "
                                "'%s' of non-numeric type %s",
                                m->op->name, ash__run_id_text(r, text, sizeof text),
                                field_of(m->path), ash__type_text(old));
    ash_value_box *box = ash__arena_alloc(r->arena, sizeof *box);
    int rc =
        ash__number_arith(is_inc ? ASH_ADD : ASH_MULTIPLY, old, m->operand, false, box, r->err);
    if (rc != 0)
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Failed to apply %s operations to current value (%s) for document "
                                "%s",
                                m->op->name, ash__value_text(old, current, sizeof current),
                                ash__run_id_text(r, text, sizeof text));
    *out = box->value;
    return 0;
}

static int apply_extreme(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out)
{
    *out = m->operand;
    if (ash__value_is_missing(old))
        return 0;
    /* MongoDB's order over all types, so that $max may make a string of a number. */
    int order = ash__value_compare(m->operand, old, &r->u->env->collation);
    if (m->op->variant == MIN ? order >= 0 : order <= 0)
        *out = old;
    return 0;
}

/* The date or timestamp is made here; whoever applies later finds it in the operand. */
static int parse_current_date(ash_update_parser *p, ash_mod *m, ash_value operand)
{
    ash_value_box *box = ash__arena_alloc(p->u->arena, sizeof *box);
    uint32_t len;
    bool ok = operand.type == BSON_TYPE_BOOL;
    m->operand = ash__box_date(box, p->u->env->now_ms);
    if (operand.type == BSON_TYPE_DOCUMENT) {
        ash_value type = ash__doc_get(ash__value_doc(operand), "$type");
        bool single = ash__doc_count(ash__value_doc(operand)) == 1 && ash__is_string(type);
        const char *name = single ? ash__value_string(type, &len) : "";
        ok = strcmp(name, "date") == 0;
        if (strcmp(name, "timestamp") == 0) {
            m->operand = ash__box_timestamp(box, p->u->env->cluster_time);
            ok = true;
        }
        if (!ok)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "The '$type' string field is required to be 'date' or "
                                    "'timestamp': {$currentDate: {field : {$type: 'date'}}}");
    }
    if (!ok)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "%s is not valid type for $currentDate. Please use a boolean "
                                "('true') or a $type expression ({$type: 'timestamp/date'}).",
                                ash__type_text(operand));
    return 0;
}

static int parse_bit(ash_update_parser *p, ash_mod *m, ash_value operand)
{
    char text[ASH_TEXT_BYTES];
    if (operand.type != BSON_TYPE_DOCUMENT || ash__doc_is_empty(ash__value_doc(operand)))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The $bit modifier is not compatible with a %s. You must pass in "
                                "an embedded document: {$bit: {field: {and/or/xor: #}}",
                                ash__type_text(operand));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(operand)); ash__doc_iter_next(&it);) {
        bool known = strcmp(it.name, "and") == 0 || strcmp(it.name, "or") == 0 ||
                     strcmp(it.name, "xor") == 0;
        if (!known)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "The $bit modifier only supports 'and', 'or', and 'xor', not "
                                    "'%s' which is an unknown operator: %s",
                                    it.name,
                                    ash__element_text(m->path, operand, text, sizeof text));
        if (it.value.type != BSON_TYPE_INT32 && it.value.type != BSON_TYPE_INT64)
            return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "The $bit modifier field must be an Integer(32/64 bit); a '%s' "
                                    "is not supported here: %s",
                                    ash__type_text(it.value),
                                    ash__element_text(m->path, operand, text, sizeof text));
    }
    return 0;
}

static int apply_bit(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out)
{
    char text[ASH_TEXT_BYTES];
    int64_t bits = 0, arg;
    bool wide = old.type == BSON_TYPE_INT64;
    if (!ash__value_is_missing(old) && old.type != BSON_TYPE_INT32 && !wide)
        return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "Cannot apply $bit to a value of non-integral type. %s has the "
                                "field %s of non-integer type %s",
                                ash__run_id_text(r, text, sizeof text), field_of(m->path),
                                ash__type_text(old));
    if (!ash__value_is_missing(old))
        ash__value_as_int64(old, &bits);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(m->operand)); ash__doc_iter_next(&it);) {
        ash__value_as_int64(it.value, &arg);
        wide = wide || it.value.type == BSON_TYPE_INT64;
        /* "and", "or", "xor": their names were checked when they were parsed. */
        if (it.name[0] == 'a')
            bits &= arg;
        else if (it.name[0] == 'o')
            bits |= arg;
        else
            bits ^= arg;
    }
    *out = wide ? ash__make_int64(r->arena, bits) : ash__make_int32(r->arena, (int32_t)bits);
    return 0;
}

/* Does a part of the path stand for items: $, $[] or $[identifier]? */
static bool is_dynamic(const char *path)
{
    for (const char *at = strstr(path, ".$"); at != NULL; at = strstr(at + 1, ".$"))
        if (at[2] == '\0' || at[2] == '.' || at[2] == '[')
            return true;
    return false;
}

static int parse_rename(ash_update_parser *p, ash_mod *m, ash_value operand)
{
    char text[ASH_TEXT_BYTES];
    uint32_t len;
    if (operand.type != BSON_TYPE_UTF8)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The 'to' field for $rename must be a string: %s",
                                ash__element_text(m->path, operand, text, sizeof text));
    const char *to = ash__value_string(operand, &len);
    if (strlen(to) != len)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The 'to' field for $rename cannot contain an embedded null byte");
    if (strcmp(to, m->path) == 0)
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The source and target field for $rename must differ: %s",
                                ash__element_text(m->path, operand, text, sizeof text));
    if (is_dynamic(m->path) || is_dynamic(to))
        return ash__fail_server(p->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The %s field for $rename may not be dynamic: %s",
                                strstr(m->path, ".$") != NULL ? "source" : "destination",
                                strstr(m->path, ".$") != NULL ? m->path : to);
    ash_mod *target;
    int rc = ash__update_add_mod(p, m->op, to, operand, &target);
    if (rc != 0)
        return rc;
    /* One modifier at each end: the walk comes to the source and to the target, in whatever order,
     * and reads the value from the document as it was. */
    target->source = m->path;
    m->op = &ash__update_rename_source;
    return 0;
}

/* The field a path leads to through documents only.  *array: the path of an array that it meets. */
static ash_value plain_field(ash_update_run *r, const char *path, const char **array)
{
    ash_value v = ash__value_of_doc(r->doc);
    *array = NULL;
    for (const char *at = path;; at++) {
        size_t len = strcspn(at, ".");
        if (v.type == BSON_TYPE_ARRAY && at > path) {
            *array = ash__arena_text(r->arena, path, (size_t)(at - path) - 1);
            return ASH_VALUE_MISSING;
        }
        if (v.type != BSON_TYPE_DOCUMENT)
            return ASH_VALUE_MISSING;
        v = ash__doc_get(ash__value_doc(v), ash__arena_text(r->arena, at, len));
        at += len;
        if (*at == '\0')
            return v;
    }
}

static int array_in_rename(ash_update_run *r, const char *which, const char *path,
                           const char *array)
{
    char text[ASH_TEXT_BYTES];
    return ash__fail_server(r->err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                            "The %s field cannot be an array element, '%s' in doc with %s has an "
                            "array field called '%s'",
                            which, path, ash__run_id_text(r, text, sizeof text), array);
}

/* At the target's place. */
static int apply_rename(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out)
{
    const char *array;
    ash_value v = plain_field(r, m->source, &array);
    if (array != NULL)
        return array_in_rename(r, "source", m->source, array);
    plain_field(r, m->path, &array);
    if (array != NULL)
        return array_in_rename(r, "destination", m->path, array);
    *out = ash__value_is_missing(v) ? old : v;
    return 0;
}

static int apply_rename_source(const ash_mod *m, ash_update_run *r, ash_value old, ash_value *out)
{
    const char *array;
    (void)old;
    plain_field(r, m->path, &array);
    if (array != NULL)
        return array_in_rename(r, "source", m->path, array);
    *out = ASH_VALUE_MISSING;
    return 0;
}

bool ash__mod_creates(const ash_mod *m, const ash_update_run *r)
{
    if (m->op->variant == ON_INSERT && m->op->apply == apply_set)
        return r->is_insert;
    if (m->source == NULL)
        return m->op->creates;
    return !ash__value_is_missing(ash__path_get(r->doc, m->source));
}

const ash_mod_op ash__update_rename_source = {"$rename", false, NULL, apply_rename_source, PLAIN};

const ash_mod_op ash__update_field_ops[] = {
    {"$set", true, NULL, apply_set, PLAIN},
    {"$setOnInsert", true, NULL, apply_set, ON_INSERT},
    {"$unset", false, NULL, apply_unset, PLAIN},
    {"$inc", true, parse_number, apply_arith, INC},
    {"$mul", true, parse_number, apply_arith, MUL},
    {"$min", true, NULL, apply_extreme, MIN},
    {"$max", true, NULL, apply_extreme, MAX},
    {"$rename", true, parse_rename, apply_rename, PLAIN},
    {"$currentDate", true, parse_current_date, apply_set, PLAIN},
    {"$bit", true, parse_bit, apply_bit, PLAIN},
    {NULL},
};
