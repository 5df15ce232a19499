/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/mem.h"
#include "cmd/store/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file of settings: what is taken from it, and what is said of what is wrong. */

static void parse(const char *text, ash_settings *out)
{
    memset(out, 0, sizeof *out);
    ash__settings_parse(text, strlen(text), out);
}

static void takes(const char *text, ash_setting key, const char *value)
{
    ash_settings s;
    parse(text, &s);
    if (s.error_count > 0)
        fail_msg("%s: line %d: %s", text, s.errors[0].line, s.errors[0].text);
    if (value == NULL)
        assert_null(s.values[key]);
    else
        assert_string_equal(s.values[key], value);
    assert_true(s.lines[key] > 0);
    ash__settings_release(&s);
}

static void refuses(const char *text, int line, const char *message)
{
    ash_settings s;
    parse(text, &s);
    if (s.error_count != 1 || s.errors[0].line != line || strstr(s.errors[0].text, message) == NULL)
        fail_msg("%s: %zu errors, line %d: %s", text, s.error_count, s.errors[0].line,
                 s.error_count > 0 ? s.errors[0].text : "none");
    ash__settings_release(&s);
}

static void test_cmd_settings__values(void **state)
{
    (void)state;
    takes("durability = every", ASH_SET_DURABILITY, "every");
    takes("\xef\xbb\xbf  durability=file\r\n", ASH_SET_DURABILITY, "file");
    takes("# durability = file\n; x\n\n\tdurability\t=\tinterval\t\n", ASH_SET_DURABILITY,
          "interval");
    takes("store = \"/srv/my files\"", ASH_SET_STORE, "/srv/my files");
    takes("http-root = \"a, #b\"", ASH_SET_HTTP_ROOT, "a, #b");
    takes("http-root = a,b", ASH_SET_HTTP_ROOT, "a,b");
    takes("http-log = a=b", ASH_SET_HTTP_LOG, "a=b");
    takes("standalone = yes", ASH_SET_STANDALONE, "");
    takes("standalone = no", ASH_SET_STANDALONE, NULL);
    takes("standalone = no\nreplica-set = x", ASH_SET_REPLICA_SET, "x");
    takes("max-connections = 1000000", ASH_SET_MAX_CONNECTIONS, "1000000");
    takes("sum-every = 1d", ASH_SET_SUM_EVERY, "1d");
    takes("log-level = warning", ASH_SET_LOG_LEVEL, "warning");
    assert_int_equal(ash__setting_amount(ASH_SET_SUM_EVERY, "1.5m"), 90);
    assert_int_equal(ash__setting_amount(ASH_SET_MAX_CONNECTIONS, "12"), 12);
}

static void test_cmd_settings__lists(void **state)
{
    (void)state;
    takes("mongo = 127.0.0.1:1, [::1]:2 ,localhost", ASH_SET_MONGO,
          "127.0.0.1:1,[::1]:2,localhost");
    takes("mongo = :1\nnats = :2\nmongo = fd:3 \"4\"", ASH_SET_MONGO, ":1,fd:3,4");
    takes("http-host = a.example,b.example", ASH_SET_HTTP_HOST, "a.example,b.example");
    refuses("mongo = 127.0.0.1:1, 192.0.2.256:1", 1, "neither an address");
    refuses("mongo = 127.0.0.1:x", 1, "not a port number");
    refuses("mongo = files.example:1", 1, "neither an address nor");
    refuses("mongo = fd:2", 1, "not the number of a socket");
    refuses("mongo = ,", 1, "mongo has no value");
    refuses("mongo =", 1, "mongo has no value");
    refuses("mongo = 1 2 3 4 5 6 7 8\nmongo = 1 2 3 4 5 6 7 8\nmongo = 1", 3, "no more than 16");
}

