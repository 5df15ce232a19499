/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/mem.h"
#include "store/ops.h"
#include "store/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void refused(const char *db, const char *coll)
{
    ash_error err = ASH_ERROR_INIT;
    assert_int_equal(ash__namespace_check(db, coll, &err), ASH_EINVAL);
    assert_int_equal(err.server_code, 73);
}

static void test_store_names__what_mongodb_refuses_is_refused(void **state)
{
    char name[300];
    (void)state;
    refused("", "c");
    refused("a.b", "c");
    refused("a b", "c");
    refused("a$b", "c");
    refused("a", "");
    refused("a", ".b");
    refused("a", "b$c");
    memset(name, 'x', sizeof name);
    name[64] = '\0';
    refused(name, "c");
    name[64] = 'x';
    name[254] = '\0';
    refused("a", name);
}

static void test_store_names__the_longest_names_are_taken(void **state)
{
    ash_error err = ASH_ERROR_INIT;
    char db[64], name[300];
    (void)state;
    memset(db, 'd', 63);
    db[63] = '\0';
    memset(name, 'x', sizeof name);
    name[191] = '\0';
    assert_ok(ash__namespace_check(db, name, &err), &err);
    assert_ok(ash__namespace_check("a", "fs.files", &err), &err);
}

static void folder_is(const char *uri, const char *expected)
{
    char *folder = ash__reach_folder(uri);
    if (expected == NULL)
        assert_null(folder);
    else
        assert_string_equal(folder, expected);
    ash__free(folder);
}

static void test_store_names__folders_of_uris(void **state)
{
    (void)state;
    folder_is("./files", "./files");
    folder_is("file:/srv/files", "/srv/files");
    folder_is("file:///srv/files", "/srv/files");
    folder_is("file:", NULL);
    folder_is("mongodb://host/db", NULL);
}

static int listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 1), 0);
    return fd;
}

static void test_store_names__a_server_is_found_by_socket_or_address(void **state)
{
    char folder[] = "/tmp/ash-reach-XXXXXX", path[64], file[64], expected[128];
    char *uri;
    FILE *f;
    int fd;
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_null(ash__reach_server_uri(folder));

    snprintf(path, sizeof path, "%s/else where.sock", folder);
    snprintf(file, sizeof file, "%s/ashlar.addr", folder);
    fd = listen_at(path);
    f = fopen(file, "w");
    assert_non_null(f);
    fprintf(f, "%s\n", path);
    fclose(f);
    uri = ash__reach_server_uri(folder);
    snprintf(expected, sizeof expected, "ashlar+unix://%%2Ftmp%%2F%s%%2Felse%%20where.sock",
             folder + 5);
    assert_non_null(uri);
    assert_string_equal(uri, expected);
    ash__free(uri);

    close(fd);
    assert_null(ash__reach_server_uri(folder));
    unlink(path);
    unlink(file);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_store_names__what_mongodb_refuses_is_refused),
        cmocka_unit_test(test_store_names__the_longest_names_are_taken),
        cmocka_unit_test(test_store_names__folders_of_uris),
        cmocka_unit_test(test_store_names__a_server_is_found_by_socket_or_address),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
