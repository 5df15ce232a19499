/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TLS_STATE_H
#define ASH_TLS_STATE_H

/* For this folder alone. */

#include "base/thread.h"
#include "tls/tls.h"

#include <openssl/ssl.h>

struct ash_tls {
    char *certificate, *key, *ca; /* key and ca: or NULL */
    ash_tls_clients clients;
    ash_mutex lock;   /* guards context, not what it points to */
    SSL_CTX *context; /* counted by whoever uses it */
};

/* What OpenSSL says last, and forget the rest. */
const char *ash__tls_reason(void);

#endif
