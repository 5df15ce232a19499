/* SPDX-License-Identifier: Apache-2.0 */
/* One client's thread.  A turn waits, reads what came, takes the commands that are whole, lets the
 * service deliver, and sends.  While much is on its way to the client, nothing more is taken from
 * it: who does not read is not served. */
#include "nats/connection.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

enum {
    STACK_BYTES = 1024 * 1024,
    REST_MS = 500,           /* after so much silence a client gives its large memory back */
    READ_BYTES = 256 * 1024, /* at once, if a command does not need more */
    /* One size only, as in output.c: the largest command, in whole pages. */
    LARGE_BYTES = ASH_NATS_MAX_PAYLOAD_BYTES + 2 * ASH_NATS_LINE_BYTES,
    MOST_PINGS = 2,
    LINGER_MS = 500,
    LINGER_BYTES = 4 * 1024 * 1024
};

static bool is_full(const ash_nats_client *c)
{
    return ash__nats_output_pending(&c->output) >= ASH_NATS_FULL_BYTES;
}

static bool is_large(const ash_block *block)
{
    return block->capacity > ASH_BLOCK_SMALL_BYTES;
}

/* Bytes that may be a whole command, or several. */
static bool has_commands(const ash_nats_client *c)
{
    return c->end > c->start && c->needed <= c->end - c->start;
}

/* ---- reading ---- */

/* Who held memory for what goes to it and waited for more would wait for others that do the same.
 */
static bool may_grow(const ash_nats_client *c)
{
    return !is_large(&c->output.block) || ash__nats_output_pending(&c->output) == 0;
}

static bool wants_input(const ash_nats_client *c)
{
    return !c->no_more && !is_full(c) && !has_commands(c) &&
           (c->needed <= c->block.capacity || may_grow(c));
}

static void move_to_front(ash_nats_client *c)
{
    if (c->end > c->start && c->start > 0)
        memmove(c->block.data, c->block.data + c->start, c->end - c->start);
    c->end -= c->start;
    c->start = 0;
}

static bool make_room(ash_nats_client *c)
{
    ash_error err = ASH_ERROR_INIT;
    if (c->start == c->end || c->end == c->block.capacity ||
        c->start + c->needed > c->block.capacity)
        move_to_front(c);
    if (c->needed <= c->block.capacity)
        return true;
    ash__nats_output_shrink(&c->output);
    int64_t deadline = ash__clock_deadline(c->server->opts.message_timeout_ms);
    if (ash__block_reserve(&c->block, c->end, LARGE_BYTES, deadline, &err) == 0)
        return true;
    ash__nats_complain(c, err.text);
    return false;
}

static void read_some(ash_nats_client *c)
{
    if (!make_room(c))
        return;
    size_t room = c->block.capacity - c->end;
    size_t wanted = c->needed > READ_BYTES ? c->needed : READ_BYTES;
    ssize_t n = c->peer.stream.ops->receive(&c->peer.stream, c->block.data + c->end,
                                            room < wanted ? room : wanted);
    if (n > 0) {
        c->end += (size_t)n;
        c->heard_ms = c->busy_ms = ash__clock_ms();
        c->unanswered = 0;
        ash__peer_moved(&c->peer, (size_t)n, &c->moved);
    } else if (n == ASH_STREAM_OVER) {
        c->no_more = true;
    }
}

/* ---- taking ---- */

static void is_whole(ash_nats_client *c)
{
    c->needed = 0;
    c->part_ms = 0;
    ash__peer_holds(&c->peer, ASH_HOLDS_REQUEST, false);
    /* Until its CONNECT it owes since it came (net/host.c). */
    if (c->greeted)
        ash__peer_owes_nothing(&c->peer);
}

static void is_partial(ash_nats_client *c, size_t needed)
{
    c->needed = needed;
    if (c->part_ms != 0)
        return;
    c->part_ms = ash__clock_ms();
    if (c->greeted)
        ash__peer_owes(&c->peer);
}

static void take_next(ash_nats_client *c)
{
    ash_nats_command command;
    switch (ash__nats_parse(c->block.data + c->start, c->end - c->start, ASH_NATS_MAX_PAYLOAD_BYTES,
                            &command)) {
    case ASH_NATS_WHOLE:
        is_whole(c);
        c->pumped = 0;
        ash__nats_take(c, &command);
        if (command.op == ASH_NATS_CONNECT && c->greeted)
            ash__peer_owes_nothing(&c->peer);
        c->start += command.size;
        break;
    case ASH_NATS_PART:
        is_partial(c, command.size);
        break;
    case ASH_NATS_BAD:
        ash__nats_complain(c, command.text);
        break;
    }
}

