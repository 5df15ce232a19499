/* SPDX-License-Identifier: Apache-2.0 */
/* The list of commands that run.  An operation is its connection's memory and its texts are views
 * of the request, so it is described under the lock: its command cannot end meanwhile. */
#include "wire/operations.h"

#include "base/clock.h"
#include "base/mem.h"
#include "net/stream.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_COMMAND_BYTES = 8192 }; /* of a longer one currentOp tells the name alone */

void ash__operations_init(ash_operation_list *list)
{
    memset(list, 0, sizeof *list);
    ash__mutex_init(&list->lock, ASH_RANK_CONNECTION);
}

void ash__operations_release(ash_operation_list *list)
{
    ash_assert(list->first == NULL);
    ash__mutex_release(&list->lock);
}

void ash__operations_begin(ash_operation_list *list, ash_operation *op)
{
    __atomic_store_n(&op->cancel, 0, __ATOMIC_RELAXED);
    op->started_us = ash__clock_us();
    op->started_wall_ms = ash__clock_wall_ms();
    op->stage[0] = 0;
    ash__mutex_lock(&list->lock);
    /* Clients take it for an int32; after two thousand million, old ones are over. */
    list->last_id = list->last_id == INT32_MAX ? 1 : list->last_id + 1;
    op->id = list->last_id;
    op->prev = NULL;
    op->next = list->first;
    if (op->next != NULL)
        op->next->prev = op;
    list->first = op;
    /* It was read before the host stopped, and would hold up the stop. */
    if (list->stopping)
        ash__cancel(&op->cancel);
    ash__mutex_unlock(&list->lock);
}

void ash__operations_end(ash_operation_list *list, ash_operation *op)
{
    ash__mutex_lock(&list->lock);
    if (op->next != NULL)
        op->next->prev = op->prev;
    if (op->prev != NULL)
        op->prev->next = op->next;
    else
        list->first = op->next;
    ash__mutex_unlock(&list->lock);
}

void ash__operations_progress(ash_operation_list *list, ash_operation *op, const char *what,
                              int64_t done, int64_t total)
{
    ash__mutex_lock(&list->lock);
    snprintf(op->stage, sizeof op->stage, "%s", what);
    op->done = done;
    op->total = total;
    ash__mutex_unlock(&list->lock);
}

static bool is_of(const ash_operation *op, const ash_who *who)
{
    return who == NULL || memcmp(&op->who, who, sizeof *who) == 0;
}

bool ash__operations_kill(ash_operation_list *list, int32_t id, const ash_who *who)
{
    bool found = false;
    ash__mutex_lock(&list->lock);
    for (ash_operation *op = list->first; op != NULL; op = op->next)
        if (op->id == id && is_of(op, who)) {
            ash__cancel(&op->cancel);
            found = true;
        }
    ash__mutex_unlock(&list->lock);
    return found;
}

/* What the client sent behind the command hides its end until the command is done. */
void ash__operations_abandon(ash_operation_list *list)
{
    ash__mutex_lock(&list->lock);
    for (ash_operation *op = list->first; op != NULL; op = op->next)
        if (op->only_reads && ash__stream_hung_up(op->stream))
            ash__cancel(&op->cancel);
    ash__mutex_unlock(&list->lock);
}

void ash__operations_stop(ash_operation_list *list)
{
    ash__mutex_lock(&list->lock);
    list->stopping = true;
    for (ash_operation *op = list->first; op != NULL; op = op->next)
        ash__cancel(&op->cancel);
    ash__mutex_unlock(&list->lock);
}

/* currentOp's own words for some commands. */
static const char *kind_of(const char *name)
{
    static const char *const kinds[][2] = {{"find", "query"},
                                           {"getMore", "getmore"},
                                           {"insert", "insert"},
                                           {"update", "update"},
                                           {"delete", "remove"}};
    for (size_t i = 0; i < ASH_ARRAY_LEN(kinds); i++)
        if (strcmp(kinds[i][0], name) == 0)
            return kinds[i][1];
    return "command";
}

static void describe_ns(const ash_operation *op, ash_builder *b)
{
    ash_doc_iter it = ash__doc_iter(op->body);
    const char *coll = "$cmd";
    uint32_t len;
    if (ash__doc_iter_next(&it) && it.value.type == BSON_TYPE_UTF8)
        coll = ash__value_string(it.value, &len);
    char *ns = ash__sprintf("%s.%s", op->db, coll);
    ash__builder_text(b, "ns", ns);
    ash__free(ns);
}

static void describe_progress(const ash_operation *op, ash_builder *b)
{
    if (op->stage[0] == 0)
        return;
    ash__builder_text(b, "msg", op->stage);
    ash__builder_begin_doc(b, "progress");
    ash__builder_int64(b, "done", op->done);
    ash__builder_int64(b, "total", op->total);
    ash__builder_end(b);
}

static void describe(const ash_operation *op, ash_builder *b)
{
    int64_t running_us = ash__clock_us() - op->started_us;
    ash__builder_text(b, "type", "op");
    ash__builder_text(b, "desc", "conn");
    ash__builder_int64(b, "connectionId", op->connection_id);
    ash__builder_text(b, "client", op->client);
    ash__builder_bool(b, "active", true);
    ash__builder_date(b, "currentOpTime", op->started_wall_ms + running_us / 1000);
    ash__builder_int32(b, "opid", op->id);
    ash__builder_int64(b, "secs_running", running_us / 1000000);
    ash__builder_int64(b, "microsecs_running", running_us);
    ash__builder_text(b, "op", kind_of(op->name));
    describe_ns(op, b);
    if (op->secret) {
        ash__builder_begin_doc(b, "command");
        ash__builder_text(b, "$secret", op->name);
        ash__builder_end(b);
    } else if (op->body.len <= SHOWN_COMMAND_BYTES) {
        ash__builder_doc_value(b, "command", op->body);
    } else {
        ash__builder_begin_doc(b, "command");
        ash__builder_text(b, "$truncated", op->name);
        ash__builder_end(b);
    }
    describe_progress(op, b);
    ash__builder_bool(b, "killPending", __atomic_load_n(&op->cancel, __ATOMIC_RELAXED) != 0);
}

uint32_t ash__operations_describe(ash_operation_list *list, const ash_who *who, ash_builder *array)
{
    char name[12];
    uint32_t count = 0;
    ash__mutex_lock(&list->lock);
    for (const ash_operation *op = list->first; op != NULL; op = op->next) {
        if (!is_of(op, who))
            continue;
        ash__builder_begin_doc(array, ash__index_name(count++, name));
        describe(op, array);
        ash__builder_end(array);
    }
    ash__mutex_unlock(&list->lock);
    return count;
}
