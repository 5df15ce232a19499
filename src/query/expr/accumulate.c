/* SPDX-License-Identifier: Apache-2.0 */
/* The running answer of one accumulator.  Sums of doubles carry along what rounding has lost, and
 * deviations go by Welford's method, so that the order of documents hardly shows in the result. */
#include "query/expr/accumulate.h"

#include "base/mem.h"
#include "bson/number.h"
#include "query/kit/merge.h"

#include <math.h>
#include <string.h>

struct ash_acc {
    ash_acc_kind kind;
    const ash_query_env *env;
    uint64_t count; /* values that counted */
    ash_value_box sum_box;
    ash_value sum;        /* in sum_box */
    double compensation;  /* what rounding has lost from a sum of doubles (Neumaier) */
    double mean, squares; /* Welford */
    ash_buffer kept;      /* bytes of the one value that is kept */
    ash_value value;
    ash_builder list; /* $push, $addToSet: an open array; $mergeObjects: a finished document */
    uint32_t *slots;  /* $addToSet: offsets of the elements in list, + 1; 0 = free */
    uint32_t slot_mask;
    bool finished;
    ash_value_box result_box;
};

static const struct {
    const char *name;
    ash_acc_kind kind;
} kinds[] = {
    {"$sum", ASH_ACC_SUM},
    {"$avg", ASH_ACC_AVG},
    {"$min", ASH_ACC_MIN},
    {"$max", ASH_ACC_MAX},
    {"$first", ASH_ACC_FIRST},
    {"$last", ASH_ACC_LAST},
    {"$push", ASH_ACC_PUSH},
    {"$addToSet", ASH_ACC_ADD_TO_SET},
    {"$count", ASH_ACC_COUNT},
    {"$mergeObjects", ASH_ACC_MERGE_OBJECTS},
    {"$stdDevPop", ASH_ACC_STD_DEV_POP},
    {"$stdDevSamp", ASH_ACC_STD_DEV_SAMP},
};

bool ash__acc_kind_find(const char *name, ash_acc_kind *out)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            *out = kinds[i].kind;
            return true;
        }
    }
    return false;
}

const ash_feature *ash__acc_features(void)
{
    static ash_feature table[ASH_ARRAY_LEN(kinds) + 1];
    for (size_t i = 0; i < ASH_ARRAY_LEN(kinds); i++)
        table[i] = (ash_feature){kinds[i].name, "full", ""};
    return table;
}

ash_acc *ash__acc_new(ash_acc_kind kind, const ash_query_env *env)
{
    ash_acc *a = ash__new(ash_acc);
    a->kind = kind;
    a->env = env;
    a->sum = ash__box_int32(&a->sum_box, 0);
    ash__builder_begin(&a->list);
    /* Its list is the document so far, complete at all times. */
    if (kind == ASH_ACC_MERGE_OBJECTS)
        ash__builder_end(&a->list);
    return a;
}

void ash__acc_free(ash_acc *a)
{
    if (a == NULL)
        return;
    ash__buffer_release(&a->kept);
    ash__builder_release(&a->list);
    ash__free(a->slots);
    ash__free(a);
}

size_t ash__acc_bytes(const ash_acc *a)
{
    size_t slots = a->slots != NULL ? 2 * ((size_t)a->slot_mask + 1) * sizeof *a->slots : 0;
    return sizeof *a + a->kept.capacity + a->list.buf.capacity + slots;
}

static void keep(ash_acc *a, ash_value v)
{
    ash__buffer_clear(&a->kept);
    ash__buffer_append(&a->kept, v.data, v.len);
    a->value = (ash_value){v.type, a->kept.data, v.len};
}

