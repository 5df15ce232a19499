/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include <string.h>

/* Contents by their digests, whatever names them: v7files' MongoContentStorageTest (found by the
 * whole SHA and by five bytes of it), CatCommandTest and CopyCommandTest. */

static void digest_of(fixture *f, const char *path, char digest[ASH_DIGEST_TEXT_BYTES])
{
    ash_tree_entry *e = support_get(f, path);
    snprintf(digest, ASH_DIGEST_TEXT_BYTES, "%s", ash_tree_entry_digest(e));
    ash_tree_entry_free(e);
}

static int try_content(fixture *f, const char *digest)
{
    ash_buffer out = ASH_BUFFER_INIT;
    int rc = support_read_content(f, digest, &out);
    ash__buffer_release(&out);
    return rc;
}

static void test_tree_digest__whole_or_its_beginning(void **state)
{
    fixture *f = *state;
    char digest[ASH_DIGEST_TEXT_BYTES], upper[9] = "";
    support_put_seed(f, "a", 1);
    support_put_seed(f, "b", 2);
    support_expect_found_by_digest(f, "a");
    support_expect_found_by_digest(f, "b");
    digest_of(f, "a", digest);
    for (int i = 0; i < 8; i++)
        upper[i] = (char)(digest[i] >= 'a' ? digest[i] - 'a' + 'A' : digest[i]);
    assert_ok(try_content(f, upper), &f->err);
    digest[9] = 0; /* half a byte */
    assert_ok(try_content(f, digest), &f->err);
}

static void test_tree_digest__of_a_tree_with_sha1(void **state)
{
    fixture *f = *state;
    char digest[ASH_DIGEST_TEXT_BYTES];
    support_put_seed(f, "a", 1);
    support_expect_found_by_digest(f, "a");
    digest_of(f, "a", digest);
    assert_int_equal(strlen(digest), 40);
    digest[10] = 0; /* v7files' five bytes */
    assert_ok(try_content(f, digest), &f->err);
}

static void test_tree_digest__what_is_none(void **state)
{
    fixture *f = *state;
    char digest[ASH_DIGEST_TEXT_BYTES + 2];
    support_put_seed(f, "a", 1);
    digest_of(f, "a", digest);
    strcat(digest, "0");
    assert_int_equal(try_content(f, digest), ASH_EINVAL);
    digest[3] = 0;
    assert_int_equal(try_content(f, digest), ASH_EINVAL);
    assert_int_equal(try_content(f, ""), ASH_EINVAL);
    assert_int_equal(try_content(f, "abcdefgh"), ASH_EINVAL);
    digest_of(f, "a", digest);
    digest[10] = digest[10] == '0' ? '1' : '0';
    assert_int_equal(try_content(f, digest), ASH_ENOTFOUND);
    support_put_text(f, "tiny", "in its own document");
    digest_of(f, "tiny", digest);
    assert_int_equal(try_content(f, digest), ASH_ENOTFOUND);
}

/* Another one whose first four digits are the same, of either length. */
static void insert_alike(fixture *f, const char *digest, size_t len)
{
    bson_t doc = BSON_INITIALIZER;
    uint8_t id[32] = {0};
    unsigned first = 0;
    assert_int_equal(sscanf(digest, "%4x", &first), 1);
    id[0] = (uint8_t)(first >> 8);
    id[1] = (uint8_t)first;
    BSON_APPEND_BINARY(&doc, "_id", BSON_SUBTYPE_BINARY, id, (uint32_t)len);
    BSON_APPEND_UTF8(&doc, "store", "in");
    BSON_APPEND_BINARY(&doc, "in", BSON_SUBTYPE_BINARY, (const uint8_t *)"x", 1);
    assert_ok(ash_collection_insert_one(f->contents, &doc, NULL, &f->err), &f->err);
    bson_destroy(&doc);
    f->damaged = true; /* for its bytes do not give that digest */
}

