/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_TLS_PKI_H
#define ASH_TESTS_TLS_PKI_H

/* Certificates for tests, and clients that have them. */

#include <openssl/ssl.h>
#include <stdbool.h>

typedef struct pki {
    char folder[64]; /* removed at the end */
} pki;

typedef struct pki_wish {
    const char *name;     /* of its file, FOLDER/NAME.pem: certificate and key */
    const char *signer;   /* name of another one; NULL: itself */
    const char *subject;  /* "CN=a,O=b", the most special one first, as RFC 2253 writes them */
    long days;            /* from now on */
    const char *password; /* of the key; NULL: none */
} pki_wish;

void pki_init(pki *p);
void pki_release(pki *p);
/* Its path, good until the next call. */
const char *pki_path(const pki *p, const char *name);
void pki_make(const pki *p, pki_wish wish);

typedef struct pki_client {
    SSL_CTX *context;
    SSL *ssl;
} pki_client;

/* Of a connected descriptor, which stays the caller's.  certificate: a name; NULL: none. */
void pki_client_init(pki_client *c, const pki *p, int fd, const char *certificate);
void pki_client_release(pki_client *c);

#endif
