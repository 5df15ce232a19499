/* SPDX-License-Identifier: Apache-2.0 */
/* The examples of RFC 5802 and RFC 7677, and what a server must refuse. */
#include "check.h"

#include "base/mem.h"
#include "scram_client.h"
#include "user/prepare.h"

#include <string.h>

static const uint8_t our_random[ASH_SCRAM_NONCE_BYTES] = {1, 2, 3, 4, 5};

static int begin(ash_scram *s, ash_scram_mechanism mechanism, const char *first)
{
    ash_error err = ASH_ERROR_INIT;
    ash__scram_init(s, mechanism);
    return ash__scram_begin(s, first, strlen(first), &err);
}

static int finish(ash_scram *s, const char *last, char **answer)
{
    ash_error err = ASH_ERROR_INIT;
    return ash__scram_finish(s, last, strlen(last), answer, &err);
}

/* ---- the examples ---- */

typedef struct example {
    ash_scram_mechanism mechanism;
    const char *first, *nonce, *salt, *server_first, *last, *answer;
} example;

static const example examples[] = {
    {ASH_SCRAM_SHA_1, "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL",
     "fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j", "QSXCR+Q6sek8bf92",
     "r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096",
     "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=",
     "v=rmF9pqV8S7suAoZWja4dJRkFsKQ="},
    {ASH_SCRAM_SHA_256, "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
     "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", "W22ZaJ0SNY7soEsUEjb6gQ==",
     "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
     "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
     "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
     "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="},
};

static void test_user_scram__examples_of_the_rfcs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ASH_ARRAY_LEN(examples); i++) {
        const example *x = &examples[i];
        ash_scram s;
        ash_scram_credential credential;
        char *answer;
        assert_int_equal(begin(&s, x->mechanism, x->first), 0);
        assert_string_equal(s.user, "user");
        scram_credential_of(x->mechanism, "pencil", x->salt, &credential);
        ash__scram_challenge(&s, &credential, our_random);
        /* The example's nonce instead of ours. */
        ash__free(s.nonce);
        s.nonce = ash__strdup(x->nonce);
        ash__free(s.server_first);
        s.server_first = ash__sprintf("r=%s,s=%s,i=4096", s.nonce, x->salt);
        assert_string_equal(s.server_first, x->server_first);
        assert_int_equal(finish(&s, x->last, &answer), 0);
        assert_string_equal(answer, x->answer);
        ash__free(answer);
        ash__scram_release(&s);
    }
}

/* ---- a whole exchange ---- */

static void challenge(ash_scram *s, ash_scram_mechanism mechanism, const char *first)
{
    ash_scram_credential credential;
    assert_int_equal(begin(s, mechanism, first), 0);
    scram_credential_of(mechanism, "pencil", "W22ZaJ0SNY7soEsUEjb6gQ==", &credential);
    ash__scram_challenge(s, &credential, our_random);
}

static int finish_with(ash_scram *s, const char *binding, const char *nonce, const char *password)
{
    char *answer;
    char *last = scram_final_message(s, binding, nonce, password);
    int rc = finish(s, last, &answer);
    assert_true((rc == 0) == (answer != NULL));
    ash__free(answer);
    ash__free(last);
    return rc;
}

static int attempt(const char *first, const char *binding, const char *nonce, const char *password)
{
    int result = 0;
    for (int m = 0; m < ASH_SCRAM_MECHANISMS; m++) {
        ash_scram s;
        challenge(&s, (ash_scram_mechanism)m, first);
        assert_int_equal(strncmp(s.nonce, "abc", 3), 0);
        assert_int_equal(strlen(s.nonce), 3 + ASH_SCRAM_NONCE_BYTES / 3 * 4);
        result = finish_with(&s, binding, nonce != NULL ? nonce : s.nonce, password);
        ash__scram_release(&s);
    }
    return result;
}

