/* SPDX-License-Identifier: Apache-2.0 */
#include "query/kit/sort_value.h"

#include "base/mem.h"
#include "bson/path.h"

#include <string.h>

static bool is_direction(ash_value v, int *out)
{
    int64_t n;
    if (!ash__value_is_number(v) || !ash__value_as_int64(v, &n) || (n != 1 && n != -1))
        return false;
    *out = (int)n;
    return true;
}

int ash__sort_by_check(ash_value by, ash_error *err)
{
    int direction;
    if (is_direction(by, &direction))
        return 0;
    if (by.type != BSON_TYPE_DOCUMENT)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The $sort is invalid: use 1/-1 to sort the whole element, or "
                                "{field:1/-1} to sort embedded fields");
    if (ash__doc_is_empty(ash__value_doc(by)))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                "The $sort pattern is empty when it should be "
                                "a set of fields.");
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(by)); ash__doc_iter_next(&it);) {
        if (!is_direction(it.value, &direction))
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "The $sort element value must be either 1 or -1");
        if (ash__path_check(it.name, NULL) != 0)
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_BAD_VALUE,
                                    "The $sort field cannot be empty");
    }
    return 0;
}

static int compare_items(ash_value a, ash_value b, ash_value by, const ash_collation *c)
{
    int direction;
    if (is_direction(by, &direction))
        return direction * ash__value_compare(a, b, c);
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(by)); ash__doc_iter_next(&it);) {
        /* What is no document has none of the fields. */
        ash_doc empty = ash__doc_empty;
        ash_value x =
            ash__path_get(a.type == BSON_TYPE_DOCUMENT ? ash__value_doc(a) : empty, it.name);
        ash_value y =
            ash__path_get(b.type == BSON_TYPE_DOCUMENT ? ash__value_doc(b) : empty, it.name);
        int order = ash__value_compare(x, y, c);
        is_direction(it.value, &direction);
        if (order != 0)
            return direction * order;
    }
    return 0;
}

/* Merge sort: qsort is not stable and knows no context. */
static void merge_sort(ash_value *items, ash_value *scratch, uint32_t count, ash_value by,
                       const ash_collation *c)
{
    uint32_t half = count / 2, i = 0, k = half, n = 0;
    if (count < 2)
        return;
    merge_sort(items, scratch, half, by, c);
    merge_sort(items + half, scratch, count - half, by, c);
    while (i < half && k < count)
        scratch[n++] = compare_items(items[k], items[i], by, c) < 0 ? items[k++] : items[i++];
    while (i < half)
        scratch[n++] = items[i++];
    memcpy(items, scratch, n * sizeof *items);
}

void ash__sort_values(ash_value *items, uint32_t count, ash_value by, const ash_collation *c)
{
    /* One for all levels of the recursion, which use it one after the other. */
    ash_value *scratch = ash__alloc_array(count, sizeof *scratch);
    merge_sort(items, scratch, count, by, c);
    ash__free(scratch);
}
