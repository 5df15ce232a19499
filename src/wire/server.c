/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/server.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/options.h"
#include "store/ops.h"
#include "wire/connection.h"
#include "wire/state.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <string.h>
#include <unistd.h>

enum {
    HOUSEKEEPING_MS = 1000,
    TRIM_AFTER_BYTES = 32 * 1024 * 1024,
    MIN_MESSAGE_BYTES = 128 * 1024 * 1024
};

/* ---- time ---- */

uint64_t ash__server_cluster_time(ash_server *server)
{
    int64_t wall_ms;
    uint64_t newest = 0;
    if (ash_store_time(server->store, &wall_ms, &newest, NULL) != 0)
        newest = 0;
    uint64_t told = atomic_load(&server->cluster_time);
    while (newest > told && !atomic_compare_exchange_weak(&server->cluster_time, &told, newest))
        ;
    return newest > told ? newest : told;
}

bool ash__server_stopping(ash_server *server)
{
    ash__mutex_lock(&server->lock);
    bool stopping = server->stopping;
    ash__mutex_unlock(&server->lock);
    return stopping;
}

/* ---- accepting ---- */

static void accept_from(ash_server *server, const ash_listener *listener)
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
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    ash__connection_start(server, fd, listener->is_unix, listener->address);
}

/* Batches leave holes in the heaps of the threads that answered; after much traffic their pages go
 * back to the system. */
static void trim_heaps(ash_server *server)
{
#ifdef __GLIBC__
    int64_t traffic =
        atomic_load(&server->counters.bytes_in) + atomic_load(&server->counters.bytes_out);
    if (traffic - server->trimmed_at > TRIM_AFTER_BYTES) {
        malloc_trim(0);
        server->trimmed_at = traffic;
    }
#else
    (void)server;
#endif
}

static void keep_house(ash_server *server)
{
    ash_session_id session;
    int64_t now = ash__clock_ms();
    while (ash__sessions_expire(server->sessions, now - ASH_SESSION_MINUTES * INT64_C(60000),
                                &session))
        ash__cursors_kill_session(server->cursors, &session);
    ash__cursors_expire(server->cursors, now - server->opts.cursor_timeout_ms,
                        now - server->opts.orphan_timeout_ms);
    ash__operations_abandon(&server->operations);
    trim_heaps(server);
}

static void *accept_run(void *arg)
{
    ash_server *server = arg;
    struct pollfd p[ASH_MAX_LISTENERS + 1];
    size_t count = server->listeners.count;
    int64_t house_at = ash__clock_ms() + HOUSEKEEPING_MS;
    for (size_t i = 0; i < count; i++)
        p[i] = (struct pollfd){.fd = server->listeners.items[i].fd, .events = POLLIN};
    p[count] = (struct pollfd){.fd = server->wake[0], .events = POLLIN};
    for (;;) {
        if (poll(p, (nfds_t)count + 1, HOUSEKEEPING_MS) < 0 && errno != EINTR)
            ash__clock_sleep_ms(HOUSEKEEPING_MS);
        if (p[count].revents != 0)
            return NULL;
        for (size_t i = 0; i < count; i++)
            if (p[i].revents != 0)
                accept_from(server, &server->listeners.items[i]);
        if (ash__clock_ms() >= house_at) {
            keep_house(server);
            house_at = ash__clock_ms() + HOUSEKEEPING_MS;
        }
    }
}

/* ---- start and stop ---- */

static void default_int64(int64_t *value, int64_t otherwise)
{
    if (*value <= 0)
        *value = otherwise;
}

static int copy_options(ash_server *s, const ash_server_options *opts, ash_error *err)
{
    ash_server_options *o = &s->opts;
    int rc = ash__options_copy(o, sizeof *o, opts, err);
    if (rc != 0)
        return rc;
    if (o->max_connections <= 0)
        o->max_connections = 1000;
    if (o->max_cursors <= 0)
        o->max_cursors = 10000;
    if (o->max_sessions <= 0)
        o->max_sessions = 100000;
    default_int64(&o->message_timeout_ms, 30000);
    default_int64(&o->send_timeout_ms, 60000);
    default_int64(&o->cursor_timeout_ms, 600000);
    default_int64(&o->orphan_timeout_ms, 60000);
    default_int64(&o->message_bytes, 2 * (int64_t)MIN_MESSAGE_BYTES);
    default_int64(&o->stop_timeout_ms, 1000);
    if (o->message_bytes < MIN_MESSAGE_BYTES)
        o->message_bytes = MIN_MESSAGE_BYTES;
    s->advertise = o->advertise != NULL ? ash__strdup(o->advertise) : NULL;
    s->set_name = ash__strdup(o->set_name != NULL ? o->set_name : "ashlar");
    s->version = o->version != NULL ? ash__strdup(o->version) : NULL;
    return 0;
}

static int open_listeners(ash_server *s, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < s->opts.listen_count && rc == 0; i++)
        rc = ash__listeners_add(&s->listeners, s->opts.listen[i], err);
    if (rc == 0 && s->opts.socket_path != NULL)
        rc = ash__listeners_add_unix(&s->listeners, s->opts.socket_path, err);
    if (rc == 0 && s->listeners.count == 0)
        rc = ash__fail(err, ASH_EINVAL, "a server needs an address to listen on");
    for (size_t i = 0; i < s->listeners.count; i++)
        s->addresses[i] = s->listeners.items[i].address;
    return rc;
}

int ash__server_try_addresses(const char *const *listen, size_t count, ash_error *err)
{
    ash_listeners tried = {.only_bind = true};
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = ash__listeners_add(&tried, listen[i], err);
    ash__listeners_close(&tried);
    return rc;
}

