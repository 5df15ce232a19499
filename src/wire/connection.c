/* SPDX-License-Identifier: Apache-2.0 */
/* One client's thread.  A message is read whole before it is looked at, with memory for all of it;
 * the answer is sent when it is its turn; then what the answer's views stood on is given back. */
#include "wire/connection.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/stream.h"
#include "wire/compress.h"
#include "wire/dispatch.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum {
    STACK_BYTES = 1024 * 1024,
    HALF_MS = 10,  /* others may wait so long for the rest of a request that came before theirs */
    REST_MS = 500, /* after so much silence a connection gives its large buffer back */
    FIRST_MESSAGE_MS = 60000,
    BYTES_A_MS = 1024 /* a large message has this much more time for each millisecond */
};

/* ---- reading ---- */

/* Silence between two messages: true once something arrives. */
static bool rest(ash_connection *c)
{
    const ash_server_options *o = &c->server->opts;
    /* Who has not said anything yet gets a minute, however long idle clients may stay. */
    int64_t limit = c->greeted ? o->idle_timeout_ms : FIRST_MESSAGE_MS;
    /* Who could not say who it is has no claim to its place, unlike a driver's monitor. */
    if (c->access.has_failed && c->access.user == NULL)
        ash__peer_owes(&c->peer);
    if (c->block.capacity > ASH_BLOCK_SMALL_BYTES) {
        /* Whoever waits for room needs it more than the next message of this client might. */
        bool crowded = ash__room_used(&c->peer.host->requests) > c->peer.host->requests.total / 4;
        if (!crowded && ash__stream_wait(&c->peer.stream, REST_MS))
            return true;
        ash__block_shrink(&c->block, c->have);
    }
    return ash__stream_wait(&c->peer.stream, limit > 0 ? limit : -1);
}

/* From now on the client's pace matters to those who wait for room. */
static void start_holding(ash_connection *c)
{
    ash__peer_hold(&c->peer, (c->block.capacity > ASH_BLOCK_SMALL_BYTES ? ASH_HOLDS_REQUEST : 0) |
                                 (c->reply.claimed > 0 ? ASH_HOLDS_ANSWER : 0));
}

/* Some drivers send a message in two pieces, and others that came between them have to wait for the
 * second; but not for one that is long in coming. */
static void await_rest(ash_connection *c)
{
    int64_t left = c->place_until_ms - ash__clock_ms();
    if (left <= 0 || !ash__stream_wait(&c->peer.stream, left))
        ash__arrival_leave(&c->arrival);
}

static bool read_until(ash_connection *c, size_t len, int64_t deadline_ms)
{
    /* Little of what follows the message, since consume() has to move it. */
    size_t end = len > ASH_BLOCK_SMALL_BYTES ? len : ASH_BLOCK_SMALL_BYTES;
    size_t moved = 0;
    while (c->have < len) {
        if (c->have > 0)
            await_rest(c);
        /* A client that has not greeted owes since it connected (net/host.c). */
        if (c->have > 0 && c->greeted)
            ash__peer_owes(&c->peer);
        size_t n =
            ash__peer_read(&c->peer, c->block.data + c->have, end - c->have, deadline_ms, &moved);
        if (n == 0)
            return false;
        c->have += n;
    }
    return true;
}

/* A compressed message is unpacked behind itself and whatever came with it. */
static size_t packed_room(size_t len)
{
    return len > ASH_BLOCK_SMALL_BYTES ? len : ASH_BLOCK_SMALL_BYTES;
}

/* How large the block must be for the whole message.  All of it is taken at once: who held a part
 * and waited for the rest would wait for others that do the same. */
static int block_bytes(ash_connection *c, const ash_message_header *header, int64_t deadline_ms,
                       size_t *out, ash_error *err)
{
    size_t plain = 0;
    size_t start = header->length < ASH_MESSAGE_COMPRESSED_BYTES ? header->length
                                                                 : ASH_MESSAGE_COMPRESSED_BYTES;
    *out = header->length;
    if (header->op_code != ASH_OP_COMPRESSED)
        return 0;
    if (!read_until(c, start, deadline_ms))
        return ash__fail(err, ASH_ENETWORK, "the rest of a message did not come");
    int rc = ash__compressed_size(c->block.data, header->length, &plain, err);
    /* Rounded up, so that the next one fits, too. */
    *out = packed_room(header->length) + (plain | 0xfff) + 1;
    return rc;
}

