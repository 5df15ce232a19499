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

int64_t ash__chunks_number(const ash_plan *plan, ash_value file, ash_doc key, int64_t expected,
                           ash_buffer *scratch)
{
    enum { WINDOW = 64 };
    if (plan->kind != ASH_PLAN_IXSCAN || plan->index->pattern->count != 2 ||
        strcmp(plan->index->pattern->parts[1].path, "n") != 0 || ash__value_is_missing(file) ||
        key.len == 0)
        return -1;
    const ash_key_part *parts = plan->index->pattern->parts;
    for (int64_t n = expected; n < expected + WINDOW; n++) {
        ash_value_box box;
        ash__buffer_clear(scratch);
        ash__keycode_append(scratch, file, parts[0].descending, NULL);
        ash__keycode_append(scratch, ash__box_int64(&box, n), parts[1].descending, NULL);
        if (scratch->len == key.len && memcmp(scratch->data, key.data, key.len) == 0)
            return n;
    }
    return -1;
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