/* true: some were. */
static bool take_commands(ash_nats_client *c)
{
    bool any = false;
    while (!c->over && has_commands(c) && !is_full(c)) {
        /* The host stops: what the client had sent before is not begun any more. */
        if (atomic_load_explicit(&c->peer.host->deaf, memory_order_relaxed))
            c->over = true;
        else
            take_next(c);
        any = true;
    }
    /* Only now is it the client's pace that others may have to wait for. */
    if (c->needed > 0)
        ash__peer_holds(&c->peer, ASH_HOLDS_REQUEST, is_large(&c->block));
    if (c->output.failed || (c->no_more && !has_commands(c)))
        c->over = true;
    return any;
}

/* ---- delivering ---- */

static void pump(ash_nats_client *c)
{
    /* Not for every few bytes that the client took. */
    bool has_room = ash__nats_output_pending(&c->output) <= ASH_NATS_FULL_BYTES / 2;
    int64_t now = ash__clock_ms();
    if (c->over || !has_room || c->pump_at_ms > now)
        return;
    c->pumped = 0;
    c->pump_at_ms = c->server->service->pump(c->state, now);
    c->pumped = 0;
}

/* ---- time ---- */

static int64_t ping_at(const ash_nats_client *c)
{
    return c->heard_ms + c->server->opts.ping_interval_ms * (1 + c->unanswered);
}

static int64_t part_deadline(const ash_nats_client *c)
{
    /* It cannot send what is not read. */
    bool counts = c->part_ms != 0 && wants_input(c);
    return counts ? c->part_ms + c->server->opts.message_timeout_ms : INT64_MAX;
}

static int64_t connect_deadline(const ash_nats_client *c)
{
    return c->greeted ? INT64_MAX : c->begun_ms + c->server->opts.connect_timeout_ms;
}

static bool holds_idle_memory(const ash_nats_client *c)
{
    return (is_large(&c->block) && c->start == c->end) ||
           (is_large(&c->output.block) && ash__nats_output_pending(&c->output) == 0);
}

static void give_memory_back(ash_nats_client *c)
{
    if (c->start == c->end) {
        c->start = c->end = 0;
        ash__block_shrink(&c->block, 0);
    }
    ash__nats_output_shrink(&c->output);
}

/* Whoever waits for room needs it more than this client might. */
static bool is_crowded(const ash_room *room)
{
    return ash__room_used((ash_room *)(uintptr_t)room) > room->total / 4;
}

static void look_at_memory(ash_nats_client *c, int64_t now)
{
    if (holds_idle_memory(c) &&
        (now >= c->busy_ms + REST_MS || is_crowded(&c->peer.host->requests) ||
         is_crowded(&c->peer.host->answers)))
        give_memory_back(c);
}

