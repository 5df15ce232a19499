/* SPDX-License-Identifier: Apache-2.0 */
/* The list of what `serve` shows.  A face's server is a void pointer here, so that no row knows of
 * another's types. */
#include "cmd/store/faces.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cmd/store/notify.h"
#include "http/gate/gate.h"
#include "http/log.h"
#include "http/server.h"
#include "http/site/site.h"
#include "http/stores/stores.h"
#include "nats/jetstream/jetstream.h"
#include "nats/server.h"
#include "net/listen.h"
#include "store/reach.h"
#include "wire/server.h"

#include <string.h>

typedef struct shown_face {
    const char *option;                   /* that says where it listens */
    const char *scheme;                   /* of its addresses */
    const char *uri_end;                  /* behind them */
    const char *tls_scheme, *tls_uri_end; /* with TLS; NULL: it has none */
    const char *otherwise;                /* where it listens without the option; NULL: nowhere */
    int (*try_addresses)(const char *const *listen, size_t count, bool anywhere, ash_error *err);
    int (*start)(const ash_serving *s, const char *const *listen, size_t count, void **server,
                 ash_error *err);
    const char *const *(*addresses)(const void *server, size_t *count);
    void (*set_max_connections)(void *server, int32_t max_connections);
    void (*stop)(void *server);
} shown_face;

/* ---- who may be seen by others ---- */

/* In the order of the list. */
enum { MONGO, NATS, HTTP };

static const bool asks[ASH_FACES] = {[MONGO] = true, [HTTP] = true};

/* Users may come and go; that nobody comes in without signing in has to be said. */
static bool may_be_anywhere(const ash_serving *s, int face)
{
    return s->insecure_anywhere || (asks[face] && s->auth && s->uses_tls);
}

/* ---- MongoDB's wire protocol ---- */

static void tell_who_is_asked(const ash_serving *s, bool asks_now)
{
    ash__log(ASH_LOG_INFO, "%s",
             asks_now ? "clients have to sign in"
                      : "nobody has to sign in: there are no users (`ashlar user add`)");
    if (asks_now && s->listen[ASH_SET_NATS] != NULL)
        ash__cmd_warn(s->cmd, "users are for MongoDB's drivers and HTTP: NATS asks nobody");
}

static int start_mongodb(const ash_serving *s, const char *const *listen, size_t count,
                         void **server, ash_error *err)
{
    ash_server_options opts = ASH_SERVER_OPTIONS_INIT;
    ash_server *started = NULL;
    opts.listen = listen;
    opts.listen_count = count;
    opts.socket_path = s->socket_path;
    opts.advertise = s->advertise;
    opts.version = ASH_VERSION;
    opts.standalone = s->standalone;
    opts.set_name = s->set_name;
    opts.test_commands = s->test_commands;
    opts.users = true;
    opts.auth = s->auth;
    opts.anywhere = may_be_anywhere(s, MONGO);
    opts.wrap = s->tls != NULL ? ash__tls_wrap : NULL;
    opts.wrap_ctx = s->tls;
    opts.audit = s->audit;
    opts.attempts = s->attempts;
    opts.usage = s->usage;
    opts.max_connections = s->max_connections;
    opts.stop_timeout_ms = s->stop_timeout_ms;
    int rc = ash__server_start(s->store, &opts, &started, err);
    if (rc == 0)
        tell_who_is_asked(s, ash__server_asks(started));
    *server = started;
    return rc;
}

static const char *const *addresses_of_mongodb(const void *server, size_t *count)
{
    return ash__server_addresses(server, count);
}

static void set_max_of_mongodb(void *server, int32_t max_connections)
{
    ash__server_set_max_connections(server, max_connections);
}

static void stop_mongodb(void *server)
{
    ash__server_stop(server);
}

/* ---- NATS' protocol, with JetStream's object stores behind it ---- */

typedef struct nats_face {
    ash_jetstream *jetstream;
    ash_nats_server *server;
} nats_face;

static void stop_nats(void *server)
{
    nats_face *f = server;
    ash__nats_server_stop(f->server);
    ash__jetstream_free(f->jetstream);
    ash__free(f);
}

static void set_max_of_nats(void *server, int32_t max_connections)
{
    ash__nats_server_set_max_connections(((nats_face *)server)->server, max_connections);
}