static void test_cmd_settings__endpoints(void **state)
{
    ash_settings s;
    (void)state;
    parse("[webdav]\nendpoints = / , /docs/ documents\nendpoints = \"/old files\" \"x y\"\n"
          "endpoints = /team\n",
          &s);
    assert_int_equal(s.error_count, 0);
    assert_int_equal(s.endpoint_count, 4);
    static const char *const expected[][2] = {
        {"", "/"}, {"/docs", "documents"}, {"/old files", "x y"}, {"/team", "/team"}};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(s.endpoints[i].prefix, expected[i][0]);
        assert_string_equal(s.endpoints[i].root, expected[i][1]);
    }
    assert_int_equal(s.lines[ASH_SET_ENDPOINTS], 4);
    ash__settings_release(&s);
    refuses("[webdav]\nendpoints = docs x", 2, "a PREFIX such as / or /docs, not \"docs\"");
    refuses("[webdav]\nendpoints = /.ashlar x", 2, "not \"/.ashlar\"");
    refuses("[webdav]\nendpoints = //x", 2, "not \"//x\"");
    refuses("[webdav]\nendpoints = /a b c", 2, "takes PREFIX ROOT");
    refuses("[webdav]\nendpoints = /a \"\"", 2, "a root is empty");
    refuses("[webdav]\nendpoints = /a b, /a/", 2, "two trees are to be at \"/a/\"");
    refuses("[webdav]\nendpoints = ,", 2, "has no value");
    refuses("http-root = x\n[webdav]\nendpoints = /a", 3, "http-root (line 1) cannot");
}

static void test_cmd_settings__what_is_wrong(void **state)
{
    (void)state;
    refuses("\nmungo = 1", 2, "unknown key \"mungo\"; did you mean mongo?");
    refuses("listen-on = 1", 1, "unknown key \"listen-on\"; there are: mongo, nats, http");
    refuses("max-conections = 1", 1, "did you mean max-connections?");
    refuses("= 1", 1, "neither KEY = VALUE nor [SECTION]");
    refuses("durability file", 1, "neither KEY = VALUE nor [SECTION]");
    refuses("endpoints = /", 1, "endpoints stands in [webdav]");
    refuses("[webdav]\nmongo = 1", 2, "mongo stands before the first section");
    refuses("[webdav]\nx = 1", 2, "unknown key \"x\"; there are: endpoints");
    /* What is below an unknown section may be anything. */
    refuses("[new]\nx = 1\nmongo = y", 1, "unknown section \"[new]\"; there are: [webdav]");
    refuses("[", 1, "unknown section \"[\"");
    refuses("[]", 1, "unknown section \"[]\"");
    refuses("[webdav", 1, "unknown section \"[webdav\"");
    refuses("advertise = a\nadvertise = a", 2, "advertise stands in line 1 already");
    refuses("advertise = a b", 1, "takes one value");
    refuses("expire-every = 5 # often", 1, "a remark on a line of its own");
    refuses("http-log = \"x", 1, "a quote is not closed");
    refuses("http-log = \"x\"y", 1, "a blank is missing behind a quote");
    refuses("http-log = x\"y\"", 1, "a quote stands within a word");
    refuses("http-log = \"\"", 1, "http-log takes a text that is not empty");
    refuses("standalone = true", 1, "standalone takes yes or no, not \"true\"");
    refuses("durability = or", 1, "takes file, every or interval, not \"or\"");
    refuses("durability = fil", 1, "takes file, every or interval, not \"fil\"");
    refuses("max-connections = 0", 1, "a whole number from 1 to 1000000, not \"0\"");
    refuses("max-connections = 1k", 1, "a whole number from 1 to 1000000, not \"1k\"");
    refuses("expire-every = 25h", 1, "whole seconds from 1 to 86400");
    refuses("expire-every = 1.5", 1, "whole seconds from 1 to 86400");
    refuses("replica-set = a/b", 1, "1 to 64 letters");
    refuses("standalone = yes\nreplica-set = x", 2, "has no replica-set");
    refuses("http-log = \xff", 1, "not UTF-8 at byte 12");
    refuses("http-log = \x1b[0m", 1, "a control character (0x1b) at byte 12");
    refuses("http-log = \x7f", 1, "a control character (0x7f)");
}

