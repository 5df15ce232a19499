/* SPDX-License-Identifier: Apache-2.0 */
/* Accepting, and the list of peers: who may come in, and who has to go. */
#include "net/host.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "net/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HOUSEKEEPING_MS = 1000,
    OWED_MS = 500,    /* a place is given to somebody else when its client owes for so long */
    STILL_MS = 3000,  /* who holds room that others wait for must move within this */
    MAX_PUT_OUT = 100 /* these have their threads still: so many may be beyond max_peers */
};

/* ---- who has to go ---- */

/* Its thread ends once it notices.  Not closed here: the thread still uses the descriptor, whose
 * number could be another file's by then. */
static void put_out(ash_peer *p)
{
    ash__mutex_assert_held(&p->host->lock);
    p->put_out = true;
    p->host->put_out_count++;
    ash__stream_shutdown(&p->stream, true);
}

/* End the connection whose client owes for longest; false when none does. */
static bool put_one_out(ash_host *h)
{
    ash_peer *worst = NULL;
    int64_t since = ash__clock_ms() - OWED_MS;
    ash__mutex_assert_held(&h->lock);
    if (h->put_out_count >= MAX_PUT_OUT)
        return false;
    for (ash_peer *p = h->peers; p != NULL; p = p->next) {
        int64_t owes = atomic_load_explicit(&p->owes_since_ms, memory_order_relaxed);
        if (p->put_out || owes == 0 || owes > since)
            continue;
        worst = p;
        since = owes;
    }
    if (worst == NULL)
        return false;
    put_out(worst);
    return true;
}

/* Somebody waits for room: end the connection that holds some of it and whose client has not moved
 * for longest, if for long enough.  As of ash__room_init. */
static void press(void *arg, ash_room *room)
{
    ash_host *h = arg;
    ash_peer *worst = NULL;
    unsigned wanted = room == &h->requests ? ASH_HOLDS_REQUEST : ASH_HOLDS_ANSWER;
    int64_t since = ash__clock_ms() - STILL_MS;
    ash__mutex_lock(&h->lock);
    for (ash_peer *p = h->peers; p != NULL && h->put_out_count < MAX_PUT_OUT; p = p->next) {
        unsigned holds = atomic_load_explicit(&p->holds, memory_order_acquire);
        int64_t moved = atomic_load_explicit(&p->moved_ms, memory_order_relaxed);
        if (p->put_out || (holds & wanted) == 0 || moved > since)
            continue;
        worst = p;
        since = moved;
    }
    if (worst != NULL) {
        ash__log(
            ASH_LOG_WARN,
            "connection %lld from %s closed: others wait for the memory that its message holds",
            (long long)worst->id, worst->remote);
        put_out(worst);
    }
    ash__mutex_unlock(&h->lock);
}

/* ---- one peer's life ---- */

/* false when there is no place for it. */
static bool enter(ash_peer *p)
{
    ash_host *h = p->host;
    ash__mutex_lock(&h->lock);
    bool fits = !h->stopping;
    /* Those put out have left already, but for their threads. */
    if (h->peer_count - h->put_out_count >= h->opts.max_peers)
        fits = fits && put_one_out(h);
    if (fits) {
        h->peer_count++;
        p->next = h->peers;
        if (p->next != NULL)
            p->next->prev = p;
        h->peers = p;
    }
    ash__mutex_unlock(&h->lock);
    return fits;
}

static bool is_empty(const ash_host *h)
{
    return h->peer_count == 0 && h->moving == 0;
}

static void tell_if_empty(ash_host *h)
{
    ash__mutex_assert_held(&h->lock);
    if (is_empty(h))
        ash__cond_broadcast(&h->all_gone);
}

void ash__host_leave(ash_peer *p)
{
    ash_host *h = p->host;
    ash__mutex_lock(&h->lock);
    if (p->next != NULL)
        p->next->prev = p->prev;
    if (p->prev != NULL)
        p->prev->next = p->next;
    else
        h->peers = p->next;
    /* Under the lock, by which others shut streams down: they must not meet a descriptor that is
     * somebody else's. */
    ash__stream_close(&p->stream);
    bool was_put_out = p->put_out;
    /* Freed before the count tells a stopping host that nobody is left. */
    ash__free(p);
    if (was_put_out)
        h->put_out_count--;
    h->peer_count--;
    tell_if_empty(h);
    ash__mutex_unlock(&h->lock);
}

/* ---- from one thread to another ---- */