static int start_nats(const ash_serving *s, const char *const *listen, size_t count, void **server,
                      ash_error *err)
{
    ash_nats_server_options opts = ASH_NATS_SERVER_OPTIONS_INIT;
    nats_face *f = ash__new(nats_face);
    opts.listen = listen;
    opts.listen_count = count;
    opts.anywhere = may_be_anywhere(s, NATS);
    opts.max_connections = s->max_connections;
    opts.stop_timeout_ms = s->stop_timeout_ms;
    int rc = ash__jetstream_new(s->store, &f->jetstream, err);
    if (rc == 0)
        ash__jetstream_tell(f->jetstream, s->audit);
    if (rc == 0)
        rc = ash__nats_server_start(ash__jetstream_service(), f->jetstream, &opts, &f->server, err);
    if (rc != 0) {
        stop_nats(f);
        f = NULL;
    }
    *server = f;
    return rc;
}

static const char *const *addresses_of_nats(const void *server, size_t *count)
{
    const nats_face *f = server;
    return ash__nats_server_addresses(f->server, count);
}

/* ---- HTTP, with trees behind it ---- */

typedef struct http_face {
    ash_http_log *log;
    ash_gate *gate;
    ash_http_stores *stores;
    ash_site *site;
    ash_http_server *server;
} http_face;

static void stop_http(void *server)
{
    http_face *f = server;
    ash__http_server_stop(f->server);
    ash__site_free(f->site);
    ash__http_stores_free(f->stores);
    ash__gate_free(f->gate);
    ash__http_log_close(f->log);
    ash__free(f);
}

static void set_max_of_http(void *server, int32_t max_connections)
{
    ash__http_server_set_max_connections(((http_face *)server)->server, max_connections);
}

static size_t list_mounts(const ash_serving *s,
                          ash_site_mount_options mounts[ASH_SETTINGS_MAX_ENDPOINTS])
{
    if (s->http_root != NULL || s->endpoint_count == 0) {
        mounts[0] = (ash_site_mount_options){"", s->http_root != NULL ? s->http_root : "/"};
        return 1;
    }
    for (size_t i = 0; i < s->endpoint_count; i++)
        mounts[i] = (ash_site_mount_options){s->endpoints[i].prefix, s->endpoints[i].root};
    return s->endpoint_count;
}

static int make_site(const ash_serving *s, http_face *f, ash_error *err)
{
    ash_site_mount_options mounts[ASH_SETTINGS_MAX_ENDPOINTS];
    ash_site_options opts = ASH_SITE_OPTIONS_INIT;
    const char *hosts[ASH_SETTINGS_MAX_HOSTS];
    char *rest = NULL, *list = ash__strdup(s->http_hosts != NULL ? s->http_hosts : "");
    opts.mounts = mounts;
    opts.mount_count = list_mounts(s, mounts);
    opts.hosts = hosts;
    opts.version = ASH_VERSION;
    for (char *name = strtok_r(list, ",", &rest);
         name != NULL && opts.host_count < ASH_SETTINGS_MAX_HOSTS;
         name = strtok_r(NULL, ",", &rest))
        hosts[opts.host_count++] = name;
    ash_gate_options gate = {
        .always = s->auth, .attempts = s->attempts, .usage = s->usage, .audit = s->audit};
    int rc = ash__gate_new(s->store, &gate, &f->gate, err);
    opts.gate = f->gate;
    if (rc == 0)
        rc = ash__http_stores_new(s->store, &f->stores, err);
    if (rc == 0) {
        opts.annexes = ash__http_stores_annexes(f->stores);
        rc = ash__site_new(s->store, &opts, &f->site, err);
    }
    ash__free(list);
    return rc;
}

static int start_http(const ash_serving *s, const char *const *listen, size_t count, void **server,
                      ash_error *err)
{
    ash_http_options opts = ASH_HTTP_OPTIONS_INIT;
    http_face *f = ash__new(http_face);
    opts.listen = listen;
    opts.listen_count = count;
    opts.anywhere = may_be_anywhere(s, HTTP);
    opts.wrap = s->tls != NULL ? ash__tls_wrap : NULL;
    opts.wrap_ctx = s->tls;
    opts.max_connections = s->max_connections;
    opts.stop_timeout_ms = s->stop_timeout_ms;
    int rc = make_site(s, f, err);
    if (rc == 0 && s->http_log != NULL)
        rc = ash__http_log_open(s->http_log,
                                s->http_log_json ? ASH_HTTP_LOG_JSON : ASH_HTTP_LOG_COMBINED,
                                &f->log, err);
    if (f->log != NULL) {
        opts.log = ash__http_log_write;
        opts.log_ctx = f->log;
    }
    if (rc == 0)
        rc = ash__http_server_start(ash__site_service(), f->site, &opts, &f->server, err);
    if (rc == 0) {
        ash__site_watch_server(f->site, f->server);
    } else {
        stop_http(f);
        f = NULL;
    }
    *server = f;
    return rc;
}