static void test_user_scram__the_right_password_alone(void **state)
{
    (void)state;
    assert_int_equal(attempt("n,,n=user,r=abc", "biws", NULL, "pencil"), 0);
    assert_int_equal(attempt("n,,n=user,r=abc", "biws", NULL, "pencils"), ASH_EACCES);
    assert_int_equal(attempt("n,,n=user,r=abc", "biws", NULL, ""), ASH_EACCES);
}

static void test_user_scram__binding_flags_must_be_those_of_before(void **state)
{
    (void)state;
    /* "y": a client that would bind, if it were offered. */
    assert_int_equal(attempt("y,,n=user,r=abc", "eSws", NULL, "pencil"), 0);
    /* Between the two somebody changed "y" into "n", or the reverse. */
    assert_int_equal(attempt("n,,n=user,r=abc", "eSws", NULL, "pencil"), ASH_EINVAL);
    assert_int_equal(attempt("y,,n=user,r=abc", "biws", NULL, "pencil"), ASH_EINVAL);
    assert_int_equal(attempt("n,,n=user,r=abc", "", NULL, "pencil"), ASH_EINVAL);
}

static void test_user_scram__nonces_of_other_exchanges_are_refused(void **state)
{
    (void)state;
    assert_int_equal(attempt("n,,n=user,r=abc", "biws", "abc", "pencil"), ASH_EINVAL);
    assert_int_equal(
        attempt("n,,n=user,r=abc", "biws", "abcAQIDBAUAAAAAAAAAAAAAAAAAAAAAAAAB", "pencil"),
        ASH_EINVAL);
}

static void test_user_scram__an_exchange_is_good_for_one_attempt(void **state)
{
    (void)state;
    ash_scram s;
    char *answer;
    challenge(&s, ASH_SCRAM_SHA_256, "n,,n=user,r=abc");
    char *good = scram_final_message(&s, "biws", s.nonce, "pencil");
    assert_int_equal(finish_with(&s, "biws", s.nonce, "wrong"), ASH_EACCES);
    assert_int_equal(finish(&s, good, &answer), ASH_EINVAL);
    ash__scram_release(&s);
    /* What was right once is not right for the next challenge. */
    ash_scram_credential credential;
    static const uint8_t other_random[ASH_SCRAM_NONCE_BYTES] = {9};
    assert_int_equal(begin(&s, ASH_SCRAM_SHA_256, "n,,n=user,r=abc"), 0);
    scram_credential_of(ASH_SCRAM_SHA_256, "pencil", "W22ZaJ0SNY7soEsUEjb6gQ==", &credential);
    ash__scram_challenge(&s, &credential, other_random);
    assert_int_equal(finish(&s, good, &answer), ASH_EINVAL);
    ash__scram_release(&s);
    ash__free(good);
}

/* ---- messages ---- */

static void test_user_scram__first_messages_that_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "n",
                                      "n,",
                                      "n,,",
                                      "x,,n=user,r=abc",
                                      "n,,n=user",
                                      "n,,r=abc,n=user",
                                      "n,,n=,r=abc",
                                      "n,,n=us=er,r=abc",
                                      "n,,n=us=2,r=abc",
                                      "n,,n=user,r=",
                                      "n,,n=user,r=a\x7f",
                                      "n,a=other,n=user,r=abc",
                                      "n,,m=x,n=user,r=abc",
                                      "p=tls-unique,,n=user,r=abc",
                                      "p=tls-exporter,,n=user,r=abc",
                                      "n,,n=us\377er,r=abc"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        ash_scram s;
        assert_int_equal(begin(&s, ASH_SCRAM_SHA_256, bad[i]), ASH_EINVAL);
        ash__scram_release(&s);
    }
}

static void test_user_scram__names_are_unescaped(void **state)
{
    (void)state;
    ash_scram s;
    assert_int_equal(begin(&s, ASH_SCRAM_SHA_1, "n,,n=a=2Cb=3Dc,r=abc,x=later"), 0);
    assert_string_equal(s.user, "a,b=c");
    ash__scram_release(&s);
}