/* A new thread has the priority of who starts it: so the host's does. */
typedef struct ash_move {
    ash_peer *peer;
    bool done, has_gone; /* … to a thread of its own */
    struct ash_move *next;
} ash_move;

static const char is_end = 'e', is_move = 'm';

static void tell_thread(ash_host *h, const char *what)
{
    ssize_t told = write(h->wake[1], what, 1);
    ash_assert(told == 1);
}

/* true: another thread has it.  false: it goes on on this one. */
static bool hand_over(ash_peer *p)
{
    ash_host *h = p->host;
    ash_move m = {.peer = p};
    ash__mutex_lock(&h->lock);
    if (!h->settled) {
        m.next = h->moves;
        h->moves = &m;
        h->moving++;
        tell_thread(h, &is_move);
        while (!m.done)
            ash__cond_wait(&h->moved, &h->lock);
        /* The peer may be gone by now, but the host must not be before this thread is. */
        h->moving--;
        tell_if_empty(h);
    }
    ash__mutex_unlock(&h->lock);
    return m.has_gone;
}

static void *run(void *arg)
{
    ash_peer *p = arg;
    ash_host *h = p->host;
    /* Not those of the host's thread, which started it. */
    ash__thread_take_usual_turns();
    for (;;) {
        p->moves = false;
        h->face->serve(p);
        if (!p->moves)
            break;
        if (hand_over(p))
            return NULL;
    }
    ash__host_leave(p);
    return NULL;
}

/* 0 or an errno value. */
static int start_thread(ash_host *h, ash_peer *p)
{
    pthread_t thread;
    /* Detached: nobody waits for one peer; ash__host_stop waits until all have left the list. */
    int failed = ash__thread_start(&thread, h->face->stack_bytes, run, p);
    if (failed == 0)
        pthread_detach(thread);
    return failed;
}

/* last: nobody else gets one.  What a move is in is its old thread's, until it is done. */
static void move_peers(ash_host *h, bool last)
{
    ash__mutex_lock(&h->lock);
    h->settled = h->settled || last;
    ash_move *next, *moves = h->moves;
    h->moves = NULL;
    ash__mutex_unlock(&h->lock);
    for (ash_move *m = moves; m != NULL; m = m->next)
        m->has_gone = !last && start_thread(h, m->peer) == 0;
    ash__mutex_lock(&h->lock);
    for (ash_move *m = moves; m != NULL; m = next) {
        next = m->next;
        m->done = true;
    }
    ash__cond_broadcast(&h->moved);
    ash__mutex_unlock(&h->lock);
}

/* ---- newcomers ---- */

static void read_addresses(ash_peer *p, const char *socket_path)
{
    struct sockaddr_storage a;
    socklen_t len = sizeof a;
    /* Its clients have no address of their own. */
    if (p->is_unix) {
        snprintf(p->local, sizeof p->local, "%s", socket_path);
        snprintf(p->remote, sizeof p->remote, "anonymous unix socket");
        return;
    }
    memset(&a, 0, sizeof a);
    if (getsockname(p->stream.fd, (struct sockaddr *)&a, &len) == 0)
        ash__address_text(&a, len, p->local);
    len = sizeof a;
    if (getpeername(p->stream.fd, (struct sockaddr *)&a, &len) == 0)
        ash__address_text(&a, len, p->remote);
}

/* Bytes between processes of one machine need no cover. */
static bool wrap(ash_host *h, ash_peer *p)
{
    ash_error err = ASH_ERROR_INIT;
    if (h->opts.wrap == NULL || p->is_unix || h->opts.wrap(h->opts.wrap_ctx, &p->stream, &err) == 0)
        return true;
    ash__log(ASH_LOG_WARN, "connection %lld from %s closed: %s", (long long)p->id, p->remote,
             err.text);
    return false;
}

