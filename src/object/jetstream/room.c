/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/room.h"

bool ash__js_room_matters(const ash_js_manager *m, const ash_json *config)
{
    /* No field of a configuration came with 2.10.5; this one came after it. */
    return !m->base.can.object_ttl && ash__json_int(config, "max_bytes", -1) > 0;
}

int ash__js_room(ash_js_store *s, const ash_op *op, int64_t *out, ash_error *err)
{
    ash_json *info = NULL;
    int rc = ash__js_stream_info(s->stream.js, s->stream.name, op, &info, err);
    int64_t most = ash__json_int(ash__json_get(info, "config"), "max_bytes", -1);
    int64_t used = ash__json_int(ash__json_get(info, "state"), "bytes", 0);
    *out = most <= 0 ? INT64_MAX : most - used;
    ash__json_free(info);
    return rc;
}

int ash__js_room_is_over(const ash_js_store *s, ash_error *err)
{
    return ash__fail(err, ASH_ENOSPC, "object store %s has no room for it: max_bytes",
                     s->base.name);
}
