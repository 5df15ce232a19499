/* SPDX-License-Identifier: Apache-2.0 */
/* What all streams share: certificate, key, and what is agreed on. */
#include "tls/state.h"

#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

const char *ash__tls_reason(void)
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());
    ERR_clear_error();
    return reason != NULL ? reason : "no reason is given";
}

/* ---- files ---- */

/* OpenSSL tells too little of a file that cannot be read. */
static int check_file(const char *path, const char *what, ash_error *err)
{
    if (access(path, R_OK) == 0)
        return 0;
    return ash__fail_errno(err, errno, "cannot read %s %s", what, path);
}

static void warn_of_readers(const char *path)
{
    struct stat st;
    if (stat(path, &st) == 0 && (st.st_mode & (S_IROTH | S_IWOTH)) != 0)
        ash__log(ASH_LOG_WARN, "everybody on this machine can read the key in %s: chmod o= %s",
                 path, path);
}

/* A key with a password would be asked for on a terminal. */
static int refuse_password(char *buffer, int size, int writing, void *ctx)
{
    (void)buffer, (void)size, (void)writing;
    *(bool *)ctx = true;
    return 0;
}

static int load_key(SSL_CTX *context, const char *path, ash_error *err)
{
    bool has_password = false;
    int rc = check_file(path, "the key", err);
    if (rc != 0)
        return rc;
    warn_of_readers(path);
    SSL_CTX_set_default_passwd_cb(context, refuse_password);
    SSL_CTX_set_default_passwd_cb_userdata(context, &has_password);
    bool good = SSL_CTX_use_PrivateKey_file(context, path, SSL_FILETYPE_PEM) == 1;
    SSL_CTX_set_default_passwd_cb_userdata(context, NULL);
    if (has_password)
        rc = ash__fail(err, ASH_EINVAL,
                       "the key in %s has a password: keep one without, which only this account "
                       "can read",
                       path);
    else if (!good)
        rc = ash__fail(err, ASH_EINVAL, "there is no key in %s that fits the certificate: %s", path,
                       ash__tls_reason());
    else if (SSL_CTX_check_private_key(context) != 1)
        rc = ash__fail(err, ASH_EINVAL, "the key in %s is not the certificate's", path);
    ERR_clear_error();
    return rc;
}

static int load_certificate(SSL_CTX *context, const char *path, ash_error *err)
{
    int rc = check_file(path, "the certificate", err);
    if (rc == 0 && SSL_CTX_use_certificate_chain_file(context, path) != 1)
        rc = ash__fail(err, ASH_EINVAL, "there is no certificate in %s: %s", path,
                       ash__tls_reason());
    if (rc == 0 && X509_cmp_current_time(X509_get0_notAfter(SSL_CTX_get0_certificate(context))) < 0)
        ash__log(ASH_LOG_WARN, "the certificate in %s is over", path);
    return rc;
}

static int load_ca(SSL_CTX *context, const ash_tls *t, ash_error *err)
{
    if (t->ca == NULL)
        return 0;
    int rc = check_file(t->ca, "the certificates of who signs", err);
    STACK_OF(X509_NAME) *names = rc == 0 ? SSL_load_client_CA_file(t->ca) : NULL;
    if (rc == 0 && (names == NULL || SSL_CTX_load_verify_locations(context, t->ca, NULL) != 1)) {
        sk_X509_NAME_pop_free(names, X509_NAME_free);
        return ash__fail(err, ASH_EINVAL, "there is no certificate in %s: %s", t->ca,
                         ash__tls_reason());
    }
    if (rc != 0)
        return rc;
    SSL_CTX_set_client_CA_list(context, names);
    SSL_CTX_set_verify(
        context,
        SSL_VERIFY_PEER |
            (t->clients == ASH_TLS_CLIENTS_REQUIRE ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0),
        NULL);
    return 0;
}

/* ---- what is agreed on ---- */