static void test_user_scram__last_messages_that_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "c=biws",
                                      "c=biws,r=%s",
                                      "c=biws,r=%s,p=",
                                      "c=biws,r=%s,p=AAAA",
                                      "c=biws,r=%s,p=!",
                                      "r=%s,c=biws,p=AAAA"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        ash_scram s;
        char *answer;
        challenge(&s, ASH_SCRAM_SHA_256, "n,,n=user,r=abc");
        const char *hole = strstr(bad[i], "%s");
        char *last = hole == NULL ? ash__strdup(bad[i])
                                  : ash__sprintf("%.*s%s%s", (int)(hole - bad[i]), bad[i], s.nonce,
                                                 hole + 2);
        assert_int_equal(finish(&s, last, &answer), ASH_EINVAL);
        assert_null(answer);
        ash__free(last);
        ash__scram_release(&s);
    }
}

/* ---- credentials ---- */

static void test_user_scram__who_is_not_there_has_a_salt_that_stays(void **state)
{
    (void)state;
    static const uint8_t secret[32] = {1}, other[32] = {2};
    ash_scram_credential a, b;
    for (int m = 0; m < ASH_SCRAM_MECHANISMS; m++) {
        ash_scram_mechanism mechanism = (ash_scram_mechanism)m;
        ash__scram_credential_fake(mechanism, secret, "nobody", "admin", &a);
        ash__scram_credential_fake(mechanism, secret, "nobody", "admin", &b);
        assert_int_equal(a.salt_len, ash__scram_salt_bytes(mechanism));
        assert_int_equal(a.iterations, ash__scram_iterations(mechanism));
        assert_memory_equal(a.salt, b.salt, a.salt_len);
        assert_memory_not_equal(a.stored_key, b.stored_key, sizeof a.stored_key);
        ash__scram_credential_fake(mechanism, secret, "nobody", "other", &b);
        assert_memory_not_equal(a.salt, b.salt, a.salt_len);
        ash__scram_credential_fake(mechanism, other, "nobody", "admin", &b);
        assert_memory_not_equal(a.salt, b.salt, a.salt_len);
    }
}

static void prepared(const char *text, const char *wanted)
{
    ash_error err = ASH_ERROR_INIT;
    char *out = NULL;
    int rc = ash__saslprep(text, &out, &err);
    if (wanted == NULL) {
        assert_int_equal(rc, ASH_EINVAL);
        assert_null(out);
    } else {
        assert_ok(rc, &err);
        assert_string_equal(out, wanted);
    }
    ash__free(out);
}

/* RFC 4013, section 3. */
static void test_user_scram__passwords_are_prepared(void **state)
{
    (void)state;
    prepared("I\xc2\xadX", "IX");
    prepared("user", "user");
    prepared("USER", "USER");
    prepared("\xc2\xaa", "a");
    prepared("\xe2\x85\xa8", "IX");
    prepared("\x07", NULL);
    prepared("\xd8\xa7\x31", NULL);
    prepared("", NULL);
    prepared("\xc2\xad", NULL);
    prepared("a\xff", NULL);
    prepared("p\xc2\xa0w", "p w");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_user_scram__examples_of_the_rfcs),
        cmocka_unit_test(test_user_scram__the_right_password_alone),
        cmocka_unit_test(test_user_scram__binding_flags_must_be_those_of_before),
        cmocka_unit_test(test_user_scram__nonces_of_other_exchanges_are_refused),
        cmocka_unit_test(test_user_scram__an_exchange_is_good_for_one_attempt),
        cmocka_unit_test(test_user_scram__first_messages_that_are_none),
        cmocka_unit_test(test_user_scram__names_are_unescaped),
        cmocka_unit_test(test_user_scram__last_messages_that_are_none),
        cmocka_unit_test(test_user_scram__who_is_not_there_has_a_salt_that_stays),
        cmocka_unit_test(test_user_scram__passwords_are_prepared),
    };
    return cmocka_run_group_tests_name("user scram", tests, NULL, NULL);
}
