/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "user/subject.h"

#include <openssl/x509.h>
#include <string.h>

/* An X.509 name of such entries, as OpenSSL prints it for RFC 2253. */
static void print(const char *type, const char *value, char *out, size_t room)
{
    X509_NAME *name = X509_NAME_new();
    BIO *text = BIO_new(BIO_s_mem());
    assert_int_equal(X509_NAME_add_entry_by_txt(name, "O", MBSTRING_UTF8,
                                                (const unsigned char *)"Example", -1, -1, 0),
                     1);
    assert_int_equal(X509_NAME_add_entry_by_txt(name, type, MBSTRING_UTF8,
                                                (const unsigned char *)value, -1, -1, 0),
                     1);
    assert_true(X509_NAME_print_ex(text, name, 0, XN_FLAG_RFC2253) > 0);
    int n = BIO_read(text, out, (int)room - 1);
    assert_true(n > 0);
    out[n] = '\0';
    BIO_free(text);
    X509_NAME_free(name);
}

/* Whatever a certificate's subject is, a user can be named so. */
static void test_user_subject__what_openssl_prints_is_taken(void **state)
{
    static const char *const values[] = {"ann", " ann ",    "  ",          "#ann",        "a,b+c;d",
                                         "a=b", "a\\b\"<>", "\n\t",        "\xc3\x84nne", "#",
                                         " ",   "a  b",     "\xe2\x82\xac"};
    static const char *const types[] = {"CN", "OU", "UID", "emailAddress", "1.2.3.4"};
    char text[1024];
    ash_error err = ASH_ERROR_INIT;
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            /* Addresses have no room for other letters. */
            if (strcmp(types[t], "emailAddress") == 0 && (unsigned char)values[v][0] >= 0x80)
                continue;
            print(types[t], values[v], text, sizeof text);
            if (ash__subject_check(text, &err) != 0)
                fail_msg("%s: %s", text, err.text);
        }
}

static void test_user_subject__other_spellings_are_refused(void **state)
{
    static const char *const names[] = {
        "",        "ann",        "CN",      "=ann",        "CN=ann,",     ",CN=ann",
        "CN=ann+", "CN = ann",   "CN= ann", "CN=ann ",     "CN=ann, O=x", "/CN=ann/O=x",
        "CN=a;b",  "CN=\"ann\"", "CN=a\\",  "CN=a\\z",     "CN=a\\c3",    "CN=\xc3\x84",
        "CN=a\nb", "CN=#0g",     "C N=a",   "CN=ann ,O=x", "CN=a,,O=x",   "CN=a\\C"};
    ash_error err = ASH_ERROR_INIT;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (ash__subject_check(names[i], &err) != ASH_EINVAL)
            fail_msg("taken: %s", names[i]);
    assert_int_equal(ash__subject_check("CN=a+OU=b,O=", &err), 0);
    assert_int_equal(ash__subject_check("1.2.3=#0403616263,CN=x\\2C", &err), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_user_subject__what_openssl_prints_is_taken),
        cmocka_unit_test(test_user_subject__other_spellings_are_refused),
    };
    return cmocka_run_group_tests_name("user subject", tests, NULL, NULL);
}