static ash_server *server_new(ash_store *store)
{
    ash_server *s = ash__new(ash_server);
    s->store = store;
    ash__store_expect_readers(store);
    s->wake[0] = s->wake[1] = -1;
    s->started_ms = ash__clock_ms();
    s->started_wall_ms = ash__clock_wall_ms();
    ash__random(&s->process_id, sizeof s->process_id);
    atomic_store(&s->cluster_time, (uint64_t)(s->started_wall_ms / 1000) << 32 | 1);
    ash__mutex_init(&s->lock, ASH_RANK_SERVER);
    ash__cond_init(&s->all_gone);
    ash__operations_init(&s->operations);
    ash__failpoint_init(&s->failpoint);
    ash__failpoint_init(&s->write_failpoint);
    ash__failpoint_init(&s->get_more_failpoint);
    ash__failpoint_init(&s->time_failpoint);
    return s;
}

/* Everything but threads, which must be gone. */
static void server_free(ash_server *s)
{
    ash__listeners_close(&s->listeners);
    ash__cursors_free(s->cursors);
    ash__sessions_free(s->sessions);
    if (s->room.total != 0) {
        ash__turns_release(&s->turns);
        ash__arrivals_release(&s->arrivals);
        ash__room_release(&s->room);
        ash__room_release(&s->answers);
    }
    ash__failpoint_release(&s->failpoint);
    ash__failpoint_release(&s->write_failpoint);
    ash__failpoint_release(&s->get_more_failpoint);
    ash__failpoint_release(&s->time_failpoint);
    ash__operations_release(&s->operations);
    ash__cond_release(&s->all_gone);
    ash__mutex_release(&s->lock);
    if (s->wake[0] >= 0) {
        close(s->wake[0]);
        close(s->wake[1]);
    }
    ash__free(s->advertise);
    ash__free(s->set_name);
    ash__free(s->version);
    ash__free(s);
}

static int start(ash_server *s, const ash_server_options *opts, ash_error *err)
{
    ash_capabilities caps = ASH_CAPABILITIES_INIT;
    int rc = copy_options(s, opts, err);
    if (rc != 0 || (rc = ash_store_capabilities(s->store, &caps, err)) != 0)
        return rc;
    s->can_watch = caps.watch && !s->opts.standalone;
    s->can_transact = caps.transactions;
    s->can_pass_damage = caps.past_damage;
    ash__turns_init(&s->turns);
    ash__arrivals_init(&s->arrivals);
    ash__room_init(&s->room, (size_t)s->opts.message_bytes, ash__connections_press, s);
    ash__room_init(&s->answers, (size_t)s->opts.message_bytes, ash__connections_press, s);
    s->cursors = ash__cursors_new((size_t)s->opts.max_cursors);
    s->sessions = ash__sessions_new((size_t)s->opts.max_sessions);
    if ((rc = open_listeners(s, err)) != 0)
        return rc;
    if (pipe(s->wake) != 0) {
        s->wake[0] = s->wake[1] = -1;
        return ash__fail_errno(err, errno, "cannot start the server");
    }
    fcntl(s->wake[0], F_SETFD, FD_CLOEXEC);
    fcntl(s->wake[1], F_SETFD, FD_CLOEXEC);
    int failed = ash__thread_start(&s->accept_thread, 0, accept_run, s);
    if (failed != 0)
        return ash__fail_errno(err, failed, "cannot start the server's thread");
    return 0;
}

int ash__server_start(ash_store *store, const ash_server_options *opts, ash_server **out,
                      ash_error *err)
{
    ash_server *s = server_new(store);
    *out = NULL;
    int rc = start(s, opts, err);
    if (rc != 0)
        server_free(s);
    else
        *out = s;
    return rc;
}

int32_t ash__server_connection_count(ash_server *server)
{
    ash__mutex_lock(&server->lock);
    int32_t count = server->connection_count;
    ash__mutex_unlock(&server->lock);
    return count;
}

const char *const *ash__server_addresses(const ash_server *server, size_t *count)
{
    *count = server->listeners.count;
    return server->addresses;
}

/* Wait until no connection is left: false when the deadline passed first. */
static bool wait_gone(ash_server *s, int64_t deadline_ms)
{
    bool gone;
    ash__mutex_lock(&s->lock);
    while (s->connection_count > 0)
        if (!ash__cond_wait_until(&s->all_gone, &s->lock, deadline_ms))
            break;
    gone = s->connection_count == 0;
    ash__mutex_unlock(&s->lock);
    return gone;
}

/* No connection reads another message; with both set, none writes any more either. */
static void shut_connections(ash_server *s, bool both)
{
    ash__mutex_lock(&s->lock);
    s->stopping = true;
    /* What a client sent before can still be read from its socket. */
    atomic_store(&s->deaf, true);
    for (ash_connection *c = s->connections; c != NULL; c = c->next)
        shutdown(c->fd, both ? SHUT_RDWR : SHUT_RD);
    ash__mutex_unlock(&s->lock);
}

void ash__server_stop(ash_server *server)
{
    if (server == NULL)
        return;
    ssize_t woken = write(server->wake[1], "", 1);
    ash_assert(woken == 1);
    pthread_join(server->accept_thread, NULL);
    shut_connections(server, false);
    ash__operations_stop(&server->operations);
    if (!wait_gone(server, ash__clock_deadline(server->opts.stop_timeout_ms))) {
        ash__log(ASH_LOG_INFO, "closing connections whose clients do not take their answers");
        shut_connections(server, true);
        wait_gone(server, 0);
    }
    server_free(server);
}
