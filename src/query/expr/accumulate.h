/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_QUERY_EXPR_ACCUMULATE_H
#define ASH_QUERY_EXPR_ACCUMULATE_H

/* Accumulators: of $group, and as expressions over arrays ($sum, $avg, $min, $max, $stdDev…).
 * Feed values with add, then ask for the result. */

#include "bson/builder.h"
#include "query/kit/env.h"

typedef enum ash_acc_kind {
    ASH_ACC_SUM,
    ASH_ACC_AVG,
    ASH_ACC_MIN,
    ASH_ACC_MAX,
    ASH_ACC_FIRST,
    ASH_ACC_LAST,
    ASH_ACC_PUSH,
    ASH_ACC_ADD_TO_SET,
    ASH_ACC_COUNT,
    ASH_ACC_MERGE_OBJECTS,
    ASH_ACC_STD_DEV_POP,
    ASH_ACC_STD_DEV_SAMP
} ash_acc_kind;

/* By its operator's name ("$sum"); false when there is none. */
bool ash__acc_kind_find(const char *name, ash_acc_kind *out);
const ash_feature *ash__acc_features(void);

typedef struct ash_acc ash_acc;
ash_acc *ash__acc_new(ash_acc_kind kind, const ash_query_env *env);
void ash__acc_free(ash_acc *a);
int ash__acc_add(ash_acc *a, ash_value v, ash_error *err); /* copies what it keeps */
size_t ash__acc_bytes(const ash_acc *a);                   /* memory in use */
ash_value ash__acc_result(ash_acc *a); /* view, until the next call on a; never missing */

#endif
