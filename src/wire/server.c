/* SPDX-License-Identifier: Apache-2.0 */
/* A server is its tables, its store and a host.  Everything that a connection's thread looks at is
 * there before the host starts, and goes after the last thread. */
#include "wire/server.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/options.h"
#include "store/ops.h"
#include "wire/connection.h"
#include "wire/state.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <string.h>

enum {
    DEFAULT_CONNECTIONS = 1000,
    TRIM_AFTER_BYTES = 32 * 1024 * 1024,
    /* Three quarters of it (net/room.h) hold the largest message twice, packed and unpacked. */
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
    /* Many threads tell times at once; what one client was told is never taken back by another's
     * answer. */
    while (newest > told && !atomic_compare_exchange_weak(&server->cluster_time, &told, newest))
        ;
    return newest > told ? newest : told;
}

/* ---- of its host ---- */

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

void ash__server_keep_house(ash_host *host)
{
    ash_server *server = host->server;
    ash_session_id session;
    int64_t now = ash__clock_ms();
    /* One by one, so that no lock is held while its cursors are closed. */
    while (ash__sessions_expire(server->sessions, now - ASH_SESSION_MINUTES * INT64_C(60000),
                                &session))
        ash__cursors_kill_session(server->cursors, &session);
    ash__cursors_expire(server->cursors, now - server->opts.cursor_timeout_ms,
                        now - server->opts.orphan_timeout_ms);
    /* Whoever hung up waits for no answer. */
    ash__operations_abandon(&server->operations);
    trim_heaps(server);
}

void ash__server_interrupt(ash_host *host)
{
    ash_server *server = host->server;
    ash__operations_stop(&server->operations);
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
        o->max_connections = DEFAULT_CONNECTIONS;
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

static void make_host(ash_server *s)
{
    ash_host_options o = {.listen = s->opts.listen,
                          .listen_count = s->opts.listen_count,
                          .socket_path = s->opts.socket_path,
                          .max_peers = s->opts.max_connections,
                          .room_bytes = s->opts.message_bytes,
                          .stop_timeout_ms = s->opts.stop_timeout_ms,
                          .anywhere = s->opts.anywhere,
                          .wrap = s->opts.wrap,
                          .wrap_ctx = s->opts.wrap_ctx};
    ash__host_init(&s->host, &ash__wire_face, s, &o);
    s->has_host = true;
}

int ash__server_try_addresses(const char *const *listen, size_t count, bool anywhere,
                              ash_error *err)
{
    return ash__host_try_addresses(&ash__wire_face, listen, count, anywhere, err);
}

static ash_server *server_new(ash_store *store)
{
    ash_server *s = ash__new(ash_server);
    s->store = store;
    /* From now on it remembers which file was found by whom, for their downloads. */
    ash__store_expect_readers(store);
    s->started_ms = ash__clock_ms();
    s->started_wall_ms = ash__clock_wall_ms();
    ash__random(&s->process_id, sizeof s->process_id);
    /* Of a store without changes, which has no time yet; drivers take 0 for none. */
    atomic_store(&s->cluster_time, (uint64_t)(s->started_wall_ms / 1000) << 32 | 1);
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
    ash__cursors_free(s->cursors);
    ash__sessions_free(s->sessions);
    if (s->has_host) {
        ash__turns_release(&s->turns);
        ash__arrivals_release(&s->arrivals);
        ash__host_release(&s->host);
    }
    ash__failpoint_release(&s->failpoint);
    ash__failpoint_release(&s->write_failpoint);
    ash__failpoint_release(&s->get_more_failpoint);
    ash__failpoint_release(&s->time_failpoint);
    ash__operations_release(&s->operations);
    ash__users_release(&s->users);
    ash__attempts_free(s->own_attempts);
    ash__usage_table_free(s->own_usage);
    ash__free(s->advertise);
    ash__free(s->set_name);
    ash__free(s->version);
    ash__free(s);
}

static int read_users(ash_server *s, ash_error *err)
{
    bool any = false;
    int rc = ash__users_init(&s->users, s->store, err);
    if (rc == 0)
        rc = ash__users_any(&s->users, &any, err);
    atomic_store(&s->has_users, any);
    return rc;
}

static int start(ash_server *s, const ash_server_options *opts, ash_error *err)
{
    ash_capabilities caps = ASH_CAPABILITIES_INIT;
    int rc = copy_options(s, opts, err);
    if (rc != 0 || (rc = ash_store_capabilities(s->store, &caps, err)) != 0)
        return rc;
    /* Standalone servers of MongoDB have no change streams. */
    s->can_watch = caps.watch && !s->opts.standalone;
    s->can_transact = caps.transactions;
    s->can_pass_damage = caps.past_damage;
    /* A deployment asks for itself, and as whom it is asked is the store's business. */
    s->opts.users = s->opts.users && caps.in_process;
    if (s->opts.auth && !s->opts.users)
        return ash__fail(err, ASH_EUNSUPPORTED, "users are of a store in a folder");
    if (s->opts.users && (rc = read_users(s, err)) != 0)
        return rc;
    ash__turns_init(&s->turns);
    ash__arrivals_init(&s->arrivals);
    make_host(s);
    if (s->opts.attempts == NULL)
        s->opts.attempts = s->own_attempts = ash__attempts_new();
    if (s->opts.usage == NULL)
        s->opts.usage = s->own_usage = ash__usage_table_new();
    s->usage = s->opts.usage;
    s->cursors = ash__cursors_new((size_t)s->opts.max_cursors);
    s->sessions = ash__sessions_new((size_t)s->opts.max_sessions);
    return ash__host_start(&s->host, err);
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

bool ash__server_asks(const ash_server *server)
{
    return server->opts.users && (server->opts.auth || atomic_load(&server->has_users));
}

int32_t ash__server_connection_count(ash_server *server)
{
    return ash__host_peer_count(&server->host);
}

const char *const *ash__server_addresses(const ash_server *server, size_t *count)
{
    *count = server->host.listeners.count;
    return server->host.addresses;
}

void ash__server_set_max_connections(ash_server *server, int32_t max_connections)
{
    ash__host_set_max_peers(&server->host,
                            max_connections > 0 ? max_connections : DEFAULT_CONNECTIONS);
}

void ash__server_stop(ash_server *server)
{
    if (server == NULL)
        return;
    ash__host_stop(&server->host);
    server_free(server);
}
