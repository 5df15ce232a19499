/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_FORMAT_ADDRESS_H
#define ASH_OBJECT_JETSTREAM_FORMAT_ADDRESS_H

/* Where NATS servers are, and who we are to them:
 *
 *     nats://[USER[:PASSWORD]@]HOST[:PORT][,HOST[:PORT]]…[/][?OPTION=VALUE[&…]]
 *
 * tls:// asks for TLS.  A USER without a password is a token.  User, password and values are
 * percent-decoded.  Options: creds=FILE (credentials), nkey=FILE (an NKey's seed), tls_ca=FILE,
 * tls_cert=FILE and tls_key=FILE (both or neither), domain=NAME (of JetStream).
 *
 * Errors never repeat what may be secret. */

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

enum { ASH_NATS_MAX_SERVERS = 32 };

typedef struct ash_nats_address {
    char *servers[ASH_NATS_MAX_SERVERS]; /* nats://HOST[:PORT] */
    int count;
    bool tls;
    char *user, *password; /* both or neither */
    char *token;
    char *creds, *nkey; /* files */
    char *tls_ca, *tls_cert, *tls_key;
    char *domain;
} ash_nats_address;

bool ash__nats_address_accepts(const char *uri); /* by its scheme alone */
/* *out: to be released, also after a failure (ASH_EINVAL). */
int ash__nats_address_parse(const char *uri, ash_nats_address *out, ash_error *err);
void ash__nats_address_release(ash_nats_address *a);

#endif
