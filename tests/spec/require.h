/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_SPEC_REQUIRE_H
#define ASH_TESTS_SPEC_REQUIRE_H

#include "runner.h"

/* One of the document's runOnRequirements is met, or it has none. */
bool spec_requirements_met(ash_doc doc);

#endif
