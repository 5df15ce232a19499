/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_STATE_H
#define ASH_WIRE_STATE_H

/* A running server, as the parts of this folder see it. */

#include "base/turn.h"
#include "user/attempts.h"
#include "user/users.h"
#include "wire/arrival.h"
#include "wire/cursors.h"
#include "wire/failpoint.h"
#include "net/host.h"
#include "wire/operations.h"
#include "wire/server.h"
#include "wire/sessions.h"

#include <stdatomic.h>

typedef struct ash_server_counters {
    _Atomic int64_t insert, query, update, remove, getmore, command;
    _Atomic int64_t requests, bytes_in, bytes_out;
    _Atomic int64_t user_asserts; /* commands that failed */
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

    ash_host host;      /* connections */
    bool has_host;      /* it was initialised, and so were turns and arrivals */
    int64_t trimmed_at; /* bytes received and sent when the heaps were last trimmed */

    ash_turns turns;       /* of answers */
    ash_arrivals arrivals; /* of requests */
    ash_cursor_table *cursors;
    ash_session_table *sessions;
    ash_operation_list operations;
    ash_failpoint failpoint;          /* failCommand */
    ash_failpoint write_failpoint;    /* onPrimaryTransactionalWrite */
    ash_failpoint get_more_failpoint; /* failGetMoreAfterCursorCheckout */
    ash_failpoint time_failpoint;     /* maxTimeAlwaysTimeOut */
    ash_server_counters counters;
    ash_attempts *own_attempts;         /* unless opts.attempts are used */
    ash_usage_table *usage, *own_usage; /* of who has signed in; the latter unless opts.usage is
                                           used */
    ash_users users;                    /* with opts.users */
    _Atomic bool has_users;             /* somebody is there: commands need something */
    _Atomic uint64_t user_changes;      /* of users and roles, so far */
    _Atomic uint64_t cluster_time;      /* the newest one told to anybody; never goes back */
};

/* The time to tell a client: the store's newest operation time or, before there is one, the wall
 * clock of the start. */
uint64_t ash__server_cluster_time(ash_server *server);

/* Of its face. */
void ash__server_keep_house(ash_host *host);
void ash__server_interrupt(ash_host *host);

#endif
