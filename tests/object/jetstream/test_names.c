/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/base64.h"
#include "base/mem.h"
#include "object/jetstream/format/address.h"
#include "object/jetstream/format/names.h"

#include <string.h>

static void assert_reads(const char *text, const char *expected)
{
    uint8_t *data = NULL;
    size_t len = 0;
    assert_true(ash__base64_read(text, strlen(text), &data, &len));
    assert_int_equal(len, strlen(expected));
    assert_string_equal((char *)data, expected);
    ash__free(data);
}

static void test_object_jetstream_names__base64(void **state)
{
    (void)state;
    char *text = ash__base64_write("test", 4);
    assert_string_equal(text, "dGVzdA==");
    ash__free(text);
    text = ash__base64_write("\xff\xef\xfe", 3);
    assert_string_equal(text, "_-_-");
    ash__free(text);
    assert_reads("dGVzdA==", "test");
    assert_reads("dGVzdA", "test");
    assert_reads("", "");
    assert_reads("_-_-", "\xff\xef\xfe");
    assert_reads("/+/+", "\xff\xef\xfe");
    static const char *const bad[] = {"A",       "A===", "dGVz=",    "dG Vz",
                                      "dGVzdA=", "====", "dGVzdA==="};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        uint8_t *data = NULL;
        size_t len = 0;
        assert_false(ash__base64_read(bad[i], strlen(bad[i]), &data, &len));
    }
}

static void test_object_jetstream_names__subjects(void **state)
{
    (void)state;
    char *subject = ash__meta_subject("TEST", "test");
    assert_string_equal(subject, "$O.TEST.M.dGVzdA==");
    char *name = ash__name_of_subject("TEST", subject);
    assert_string_equal(name, "test");
    assert_null(ash__name_of_subject("TES", subject));
    assert_null(ash__name_of_subject("TEST", "$O.TEST.C.dGVzdA=="));
    assert_null(ash__name_of_subject("TEST", "$O.TEST.M.dGVzdAB4")); /* "test\0x" */
    ash__free(name);
    ash__free(subject);
    subject = ash__chunk_subject("a-b", "NUID");
    assert_string_equal(subject, "$O.a-b.C.NUID");
    ash__free(subject);
    subject = ash__stream_of("a_b");
    assert_string_equal(subject, "OBJ_a_b");
    assert_string_equal(ash__store_of_stream(subject), "a_b");
    assert_null(ash__store_of_stream("KV_a_b"));
    assert_null(ash__store_of_stream("OB"));
    ash__free(subject);
}

static void test_object_jetstream_names__addresses(void **state)
{
    (void)state;
    ash_nats_address a;
    ash_error err = ASH_ERROR_INIT;
    assert_ok(ash__nats_address_parse("nats://me:p%40ss@one:4222,two,tls://[::1]:7/"
                                      "?tls_ca=%2Fca.pem&domain=hub&creds=/a@b",
                                      &a, &err),
              &err);
    assert_int_equal(a.count, 3);
    assert_string_equal(a.servers[0], "nats://one:4222");
    assert_string_equal(a.servers[1], "nats://two");
    assert_string_equal(a.servers[2], "nats://[::1]:7");
    assert_true(a.tls);
    assert_string_equal(a.user, "me");
    assert_string_equal(a.password, "p@ss");
    assert_string_equal(a.tls_ca, "/ca.pem");
    assert_string_equal(a.domain, "hub");
    assert_string_equal(a.creds, "/a@b");
    ash__nats_address_release(&a);
    assert_ok(ash__nats_address_parse("nats://s3cr3t@host", &a, &err), &err);
    assert_string_equal(a.token, "s3cr3t");
    assert_null(a.user);
    assert_false(a.tls);
    ash__nats_address_release(&a);
}

/* What is refused is not repeated: it may be a password. */
static void test_object_jetstream_names__addresses_that_cannot_be(void **state)
{
    (void)state;
    static const char *const bad[] = {"nats://",
                                      "nats://me:s3cr3t@",
                                      "nats://me:s3cr3t%zz@host",
                                      "nats://me:s3cr3t@host/bucket",
                                      "nats://me:s3cr3t@host?password=s3cr3t",
                                      "nats://me:s3cr3t@host?creds",
                                      "nats://me:s3cr3t@host,",
                                      "mongodb://me:s3cr3t@host"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(bad); i++) {
        ash_nats_address a;
        ash_error err = ASH_ERROR_INIT;
        assert_int_equal(ash__nats_address_parse(bad[i], &a, &err), ASH_EINVAL);
        assert_null(strstr(err.text, "s3cr3t"));
        ash__nats_address_release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_object_jetstream_names__base64),
        cmocka_unit_test(test_object_jetstream_names__subjects),
        cmocka_unit_test(test_object_jetstream_names__addresses),
        cmocka_unit_test(test_object_jetstream_names__addresses_that_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
