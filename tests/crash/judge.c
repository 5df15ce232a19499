/* SPDX-License-Identifier: Apache-2.0 */
#include "judge.h"

#include "base/error.h"
#include "base/mem.h"
#include "scratch.h"
#include "steps.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* A damaged store is used in three ways.
 *
 * A server opens a copy, reads, writes and reads.  It must not die, nor give wrong bytes; what it
 * acknowledged is there later, unless a check then tells of damage.
 *
 * Another copy is checked.  When the check tells of damage, whoever reads afterwards gets what was
 * written, or errors: nothing is missing without one, and no number is wrong.
 *
 * When it tells of nothing, the damage has to mean nothing: everything is there, 300 changes
 * later, too, and a second check is clean. */

enum { LIMIT_S = 60, SERVER_WRITES = 50, UNSEEN_WRITES = 300 };

scene *scene_new(void)
{
    scene *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(s != MAP_FAILED);
    return s;
}

static void bad(verdict *v, unsigned what, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void bad(verdict *v, unsigned what, const char *format, ...)
{
    va_list args;
    size_t len = strlen(v->text);
    v->is |= what;
    if (len > 0 && len + 2 < sizeof v->text) {
        memcpy(v->text + len, "; ", 3);
        len += 2;
    }
    va_start(args, format);
    vsnprintf(v->text + len, sizeof v->text - len, format, args);
    va_end(args);
}

/* ---- processes ---- */

static void limit_self(const judge *j)
{
    static const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    /* A number that was believed shall not take the machine's memory. */
    static const struct rlimit memory = {UINT64_C(2) << 30, UINT64_C(2) << 30};
    setrlimit(RLIMIT_DATA, &memory);
#endif
    setpgid(0, 0);
    alarm(LIMIT_S);
    if (!j->loud) {
        int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
        REQUIRE(fd >= 0 && dup2(fd, STDERR_FILENO) == STDERR_FILENO);
        close(fd);
    }
}

static void note_death(verdict *v, const char *who, int status)
{
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        bad(v, JUDGED_DIED, "%s takes longer than %d s", who, (int)LIMIT_S);
    else if (WIFSIGNALED(status))
        bad(v, JUDGED_DIED, "%s dies: %s", who, strsignal(WTERMSIG(status)));
    else
        bad(v, JUDGED_DIED, "%s ends with status %d", who, WEXITSTATUS(status));
}

/* False when it died. */
static bool in_child(judge *j, void (*act)(judge *j), const char *who, verdict *v)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        limit_self(j);
        act(j);
        _exit(0);
    }
    REQUIRE(waitpid(child, &status, 0) == child);
    kill(-child, SIGKILL); /* what it left behind */
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!ended)
        note_death(v, who, status);
    return ended;
}

static void new_scene(judge *j)
{
    j->scene->stock = *j->sound;
    j->scene->view = (stock_view){0};
    j->scene->clean = false;
    j->scene->told[0] = 0;
    j->copy(j->ctx, j->folder);
}

/* ---- what they do ---- */

static bool opened(judge *j, shop *s)
{
    ash_error err = ASH_ERROR_INIT;
    if (shop_open(s, j->folder, j->served, &j->scene->stock, &j->scene->view, &err) == 0)
        return true;
    stock_saw(&j->scene->view, SAW_REFUSED, "opening: %s", err.text);
    return false;
}

static void act_read(judge *j)
{
    shop s;
    if (!opened(j, &s))
        return;
    stock_read(&s);
    shop_close(&s);
}

static void write_and_read(judge *j, int count)
{
    shop s;
    rng r = rng_for(j->seed, 5);
    if (!opened(j, &s))
        return;
    stock_read(&s);
    stock_write(&s, &r, count);
    stock_read(&s);
    shop_close(&s);
}

static void act_serve(judge *j)
{
    write_and_read(j, SERVER_WRITES);
}

static void act_write(judge *j)
{
    write_and_read(j, UNSEEN_WRITES);
}

static void act_check(judge *j)
{
    ash_error err = ASH_ERROR_INIT;
    shop s;
    bool clean = false;
    if (shop_open(&s, j->folder, false, &j->scene->stock, &j->scene->view, &err) == 0) {
        clean = steps_check(s.store, &err);
        shop_close(&s);
    }
    snprintf(j->scene->told, sizeof j->scene->told, "%.*s", (int)sizeof j->scene->told - 1,
             err.text);
    j->scene->clean = clean;
}