static const char *const *addresses_of_http(const void *server, size_t *count)
{
    const http_face *f = server;
    return ash__http_server_addresses(f->server, count);
}

/* ---- the list ---- */

static const shown_face faces[ASH_FACES] = {
    {.option = "mongo",
     .scheme = "mongodb",
     .uri_end = "/",
     .tls_scheme = "mongodb",
     .tls_uri_end = "/?tls=true",
     .otherwise = "127.0.0.1:27017",
     .try_addresses = ash__server_try_addresses,
     .start = start_mongodb,
     .addresses = addresses_of_mongodb,
     .set_max_connections = set_max_of_mongodb,
     .stop = stop_mongodb},
    {.option = "nats",
     .scheme = "nats",
     .uri_end = "",
     .try_addresses = ash__nats_server_try_addresses,
     .start = start_nats,
     .addresses = addresses_of_nats,
     .set_max_connections = set_max_of_nats,
     .stop = stop_nats},
    {.option = "http",
     .scheme = "http",
     .uri_end = "/",
     .tls_scheme = "https",
     .tls_uri_end = "/",
     .try_addresses = ash__http_server_try_addresses,
     .start = start_http,
     .addresses = addresses_of_http,
     .set_max_connections = set_max_of_http,
     .stop = stop_http},
};

static int split_addresses(const ash_cmd *cmd, const shown_face *face, struct ash_faces_item *item)
{
    char *rest = NULL;
    /* Counted beyond what there is place for, so that too many are an error and not cut. */
    for (char *part = strtok_r(item->list, ",", &rest); part != NULL;
         part = strtok_r(NULL, ",", &rest), item->count++)
        if (item->count < ASH_FACE_ADDRESSES)
            item->addresses[item->count] = ash__hosted_address(part, item->hosted[item->count]);
    if (item->count == 0 || item->count > ASH_FACE_ADDRESSES)
        return ash__cmd_usage(cmd, "--%s takes 1 to %d addresses", face->option,
                              (int)ASH_FACE_ADDRESSES);
    return 0;
}

static int count_uses(const ash_faces *f, const char *address)
{
    int uses = 0;
    for (size_t i = 0; i < ASH_FACES; i++)
        for (size_t at = 0; at < f->items[i].count; at++)
            uses += strcmp(f->items[i].addresses[at], address) == 0;
    return uses;
}

/* Two who accept from one socket would each get clients of the other. */
static int check_given_once(const ash_faces *f, const ash_cmd *cmd)
{
    for (size_t i = 0; i < ASH_FACES; i++)
        for (size_t at = 0; at < f->items[i].count; at++)
            if (strncmp(f->items[i].addresses[at], "fd:", 3) == 0 &&
                count_uses(f, f->items[i].addresses[at]) > 1)
                return ash__cmd_usage(cmd, "%s is to be listened on twice",
                                      f->items[i].addresses[at]);
    return 0;
}

int ash__faces_init(ash_faces *f, const ash_serving *s)
{
    int rc = 0;
    for (size_t i = 0; i < ASH_FACES && rc == 0; i++) {
        const char *listen = s->listen[i] != NULL ? s->listen[i] : faces[i].otherwise;
        if (listen == NULL)
            continue;
        f->items[i].list = ash__strdup(listen);
        rc = split_addresses(s->cmd, &faces[i], &f->items[i]);
    }
    return rc == 0 ? check_given_once(f, s->cmd) : rc;
}

void ash__faces_warn_unused(const ash_faces *f, const ash_cmd *cmd)
{
    for (int i = 0; i < ash__given_count(); i++) {
        char address[ASH_HOSTED_BYTES];
        snprintf(address, sizeof address, "fd:%d", ASH_FIRST_GIVEN + i);
        if (count_uses(f, address) == 0)
            ash__cmd_warn(cmd,
                          "nobody listens on %s, a socket that was given: its name "
                          "(FileDescriptorName) is none of mongo, nats and http",
                          address);
    }
}

