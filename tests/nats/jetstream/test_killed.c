/* SPDX-License-Identifier: Apache-2.0 */
/* A server dies at any moment while a client puts, renames and deletes: what was acknowledged is
 * there, and what was under way is there whole or not at all. */
#include "support.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "crash/rng.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KILLS = 20, CHUNK = 131072 };

/* The object "a" at a step; size 0: it is deleted. */
typedef struct version {
    char fill;
    size_t size;
} version;

static version version_of(int step, int life)
{
    version v = {(char)('a' + (step + 7 * life) % 26), 0};
    if (step % 5 != 4)
        v.size = step % 2 == 0 ? 100 + (size_t)step % 50 : 140000 + (size_t)(step * 7919) % 500000;
    return v;
}

/* ---- the server that dies ---- */

/* It lives until its parent says for how long. */
static pid_t start_server(door *d, int *port, int *life)
{
    int ends[2], go[2], life_ms = 0;
    assert_int_equal(pipe(ends) | pipe(go), 0);
    pid_t pid = fork();
    if (pid == 0) {
        door_start(d);
        if (write(ends[1], &d->port, sizeof d->port) == sizeof d->port &&
            read(go[0], &life_ms, sizeof life_ms) == sizeof life_ms)
            ash__clock_sleep_ms(life_ms);
        (void)kill(getpid(), SIGKILL);
    }
    close(ends[1]);
    close(go[0]);
    assert_int_equal(read(ends[0], port, sizeof *port), sizeof *port);
    close(ends[0]);
    *life = go[1];
    return pid;
}

/* ---- the client, who goes on until nobody answers ---- */

/* What was never put cannot be deleted. */
static bool say(client *c, const char *subject, const void *data, size_t len)
{
    char *line = ash__sprintf("PUB %s _I.a %zu\r\n", subject, len);
    bool good = client_sends(c, line, strlen(line)) && client_sends(c, data, len) &&
                client_sends(c, "\r\n", 2);
    ash__free(line);
    const char *answer = good ? client_hears(c) : NULL;
    if (answer != NULL && door_error(answer) != 0 && strstr(answer, "there is no object") == NULL)
        fail_msg("%s", answer);
    return answer != NULL;
}

/* A step that nobody answered is done again under the same NUID, with other bytes. */
static bool do_step(client *c, int step, version v)
{
    static char data[CHUNK];
    char nuid[32], subject[64];
    door_object o = {.name = "a", .nuid = nuid, .fill = v.fill, .size = v.size};
    (void)snprintf(nuid, sizeof nuid, "NUID%d", step);
    (void)snprintf(subject, sizeof subject, "$O.s.C.%s", nuid);
    memset(data, v.fill, sizeof data);
    bool good = true;
    for (size_t at = 0; at < v.size && good; at += CHUNK, o.chunks++)
        good = say(c, subject, data, v.size - at < CHUNK ? v.size - at : CHUNK);
    if (v.size == 0) {
        o.digest = "";
        o.more = ",\"deleted\":true";
    }
    char *info = door_info(&o);
    good = good && say(c, "$O.s.M.YQ==", info, strlen(info));
    ash__free(info);
    return good;
}

static bool is_at(door *d, version v)
{
    return v.size == 0 ? door_size(d, "a") == -1 : door_has(d, "a", v.fill, v.size);
}

/* Another one each time, unless ASH_TEST_SEED says which. */
static rng random_times(void)
{
    const char *given = getenv("ASH_TEST_SEED");
    uint32_t seed = 0;
    ash__random(&seed, sizeof seed);
    if (given != NULL)
        seed = (uint32_t)strtoul(given, NULL, 10);
    print_message("# seed %u\n", (unsigned)seed);
    return rng_for(seed, 0);
}

static void test_nats_jetstream_killed__server(void **state)
{
    door *d = *state;
    rng random = random_times();
    int step = 5;
    version last = {0}, now = {0}; /* that was acknowledged; that is under way */
    door_stop(d);
    for (int i = 0; i < KILLS; i++) {
        int port = 0, life = -1, life_ms = 1 + (int)rng_below(&random, 256);
        client c;
        pid_t pid = start_server(d, &port, &life);
        client_open_usual(&c, port);
        client_says(&c, "SUB _I.* 1\r\n");
        assert_int_equal(write(life, &life_ms, sizeof life_ms), sizeof life_ms);
        now = version_of(step, i);
        while (do_step(&c, step, now)) {
            last = now;
            now = version_of(++step, i);
        }
        client_close(&c);
        close(life);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        door_start(d);
        bool after = is_at(d, now);
        if (!after && !is_at(d, last))
            fail_msg("after %d ms, in step %d: neither is there", life_ms, step);
        last = after ? now : last;
        step += after ? 1 : 0;
        door_stop(d);
    }
    print_message("# %d steps beside %d kills\n", step, (int)KILLS);
    assert_true(step > 10);
    door_start(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nats_jetstream_killed__server, door_setup,
                                        door_teardown),
    };
    (void)signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
