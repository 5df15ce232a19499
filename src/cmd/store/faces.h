/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_STORE_FACES_H
#define ASH_CMD_STORE_FACES_H

/* What `ashlar serve` shows of a store: a list of faces, each a server with addresses of its own.
 * To add one: a row in the list (faces.c), and its option in serve.c and settings.c. */

#include "audit/audit.h"
#include "base/buffer.h"
#include "cmd/kit/cmd.h"
#include "cmd/store/settings.h"
#include "tls/tls.h"
#include "user/attempts.h"
#include "user/usage.h"

enum { ASH_FACES = 3 };

/* Options of `ashlar serve`, as faces.c needs them. */
typedef struct ash_serving {
    const ash_cmd *cmd;
    ash_store *store;
    const char *socket_path;       /* in the folder, for other commands; or NULL */
    const char *listen[ASH_FACES]; /* where the faces are to listen; NULL: nothing is said */
    const char *advertise;
    const char *set_name;
    bool standalone;
    bool test_commands;
    bool auth;
    bool uses_tls;
    ash_tls *tls;             /* of the faces that can have it; NULL: none, or not yet */
    bool insecure_anywhere;   /* listen where others can overhear, and nobody has to sign in */
    const char *audit_path;   /* NULL: there is no audit log */
    const char *audit_filter; /* kinds, separated by commas; NULL: the usual ones */
    int64_t audit_bytes;      /* 0: the default */
    int32_t audit_keep;       /* 0: the default */
    ash_audit *audit;         /* of all faces (traces.h); or NULL */
    ash_attempts *attempts;   /* to sign in, at whichever of them */
    ash_usage_table *usage;   /* what users take, likewise */
    int32_t max_connections;  /* 0: the default */
    int64_t stop_timeout_ms;  /* 0: the default */
    const char *http_root;    /* of the tree that HTTP shows at "/"; NULL: the endpoints below */
    const ash_endpoint *endpoints;
    size_t endpoint_count; /* 0: the tree "/" at "/" */
    const char *http_log;  /* where the access log goes; NULL: there is none */
    bool http_log_json;
    const char *http_hosts; /* names that it is known by, separated by commas; or NULL */
} ash_serving;

/* The faces that are shown: where they are to listen, and their servers. */
typedef struct ash_faces {
    struct ash_faces_item {
        char *list;
        const char *addresses[ASH_FACE_ADDRESSES];
        char hosted[ASH_FACE_ADDRESSES][ASH_HOSTED_BYTES]; /* addresses that are ports alone */
        size_t count;                                      /* 0: it is not shown */
        void *server;
    } items[ASH_FACES];
} ash_faces;

/* Read where the faces are to listen; ASH_EXIT_USAGE when that cannot be.  Zero-initialise;
 * ash__faces_stop() also after a failure. */
int ash__faces_init(ash_faces *f, const ash_serving *s);
/* May they listen there?  Beyond this machine only those that ask their clients to sign in, by TLS.
 * ASH_EACCES, and what would let them; ASH_EINVAL: an address is none. */
int ash__faces_check(const ash_faces *f, const ash_serving *s, ash_error *err);
/* Would the addresses do?  As ash__server_try_addresses. */
int ash__faces_try(const ash_faces *f, const ash_serving *s, ash_error *err);
int ash__faces_start(ash_faces *f, const ash_serving *s, ash_error *err);
/* A line, or with --json an object, for each address. */
void ash__faces_announce(const ash_faces *f, const ash_serving *s);
/* The same addresses in one line, with a blank before each. */
void ash__faces_describe(const ash_faces *f, const ash_serving *s, ash_buffer *out);
/* Sockets that were given, and that no face listens on: a warning for each. */
void ash__faces_warn_unused(const ash_faces *f, const ash_cmd *cmd);
void ash__faces_set_max_connections(ash_faces *f, int32_t max_connections); /* 0: the default */
void ash__faces_stop(ash_faces *f);

#endif
