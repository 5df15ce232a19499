/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_FAILPOINT_H
#define ASH_WIRE_FAILPOINT_H

/* The fail point "failCommand", which shared test suites of drivers configure: the next commands of
 * certain names fail, close the connection, wait, or carry a write concern error. Only on servers
 * started with test_commands. */

#include "base/thread.h"
#include "bson/builder.h"

typedef struct ash_failpoint {
    ash_mutex lock;  /* guards all below */
    int64_t skip;    /* so many matching commands pass first */
    int64_t left;    /* so many then fail; < 0: all */
    ash_buffer data; /* the configuration's document, empty when off */
} ash_failpoint;

typedef struct ash_failure {
    bool close_connection;
    int32_t error_code; /* 0 = the command runs */
    int64_t block_ms;
    bool has_labels;                /* labels given: they replace the usual ones */
    ash_buffer labels;              /* an array of texts */
    ash_buffer write_concern_error; /* a document, or empty */
} ash_failure;

void ash__failpoint_init(ash_failpoint *f);
void ash__failpoint_release(ash_failpoint *f);

/* mode: "off", "alwaysOn", {times: n} or {skip: n}; data: document or missing. ASH_EINVAL. */
int ash__failpoint_set(ash_failpoint *f, ash_value mode, ash_value data, ash_error *err);

/* Must this command fail?  On true *out is to be released. */
bool ash__failpoint_hit(ash_failpoint *f, const char *command, const char *ns, const char *app,
                        ash_failure *out);
void ash__failure_release(ash_failure *failure);

#endif