static int add_number(ash_acc *a, ash_value v, ash_error *err)
{
    ash_value_box box;
    bool decimal = v.type == BSON_TYPE_DECIMAL128 || a->sum.type == BSON_TYPE_DECIMAL128;
    bool floating = v.type == BSON_TYPE_DOUBLE || a->sum.type == BSON_TYPE_DOUBLE;
    double before = 0, d = 0;
    if (floating && !decimal) {
        ash__value_as_double(a->sum, &before);
        ash__value_as_double(v, &d);
    }
    int rc = ash__number_arith(ASH_ADD, a->sum, v, true, &box, err);
    if (rc != 0)
        return rc;
    ash_value sum = box.value;
    if (floating && !decimal) {
        double after = ash__value_double(sum);
        /* The smaller of the two lost its low bits.  With an infinity the difference is NaN, and
         * nothing lost. */
        double lost = fabs(before) >= fabs(d) ? (before - after) + d : (d - after) + before;
        if (isfinite(lost))
            a->compensation += lost;
    }
    /* Only now: until here the old sum was an operand. */
    memcpy(a->sum_box.bytes, sum.data, sum.len);
    a->sum = (ash_value){sum.type, a->sum_box.bytes, sum.len};
    a->count++;
    return 0;
}

static void add_deviation(ash_acc *a, ash_value v)
{
    double d;
    if (!ash__value_as_double(v, &d))
        return;
    a->count++;
    double delta = d - a->mean;
    a->mean += delta / (double)a->count;
    a->squares += delta * (d - a->mean);
}

static void add_extreme(ash_acc *a, ash_value v)
{
    /* MongoDB's $min and $max pass over null and missing, which would be least in its order. */
    if (v.type == 0 || ash__value_is_null(v))
        return;
    int order = a->count++ == 0 ? 0 : ash__value_compare(v, a->value, &a->env->collation);
    if (a->count == 1 || (a->kind == ASH_ACC_MIN ? order < 0 : order > 0))
        keep(a, v);
}

/* The element at an offset of the list: its value lies behind the index that names it. */
static ash_value list_element(const ash_acc *a, uint32_t offset, uint32_t end)
{
    const uint8_t *p = a->list.buf.data + offset;
    size_t name = strlen((const char *)p + 1);
    uint32_t head = (uint32_t)name + 2;
    /* Not a pointer kept from when it was added: the buffer moves as it grows. */
    return (ash_value){p[0], p + head, end - offset - head};
}

static void grow_slots(ash_acc *a)
{
    uint32_t size = a->slots == NULL ? 16 : 2 * (a->slot_mask + 1);
    uint32_t *old = a->slots;
    uint32_t old_size = old == NULL ? 0 : a->slot_mask + 1;
    a->slots = ash__alloc_array(2 * (size_t)size, sizeof *a->slots);
    a->slot_mask = size - 1;
    for (uint32_t i = 0; i < old_size; i++) {
        if (old[2 * i] == 0)
            continue;
        ash_value v = list_element(a, old[2 * i] - 1, old[2 * i + 1]);
        uint32_t at = (uint32_t)ash__value_hash(v, &a->env->collation) & a->slot_mask;
        while (a->slots[2 * at] != 0)
            at = (at + 1) & a->slot_mask;
        a->slots[2 * at] = old[2 * i];
        a->slots[2 * at + 1] = old[2 * i + 1];
    }
    ash__free(old);
}

static void add_to_set(ash_acc *a, ash_value v)
{
    /* At most half full, so that a search always ends, and soon. */
    if (a->slots == NULL || a->count * 2 > a->slot_mask)
        grow_slots(a);
    uint32_t at = (uint32_t)ash__value_hash(v, &a->env->collation) & a->slot_mask;
    for (; a->slots[2 * at] != 0; at = (at + 1) & a->slot_mask) {
        ash_value old = list_element(a, a->slots[2 * at] - 1, a->slots[2 * at + 1]);
        if (ash__value_equal(old, v, &a->env->collation))
            return;
    }
    a->slots[2 * at] = (uint32_t)a->list.buf.len + 1;
    ash__builder_item(&a->list, (uint32_t)a->count++, v);
    a->slots[2 * at + 1] = (uint32_t)a->list.buf.len;
}

static int add_object(ash_acc *a, ash_value v, ash_error *err)
{
    if (v.type == 0 || ash__value_is_null(v))
        return 0;
    if (v.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_MERGE_OBJECTS_NOT_OBJECT,
                                "$mergeObjects requires object inputs, but input is of type %s",
                                ash__type_name(v.type));
    ash_builder merged = ASH_BUILDER_INIT;
    ash__builder_begin(&merged);
    ash__doc_merge(&merged, ash__builder_doc(&a->list), ash__value_doc(v));
    ash__builder_end(&merged);
    ash__builder_release(&a->list);
    a->list = merged;
    return 0;
}