static void look_at_time(ash_nats_client *c, int64_t now)
{
    if (part_deadline(c) == INT64_MAX && c->part_ms != 0)
        c->part_ms = now;
    if (now >= ash__nats_output_deadline(&c->output)) {
        ash__log(ASH_LOG_INFO, "connection %lld from %s closed: it does not take what is for it",
                 (long long)c->peer.id, c->peer.remote);
        c->output.failed = c->over = true;
    } else if (now >= connect_deadline(c)) {
        ash__nats_complain(c, "Authentication Timeout");
    } else if (now >= part_deadline(c) || (now >= ping_at(c) && c->unanswered >= MOST_PINGS)) {
        ash__nats_complain(c, "Stale Connection");
    } else if (now >= ping_at(c)) {
        c->unanswered++;
        ash__nats_output_add_text(&c->output, "PING\r\n");
    }
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* When the next turn has to begin at the latest. */
static int64_t next_time(const ash_nats_client *c)
{
    int64_t at = earlier(ping_at(c), ash__nats_output_deadline(&c->output));
    at = earlier(at, earlier(part_deadline(c), connect_deadline(c)));
    if (holds_idle_memory(c))
        at = earlier(at, c->busy_ms + REST_MS);
    if (has_commands(c) && !is_full(c))
        at = 0;
    if (ash__nats_output_pending(&c->output) <= ASH_NATS_FULL_BYTES / 2)
        at = earlier(at, c->pump_at_ms);
    return at;
}

/* ---- its life ---- */

static void turn(ash_nats_client *c)
{
    int64_t now = ash__clock_ms(), at = next_time(c);
    unsigned wishes = (wants_input(c) ? (unsigned)ASH_STREAM_READABLE : 0) |
                      (ash__nats_output_pending(&c->output) > 0 ? ASH_STREAM_WRITABLE : 0);
    unsigned came =
        ash__stream_wait_any(&c->peer.stream, wishes, c->wake.read_fd, at > now ? at - now : 0);
    if (came & ASH_STREAM_WRITABLE) {
        c->busy_ms = ash__clock_ms();
        ash__nats_output_push(&c->output);
    }
    if (came & ASH_STREAM_READABLE)
        read_some(c);
    if (came & ASH_STREAM_OTHER)
        ash__nats_wake_clear(&c->wake);
    if (take_commands(c) || (came & ASH_STREAM_OTHER))
        c->pump_at_ms = 0;
    pump(c);
    if (!c->over)
        look_at_time(c, ash__clock_ms());
    if (!ash__nats_output_push(&c->output))
        c->over = true;
    look_at_memory(c, ash__clock_ms());
}

static bool greet(ash_nats_client *c)
{
    ash_buffer line = ASH_BUFFER_INIT;
    ash_nats_info info = {.server_id = c->server->id,
                          .local = c->peer.local,
                          .remote = c->peer.remote,
                          .client_id = c->peer.id,
                          .max_payload = ASH_NATS_MAX_PAYLOAD_BYTES};
    ash__nats_print_info(&info, &line);
    bool sent = ash__nats_output_add_text(&c->output, ash__buffer_text(&line)) &&
                ash__nats_output_push(&c->output);
    ash__buffer_release(&line);
    return sent;
}

/* A close with bytes that nobody read would take back what was sent last: why it is closed. */
static void linger(ash_nats_client *c)
{
    int64_t deadline = ash__clock_deadline(LINGER_MS);
    size_t left = LINGER_BYTES, n;
    ash__stream_finish(&c->peer.stream);
    while (left > 0 && (n = ash__peer_read(&c->peer, c->block.data, ASH_BLOCK_SMALL_BYTES, deadline,
                                           &c->moved)) > 0)
        left -= n < left ? n : left;
}

static void serve_attached(ash_nats_client *c)
{
    ash_error err = ASH_ERROR_INIT;
    if (c->server->service->attach(c->server->ctx, c, &c->state, &err) != 0) {
        ash__nats_complain(c, err.text);
        return;
    }
    while (!c->over)
        turn(c);
    c->server->service->detach(c->state);
}

static void serve(ash_peer *peer)
{
    ash_nats_client *c = (ash_nats_client *)(void *)peer;
    ash_error err = ASH_ERROR_INIT;
    c->server = peer->host->server;
    if (ash__nats_wake_init(&c->wake, &err) != 0) {
        ash__log(ASH_LOG_ERROR, "connection from %s refused: %s", peer->remote, err.text);
        return;
    }
    c->begun_ms = c->heard_ms = c->busy_ms = ash__clock_ms();
    c->wishes = (ash_nats_wishes)ASH_NATS_WISHES_INIT;
    ash__block_init(&c->block, &peer->host->requests);
    ash__nats_output_init(&c->output, peer, c->server->opts.send_timeout_ms);
    if (greet(c))
        serve_attached(c);
    if (ash__nats_output_finish(&c->output) && !c->no_more)
        linger(c);
    ash__log(ASH_LOG_DEBUG, "connection %lld from %s ended", (long long)peer->id, peer->remote);
    ash__nats_subs_release(&c->subs);
    ash__nats_output_release(&c->output);
    ash__block_release(&c->block);
    ash__nats_wake_release(&c->wake);
}

/* ---- the face ---- */

static void keep_house(ash_host *host)
{
    const ash_nats_server *s = host->server;
    if (s->service->keep_house != NULL)
        s->service->keep_house(s->ctx, ash__clock_ms());
}

/* Each client's thread finds the end of its socket. */
static void interrupt(ash_host *host)
{
    (void)host;
}

const ash_face ash__nats_face = {
    .name = "nats",
    .port = 4222,
    .peer_bytes = sizeof(ash_nats_client),
    .stack_bytes = STACK_BYTES,
    .no_users = "clients are not authenticated",
    .serve = serve,
    .keep_house = keep_house,
    .interrupt = interrupt,
};
