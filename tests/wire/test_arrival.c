/* SPDX-License-Identifier: Apache-2.0 */
#include "client.h"

#include "base/clock.h"
#include "wire/arrival.h"

#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS = 100, TRIES = 40 };

typedef struct pool {
    ash_arrivals line;
    ash_arrival arrivals[CLIENTS];
    int fds[CLIENTS][2]; /* the server's end, the client's */
} pool;

static void pool_open(pool *p)
{
    ash__arrivals_init(&p->line);
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, p->fds[i]), 0);
        ash__arrival_begin(&p->arrivals[i], &p->line, p->fds[i][0]);
    }
}

static void pool_close(pool *p)
{
    for (int i = 0; i < CLIENTS; i++) {
        ash__arrival_end(&p->arrivals[i]);
        close(p->fds[i][0]);
        close(p->fds[i][1]);
    }
    assert_null(p->line.first);
    assert_null(p->line.last);
    ash__arrivals_release(&p->line);
}

static void come(pool *p, int client)
{
    assert_int_equal(write(p->fds[client][1], "x", 1), 1);
}

static void *take_and_leave(void *arg)
{
    ash_arrival *a = arg;
    ash__arrival_take(a);
    ash__arrival_leave(a);
    return NULL;
}

/* A thread that gets a processor first does not go first. */
static void test_wire_arrival__requests_stand_as_they_came(void **state)
{
    pool p;
    (void)state;
    pool_open(&p);
    for (int i = 0; i < CLIENTS; i++)
        come(&p, i * 7 % CLIENTS);
    for (int i = CLIENTS - 1; i >= 0; i--)
        ash__arrival_take(&p.arrivals[i * 7 % CLIENTS]);
    for (int i = 0; i < CLIENTS; i++) {
        ash_arrival *a = &p.arrivals[i * 7 % CLIENTS];
        assert_ptr_equal(p.line.first, a);
        ash__arrival_leave(a);
    }
    pool_close(&p);
}

static void test_wire_arrival__who_came_later_waits(void **state)
{
    pool p;
    pthread_t earlier;
    (void)state;
    pool_open(&p);
    come(&p, 1);
    come(&p, 0);
    ash__arrival_take(&p.arrivals[0]);
    assert_true(p.arrivals[1].placed);
    assert_int_equal(ash__thread_start(&earlier, 0, take_and_leave, &p.arrivals[1]), 0);
    ash__arrival_wait(&p.arrivals[0]);
    assert_ptr_equal(p.line.first, &p.arrivals[0]);
    pthread_join(earlier, NULL);
    pool_close(&p);
}

/* One whose thread does not come loses its place; others have theirs still. */
static void test_wire_arrival__nobody_waits_for_long(void **state)
{
    pool p;
    (void)state;
    pool_open(&p);
    come(&p, 2);
    come(&p, 1);
    come(&p, 0);
    ash__arrival_take(&p.arrivals[1]);
    int64_t from = ash__clock_ms();
    ash__arrival_wait(&p.arrivals[1]);
    assert_true(ash__clock_ms() - from >= ASH_ARRIVAL_MS);
    assert_false(p.arrivals[2].placed);
    assert_ptr_equal(p.line.first, &p.arrivals[1]);
    assert_ptr_equal(p.line.last, &p.arrivals[0]);
    pool_close(&p);
}

/* The rest of a message, and what is sent before the answer, are no new requests. */
static void test_wire_arrival__more_of_a_request_has_no_place(void **state)
{
    pool p;
    (void)state;
    pool_open(&p);
    come(&p, 0);
    ash__arrival_take(&p.arrivals[0]);
    ash__arrival_leave(&p.arrivals[0]);
    come(&p, 0);
    ash__arrival_take(&p.arrivals[1]);
    assert_false(p.arrivals[0].placed);
    ash__arrival_leave(&p.arrivals[1]);
    ash__arrival_open(&p.arrivals[0]);
    come(&p, 0);
    ash__arrival_take(&p.arrivals[2]);
    assert_ptr_equal(p.line.first, &p.arrivals[0]);
    pool_close(&p);
}

/* A client sends its next request while the thread that answered it still waits for a processor. */
static void test_wire_arrival__the_next_request_keeps_its_place(void **state)
{
    pool p;
    (void)state;
    pool_open(&p);
    come(&p, 0);
    ash__arrival_take(&p.arrivals[0]);
    ash__arrival_open(&p.arrivals[0]);
    come(&p, 2);
    come(&p, 0);
    come(&p, 1);
    ash__arrival_take(&p.arrivals[1]);
    ash__arrival_done(&p.arrivals[0]);
    for (int i = 0; i < 3; i++) {
        ash_arrival *a = &p.arrivals[(int[]){2, 0, 1}[i]];
        assert_ptr_equal(p.line.first, a);
        ash__arrival_take(a);
        ash__arrival_leave(a);
    }
    /* Without an answer, too, the next is a new one. */
    ash__arrival_done(&p.arrivals[0]);
    come(&p, 0);
    ash__arrival_take(&p.arrivals[3]);
    assert_ptr_equal(p.line.first, &p.arrivals[0]);
    pool_close(&p);
}

static void make_insert(ash_buffer *m, int32_t id)
{
    bson_t *insert = BCON_NEW("insert", "c", "documents", "[", "{", "_id", BCON_INT32(id), "}", "]",
                              "$db", "test");
    ash__buffer_clear(m);
    message_start(m, ASH_OP_MSG);
    message_body(m, insert);
    message_end(m);
    bson_destroy(insert);
}

static int32_t id_at(const fixture *x, size_t i)
{
    ash__mutex_lock(&x->store->lock);
    int32_t id = ash__value_int32(ash__doc_get(x->store->docs[i], "_id"));
    ash__mutex_unlock(&x->store->lock);
    return id;
}

/* Some drivers send the header of a message first: another request that comes between the pieces is
 * the later one. */
static void test_wire_arrival__a_request_in_two_pieces_keeps_its_place(void **state)
{
    fixture x;
    ash_buffer m = ASH_BUFFER_INIT;
    int astray = 0;
    (void)state;
    fixture_start(&x, NULL);
    int first = client_connect(&x), second = client_connect(&x);
    for (int32_t i = 0; i < TRIES; i++) {
        make_insert(&m, 2 * i + 1);
        ash_buffer later = m;
        m = (ash_buffer)ASH_BUFFER_INIT;
        make_insert(&m, 2 * i);
        client_send(first, m.data, ASH_MESSAGE_HEADER_BYTES);
        client_send(second, later.data, later.len);
        ash__clock_sleep_ms(1);
        client_send(first, m.data + ASH_MESSAGE_HEADER_BYTES, m.len - ASH_MESSAGE_HEADER_BYTES);
        assert_true(client_receive(first, &m));
        assert_true(client_receive(second, &m));
        astray += id_at(&x, (size_t)(2 * i)) != 2 * i;
        ash__buffer_release(&later);
    }
    /* The second piece may be late on a busy machine, and is not waited for then. */
    assert_true(astray <= TRIES / 2);
    ash__buffer_release(&m);
    close(first);
    close(second);
    fixture_stop(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wire_arrival__requests_stand_as_they_came),
        cmocka_unit_test(test_wire_arrival__who_came_later_waits),
        cmocka_unit_test(test_wire_arrival__nobody_waits_for_long),
        cmocka_unit_test(test_wire_arrival__more_of_a_request_has_no_place),
        cmocka_unit_test(test_wire_arrival__the_next_request_keeps_its_place),
        cmocka_unit_test(test_wire_arrival__a_request_in_two_pieces_keeps_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