/* ---- a server in a process of its own ---- */

/* It says its address when it listens. */
static bool has_started(int fd)
{
    char text[200];
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, LIMIT_S * 1000) == 1 && read(fd, text, sizeof text) > 0;
}

static pid_t start_server(judge *j, bool *started)
{
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        limit_self(j);
        alarm(3 * LIMIT_S);
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl(j->ashlar, "ashlar", "-s", j->folder, "serve", "--mongo", "127.0.0.1:0",
              (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    *started = has_started(ends[0]);
    close(ends[0]);
    return child;
}

static bool serve_apart(judge *j, verdict *v)
{
    int status = 0;
    bool started, alive = true;
    pid_t server = start_server(j, &started);
    if (started) {
        j->served = true;
        alive = in_child(j, act_serve, "a client", v);
        j->served = false;
        kill(server, SIGTERM);
    } else {
        stock_saw(&j->scene->view, SAW_REFUSED, "the server does not start");
    }
    REQUIRE(waitpid(server, &status, 0) == server);
    kill(-server, SIGKILL);
    if (WIFSIGNALED(status)) {
        note_death(v, "the server", status);
        alive = false;
    }
    return alive;
}

/* ---- the three ways ---- */

/* Errors speak for themselves; what is silently not as it was acknowledged, a check has to tell. */
static void later_look(judge *j, verdict *v)
{
    j->scene->view = (stock_view){0};
    if (j->scene->stock.acknowledged == 0)
        return;
    if (!in_child(j, act_read, "a reader after the server", v))
        return;
    stock_view later = j->scene->view;
    if ((later.saw & (SAW_MISSING | SAW_WRONG)) != 0 &&
        in_child(j, act_check, "the check after the server", v) && j->scene->clean)
        bad(v, JUDGED_WRONG, "after a server, with a clean check: %s", later.text);
}

/* What the server saw; the check will have to say the same. */
static stock_view use_by_server(judge *j, verdict *v)
{
    new_scene(j);
    if (j->ashlar != NULL && j->served) {
        j->served = false;
        serve_apart(j, v);
    } else {
        j->served = false;
        in_child(j, act_serve, "a server", v);
    }
    /* Before anybody has looked, a wrong branch may lead to an earlier state of a row. */
    stock_view seen = j->scene->view;
    later_look(j, v);
    return seen;
}

static void read_warned(judge *j, verdict *v)
{
    char told[sizeof j->scene->told];
    memcpy(told, j->scene->told, sizeof told);
    if (!in_child(j, act_read, "a reader after the check", v))
        return;
    if ((j->scene->view.saw & SAW_REFUSED) != 0)
        v->is |= JUDGED_REFUSED;
    if ((j->scene->view.saw & (SAW_MISSING | SAW_WRONG)) != 0)
        bad(v, JUDGED_WRONG, "after a check that found \"%s\": %s", told, j->scene->view.text);
}

static void use_unwarned(judge *j, verdict *v)
{
    if (in_child(j, act_write, "a writer after a clean check", v) && j->scene->view.saw != 0) {
        bad(v, JUDGED_UNSEEN, "after a clean check: %s", j->scene->view.text);
        return;
    }
    if (in_child(j, act_check, "the second check", v) && !j->scene->clean) {
        bad(v, JUDGED_UNSEEN, "only a second check says: %s", j->scene->told);
        return;
    }
    if (in_child(j, act_read, "the last reader", v) && j->scene->view.saw != 0)
        bad(v, JUDGED_UNSEEN, "after two clean checks: %s", j->scene->view.text);
}

void judge_store(judge *j, verdict *out)
{
    *out = (verdict){0};
    stock_view served = use_by_server(j, out);
    if ((served.saw & SAW_REFUSED) != 0)
        out->is |= JUDGED_REFUSED;
    new_scene(j);
    if (!in_child(j, act_check, "the check", out))
        return;
    if (!j->scene->clean) {
        out->is |= JUDGED_SEEN;
        read_warned(j, out);
        return;
    }
    if (served.saw != 0)
        bad(out, JUDGED_UNSEEN, "unseen by the check, but a server: %s", served.text);
    use_unwarned(j, out);
}