/* Of what a client offers above the stream, HTTP/1.1 is spoken here; MongoDB's drivers offer nothing. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *ctx)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;
    (void)ssl, (void)ctx;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof ours - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_NOACK;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* As Mozilla's "intermediate" recommendation has it (RFC 9325), without what needs DH parameters. */
static bool set_protocol(SSL_CTX *context)
{
    char groups[] = "X25519:P-256:P-384"; /* OpenSSL casts const away */
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    /* A read or a write that can go on later does so with other memory. */
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                  SSL_MODE_RELEASE_BUFFERS);
    /* Each connection shows its certificates anew: one that is over, or was taken back by another
     * file of who signs, lets nobody in, and there is no key of tickets that would open what was
     * said before. */
    SSL_CTX_set_options(context, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1 &&
           SSL_CTX_set1_groups_list(context, groups) == 1 &&
           SSL_CTX_set_session_id_context(context, (const unsigned char *)"ashlar", 6) == 1;
}

static int make_context(const ash_tls *t, SSL_CTX **out, ash_error *err)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    int rc = 0;
    if (context == NULL || !set_protocol(context))
        rc = ash__fail(err, ASH_EUNSUPPORTED, "TLS cannot be set up: %s", ash__tls_reason());
    if (rc == 0)
        rc = load_certificate(context, t->certificate, err);
    if (rc == 0)
        rc = load_key(context, t->key != NULL ? t->key : t->certificate, err);
    if (rc == 0)
        rc = load_ca(context, t, err);
    if (rc != 0) {
        SSL_CTX_free(context);
        return rc;
    }
    *out = context;
    return 0;
}

/* ---- the object ---- */

int ash__tls_new(const ash_tls_options *opts, ash_tls **out, ash_error *err)
{
    *out = NULL;
    if (opts->clients != ASH_TLS_CLIENTS_NONE && opts->ca == NULL)
        return ash__fail(err, ASH_EINVAL,
                         "to check certificates of clients takes those of who signs them");
    ash_tls *t = ash__new(ash_tls);
    ash__mutex_init(&t->lock, ASH_RANK_TLS);
    t->certificate = ash__strdup(opts->certificate);
    t->key = opts->key != NULL ? ash__strdup(opts->key) : NULL;
    t->ca = opts->clients != ASH_TLS_CLIENTS_NONE ? ash__strdup(opts->ca) : NULL;
    t->clients = opts->clients;
    int rc = make_context(t, &t->context, err);
    if (rc != 0) {
        ash__tls_free(t);
        return rc;
    }
    *out = t;
    return 0;
}

void ash__tls_free(ash_tls *t)
{
    if (t == NULL)
        return;
    SSL_CTX_free(t->context);
    ash__mutex_release(&t->lock);
    ash__free(t->certificate);
    ash__free(t->key);
    ash__free(t->ca);
    ash__free(t);
}

int ash__tls_reload(ash_tls *t, ash_error *err)
{
    SSL_CTX *context = NULL;
    int rc = make_context(t, &context, err);
    if (rc != 0)
        return rc;
    ash__mutex_lock(&t->lock);
    SSL_CTX *before = t->context;
    t->context = context;
    ash__mutex_unlock(&t->lock);
    SSL_CTX_free(before);
    return 0;
}

void ash__tls_fingerprint(ash_tls *t, char out[ASH_TLS_FINGERPRINT_BYTES])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    ash__mutex_lock(&t->lock);
    X509_digest(SSL_CTX_get0_certificate(t->context), EVP_sha256(), digest, &len);
    ash__mutex_unlock(&t->lock);
    for (unsigned i = 0; i < len; i++)
        snprintf(out + 3 * i, 4, "%02X%s", digest[i], i + 1 < len ? ":" : "");
}

int64_t ash__tls_ends_s(ash_tls *t)
{
    struct tm at;
    memset(&at, 0, sizeof at);
    ash__mutex_lock(&t->lock);
    int good = ASN1_TIME_to_tm(X509_get0_notAfter(SSL_CTX_get0_certificate(t->context)), &at);
    ash__mutex_unlock(&t->lock);
    return good == 1 ? (int64_t)timegm(&at) : 0;
}
