/* SPDX-License-Identifier: Apache-2.0 */
#include "pki.h"

#include "base/mem.h"
#include "remove_folder.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pki_init(pki *p)
{
    snprintf(p->folder, sizeof p->folder, "/tmp/ashlar-tls-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
}

void pki_release(pki *p)
{
    remove_folder(p->folder);
}

const char *pki_path(const pki *p, const char *name)
{
    static _Thread_local char path[128];
    snprintf(path, sizeof path, "%s/%s.pem", p->folder, name);
    return path;
}

static void load(const pki *p, const char *name, X509 **x, EVP_PKEY **key)
{
    FILE *file = fopen(pki_path(p, name), "r");
    assert_non_null(file);
    *x = PEM_read_X509(file, NULL, NULL, NULL);
    *key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    fclose(file);
    assert_true(*x != NULL && *key != NULL);
}

static void set_subject(X509 *x, const char *text)
{
    char *copy = ash__strdup(text), *rest = NULL, *parts[8];
    X509_NAME *name = X509_get_subject_name(x);
    size_t count = 0;
    for (char *part = strtok_r(copy, ",", &rest); part != NULL; part = strtok_r(NULL, ",", &rest))
        parts[count++] = part;
    while (count-- > 0) {
        char *value = strchr(parts[count], '=');
        *value++ = '\0';
        assert_int_equal(X509_NAME_add_entry_by_txt(name, parts[count], MBSTRING_UTF8,
                                                    (const unsigned char *)value, -1, -1, 0),
                         1);
    }
    ash__free(copy);
}

void pki_make(const pki *p, pki_wish wish)
{
    X509 *x = X509_new(), *above = NULL;
    EVP_PKEY *key = EVP_EC_gen("P-256"), *signing = NULL;
    if (wish.signer != NULL)
        load(p, wish.signer, &above, &signing);
    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), rand());
    X509_gmtime_adj(X509_getm_notBefore(x), -7200);
    X509_gmtime_adj(X509_getm_notAfter(x), wish.days * 86400);
    set_subject(x, wish.subject);
    X509_set_issuer_name(x, X509_get_subject_name(above != NULL ? above : x));
    X509_set_pubkey(x, key);
    X509_EXTENSION *ca = X509V3_EXT_conf_nid(NULL, NULL, NID_basic_constraints,
                                             above == NULL ? "critical,CA:TRUE" : "CA:FALSE");
    X509_add_ext(x, ca, -1);
    X509_EXTENSION_free(ca);
    assert_true(X509_sign(x, signing != NULL ? signing : key, EVP_sha256()) > 0);
    FILE *file = fopen(pki_path(p, wish.name), "w");
    assert_non_null(file);
    PEM_write_X509(file, x);
    PEM_write_PKCS8PrivateKey(file, key, wish.password != NULL ? EVP_aes_128_cbc() : NULL,
                              wish.password, wish.password != NULL ? (int)strlen(wish.password) : 0,
                              NULL, NULL);
    fclose(file);
    X509_free(x);
    X509_free(above);
    EVP_PKEY_free(key);
    EVP_PKEY_free(signing);
}

void pki_client_init(pki_client *c, const pki *p, int fd, const char *certificate)
{
    c->context = SSL_CTX_new(TLS_client_method());
    if (certificate != NULL) {
        const char *path = pki_path(p, certificate);
        assert_int_equal(SSL_CTX_use_certificate_chain_file(c->context, path), 1);
        assert_int_equal(SSL_CTX_use_PrivateKey_file(c->context, path, SSL_FILETYPE_PEM), 1);
    }
    c->ssl = SSL_new(c->context);
    SSL_set_fd(c->ssl, fd);
    SSL_set_connect_state(c->ssl);
}

void pki_client_release(pki_client *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->context);
}
