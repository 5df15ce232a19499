/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks travels with each operation from the connection to the backend's slot. */
#include "client.h"

#include "wire/connection.h"
#include "wire/state.h"

#include <unistd.h>

static const ash_principal *last_asked(const fixture *x)
{
    ash__mutex_lock(&x->store->lock);
    const ash_principal *asked = x->store->asked;
    x->store->asked = NULL;
    ash__mutex_unlock(&x->store->lock);
    return asked;
}

/* The one that the server has: between two requests its thread waits in recv. */
static ash_connection *the_connection(const fixture *x)
{
    ash__mutex_lock(&x->server->host.lock);
    ash_connection *c = (ash_connection *)(void *)x->server->host.peers;
    ash__mutex_unlock(&x->server->host.lock);
    assert_non_null(c);
    return c;
}

static void run_ok(int fd, bson_t *command)
{
    bson_t *reply = client_run(fd, command);
    assert_int_equal(field_number(reply, "ok"), 1);
    bson_destroy(reply);
}

/* Each of the ways on which a server makes an operation. */
static void run_each(const fixture *x, int fd, const ash_principal *who)
{
    run_ok(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "]"));
    assert_ptr_equal(last_asked(x), who);
    run_ok(fd, BCON_NEW("find", "c"));
    assert_ptr_equal(last_asked(x), who);
    run_ok(fd, BCON_NEW("delete", "c", "deletes", "[", "{", "q", "{", "}", "limit", BCON_INT32(0),
                        "}", "]"));
    assert_ptr_equal(last_asked(x), who);
}

static void test_wire_principal__nobody_until_somebody_signs_in(void **state)
{
    (void)state;
    fixture x;
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    run_ok(fd, BCON_NEW("ping", BCON_INT32(1)));
    const ash_principal *who = &the_connection(&x)->principal;
    assert_int_equal(who->size, sizeof *who);
    assert_null(who->user);
    run_each(&x, fd, who);
    close(fd);
    fixture_stop(&x);
}

static void test_wire_principal__name_and_roles_reach_the_slot(void **state)
{
    (void)state;
    fixture x;
    bson_t *roles = BCON_NEW("0", "{", "role", "readWrite", "db", "files", "}");
    fixture_start(&x, NULL);
    int fd = client_connect(&x);
    run_ok(fd, BCON_NEW("ping", BCON_INT32(1)));
    ash_connection *c = the_connection(&x);
    c->principal.user = "user";
    c->principal.db = "admin";
    c->principal.roles = roles;
    run_ok(fd, BCON_NEW("insert", "c", "documents", "[", "{", "}", "]"));
    const ash_principal *asked = last_asked(&x);
    assert_non_null(asked);
    assert_string_equal(asked->user, "user");
    assert_string_equal(asked->db, "admin");
    assert_true(bson_equal(asked->roles, roles));
    run_each(&x, fd, &c->principal);
    close(fd);
    fixture_stop(&x);
    bson_destroy(roles);
}

static void test_wire_principal__callers_own_passes_the_store(void **state)
{
    (void)state;
    fixture x;
    ash_collection *coll;
    ash_cursor *cursor;
    ash_principal who = ASH_PRINCIPAL_INIT;
    ash_find_options find = ASH_FIND_OPTIONS_INIT;
    fixture_start(&x, NULL);
    who.user = "user";
    find.op.principal = &who;
    assert_int_equal(ash_collection_new(&x.store->base, "db", "c", &coll, NULL), 0);
    assert_int_equal(ash_collection_find(coll, NULL, &find, &cursor, NULL), 0);
    assert_ptr_equal(last_asked(&x), &who);
    ash_cursor_free(cursor);
    /* A program of before, whose ash_op ends in front of the principal, asks as nobody. */
    find.op.size = offsetof(ash_op, principal);
    assert_int_equal(ash_collection_find(coll, NULL, &find, &cursor, NULL), 0);
    assert_null(last_asked(&x));
    ash_cursor_free(cursor);
    ash_collection_free(coll);
    fixture_stop(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_principal__nobody_until_somebody_signs_in),
        cmocka_unit_test(test_wire_principal__name_and_roles_reach_the_slot),
        cmocka_unit_test(test_wire_principal__callers_own_passes_the_store),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