static void test_cmd_settings__bounds(void **state)
{
    ash_settings s;
    char *text = ash__alloc(ASH_SETTINGS_MAX_BYTES + 2);
    (void)state;
    memset(text, '#', ASH_SETTINGS_MAX_LINE + 1);
    refuses(text, 1, "the line has more than 4096 bytes");
    text[ASH_SETTINGS_MAX_LINE] = '\0';
    parse(text, &s);
    assert_int_equal(s.error_count, 0);
    memset(text, '\n', ASH_SETTINGS_MAX_BYTES + 1);
    refuses(text, 0, "it has more than 1048576 bytes");
    text[ASH_SETTINGS_MAX_BYTES] = '\0';
    parse(text, &s);
    assert_int_equal(s.error_count, 0);
    /* A NUL ends nothing. */
    memset(&s, 0, sizeof s);
    ash__settings_parse("http-log = a\0\nx = 1", 19, &s);
    assert_int_equal(s.error_count, 2);
    assert_non_null(strstr(s.errors[0].text, "0x00"));
    assert_int_equal(s.errors[1].line, 2);
    ash__settings_release(&s);
    /* The first errors are kept, the rest is counted. */
    for (size_t i = 0; i < 2000; i += 2)
        memcpy(text + i, "x\n", 2);
    text[2000] = '\0';
    parse(text, &s);
    assert_int_equal(s.error_count, 1000);
    assert_int_equal(s.errors[ASH_SETTINGS_MAX_ERRORS - 1].line, ASH_SETTINGS_MAX_ERRORS);
    ash__settings_release(&s);
    ash__free(text);
}

static void test_cmd_settings__files(void **state)
{
    char folder[] = "/tmp/ashlar-settings-XXXXXX";
    ash_settings s = {0};
    (void)state;
    assert_non_null(mkdtemp(folder));
    ash__settings_load(folder, &s);
    assert_int_equal(s.error_count, 1);
    assert_string_equal(s.errors[0].text, "it is no regular file");
    ash__settings_release(&s);
    char *file = ash__sprintf("%s/conf", folder), *other = ash__sprintf("%s/link", folder);
    ash__settings_load(file, &s);
    assert_non_null(strstr(s.errors[0].text, "cannot read it"));
    ash__settings_release(&s);
    /* Nobody is waited for. */
    assert_int_equal(mkfifo(file, 0600), 0);
    ash__settings_load(file, &s);
    assert_string_equal(s.errors[0].text, "it is no regular file");
    ash__settings_release(&s);
    unlink(file);
    FILE *f = fopen(file, "w");
    fputs("advertise = here:1", f);
    fclose(f);
    /* As in /etc. */
    assert_int_equal(symlink(file, other), 0);
    ash__settings_load(other, &s);
    assert_int_equal(s.error_count, 0);
    assert_string_equal(s.values[ASH_SET_ADVERTISE], "here:1");
    ash__settings_release(&s);
    assert_int_equal(truncate(file, ASH_SETTINGS_MAX_BYTES + 1), 0);
    ash__settings_load(file, &s);
    assert_int_equal(s.error_count, 1);
    assert_non_null(strstr(s.errors[0].text, "more than 1048576 bytes"));
    ash__settings_release(&s);
    unlink(other);
    unlink(file);
    rmdir(folder);
    ash__free(file);
    ash__free(other);
}

static void test_cmd_settings__the_same(void **state)
{
    ash_settings a, b;
    (void)state;
    parse("advertise = x\n[webdav]\nendpoints = /a b", &a);
    parse("advertise = x\nnats = 1\n[webdav]\nendpoints = /a c", &b);
    assert_true(ash__setting_is_same(ASH_SET_ADVERTISE, &a, &b));
    assert_true(ash__setting_is_same(ASH_SET_STORE, &a, &b));
    assert_false(ash__setting_is_same(ASH_SET_NATS, &a, &b));
    assert_false(ash__setting_is_same(ASH_SET_NATS, &b, &a));
    assert_false(ash__setting_is_same(ASH_SET_ENDPOINTS, &a, &b));
    assert_true(ash__setting_is_same(ASH_SET_ENDPOINTS, &a, &a));
    ash__settings_release(&a);
    ash__settings_release(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cmd_settings__values),
        cmocka_unit_test(test_cmd_settings__lists),
        cmocka_unit_test(test_cmd_settings__endpoints),
        cmocka_unit_test(test_cmd_settings__what_is_wrong),
        cmocka_unit_test(test_cmd_settings__bounds),
        cmocka_unit_test(test_cmd_settings__files),
        cmocka_unit_test(test_cmd_settings__the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
