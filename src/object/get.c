/* SPDX-License-Identifier: Apache-2.0 */
/* Getting in one call: into a stream, into memory. */
#include "object/core.h"

#include "base/mem.h"
#include "base/options.h"

#include <inttypes.h>

enum { PIECE = 1024 * 1024 };
static const int64_t MEMORY_MAX = (int64_t)1 << 30;

int ash__object_read_all(ash_object_reader *r, const ash_output *to, ash_error *err)
{
    uint8_t *piece = ash__try_alloc(PIECE);
    size_t got = 1;
    int rc = 0;
    if (piece == NULL)
        return ash__fail(err, ASH_ENOMEM, "no memory for %d bytes", PIECE);
    while (rc == 0 && got > 0) {
        rc = ash_object_reader_read(r, piece, PIECE, &got, err);
        if (rc == 0 && got > 0)
            rc = to->write(to->ctx, piece, got, err);
    }
    ash__free(piece);
    return rc;
}

int ash_object_store_get(ash_object_store *s, const char *name, const ash_output *to,
                         const ash_object_read_options *opts, const ash_op *op, ash_object **out,
                         ash_error *err)
{
    ash_object_reader *r = NULL;
    ash_assert(to != NULL);
    if (out != NULL)
        *out = NULL;
    int rc = ash_object_store_open_reader(s, name, opts, op, &r, err);
    if (rc == 0)
        rc = ash__object_read_all(r, to, err);
    if (rc == 0 && out != NULL)
        *out = ash_object_copy(ash_object_reader_object(r));
    ash_object_reader_free(r);
    return rc;
}

/* ---- into memory ---- */

static int fill(ash_object_reader *r, int64_t max, uint8_t **data, size_t *len, ash_error *err)
{
    int64_t size = ash_object_size(ash_object_reader_object(r));
    size_t room = 0, got = 1;
    int rc = 0;
    while (rc == 0 && got > 0) {
        if (*len == room) {
            int64_t left = size - ash_object_reader_position(r);
            room += left > 0 && left < PIECE ? (size_t)left + 1 : PIECE;
            uint8_t *more = ash__try_resize(*data, room);
            if (more == NULL)
                return ash__fail(err, ASH_ENOMEM, "no memory for %zu bytes", room);
            *data = more;
        }
        rc = ash_object_reader_read(r, *data + *len, room - *len, &got, err);
        *len += got;
        if (rc == 0 && (int64_t)*len > max)
            rc = ash__fail(err, ASH_ETOOBIG, "the object has more than %" PRId64 " bytes", max);
    }
    return rc;
}

int ash_object_store_get_bytes(ash_object_store *s, const char *name,
                               const ash_object_read_options *opts, const ash_op *op,
                               uint8_t **data, size_t *len, ash_error *err)
{
    ash_object_read_options o;
    ash_object_reader *r = NULL;
    ash_assert(data != NULL && len != NULL);
    *data = NULL;
    *len = 0;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = ash_object_store_open_reader(s, name, opts, op, &r, err);
    if (rc == 0)
        rc = fill(r, o.max_bytes > 0 ? o.max_bytes : MEMORY_MAX, data, len, err);
    if (rc != 0) {
        ash__free(*data);
        *data = NULL;
        *len = 0;
    }
    ash_object_reader_free(r);
    return rc;
}

void ash_object_bytes_free(uint8_t *data)
{
    ash__free(data);
}
