/* SPDX-License-Identifier: Apache-2.0 */
/* A certificate for a first try: nobody vouches for it, but its fingerprint can be compared. */
#include "tls/state.h"

#include "base/buffer.h"
#include "base/file.h"
#include "base/mem.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { DAY_S = 24 * 60 * 60, LIFE_S = 730 * DAY_S, RENEW_S = 30 * DAY_S, SERIAL_BYTES = 16 };

/* ---- one that is there ---- */

static bool is_good_for_long(const char *path)
{
    time_t soon = time(NULL) + RENEW_S;
    FILE *file = fopen(path, "re");
    X509 *found = file != NULL ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
    if (file != NULL)
        fclose(file);
    bool good = found != NULL && X509_cmp_time(X509_get0_notAfter(found), &soon) > 0;
    X509_free(found);
    ERR_clear_error();
    return good;
}

/* ---- a new one ---- */

static void add_host(ash_buffer *names, const char *host)
{
    uint8_t address[16];
    bool is_address =
        inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
    /* A name that has what separates them is none. */
    if (host[0] == '\0' || strpbrk(host, ", \t\n") != NULL)
        return;
    ash__buffer_printf(names, "%s%s:%s", names->len > 0 ? "," : "", is_address ? "IP" : "DNS",
                       host);
}

static char *list_names(const char *const *hosts, size_t count)
{
    ash_buffer names = ASH_BUFFER_INIT;
    char own[256] = "";
    add_host(&names, "localhost");
    add_host(&names, "127.0.0.1");
    add_host(&names, "::1");
    if (gethostname(own, sizeof own - 1) == 0)
        add_host(&names, own);
    for (size_t i = 0; i < count; i++)
        add_host(&names, hosts[i]);
    (void)ash__buffer_text(&names);
    return (char *)ash__buffer_detach(&names);
}

static bool add_extension(X509 *x, int kind, const char *value)
{
    X509V3_CTX ctx;
    X509V3_set_ctx_nodb(&ctx);
    X509V3_set_ctx(&ctx, x, x, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, kind, value);
    bool added = e != NULL && X509_add_ext(x, e, -1) == 1;
    X509_EXTENSION_free(e);
    return added;
}

static bool set_serial(X509 *x)
{
    unsigned char bytes[SERIAL_BYTES];
    if (RAND_bytes(bytes, sizeof bytes) != 1)
        return false;
    bytes[0] &= 0x7f;
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool set = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x)) != NULL;
    BN_free(number);
    return set;
}

static X509 *make_certificate(EVP_PKEY *key, const char *names)
{
    X509 *x = X509_new();
    X509_NAME *subject = X509_NAME_new();
    bool good =
        x != NULL && subject != NULL && X509_set_version(x, X509_VERSION_3) == 1 && set_serial(x) &&
        X509_gmtime_adj(X509_getm_notBefore(x), -DAY_S) != NULL &&
        X509_gmtime_adj(X509_getm_notAfter(x), LIFE_S) != NULL &&
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                   (const unsigned char *)"Ashlar, self-signed", -1, -1, 0) == 1 &&
        X509_set_subject_name(x, subject) == 1 && X509_set_issuer_name(x, subject) == 1 &&
        X509_set_pubkey(x, key) == 1 &&
        add_extension(x, NID_basic_constraints, "critical,CA:FALSE") &&
        add_extension(x, NID_key_usage, "critical,digitalSignature") &&
        add_extension(x, NID_ext_key_usage, "serverAuth") &&
        add_extension(x, NID_subject_alt_name, names) && X509_sign(x, key, EVP_sha256()) > 0;
    X509_NAME_free(subject);
    if (good)
        return x;
    X509_free(x);
    return NULL;
}

/* ---- into a file ---- */

static bool print(BIO *out, EVP_PKEY *key, X509 *x)
{
    return PEM_write_bio_X509(out, x) == 1 &&
           PEM_write_bio_PKCS8PrivateKey(out, key, NULL, NULL, 0, NULL, NULL) == 1;
}

/* Whole or not at all, and nobody else's to read from its first byte on. */
static int write_file(const char *path, const char *data, size_t len, ash_error *err)
{
    char *fresh = ash__sprintf("%s.new", path);
    (void)unlink(fresh);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write(fd, data, len) == (ssize_t)len && fsync(fd) == 0;
    int failed = errno;
    if (fd >= 0)
        close(fd);
    if (good && rename(fresh, path) != 0) {
        failed = errno;
        good = false;
    }
    if (!good)
        (void)unlink(fresh);
    ash__free(fresh);
    return good ? 0 : ash__fail_errno(err, failed, "cannot write the certificate %s", path);
}

int ash__tls_make_self_signed(const char *path, const char *const *hosts, size_t count,
                              ash_error *err)
{
    char *data = NULL;
    int rc = 0;
    if (is_good_for_long(path))
        return 0;
    char *names = list_names(hosts, count);
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = key != NULL ? make_certificate(key, names) : NULL;
    BIO *text = BIO_new(BIO_s_mem());
    if (x == NULL || text == NULL || !print(text, key, x))
        rc = ash__fail(err, ASH_EINVAL, "cannot make a certificate for %s: %s", names,
                       ash__tls_reason());
    long len = rc == 0 ? BIO_get_mem_data(text, &data) : 0;
    if (rc == 0)
        rc = write_file(path, data, (size_t)len, err);
    BIO_free(text);
    X509_free(x);
    EVP_PKEY_free(key);
    ash__free(names);
    return rc;
}
