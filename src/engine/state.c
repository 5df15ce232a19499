/* SPDX-License-Identifier: Apache-2.0 */
/* Small rows of the layers above: the engine knows their keys' length and nothing else of them. */
#include "engine/internal.h"

#include "base/mem.h"

#include <string.h>

enum { STATE_KEY_MAX = 400 };

int ash__state_get(ash_snapshot *snap, const void *key, size_t key_len, ash_doc *value, bool *found,
                   ash_error *err)
{
    MDB_val row;
    ash_assert(key_len >= 1 && key_len <= STATE_KEY_MAX);
    int rc = ash__row_get(snap, ASH_DB_STATE, ash__bytes(key, key_len), &row, found, err);
    if (rc == 0 && *found)
        rc = ash__sum_check(ash__val(key, key_len), row, value, "a row of state", err);
    return rc;
}

int ash__state_put(ash_writer *w, const void *key, size_t key_len, const void *value, size_t len,
                   ash_error *err)
{
    ash_assert(key_len >= 1 && key_len <= STATE_KEY_MAX);
    return ash__sum_put(w, ASH_DB_STATE, ash__bytes(key, key_len), ash__bytes(value, len), err);
}

int ash__state_delete(ash_writer *w, const void *key, size_t key_len, ash_error *err)
{
    ash_assert(key_len >= 1 && key_len <= STATE_KEY_MAX);
    return ash__row_delete(w, ASH_DB_STATE, ash__bytes(key, key_len), err);
}

/* Keys are re-sought, so that visit may change rows when v is the writer's. */
int ash__state_each(ash_snapshot *snap, const void *prefix, size_t prefix_len,
                    bool (*visit)(void *ctx, const void *key, size_t key_len, ash_doc value),
                    void *ctx, ash_error *err)
{
    uint8_t from[STATE_KEY_MAX + 1];
    size_t from_len = prefix_len;
    bool go_on = true;
    int rc = 0;
    ash_assert(prefix_len <= STATE_KEY_MAX);
    if (prefix_len > 0)
        memcpy(from, prefix, prefix_len);
    while (go_on) {
        ash_row row;
        ash_doc value;
        rc = ash__row_seek(snap, ASH_DB_STATE, ash__bytes(from, from_len), &row, err);
        if (rc != 0 || !row.found || row.key.mv_size < prefix_len ||
            row.key.mv_size > STATE_KEY_MAX ||
            (prefix_len > 0 && memcmp(row.key.mv_data, prefix, prefix_len) != 0))
            break;
        rc = ash__sum_check(row.key, row.value, &value, "a row of state", err);
        if (rc != 0)
            break;
        /* A zero behind the key: the smallest that comes after it. */
        memcpy(from, row.key.mv_data, row.key.mv_size);
        from_len = row.key.mv_size + 1;
        from[row.key.mv_size] = 0;
        go_on = visit(ctx, from, from_len - 1, value);
    }
    return rc;
}
