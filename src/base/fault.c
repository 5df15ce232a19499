/* SPDX-License-Identifier: Apache-2.0 */
/* Faults become errors by a jump out of the handler, to the innermost try of the thread that
 * faulted. The kernel gives SIGBUS and SIGSEGV of an access to the thread that made it, so each
 * thread's frames are its own. */
#include "base/fault.h"

#include "base/thread.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>

typedef struct try_frame {
    sigjmp_buf at;
    struct try_frame *outer;
} try_frame;

/* Written around sigsetjmp and read in the handler, hence volatile. */
static _Thread_local try_frame *volatile innermost;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* a leaf: nothing is called below it */
static unsigned users;                                   /* guarded by the lock */
static struct sigaction before_bus, before_segv;         /* constant while there are users */

static void jump(void)
{
    try_frame *frame = innermost;
    if (frame != NULL)
        siglongjmp(frame->at, 1);
}

/* Not ours: as if there were no handler of ours.  Returning repeats the access. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    const struct sigaction *before = number == SIGBUS ? &before_bus : &before_segv;
    if ((before->sa_flags & SA_SIGINFO) != 0) {
        before->sa_sigaction(number, info, context);
    } else if (before->sa_handler != SIG_DFL && before->sa_handler != SIG_IGN) {
        before->sa_handler(number);
    } else {
        signal(number, SIG_DFL);
        if (info->si_code <= 0) /* it was sent, and would not come again */
            raise(number);
    }
}

static void handle(int number, siginfo_t *info, void *context)
{
    /* One that was sent, by kill or raise, says nothing of what this thread was doing. */
    if (info->si_code > 0)
        jump();
    pass_on(number, info, context);
}

void ash__faults_enable(void)
{
    struct sigaction ours = {.sa_sigaction = handle};
    pthread_mutex_lock(&lock);
    if (users++ == 0) {
        /* Left by a jump, the handler must not have blocked its signal. */
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
        sigemptyset(&ours.sa_mask);
        sigaction(SIGBUS, &ours, &before_bus);
        sigaction(SIGSEGV, &ours, &before_segv);
    }
    pthread_mutex_unlock(&lock);
}

/* Somebody else's handler, which came later, stays. */
static void restore(int number, const struct sigaction *before)
{
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
        now.sa_sigaction == handle)
        sigaction(number, before, NULL);
}

void ash__faults_disable(void)
{
    pthread_mutex_lock(&lock);
    if (--users == 0) {
        restore(SIGBUS, &before_bus);
        restore(SIGSEGV, &before_segv);
    }
    pthread_mutex_unlock(&lock);
}

bool ash__fault_try(ash_fault_fn fn, void *ctx)
{
    try_frame frame;
    frame.outer = innermost;
    /* Without the mask, which would be a system call for each try; the handler blocks nothing. */
    if (sigsetjmp(frame.at, 0) != 0) {
        innermost = frame.outer;
        return false;
    }
    innermost = &frame;
    fn(ctx);
    innermost = frame.outer;
    return true;
}

void ash__fault_raise(void)
{
    jump();
}
