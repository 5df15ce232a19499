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

/* < 0, 0, > 0: the key's number against n. */
static int compare_number(const ash_key_part *parts, ash_value file, ash_doc key, int64_t n,
                          ash_buffer *scratch)
{
    ash_value_box box;
    ash__buffer_clear(scratch);
    ash__keycode_append(scratch, file, parts[0].descending, NULL);
    ash__keycode_append(scratch, ash__box_int64(&box, n), parts[1].descending, NULL);
    size_t len = scratch->len < key.len ? scratch->len : key.len;
    int order = memcmp(key.data, scratch->data, len);
    if (order == 0)
        order = (key.len > scratch->len) - (key.len < scratch->len);
    return parts[1].descending ? -order : order;
}

int64_t ash__chunks_number(const ash_plan *plan, ash_value file, ash_doc key, int64_t expected,
                           ash_buffer *scratch)
{
    if (plan->kind != ASH_PLAN_IXSCAN || plan->index->pattern->count != 2 ||
        strcmp(plan->index->pattern->parts[1].path, "n") != 0 || ash__value_is_missing(file) ||
        key.len == 0)
        return -1;
    const ash_key_part *parts = plan->index->pattern->parts;
    int64_t low = expected, high = expected;
    int order = compare_number(parts, file, key, expected, scratch);
    for (int64_t step = 1; order > 0 && high < INT32_MAX; step *= 2) {
        low = high;
        high += step;
        order = compare_number(parts, file, key, high, scratch);
    }
    while (order < 0 && high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        int at = compare_number(parts, file, key, middle, scratch);
        if (at == 0)
            return middle;
        if (at < 0)
            high = middle;
        else
            low = middle;
    }
    return order == 0 ? high : -1;
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
