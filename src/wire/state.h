/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_STATE_H
#define ASH_WIRE_STATE_H

/* A running server, as the parts of this folder see it. */

#include "base/turn.h"
#include "wire/arrival.h"
#include "wire/cursors.h"
#include "wire/failpoint.h"
#include "net/listen.h"
#include "wire/operations.h"
#include "net/room.h"
#include "wire/server.h"
#include "wire/sessions.h"

#include <stdatomic.h>

struct ash_connection;

typedef struct ash_server_counters {
    _Atomic int64_t insert, query, update, remove, getmore, command;
    _Atomic int64_t requests, bytes_in, bytes_out;
    _Atomic int64_t user_asserts; /* commands that failed */
    _Atomic int64_t connections_made;
} ash_server_counters;

struct ash_server {
    ash_store *store;
    ash_server_options opts; /* texts owned below */
    char *advertise;
    char *set_name;
    char *version;
    bool can_watch;
    bool can_pass_damage;
    bool can_transact;
    int64_t started_ms; /* monotonic */
    int64_t started_wall_ms;
    uint64_t process_id; /* random: tells one run of the server from the next */

    ash_listeners listeners;
    const char *addresses[ASH_MAX_LISTENERS];
    int wake[2]; /* a pipe that ends the accepting thread's poll */
    pthread_t accept_thread;
    int64_t trimmed_at; /* bytes received and sent when the heaps were last trimmed */

    ash_mutex lock;    /* guards connections, the counts, stopping */
    ash_cond all_gone; /* connection_count became 0 */
    struct ash_connection *connections;
    int32_t connection_count;
    int32_t put_out_count; /* of these, how many are about to end */
    bool stopping;
    _Atomic bool deaf; /* no connection may begin another command */

    ash_turns turns;       /* of answers */
    ash_arrivals arrivals; /* of requests */
    ash_room room;         /* of requests */
    ash_room answers;      /* of answers */
    ash_cursor_table *cursors;
    ash_session_table *sessions;
    ash_operation_list operations;
    ash_failpoint failpoint;          /* failCommand */
    ash_failpoint write_failpoint;    /* onPrimaryTransactionalWrite */
    ash_failpoint get_more_failpoint; /* failGetMoreAfterCursorCheckout */
    ash_failpoint time_failpoint;     /* maxTimeAlwaysTimeOut */
    ash_server_counters counters;
    _Atomic uint64_t cluster_time; /* the newest one told to anybody; never goes back */
};

/* The time to tell a client: the store's newest operation time or, before there is one, the wall
 * clock of the start. */
uint64_t ash__server_cluster_time(ash_server *server);

/* Is the server about to stop? */
bool ash__server_stopping(ash_server *server);

#endif