/* The next whole message at the start of the block; false when there will be none. */
static bool receive(ash_connection *c, size_t *len)
{
    ash_message_header header;
    ash_error err = ASH_ERROR_INIT;
    size_t bytes;
    if (c->have == 0 && !rest(c))
        return false;
    /* Before the message is read: its place is that of its first byte. */
    ash__arrival_take(&c->arrival);
    c->place_until_ms = ash__clock_deadline(HALF_MS);
    int64_t deadline = ash__clock_deadline(c->server->opts.message_timeout_ms);
    if (!read_until(c, ASH_MESSAGE_HEADER_BYTES, deadline))
        return false;
    /* Without a length that can be believed there is no next message: nothing is answered. */
    if (ash__message_header_read(c->block.data, &header, &err) != 0) {
        ash__log(ASH_LOG_INFO, "connection %lld from %s closed: %s", (long long)c->peer.id,
                 c->peer.remote, err.text);
        return false;
    }
    deadline += header.length / BYTES_A_MS;
    if (block_bytes(c, &header, deadline, &bytes, &err) != 0 ||
        ash__block_reserve(&c->block, c->have, bytes, deadline, &err) != 0) {
        ash__log(ASH_LOG_WARN, "connection %lld from %s closed: %s", (long long)c->peer.id,
                 c->peer.remote, err.text);
        return false;
    }
    *len = header.length;
    start_holding(c);
    bool whole = read_until(c, header.length, deadline);
    ash__peer_release_hold(&c->peer);
    if (!whole)
        return false;
    ash__peer_owes_nothing(&c->peer);
    return true;
}

/* The message is done with: what came behind it moves to the front. */
static void consume(ash_connection *c, size_t len)
{
    c->have -= len;
    if (c->have > 0)
        memmove(c->block.data, c->block.data + len, c->have);
    c->greeted = true;
}

/* ---- answering ---- */

static bool send_pieces(ash_connection *c, struct iovec *iov, size_t count)
{
    /* Answers leave in the order of the commits; and from the first byte on the client may send the
     * next request. */
    ash__turn_wait(&c->turn);
    start_holding(c);
    ash__arrival_open(&c->arrival);
    bool sent = ash__stream_push(&c->peer.stream, &iov, &count);
    /* Nobody waits for a client that does not take the rest. */
    ash__turn_leave(&c->turn);
    sent = sent && ash__peer_write(&c->peer, iov, count, c->server->opts.send_timeout_ms);
    ash__peer_release_hold(&c->peer);
    return sent;
}

static bool send_packed(ash_connection *c, struct iovec *iov, size_t count, size_t len)
{
    ash_buffer flat = ASH_BUFFER_INIT, packed = ASH_BUFFER_INIT;
    ash_error err = ASH_ERROR_INIT;
    size_t claimed = c->reply.claimed;
    /* Packing needs the answer twice more; where there is no room for that, it goes as it is. */
    if (!ash__reply_claim_more(&c->reply, 2 * len))
        return send_pieces(c, iov, count);
    ash__buffer_reserve(&flat, len);
    for (size_t i = 0; i < count; i++)
        ash__buffer_append(&flat, iov[i].iov_base, iov[i].iov_len);
    bool smaller = ash__compressed_pack(flat.data, flat.len, c->compressor, &packed);
    ash_buffer *chosen = smaller ? &packed : &flat;
    ash__buffer_release(smaller ? &flat : &packed);
    /* What is not kept goes back: less than is claimed, so that this cannot fail. */
    if (chosen->capacity < 2 * len)
        ash__reply_claim(&c->reply, claimed + chosen->capacity, 0, &err);
    struct iovec one = {.iov_base = chosen->data, .iov_len = chosen->len};
    bool sent = send_pieces(c, &one, 1);
    ash__buffer_release(chosen);
    return sent;
}

