/* SPDX-License-Identifier: Apache-2.0 */
#include "checked.h"

#include <stdio.h>

bool steps_check(ash_store *store, ash_error *err)
{
    bson_t action = BSON_INITIALIZER, report;
    bson_iter_t it, list, finding;
    BSON_APPEND_INT32(&action, "check", 1);
    int result = ash_store_maintain(store, &action, NULL, NULL, &report, err);
    if (result == ASH_ECORRUPT && bson_iter_init_find(&it, &report, "findings") &&
        bson_iter_recurse(&it, &list) && bson_iter_next(&list) &&
        bson_iter_recurse(&list, &finding) && bson_iter_find(&finding, "text"))
        snprintf(err->text, sizeof err->text, "check: %s", bson_iter_utf8(&finding, NULL));
    if (result == 0 || result == ASH_ECORRUPT)
        bson_destroy(&report);
    bson_destroy(&action);
    return result == 0;
}
