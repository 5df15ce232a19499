/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/chunks.h"

#include "bson/builder.h"
#include "store/embedded/embedded.h"

#include <inttypes.h>
#include <stdio.h>
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

void ash__value_text(ash_value v, char *out, size_t size_bytes)
{
    ash_builder b = ASH_BUILDER_INIT;
    bson_t view;
    ash__builder_begin(&b);
    ash__builder_value(&b, "v", v);
    ash__builder_end(&b);
    ash__doc_to_bson(ash__builder_doc(&b), &view);
    char *json = bson_as_relaxed_extended_json(&view, NULL);
    /* { "v" : X } */
    const char *at = json != NULL ? strchr(json, ':') : NULL;
    const char *text = at != NULL ? at + 1 + (at[1] == ' ') : "?";
    size_t len = strlen(text);
    len -= len >= 2 ? 2 : len;
    snprintf(out, size_bytes, "%.*s", (int)(len < size_bytes ? len : size_bytes - 1), text);
    bson_free(json);
    ash__builder_release(&b);
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