static int check_address(const char *address, int face, const ash_serving *s, ash_error *err)
{
    const char *why = !asks[face]   ? "NATS' clients do not have to sign in"
                      : s->uses_tls ? "its clients do not have to sign in without --auth"
                      : s->auth     ? "its clients can be overheard without --tls-certificate"
                                    : "other machines are let in with --auth and --tls-certificate";
    const ash_listen_rule rule = {1, may_be_anywhere(s, face) ? NULL : why};
    return ash__listen_check(&rule, address, err);
}

int ash__faces_check(const ash_faces *f, const ash_serving *s, ash_error *err)
{
    int rc = 0;
    for (int i = 0; i < ASH_FACES && rc == 0; i++)
        for (size_t at = 0; at < f->items[i].count && rc == 0; at++)
            rc = check_address(f->items[i].addresses[at], i, s, err);
    return rc;
}

int ash__faces_try(const ash_faces *f, const ash_serving *s, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < ASH_FACES && rc == 0; i++)
        if (f->items[i].count > 0)
            rc = faces[i].try_addresses(f->items[i].addresses, f->items[i].count,
                                        may_be_anywhere(s, (int)i), err);
    return rc;
}

int ash__faces_start(ash_faces *f, const ash_serving *s, ash_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < ASH_FACES && rc == 0; i++) {
        struct ash_faces_item *item = &f->items[i];
        if (item->count > 0)
            rc = faces[i].start(s, item->addresses, item->count, &item->server, err);
    }
    return rc;
}

/* A socket's path stands in a URI as a host does, so its slashes must not. */
static void print_uri(const shown_face *face, const char *address, bool tls, ash_buffer *out)
{
    bool covered = tls && face->tls_scheme != NULL && address[0] != '/';
    ash__buffer_printf(out, "%s://", covered ? face->tls_scheme : face->scheme);
    if (address[0] == '/')
        ash__reach_escape(out, address);
    else
        ash__buffer_append_text(out, address);
    ash__buffer_append_text(out, covered ? face->tls_uri_end : face->uri_end);
}

/* The socket in the store's folder is for other commands, which find it. */
static bool is_door(const ash_serving *s, const char *address)
{
    return s->socket_path != NULL && strcmp(s->socket_path, address) == 0;
}

static void announce_address(const ash_serving *s, const shown_face *face, const char *address)
{
    ash_buffer uri = ASH_BUFFER_INIT;
    print_uri(face, address, s->tls != NULL, &uri);
    if (s->cmd->json) {
        bson_t *object =
            BCON_NEW("listening", BCON_UTF8(address), "uri", BCON_UTF8(ash__buffer_text(&uri)));
        ash__cmd_emit(object);
        bson_destroy(object);
    } else if (!is_door(s, address)) {
        printf("%s\n", ash__buffer_text(&uri));
    }
    ash__buffer_release(&uri);
}

void ash__faces_announce(const ash_faces *f, const ash_serving *s)
{
    for (size_t i = 0; i < ASH_FACES; i++) {
        size_t count = 0;
        const char *const *addresses =
            f->items[i].server != NULL ? faces[i].addresses(f->items[i].server, &count) : NULL;
        for (size_t at = 0; at < count; at++)
            announce_address(s, &faces[i], addresses[at]);
    }
    (void)ash__cmd_flush_output();
}

void ash__faces_describe(const ash_faces *f, const ash_serving *s, ash_buffer *out)
{
    for (size_t i = 0; i < ASH_FACES; i++) {
        size_t count = 0;
        const char *const *addresses =
            f->items[i].server != NULL ? faces[i].addresses(f->items[i].server, &count) : NULL;
        for (size_t at = 0; at < count; at++) {
            if (is_door(s, addresses[at]))
                continue;
            ash__buffer_append_byte(out, ' ');
            print_uri(&faces[i], addresses[at], s->tls != NULL, out);
        }
    }
}

void ash__faces_set_max_connections(ash_faces *f, int32_t max_connections)
{
    for (size_t i = 0; i < ASH_FACES; i++)
        if (f->items[i].server != NULL)
            faces[i].set_max_connections(f->items[i].server, max_connections);
}

void ash__faces_stop(ash_faces *f)
{
    /* The other way round, and also those that never started. */
    for (size_t i = ASH_FACES; i-- > 0;) {
        if (f->items[i].server != NULL)
            faces[i].stop(f->items[i].server);
        ash__free(f->items[i].list);
        f->items[i] = (struct ash_faces_item){0};
    }
}
