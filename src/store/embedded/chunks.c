/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/chunks.h"

#include "query/text.h"
#include "store/embedded/embedded.h"

#include <inttypes.h>
#include <string.h>

static bool take_file(void *ctx, const char *path, ash_value v)
{
    ash_value *out = ctx;
    if (strcmp(path, "files_id") == 0)
        *out = v;
    return true;
}

ash_value ash__chunks_file_of(const ash_matcher *filter)
{
    ash_value id = ASH_VALUE_MISSING;
    ash_error ignored = ASH_ERROR_INIT;
    if (ash__matcher_equalities(filter, take_file, &id, &ignored) != 0)
        return ASH_VALUE_MISSING;
    return id;
}

void ash__chunk_error(const char *coll, const ash_matcher *filter, int64_t n, ash_error *err)
{
    char id[96];
    if (err == NULL || !ash__name_ends_with(coll, ".chunks"))
        return;
    ash_value v = filter != NULL ? ash__chunks_file_of(filter) : ASH_VALUE_MISSING;
    if (ash__value_is_missing(v))
        return;
    ash__value_text(v, id, sizeof id);
    if (n >= 0)
        ash__error_prefix(err, "file %s chunk %" PRId64, id, n);
    else
        ash__error_prefix(err, "file %s", id);
}
