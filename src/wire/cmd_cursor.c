/* SPDX-License-Identifier: Apache-2.0 */
/* getMore and killCursors.  A cursor that was taken is given back, or ended, on every way out: by
 * the connection when the answer was sent, here when the command failed before it had one. */
#include "wire/cmd.h"

#include "base/mem.h"
#include "wire/needs.h"

#include <string.h>

enum {
    DEFAULT_AWAIT_MS = 1000, /* MongoDB's */
    MAX_AWAIT_MS = 60000
};

/* Time limits of one getMore.  On a cursor that waits for news, maxTimeMS is how long. */
static int set_limits(ash_command *c, ash_wire_cursor *w, ash_error *err)
{
    int64_t deadline_ms = 0;
    if (w->awaits) {
        c->await_ms = c->max_time_ms > 0 ? c->max_time_ms : w->await_ms;
        if (c->await_ms <= 0)
            c->await_ms = DEFAULT_AWAIT_MS;
        /* Nothing is lost by an early empty batch; a thread that waits for long is. */
        if (c->await_ms > MAX_AWAIT_MS)
            c->await_ms = MAX_AWAIT_MS;
    } else if (c->max_time_ms > 0) {
        return ash__fail(err, ASH_EINVAL,
                         "cannot set maxTimeMS on getMore command for a non-awaitData cursor");
        /* The first command's limit is for all batches together. */
    } else if (w->time_left_ms > 0) {
        deadline_ms = ash_deadline(w->time_left_ms);
    }
    ash_cursor_set_op(w->cursor, deadline_ms, c->op.cancel, c->await_ms);
    return 0;
}

/* The cursor was found; a fail point may make it fail now. */
static int fail_get_more(ash_command *c, ash_error *err)
{
    bool close;
    ash_failpoint *f = &c->server->get_more_failpoint;
    int32_t code = c->server->opts.test_commands ? ash__failpoint_code(f, "errorCode") : 0;
    if (code == 0 || !ash__failpoint_hit_plain(f, false, &close))
        return 0;
    c->reply->close = close;
    return ash__fail_server(err, ash__code_from_server(code), code,
                            "Failing getMore via 'failGetMoreAfterCursorCheckout' failpoint");
}

int ash__run_get_more(ash_command *c, ash_error *err)
{
    int64_t id, batch_size;
    ash_wire_cursor *w = NULL;
    const char *coll = ash__arg_string(c, "collection", NULL);
    atomic_fetch_add(&c->server->counters.getmore, 1);
    if (!ash__value_as_int64(c->value, &id))
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                "BSON field 'getMore.getMore' is the wrong type '%s', expected "
                                "type 'long'",
                                ash__type_name(c->value.type));
    if (coll == NULL)
        return ash__missing_argument(c, "collection", err);
    int rc = ash__arg_count(c, "batchSize", &batch_size, err);
    if (rc != 0)
        return rc;
    char *ns = ash__sprintf("%s.%s", c->db, coll);
    ash_cursor_user user = {.ns = ns,
                            .session = c->has_session ? &c->session : NULL,
                            .who = &c->connection->access.who,
                            .connection_id = c->connection->peer.id,
                            .cancel = &c->connection->operation.cancel};
    rc = ash__cursors_take(c->server->cursors, id, &user, &w, err);
    ash__free(ns);
    if (rc != 0)
        return rc;
    rc = ash__need_joined(c, &w->joined, err);
    if (rc == 0)
        rc = set_limits(c, w, err);
    if (rc == 0)
        rc = fail_get_more(c, err);
    if (rc != 0) {
        /* The client's mistake is not the cursor's end. */
        ash__cursors_give(c->server->cursors, w);
        return rc;
    }
    rc = ash__reply_next_batch(c, w, batch_size, err);
    /* Interrupted by killCursors: that is another code than killOp's. */
    if (rc == ASH_EINTERRUPTED && ash__cursors_is_killed(c->server->cursors, w))
        rc = ash__fail_server(err, ASH_ECURSOR, ASH_MONGO_CURSOR_KILLED,
                              "cursor id %lld was killed while its next batch was made",
                              (long long)id);
    return rc;
}

static void add_ids(ash_builder *b, const char *name, const ash_buffer *ids)
{
    char index[12];
    ash__builder_begin_array(b, name);
    for (size_t i = 0; i < ids->len / sizeof(int64_t); i++) {
        int64_t id;
        memcpy(&id, ids->data + i * sizeof id, sizeof id);
        ash__builder_int64(b, ash__index_name((uint32_t)i, index), id);
    }
    ash__builder_end(b);
}

int ash__run_kill_cursors(ash_command *c, ash_error *err)
{
    ash_buffer killed = ASH_BUFFER_INIT, unknown = ASH_BUFFER_INIT, none = ASH_BUFFER_INIT;
    ash_builder *b = &c->reply->body;
    ash_value list = ash__arg(c, "cursors");
    int rc = 0;
    if (list.type != BSON_TYPE_ARRAY)
        return ash__missing_argument(c, "cursors", err);
    char *ns = ash__sprintf("%s.%s", c->db, c->coll);
    const ash_who *who =
        ash__may_cluster(c, ASH_CAN(KILL_ANY_CURSOR)) ? NULL : &c->connection->access.who;
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(list)); ash__doc_iter_next(&it);) {
        int64_t id;
        if (!ash__value_as_int64(it.value, &id)) {
            rc = ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                                  "BSON field 'killCursors.cursors.%s' is the wrong type '%s', "
                                  "expected type 'long'",
                                  it.name, ash__type_name(it.value.type));
            goto out;
        }
        ash__buffer_append(ash__cursors_kill(c->server->cursors, id, ns, who) ? &killed : &unknown,
                           &id, sizeof id);
    }
    add_ids(b, "cursorsKilled", &killed);
    add_ids(b, "cursorsNotFound", &unknown);
    /* A cursor in use is killed as well, so none stays alive. */
    add_ids(b, "cursorsAlive", &none);
    add_ids(b, "cursorsUnknown", &none);
out:
    ash__free(ns);
    ash__buffer_release(&killed);
    ash__buffer_release(&unknown);
    return rc;
}