int ash__acc_add(ash_acc *a, ash_value v, ash_error *err)
{
    switch (a->kind) {
    case ASH_ACC_SUM:
    case ASH_ACC_AVG:
        return ash__value_is_number(v) ? add_number(a, v, err) : 0;
    case ASH_ACC_MIN:
    case ASH_ACC_MAX:
        add_extreme(a, v);
        return 0;
    case ASH_ACC_FIRST:
        if (a->count++ == 0)
            keep(a, v);
        return 0;
    case ASH_ACC_LAST:
        a->count++;
        keep(a, v);
        return 0;
    case ASH_ACC_PUSH:
        if (!ash__value_is_missing(v))
            ash__builder_item(&a->list, (uint32_t)a->count++, v);
        break;
    case ASH_ACC_ADD_TO_SET:
        if (!ash__value_is_missing(v))
            add_to_set(a, v);
        break;
    case ASH_ACC_COUNT:
        a->count++;
        return 0;
    case ASH_ACC_MERGE_OBJECTS:
        return add_object(a, v, err);
    case ASH_ACC_STD_DEV_POP:
    case ASH_ACC_STD_DEV_SAMP:
        if (ash__value_is_number(v))
            add_deviation(a, v);
        return 0;
    }
    /* Offsets of a set are 32 bits wide, and no list this long could become a document. */
    if (a->list.buf.len > 8u * ASH_DOC_MAX_BYTES)
        return ash__fail_server(err, ASH_ENOMEM, ASH_MONGO_EXCEEDED_MEMORY_LIMIT,
                                "a list made by an accumulator is too long");
    return 0;
}

static ash_value sum_result(ash_acc *a)
{
    if (a->sum.type == BSON_TYPE_DOUBLE)
        return ash__box_double(&a->result_box, ash__value_double(a->sum) + a->compensation);
    return a->sum;
}

static ash_value average(ash_acc *a)
{
    ash_value_box box;
    double d = 0;
    if (a->count == 0)
        return ash__box_null(&a->result_box);
    if (a->sum.type != BSON_TYPE_DECIMAL128) {
        ash__value_as_double(sum_result(a), &d);
        return ash__box_double(&a->result_box, d / (double)a->count);
    }
    ash_value count = ash__box_int64(&box, (int64_t)a->count);
    if (ash__number_arith(ASH_DIVIDE, a->sum, count, true, &a->result_box, NULL) != 0)
        return ash__box_null(&a->result_box);
    return a->result_box.value;
}

static ash_value deviation(ash_acc *a)
{
    /* Of one value there is no sample deviation: null. */
    uint64_t n = a->kind == ASH_ACC_STD_DEV_SAMP ? a->count - 1 : a->count;
    if (a->count == 0 || n == 0)
        return ash__box_null(&a->result_box);
    return ash__box_double(&a->result_box, sqrt(a->squares / (double)n));
}

ash_value ash__acc_result(ash_acc *a)
{
    switch (a->kind) {
    case ASH_ACC_SUM:
        return sum_result(a);
    case ASH_ACC_AVG:
        return average(a);
    case ASH_ACC_COUNT:
        return a->count <= INT32_MAX ? ash__box_int32(&a->result_box, (int32_t)a->count)
                                     : ash__box_int64(&a->result_box, (int64_t)a->count);
    case ASH_ACC_PUSH:
    case ASH_ACC_ADD_TO_SET:
        /* The result may be asked for more than once. */
        if (!a->finished)
            ash__builder_end(&a->list);
        a->finished = true;
        return ash__value_of_array(ash__builder_doc(&a->list));
    case ASH_ACC_MERGE_OBJECTS:
        return ash__value_of_doc(ash__builder_doc(&a->list));
    case ASH_ACC_STD_DEV_POP:
    case ASH_ACC_STD_DEV_SAMP:
        return deviation(a);
    default:
        return ash__value_is_missing(a->value) ? ash__box_null(&a->result_box) : a->value;
    }
}
