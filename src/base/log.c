/* SPDX-License-Identifier: Apache-2.0 */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

/* Guards the three below.  Not an ash_mutex: it needs no init, and a log line may come from
 * anywhere, so it ranks last by itself. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static ash_log_fn log_fn;
static void *log_context;
static ash_log_level log_max;

void ash_log_set(ash_log_fn fn, void *context, ash_log_level max_level)
{
    pthread_mutex_lock(&lock);
    log_fn = fn;
    log_context = context;
    log_max = max_level;
    pthread_mutex_unlock(&lock);
}

void ash__log(ash_log_level level, const char *format, ...)
{
    char line[1024];
    va_list args;
    pthread_mutex_lock(&lock);
    /* Called under the lock, so that lines come one after the other, and nobody's callback runs any
     * more once another was set. */
    if (log_fn != NULL && level <= log_max) {
        va_start(args, format);
        vsnprintf(line, sizeof line, format, args);
        va_end(args);
        log_fn(log_context, level, line);
    }
    pthread_mutex_unlock(&lock);
}
