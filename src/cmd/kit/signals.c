/* SPDX-License-Identifier: Apache-2.0 */
/* A first signal asks for an end, and the verbs look at the flag; a second one of its kind is not
 * asked about. */
#include "cmd/kit/cmd.h"

#include "base/error.h"

#include <signal.h>
#include <string.h>

volatile int ash__cmd_interrupted;

static void on_signal(int number)
{
    (void)number;
    __atomic_store_n(&ash__cmd_interrupted, 1, __ATOMIC_RELAXED);
}

void ash__cmd_catch_signals(void)
{
    struct sigaction action, before;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    /* The second signal of a kind has its usual effect, should the program hang. */
    action.sa_flags = (int)SA_RESETHAND;
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* The terminal is gone; under nohup that is nothing to end for. */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    /* A reader who went away is an error of the write, which knows what to do (output.c). */
    action.sa_handler = SIG_IGN;
    action.sa_flags = 0;
    sigaction(SIGPIPE, &action, NULL);
}

bool ash__cmd_is_interrupted(void)
{
    return __atomic_load_n(&ash__cmd_interrupted, __ATOMIC_RELAXED) != 0;
}

int ash__cmd_check_interrupted(ash_error *err)
{
    return ash__cmd_is_interrupted() ? ash__fail(err, ASH_EINTERRUPTED, "interrupted") : 0;
}
