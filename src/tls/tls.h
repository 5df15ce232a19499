/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TLS_TLS_H
#define ASH_TLS_TLS_H

/* TLS 1.2 and 1.3 (RFC 5246, 8446) on a server's streams, by OpenSSL.
 *
 * A certificate serves all doors; an ash_tls is what they share.  It stands between a stream's bytes
 * and whoever reads them (net/stream.h) and waits for nothing: the handshake goes on while bytes are
 * asked for, and its time is the one in which the first of them have to come. */

#include "base/error.h"
#include "net/stream.h"

typedef struct ash_tls ash_tls;

typedef enum ash_tls_clients {
    ASH_TLS_CLIENTS_NONE,   /* are not asked for a certificate */
    ASH_TLS_CLIENTS_ASK,    /* may have one, which is checked */
    ASH_TLS_CLIENTS_REQUIRE /* need one */
} ash_tls_clients;

typedef struct ash_tls_options {
    const char *certificate; /* PEM: the server's own first, then those above it */
    const char *key;         /* PEM, without a password; NULL: it is in the same file */
    const char *ca;          /* PEM: who signs certificates of clients; NULL: clients have none */
    ash_tls_clients clients;
} ash_tls_options;

enum { ASH_TLS_FINGERPRINT_BYTES = 96 };

/* Reads the files.  ASH_ENOTFOUND, ASH_EACCES, ASH_EIO: of a file; ASH_EINVAL: its contents are none
 * (the text names the file), or options do not go together. */
int ash__tls_new(const ash_tls_options *opts, ash_tls **out, ash_error *err);
/* No stream of it is left. */
void ash__tls_free(ash_tls *tls);
/* Reads the files again, for connections from then on; after an error nothing has changed.  Any
 * thread. */
int ash__tls_reload(ash_tls *tls, ash_error *err);
/* SHA-256 of the certificate as "AB:CD:…", which people compare. */
void ash__tls_fingerprint(ash_tls *tls, char out[ASH_TLS_FINGERPRINT_BYTES]);
/* When the certificate ends (Unix seconds). */
int64_t ash__tls_ends_s(ash_tls *tls);

/* As of ash_host_options.wrap: tls is an ash_tls.  ash__stream_subject() tells who its client is.  Any
 * thread. */
int ash__tls_wrap(void *tls, ash_stream *stream, ash_error *err);

/* A certificate that nobody has signed, and its key, in one file of mode 0600, for localhost, this
 * machine's name and count hosts more (names or addresses): made if there is none, or if it ends
 * within a month; for two years.  ASH_EIO and as of ash__tls_new(). */
int ash__tls_make_self_signed(const char *path, const char *const *hosts, size_t count,
                              ash_error *err);

#endif