static bool send_reply(ash_connection *c, const ash_request *request)
{
    /* Most answers have a handful of pieces. */
    struct iovec few[16];
    uint8_t prefix[ASH_REPLY_PREFIX_MAX];
    ash_reply *r = &c->reply;
    size_t body_len = ash__reply_finish(r);
    size_t limit = 1 + ash__reply_piece_limit(r);
    struct iovec *iov = limit <= ASH_ARRAY_LEN(few) ? few : ash__alloc_array(limit, sizeof *iov);
    size_t prefix_len = ash__message_reply_prefix(request, ++c->last_reply_id, body_len, prefix);
    iov[0] = (struct iovec){.iov_base = prefix, .iov_len = prefix_len};
    size_t count = 1 + ash__reply_pieces(r, iov + 1);
    size_t len = prefix_len + body_len;
    atomic_fetch_add_explicit(&c->server->counters.bytes_out, (int64_t)len, memory_order_relaxed);
    ash__usage_add_bytes(c->access.usage, (int64_t)len, ash__clock_us());
    bool sent = c->compressor != ASH_COMPRESSOR_NONE ? send_packed(c, iov, count, len)
                                                     : send_pieces(c, iov, count);
    if (iov != few)
        ash__free(iov);
    return sent;
}

/* Views of the answer are no longer needed. */
static void give_cursor_back(ash_connection *c)
{
    ash_wire_cursor *w = c->reply.cursor;
    c->reply.cursor = NULL;
    if (w == NULL)
        return;
    /* It never came into the table. */
    if (w->id == 0) {
        ash__wire_cursor_free(w);
    } else if (c->reply.keep_cursor) {
        /* The next batch may come from another connection, when this one is gone. */
        ash_cursor_set_op(w->cursor, 0, NULL, -1);
        ash_cursor_rest(w->cursor);
        ash__cursors_give(c->server->cursors, w);
    } else {
        ash__cursors_end(c->server->cursors, w);
    }
}

/* false when the connection is past help. */
static bool answer_bad_message(ash_connection *c, const ash_request *request, const ash_error *err)
{
    /* A broken document leaves the next message where it is; broken structure does not. */
    bool usable = ash_error_server_code(err) != ASH_MONGO_PROTOCOL_ERROR;
    ash__log(ASH_LOG_INFO, "connection %lld from %s: %s", (long long)c->peer.id, c->peer.remote,
             err->text);
    if (!ash__request_wants_reply(request))
        return usable;
    ash__reply_begin(&c->reply);
    c->reply.has_details = false;
    ash__reply_error(&c->reply, err);
    return send_reply(c, request) && usable;
}

static bool handle_plain(ash_connection *c, const uint8_t *message, size_t len)
{
    ash_request request;
    ash_error err = ASH_ERROR_INIT;
    if (ash__message_parse(message, len, &request, &err) != 0)
        return answer_bad_message(c, &request, &err);
    ash__dispatch(c, &request);
    bool alive = !c->reply.close;
    /* Without views into it, what the cursor holds need not wait for the client. */
    if (c->reply.batch_at == 0 || c->reply.splice_count == 0)
        give_cursor_back(c);
    if (alive && ash__request_wants_reply(&request))
        alive = send_reply(c, &request);
    ash__arrival_done(&c->arrival);
    /* Of commands without an answer, and of answers that could not be sent. */
    ash__turn_leave(&c->turn);
    give_cursor_back(c);
    ash__reply_trim(&c->reply);
    return alive;
}

static bool handle_compressed(ash_connection *c, size_t len)
{
    ash_error err = ASH_ERROR_INIT;
    /* block_bytes() made room for it there. */
    uint8_t *plain = c->block.data + packed_room(len);
    size_t plain_len;
    if (ash__compressed_size(c->block.data, len, &plain_len, &err) == 0 &&
        ash__compressed_unpack(c->block.data, len, plain, plain_len, &c->compressor, &err) == 0)
        return handle_plain(c, plain, plain_len);
    ash__log(ASH_LOG_INFO, "connection %lld from %s closed: %s", (long long)c->peer.id,
             c->peer.remote, err.text);
    return false;
}

