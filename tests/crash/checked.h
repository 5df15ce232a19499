/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_CHECKED_H
#define ASH_TESTS_CRASH_CHECKED_H

/* For every test that asks whether a store came through: public headers alone. */

#include <ashlar/store.h>

/* The engine's own check of everything; false with the first finding in *err. */
bool steps_check(ash_store *store, ash_error *err);

#endif
