/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_FILES_RULES_H
#define ASH_STORE_EMBEDDED_FILES_RULES_H

/* The rules about files, for the store that was opened (file_rules.h says what each is for). */

#include "store/embedded/kit/embedded.h"
#include "store/embedded/kit/file_rules.h"

extern const ash_file_rules ash__file_rules;

#endif