/* In plain words, which somebody who begins a handshake does not take for any. */
static void refuse(ash_host *h, ash_peer *p)
{
    char dropped[4096];
    const char *text = h->face->no_place;
    ash__log(ASH_LOG_WARN, "connection from %s refused: there are %d already", p->remote,
             ash__host_max_peers(h));
    if (text != NULL && h->opts.wrap == NULL &&
        send(p->stream.fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
        shutdown(p->stream.fd, SHUT_WR);
        /* What is not read would reset the connection, and the text with it. */
        while (recv(p->stream.fd, dropped, sizeof dropped, MSG_DONTWAIT) > 0)
            continue;
    }
    ash__stream_close(&p->stream);
    ash__free(p);
}

/* Takes over fd, also on failure. */
static void start_peer(ash_host *h, int fd, const ash_listener *at)
{
    int on = 1;
    /* The face's struct begins with the peer; both are freed as one. */
    ash_peer *p = ash__alloc(h->face->peer_bytes);
    p->host = h;
    ash__stream_init(&p->stream, fd);
    p->is_unix = at->is_unix;
    /* Whoever connects and says nothing is the first to go. */
    ash__peer_owes(p);
    p->id = 1 + atomic_fetch_add(&h->peers_made, 1);
    read_addresses(p, at->address);
    if (!p->is_unix) {
        /* An answer is sent whole, so there is nothing to gather; and a client whose machine died
         * never says so, while an idle one may stay for ever. */
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    if (!enter(p)) {
        refuse(h, p);
        return;
    }
    if (!wrap(h, p)) {
        ash__host_leave(p);
        return;
    }
    if (h->turns != NULL) {
        if (!ash__turns_add(h->turns, p)) {
            ash__log(ASH_LOG_ERROR, "connection from %s refused: %s", p->remote, strerror(errno));
            ash__host_leave(p);
        }
        return;
    }
    int failed = start_thread(h, p);
    if (failed != 0) {
        ash__log(ASH_LOG_ERROR, "connection from %s refused: no thread: %s", p->remote,
                 strerror(failed));
        ash__host_leave(p);
    }
}

/* ---- the host's thread ---- */

static void accept_from(ash_host *h, const ash_listener *listener)
{
    int fd = accept(listener->fd, NULL, NULL);
    if (fd < 0) {
        /* Out of descriptors: the client waits in the backlog until one is free. */
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            ash__log(ASH_LOG_WARN, "cannot accept a connection: %s", strerror(errno));
            ash__clock_sleep_ms(50);
        }
        return;
    }
    /* accept4(), which would do it in one step, is no POSIX. */
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    start_peer(h, fd, listener);
}

/* false: ash__host_stop says that it is over. */
static bool is_told(ash_host *h)
{
    char what = is_end;
    bool ends = read(h->wake[0], &what, 1) == 1 && what == is_end;
    move_peers(h, ends);
    return !ends;
}

static void *accept_run(void *arg)
{
    ash_host *h = arg;
    struct pollfd p[ASH_MAX_LISTENERS + 1];
    size_t count = h->listeners.count;
    int64_t house_at = ash__clock_ms() + HOUSEKEEPING_MS;
    /* However fast newcomers come: who is there already is answered first.  Not by a priority, which
     * the threads it starts would have, too, and could not get rid of. */
    ash__thread_take_long_turns();
    for (size_t i = 0; i < count; i++)
        p[i] = (struct pollfd){.fd = h->listeners.items[i].fd, .events = POLLIN};
    p[count] = (struct pollfd){.fd = h->wake[0], .events = POLLIN};
    for (;;) {
        /* Wakes for housekeeping when nobody comes, and does not spin should poll fail for good. */
        if (poll(p, (nfds_t)count + 1, HOUSEKEEPING_MS) < 0 && errno != EINTR)
            ash__clock_sleep_ms(HOUSEKEEPING_MS);
        if (p[count].revents != 0 && !is_told(h))
            return NULL;
        for (size_t i = 0; i < count; i++)
            if (p[i].revents != 0)
                accept_from(h, &h->listeners.items[i]);
        if (ash__clock_ms() >= house_at) {
            if (h->face->keep_house != NULL)
                h->face->keep_house(h);
            if (h->turns != NULL)
                ash__turns_tick(h->turns);
            house_at = ash__clock_ms() + HOUSEKEEPING_MS;
        }
    }
}

/* ---- start and stop ---- */

void ash__host_init(ash_host *h, const ash_face *face, void *server, const ash_host_options *opts)
{
    *h = (ash_host){.face = face, .server = server, .opts = *opts, .wake = {-1, -1}};
    h->listeners.rule = (ash_listen_rule){face->port, opts->anywhere ? NULL : face->no_users};
    ash__mutex_init(&h->lock, ASH_RANK_SERVER);
    ash__cond_init(&h->all_gone);
    ash__cond_init(&h->moved);
    ash__room_init(&h->requests, (size_t)opts->room_bytes, press, h);
    ash__room_init(&h->answers, (size_t)opts->room_bytes, press, h);
}

static int open_listeners(ash_host *h, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < h->opts.listen_count && rc == 0; i++)
        rc = ash__listeners_add(&h->listeners, h->opts.listen[i], err);
    if (rc == 0 && h->opts.socket_path != NULL)
        rc = ash__listeners_add_unix(&h->listeners, h->opts.socket_path, err);
    if (rc == 0 && h->listeners.count == 0)
        rc = ash__fail(err, ASH_EINVAL, "a server needs an address to listen on");
    for (size_t i = 0; i < h->listeners.count; i++)
        h->addresses[i] = h->listeners.items[i].address;
    return rc;
}

