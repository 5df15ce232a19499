/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of users (user/usage.h): a request is an operation, requests at a time are connections. */
#include "base/clock.h"
#include "base/mem.h"
#include "http/gate/visitor.h"

/* The usage is there only for who has a limit; what others take is not counted. */
static bool is_limited(const ash_limits *l)
{
    return l->connections > 0 || l->operations > 0 || l->bytes > 0;
}

static bool refuse(ash_exchange *x, int64_t wait_ms, const ash_error *err)
{
    ash__answer_field(x, "Retry-After", "%lld", (long long)(wait_ms + 999) / 1000);
    ash__answer_field(x, "Cache-Control", "no-store");
    ash__answer_text(x, 429, "%s", err->text);
    return false;
}

/* Put off until its time has come; true: it has. */
static bool is_due(ash_coming *c)
{
    int64_t left = c->pace_due_ms - ash__clock_ms();
    c->x->is_put_off = left > 0;
    c->x->due_ms = left > 0 ? c->pace_due_ms : 0;
    return left <= 0;
}

bool ash__gate_pace(ash_coming *c)
{
    ash_error err = ASH_ERROR_INIT;
    const ash_visitor *v = c->visitor;
    int64_t wait_ms = 0;
    if (c->usage != NULL || !is_limited(&v->limits))
        return is_due(c);
    if (ash__usage_enter(c->gate->usage, v->user, v->db, &v->limits, &c->usage, &err) != 0)
        return refuse(c->x, 1000, &err);
    if (ash__usage_take(c->usage, ash__clock_us(), &wait_ms, &err) != 0)
        return refuse(c->x, wait_ms, &err);
    c->pace_due_ms = wait_ms > 0 ? ash__clock_ms() + wait_ms : 0;
    return is_due(c);
}

/* What is sent is paid as it goes: a download has the pace of its user. */
static int more(ash_exchange *x, ash_buffer *out)
{
    ash_coming *c = x->visitor;
    int64_t now_us = ash__clock_us(), wait_ms = ash__usage_wait(c->usage, now_us);
    if (wait_ms > 0) {
        x->due_ms = ash__clock_ms() + wait_ms;
        return ASH_MORE_LATER;
    }
    x->due_ms = 0;
    int rc = c->more(x, out);
    c->paid_bytes += (int64_t)out->len;
    ash__usage_add_bytes(c->usage, (int64_t)out->len, now_us);
    return rc;
}

void ash__gate_pace_answer(ash_exchange *x)
{
    ash_coming *c = x->visitor;
    if (c == NULL || c->usage == NULL || !x->is_streamed || x->more == NULL)
        return;
    c->more = x->more;
    x->more = more;
}

void ash__gate_pace_end(ash_coming *c)
{
    int64_t bytes = c->x->received_bytes + c->x->sent_bytes - c->paid_bytes;
    if (c->usage == NULL)
        return;
    if (bytes > 0)
        ash__usage_add_bytes(c->usage, bytes, ash__clock_us());
    ash__usage_leave(c->gate->usage, c->usage);
    c->usage = NULL;
}