static void test_tree_digest__several_begin_so(void **state)
{
    static const size_t lengths[] = {20, 32};
    fixture *f = *state;
    char digest[ASH_DIGEST_TEXT_BYTES], four[5];
    support_put_seed(f, "a", 1);
    digest_of(f, "a", digest);
    snprintf(four, sizeof four, "%.4s", digest);
    assert_ok(try_content(f, four), &f->err);
    for (int i = 0; i < 2; i++) {
        insert_alike(f, digest, lengths[i]);
        assert_int_equal(try_content(f, four), ASH_EINVAL);
        assert_non_null(strstr(f->err.text, "more than one"));
        support_expect_found_by_digest(f, "a");
    }
    snprintf(four, sizeof four, "%.4s", digest);
    strcpy(digest + 4, "00000000");
    assert_int_equal(try_content(f, digest), ASH_EINVAL);
}

static void test_tree_digest__ranges_and_damage(void **state)
{
    fixture *f = *state;
    ash_tree_read_options o = ASH_TREE_READ_OPTIONS_INIT;
    ash_tree_reader *r = NULL;
    char digest[ASH_DIGEST_TEXT_BYTES], buf[8];
    size_t got = 0;
    uint8_t *bytes = support_bytes(100000, 7);
    assert_ok(support_try_put(f, "a", bytes, 100000, NULL, NULL), &f->err);
    digest_of(f, "a", digest);
    o.start = 99998;
    assert_ok(ash_tree_open_content(f->tree, digest, &o, NULL, &r, &f->err), &f->err);
    assert_string_equal(ash_tree_entry_digest(ash_tree_reader_entry(r)), digest);
    assert_int_equal(ash_tree_entry_length(ash_tree_reader_entry(r)), 100000);
    assert_ok(ash_tree_reader_read(r, buf, sizeof buf, &got, &f->err), &f->err);
    assert_int_equal(got, 2);
    assert_memory_equal(buf, bytes + 99998, 2);
    ash_tree_reader_free(r);
    o.end = 100001;
    assert_int_equal(ash_tree_open_content(f->tree, digest, &o, NULL, &r, &f->err), ASH_EINVAL);
    ash__free(bytes);
    insert_alike(f, "ffff", 32);
    assert_int_equal(try_content(f, "ffff0000"), ASH_ECORRUPT);
}

/* It is there as long as a version has it, and nobody who may not see all gets it. */
static void test_tree_digest__whoever_may(void **state)
{
    fixture *f = *state;
    ash_principal who = ASH_PRINCIPAL_INIT;
    ash_op op = ASH_OP_INIT;
    ash_tree_reader *r = NULL;
    char digest[ASH_DIGEST_TEXT_BYTES];
    bson_t *acl = BCON_NEW("read", "[", "a", "]", "open", "[", "a", "]", "write", "[", "b", "]");
    bson_t *roles = BCON_NEW("0", "{", "role", BCON_UTF8("a"), "db", BCON_UTF8("test"), "}");
    support_put_seed(f, "a", 1);
    digest_of(f, "a", digest);
    support_remove(f, "a");
    assert_ok(try_content(f, digest), &f->err);
    assert_ok(ash_tree_set_acl(f->tree, "/", acl, NULL, NULL, &f->err), &f->err);
    who.user = "a";
    who.db = "test";
    who.roles = roles;
    op.principal = &who;
    assert_int_equal(ash_tree_open_content(f->tree, digest, NULL, &op, &r, &f->err), ASH_EACCES);
    bson_destroy(acl);
    bson_destroy(roles);
}

#define T(name)                                                                                    \
    cmocka_unit_test_setup_teardown(test_tree_digest__##name, support_setup, support_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(whole_or_its_beginning),
        cmocka_unit_test_setup_teardown(test_tree_digest__of_a_tree_with_sha1, support_setup_sha1,
                                        support_teardown),
        T(what_is_none),
        T(several_begin_so),
        T(ranges_and_damage),
        T(whoever_may),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
