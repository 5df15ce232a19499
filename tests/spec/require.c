/* SPDX-License-Identifier: Apache-2.0 */
#include "require.h"

#include <stdlib.h>
#include <string.h>

/* What a store stands for in runOnRequirements: a server of the version whose behaviour the
 * documents follow, alone or in a replica set, without authentication. */
static const int SERVER_VERSION[3] = {7, 0, 0};

static int compare_version(const char *text)
{
    for (int i = 0; i < 3; i++) {
        char *end = NULL;
        long part = strtol(text, &end, 10);
        if (part != SERVER_VERSION[i])
            return part < SERVER_VERSION[i] ? -1 : 1;
        text = *end == '.' ? end + 1 : end;
        if (*text == '\0')
            return 0;
    }
    return 0;
}

static bool topology_fits(ash_value list)
{
    uint32_t len;
    if (list.type != BSON_TYPE_ARRAY)
        return true;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(list)); ash__doc_iter_next(&it);) {
        const char *name = it.value.type == BSON_TYPE_UTF8 ? ash__value_string(it.value, &len) : "";
        if (strcmp(name, "single") == 0 || strcmp(name, "replicaset") == 0)
            return true;
    }
    return false;
}

static bool fits(ash_doc requirement)
{
    const char *min = spec_text(requirement, "minServerVersion");
    const char *max = spec_text(requirement, "maxServerVersion");
    const char *serverless = spec_text(requirement, "serverless");
    if (min != NULL && compare_version(min) > 0)
        return false;
    if (max != NULL && compare_version(max) < 0)
        return false;
    if (serverless != NULL && strcmp(serverless, "require") == 0)
        return false;
    if (ash__value_truthy(ash__doc_get(requirement, "auth")) ||
        ash__value_truthy(ash__doc_get(requirement, "csfle")) ||
        !ash__value_is_missing(ash__doc_get(requirement, "serverParameters")))
        return false;
    return topology_fits(ash__doc_get(requirement, "topologies"));
}

bool spec_requirements_met(ash_doc doc)
{
    ash_value list = ash__doc_get(doc, "runOnRequirements");
    if (list.type != BSON_TYPE_ARRAY || ash__doc_is_empty(ash__value_doc(list)))
        return true;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(list)); ash__doc_iter_next(&it);)
        if (it.value.type == BSON_TYPE_DOCUMENT && fits(ash__value_doc(it.value)))
            return true;
    return false;
}