static bool handle(ash_connection *c, size_t len)
{
    ash_message_header header;
    ash_error err;
    atomic_fetch_add_explicit(&c->server->counters.requests, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->server->counters.bytes_in, (int64_t)len, memory_order_relaxed);
    /* The answer is compressed as the request was, or not at all. */
    c->compressor = ASH_COMPRESSOR_NONE;
    /* receive() has checked it; here it is read for the opcode. */
    if (ash__message_header_read(c->block.data, &header, &err) != 0)
        return false;
    bool alive = header.op_code == ASH_OP_COMPRESSED ? handle_compressed(c, len)
                                                     : handle_plain(c, c->block.data, len);
    /* The next one waits for it, not this one: however large it is, it can be had. */
    ash__usage_add_bytes(c->access.usage, (int64_t)len, ash__clock_us());
    return alive;
}

/* ---- its life ---- */

/* The queue's lock is held, which ranks below the line's.  In the queue a change has its place, so
 * the next request may go on. */
static void is_queued(ash_turn *turn)
{
    ash_connection *c = (ash_connection *)((char *)turn - offsetof(ash_connection, turn));
    ash__arrival_leave(&c->arrival);
}

static bool has_to_sign_in(const ash_connection *c)
{
    return ash__server_asks(c->server) && !c->access.is_owner && c->access.user == NULL;
}

/* Not before it may change something: others would wait for a thread that gives way to them. */
static void stand_in_line(ash_connection *c)
{
    ash__arrival_begin(&c->arrival, &c->server->arrivals, c->peer.stream.fd);
}

static void begin(ash_connection *c)
{
    ash_peer *peer = &c->peer;
    c->server = peer->host->server;
    c->principal = (ash_principal)ASH_PRINCIPAL_INIT;
    ash__access_init(c);
    ash__block_init(&c->block, &peer->host->requests);
    ash__reply_init(&c->reply, &peer->host->answers);
    /* A thousand who try passwords must not take the processors from who has one. */
    c->gives_way = has_to_sign_in(c);
    if (c->gives_way)
        ash__peer_give_way();
    else
        stand_in_line(c);
}

static void end(ash_connection *c)
{
    ash__log(ASH_LOG_DEBUG, "connection %lld from %s ended", (long long)c->peer.id, c->peer.remote);
    ash__arrival_end(&c->arrival);
    ash__access_release(c);
    ash__reply_release(&c->reply);
    ash__block_release(&c->block);
    /* They rest for a while, as a driver may use them on another connection. */
    ash__cursors_leave(c->server->cursors, c->peer.id);
}

/* true: it goes on on another thread. */
static bool answer_requests(ash_connection *c)
{
    size_t len;
    while (receive(c, &len)) {
        /* The host stops: what the client had sent before is not begun any more. */
        if (atomic_load_explicit(&c->peer.host->deaf, memory_order_relaxed) || !handle(c, len))
            break;
        consume(c, len);
        /* It has signed in, or nobody needs to any more. */
        if (c->gives_way && !has_to_sign_in(c)) {
            c->gives_way = false;
            stand_in_line(c);
            return true;
        }
    }
    return false;
}

static void serve(ash_peer *peer)
{
    ash_connection *c = (ash_connection *)(void *)peer;
    if (c->server == NULL)
        begin(c);
    /* Of a thread's own. */
    ash__turn_begin(&c->turn, &c->server->turns);
    c->turn.queued = is_queued;
    peer->moves = answer_requests(c);
    ash__turn_end(&c->turn);
    if (!peer->moves)
        end(c);
}

const ash_face ash__wire_face = {
    .name = "mongodb",
    .port = 27017,
    .peer_bytes = sizeof(ash_connection),
    .stack_bytes = STACK_BYTES,
    .no_users = "clients may not have to sign in, or can be overheard",
    .serve = serve,
    .keep_house = ash__server_keep_house,
    .interrupt = ash__server_interrupt,
};
