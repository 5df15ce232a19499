/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_NATS_SERVICE_H
#define ASH_TESTS_NATS_SERVICE_H

/* A server of NATS' protocol with a small service behind it:
 *   echo.>          answered with what came, headers included
 *   many.COUNT.LEN  COUNT messages of LEN bytes each, to the reply, by the pump
 *   late            "late" to the reply, once another thread woke the client
 *   timed           "timed" to the reply, after 50 ms
 *   swallow         nothing */

#include "nats/server.h"

#include <stdatomic.h>

typedef struct service {
    ash_nats_server *server;
    int port;
    atomic_int attached, detached, published, pumps, housekeepings;
    atomic_bool refuses; /* to serve clients from now on */
} service;

/* opts: NULL for defaults; where it listens is set here. */
void service_start(service *s, const ash_nats_server_options *opts);
void service_stop(service *s);

#endif
