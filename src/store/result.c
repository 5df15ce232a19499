/* SPDX-License-Identifier: Apache-2.0 */
/* What writes give back of each document that was refused.  The list is the caller's and grows in
 * place, so libbson appends to it. */

#include "store/ops.h"

#include <stdio.h>
#include <string.h>

void ash_write_result_release(ash_write_result *r)
{
    bson_destroy(&r->upserted_id);
    bson_destroy(&r->errors);
}

bool ash__write_errors_fit(uint32_t count, size_t so_far, size_t more)
{
    /* The first error is the one that people read, so it has room where the others have none. */
    return so_far + more <= (count == 0 ? ASH_WRITE_ERROR_FIRST_BYTES : ASH_WRITE_ERRORS_BYTES);
}

void ash__write_result_add_error(ash_write_result *r, uint32_t index, const ash_error *err,
                                 const bson_t *details)
{
    static const char *const extra[] = {"keyPattern", "keyValue", "errInfo"};
    char name[12];
    bson_t entry;
    bson_iter_t it;
    size_t text = strlen(err->text);
    bool fits = ash__write_errors_fit(r->error_count, r->errors.len, text);

    /* Details go first, then the text; number and code always stay. */
    if (details != NULL &&
        !ash__write_errors_fit(r->error_count, r->errors.len, text + details->len))
        details = NULL;
    snprintf(name, sizeof name, "%u", (unsigned)r->error_count++);
    bson_append_document_begin(&r->errors, name, -1, &entry);
    BSON_APPEND_INT32(&entry, "index", (int32_t)index);
    BSON_APPEND_INT32(&entry, "code", ash_error_server_code(err));
    BSON_APPEND_UTF8(&entry, "errmsg", fits ? err->text : "");
    for (size_t i = 0; details != NULL && i < sizeof extra / sizeof extra[0]; i++)
        if (bson_iter_init_find(&it, details, extra[i]))
            bson_append_iter(&entry, extra[i], -1, &it);
    bson_append_document_end(&r->errors, &entry);
}
