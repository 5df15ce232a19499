/* SPDX-License-Identifier: Apache-2.0 */
/* Files of certificates and keys: those that cannot be, those that change, and one that is made. */
#include "pki.h"
#include "tls/tls.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static char *path_of(const pki *p, const char *name)
{
    return ash__strdup(pki_path(p, name));
}

static void refuses(const pki *p, ash_tls_options o, int expected, const char *said)
{
    ash_tls *t = NULL;
    ash_error err = ASH_ERROR_INIT;
    char *certificate = path_of(p, o.certificate);
    char *key = o.key != NULL ? path_of(p, o.key) : NULL;
    char *ca = o.ca != NULL ? path_of(p, o.ca) : NULL;
    o.certificate = certificate;
    o.key = key;
    o.ca = ca;
    assert_int_equal(ash__tls_new(&o, &t, &err), expected);
    assert_null(t);
    if (strstr(err.text, said) == NULL)
        fail_msg("%s", err.text);
    ash__free(certificate);
    ash__free(key);
    ash__free(ca);
}

static void test_what_is_none(void **state)
{
    pki p;
    (void)state;
    pki_init(&p);
    pki_make(&p, (pki_wish){"ca", NULL, "CN=them", 10, NULL});
    pki_make(&p, (pki_wish){"a", "ca", "CN=a", 10, NULL});
    pki_make(&p, (pki_wish){"b", "ca", "CN=b", 10, NULL});
    pki_make(&p, (pki_wish){"locked", "ca", "CN=c", 10, "open sesame"});
    write_text(pki_path(&p, "text"), "no certificate\n");
    write_text(pki_path(&p, "empty"), "");
    refuses(&p, (ash_tls_options){.certificate = "none"}, ASH_ENOTFOUND, "none.pem");
    refuses(&p, (ash_tls_options){.certificate = "text"}, ASH_EINVAL, "text.pem");
    refuses(&p, (ash_tls_options){.certificate = "empty"}, ASH_EINVAL, "empty.pem");
    refuses(&p, (ash_tls_options){.certificate = "a", .key = "none"}, ASH_ENOTFOUND, "none.pem");
    refuses(&p, (ash_tls_options){.certificate = "a", .key = "b"}, ASH_EINVAL, "b.pem");
    refuses(&p, (ash_tls_options){.certificate = "a", .key = "text"}, ASH_EINVAL, "text.pem");
    refuses(&p, (ash_tls_options){.certificate = "locked"}, ASH_EINVAL, "has a password");
    refuses(&p, (ash_tls_options){.certificate = "a", .clients = ASH_TLS_CLIENTS_ASK}, ASH_EINVAL,
            "who signs");
    refuses(&p, (ash_tls_options){.certificate = "a", .ca = "text", .clients = ASH_TLS_CLIENTS_ASK},
            ASH_EINVAL, "text.pem");
    refuses(&p, (ash_tls_options){.certificate = "a", .ca = "none", .clients = ASH_TLS_CLIENTS_ASK},
            ASH_ENOTFOUND, "none.pem");
    pki_release(&p);
}

static void test_reads_again(void **state)
{
    pki p;
    ash_tls *t = NULL;
    ash_error err = ASH_ERROR_INIT;
    char one[ASH_TLS_FINGERPRINT_BYTES], two[ASH_TLS_FINGERPRINT_BYTES];
    (void)state;
    pki_init(&p);
    pki_make(&p, (pki_wish){"a", NULL, "CN=a", 10, NULL});
    ash_tls_options o = {.certificate = pki_path(&p, "a")};
    assert_int_equal(ash__tls_new(&o, &t, &err), 0);
    ash__tls_fingerprint(t, one);
    assert_int_equal(strlen(one), 95);
    /* Half a file, as somebody who copies it over leaves it for a moment. */
    write_text(pki_path(&p, "a"), "-----BEGIN CERTIFICATE-----\nMIIB");
    assert_int_equal(ash__tls_reload(t, &err), ASH_EINVAL);
    ash__tls_fingerprint(t, two);
    assert_string_equal(one, two);
    pki_make(&p, (pki_wish){"a", NULL, "CN=a", 10, NULL});
    assert_int_equal(ash__tls_reload(t, &err), 0);
    ash__tls_fingerprint(t, two);
    assert_string_not_equal(one, two);
    ash__tls_free(t);
    pki_release(&p);
}

static X509 *read_certificate(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    X509 *x = PEM_read_X509(file, NULL, NULL, NULL);
    fclose(file);
    assert_non_null(x);
    return x;
}

static void test_self_signed(void **state)
{
    pki p;
    ash_tls *t = NULL;
    struct stat st;
    ash_error err = ASH_ERROR_INIT;
    static const char *const hosts[] = {"files.example", "192.0.2.7", "a,DNS:b", ""};
    (void)state;
    pki_init(&p);
    char *path = path_of(&p, "own");
    assert_int_equal(ash__tls_make_self_signed(path, hosts, ASH_ARRAY_LEN(hosts), &err), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    X509 *x = read_certificate(path);
    assert_int_equal(X509_check_host(x, "localhost", 0, 0, NULL), 1);
    assert_int_equal(X509_check_host(x, "files.example", 0, 0, NULL), 1);
    assert_int_equal(X509_check_ip_asc(x, "127.0.0.1", 0), 1);
    assert_int_equal(X509_check_ip_asc(x, "192.0.2.7", 0), 1);
    assert_int_equal(X509_check_host(x, "b", 0, 0, NULL), 0);
    ash_tls_options o = {.certificate = path};
    assert_int_equal(ash__tls_new(&o, &t, &err), 0);
    assert_true(ash__tls_ends_s(t) > time(NULL) + 700L * 86400);
    ash__tls_free(t);
    /* One that is good for long stays: clients know it. */
    assert_int_equal(ash__tls_make_self_signed(path, NULL, 0, &err), 0);
    X509 *again = read_certificate(path);
    assert_int_equal(X509_cmp(x, again), 0);
    X509_free(again);
    pki_make(&p, (pki_wish){"own", NULL, "CN=old", 20, NULL});
    assert_int_equal(ash__tls_make_self_signed(path, NULL, 0, &err), 0);
    again = read_certificate(path);
    assert_int_equal(X509_check_host(again, "localhost", 0, 0, NULL), 1);
    X509_free(again);
    X509_free(x);
    ash__free(path);
    assert_int_equal(ash__tls_make_self_signed("/nowhere/own.pem", NULL, 0, &err), ASH_ENOTFOUND);
    pki_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_none),
        cmocka_unit_test(test_reads_again),
        cmocka_unit_test(test_self_signed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
