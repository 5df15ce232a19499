/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "scratch.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT_S = 60 };

static _Noreturn void be_child(work *w, const char *folder, bool go_on, const char *what)
{
    ash_error err = ASH_ERROR_INIT;
    alarm(TIMEOUT_S);
    bool good = work_is_good(w, folder, go_on, &err);
    if (!good)
        fprintf(stderr, "# %s: %s\n", what, err.text);
    _exit(good ? 0 : 1);
}

bool work_is_good_in_child(work *w, const char *folder, bool go_on, const char *what)
{
    int status = 0;
    fflush(stdout);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        be_child(w, folder, go_on, what);
    REQUIRE(waitpid(child, &status, 0) == child);
    if (WIFSIGNALED(status))
        fprintf(stderr, "# %s: died of signal %d\n", what, WTERMSIG(status));
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
