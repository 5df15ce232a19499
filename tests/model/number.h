/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_NUMBER_H
#define ASH_TESTS_MODEL_NUMBER_H

#include "value.h"

/* A finite number as digits * 2^two * 10^ten. */
typedef struct exact {
    bool negative;
    uint32_t digits[4]; /* least significant first */
    int two, ten;
} exact;

enum number_kind { NUMBER_NAN, NUMBER_MINUS_INFINITY, NUMBER_FINITE, NUMBER_INFINITY };
enum number_kind number_exact(const mv *v, exact *out);

#endif
