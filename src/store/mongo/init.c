/* SPDX-License-Identifier: Apache-2.0 */
/* The driver is started once a process, and what it would print becomes lines of our log. */

#include "store/mongo/driver.h"

#include "base/log.h"
#include "store/mongo/mongo.h"

#include <pthread.h>

/* The driver would print; we hand its lines on, and drop them when nobody listens. */
static void log_line(mongoc_log_level_t level, const char *domain, const char *message,
                     void *user_data)
{
    ash_log_level ours = ASH_LOG_DEBUG;
    (void)user_data;
    if (level <= MONGOC_LOG_LEVEL_CRITICAL)
        ours = ASH_LOG_ERROR;
    else if (level == MONGOC_LOG_LEVEL_WARNING)
        ours = ASH_LOG_WARN;
    else if (level <= MONGOC_LOG_LEVEL_INFO)
        ours = ASH_LOG_INFO;
    ash__log(ours, "libmongoc %s: %s", domain, message);
}

void ash__mongo_hush(void)
{
    mongoc_log_set_handler(log_line, NULL);
}

static void init_driver(void)
{
    /* First the handler: the start itself may have something to say. */
    ash__mongo_hush();
    mongoc_init();
}

/* There is no counterpart: mongoc_cleanup would pull the driver from under other users of it in the
 * same program. */
void ash__mongo_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init_driver);
}
