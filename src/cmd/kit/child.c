/* SPDX-License-Identifier: Apache-2.0 */
/* Signals are the whole process's, so there is one child at a time and what handlers look at is
 * global. */
#include "cmd/kit/child.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

extern char **environ;

static const int RELAYED[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

/* Only one command runs at a time, and a handler has nothing else to look at. */
static atomic_int running; /* its pid; 0: none */
static atomic_int early;   /* a signal that came before it ran; 0: none */

static void pass_on(int number)
{
    int child = atomic_load(&running);
    if (child > 0)
        kill((pid_t)child, number);
    else
        atomic_store(&early, number);
}

/* si_code: 0 or less when a process sent it, and not the terminal. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    int saved = errno;
    (void)context;
    if (info->si_code <= 0)
        pass_on(number);
    errno = saved;
}

static void relay(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_signal;
    /* waitpid() and the library's calls go on behind a signal that is only passed on. */
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof RELAYED / sizeof *RELAYED; i++) {
        struct sigaction before;
        /* Under nohup the command is to ignore it as well, and so do we. */
        if (sigaction(RELAYED[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(RELAYED[i], &action, NULL);
    }
}

int ash__child_start(char **argv, ash_error *err)
{
    pid_t child;
    /* Before the child is there: a signal in between is kept in `early`. */
    relay();
    int failed = posix_spawnp(&child, argv[0], NULL, NULL, argv, environ);
    /* posix_spawnp() tells in the parent, so it is no exit status of a child. */
    if (failed == ENOENT)
        return ash__fail(err, ASH_ENOTFOUND, "there is no program %s", argv[0]);
    if (failed != 0)
        return ash__fail_errno(err, failed, "cannot run %s", argv[0]);
    atomic_store(&running, (int)child);
    /* Behind the pid: a handler that runs now sees it and passes on by itself. */
    int number = atomic_exchange(&early, 0);
    if (number != 0)
        kill(child, number);
    return 0;
}

void ash__child_stop(void)
{
    pass_on(SIGTERM);
}

int ash__child_wait(void)
{
    int status = 0;
    pid_t child = (pid_t)atomic_load(&running);
    pid_t ended;
    do {
        ended = waitpid(child, &status, 0);
    } while (ended < 0 && errno == EINTR);
    /* Its number may be another process's from now on. */
    atomic_store(&running, 0);
    if (ended < 0)
        return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