int ash__host_start(ash_host *h, ash_error *err)
{
    int rc = open_listeners(h, err);
    if (rc != 0)
        return rc;
    if (pipe(h->wake) != 0) {
        h->wake[0] = h->wake[1] = -1;
        return ash__fail_errno(err, errno, "cannot start the server");
    }
    fcntl(h->wake[0], F_SETFD, FD_CLOEXEC);
    fcntl(h->wake[1], F_SETFD, FD_CLOEXEC);
    if (h->face->turn != NULL) {
        rc = ash__turns_start(h, h->opts.seats, &h->turns, err);
        if (rc != 0)
            return rc;
    }
    int failed = ash__thread_start(&h->thread, 0, accept_run, h);
    return failed != 0 ? ash__fail_errno(err, failed, "cannot start the server's thread") : 0;
}

int ash__host_try_addresses(const ash_face *face, const char *const *listen, size_t count,
                            bool anywhere, ash_error *err)
{
    ash_listeners tried = {.rule = {face->port, anywhere ? NULL : face->no_users},
                           .only_bind = true};
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = ash__listeners_add(&tried, listen[i], err);
    ash__listeners_close(&tried);
    return rc;
}

void ash__host_release(ash_host *h)
{
    ash_assert(h->peer_count == 0);
    ash__turns_stop(h->turns);
    ash__listeners_close(&h->listeners);
    ash__room_release(&h->requests);
    ash__room_release(&h->answers);
    ash__cond_release(&h->all_gone);
    ash__cond_release(&h->moved);
    ash__mutex_release(&h->lock);
    if (h->wake[0] >= 0) {
        close(h->wake[0]);
        close(h->wake[1]);
    }
}

int32_t ash__host_peer_count(ash_host *h)
{
    ash__mutex_lock(&h->lock);
    int32_t count = h->peer_count;
    ash__mutex_unlock(&h->lock);
    return count;
}

int32_t ash__host_max_peers(ash_host *h)
{
    ash__mutex_lock(&h->lock);
    int32_t most = h->opts.max_peers;
    ash__mutex_unlock(&h->lock);
    return most;
}

void ash__host_set_max_peers(ash_host *h, int32_t max_peers)
{
    ash__mutex_lock(&h->lock);
    h->opts.max_peers = max_peers;
    ash__mutex_unlock(&h->lock);
}

bool ash__host_is_stopping(ash_host *h)
{
    ash__mutex_lock(&h->lock);
    bool stopping = h->stopping;
    ash__mutex_unlock(&h->lock);
    return stopping;
}

/* Wait until no peer is left: false when the deadline passed first. */
static bool wait_gone(ash_host *h, int64_t deadline_ms)
{
    ash__mutex_lock(&h->lock);
    while (!is_empty(h))
        if (!ash__cond_wait_until(&h->all_gone, &h->lock, deadline_ms))
            break;
    bool gone = is_empty(h);
    ash__mutex_unlock(&h->lock);
    return gone;
}

/* No peer reads another request; with both set, none writes any more either. */
static void shut_peers(ash_host *h, bool both)
{
    ash__mutex_lock(&h->lock);
    h->stopping = true;
    /* What a client sent before can still be read from its socket. */
    atomic_store(&h->deaf, true);
    for (ash_peer *p = h->peers; p != NULL; p = p->next)
        ash__stream_shutdown(&p->stream, both);
    ash__mutex_unlock(&h->lock);
}

/* First nobody comes in any more, then nobody asks, then what goes on is interrupted: answers that
 * are on their way still arrive. */
void ash__host_stop(ash_host *h)
{
    tell_thread(h, &is_end);
    pthread_join(h->thread, NULL);
    shut_peers(h, false);
    if (h->face->interrupt != NULL)
        h->face->interrupt(h);
    if (!wait_gone(h, ash__clock_deadline(h->opts.stop_timeout_ms))) {
        ash__log(ASH_LOG_INFO, "closing connections whose clients do not take their answers");
        shut_peers(h, true);
        /* For as long as it takes: a thread that is left would use the host's memory. */
        wait_gone(h, 0);
    }
}
