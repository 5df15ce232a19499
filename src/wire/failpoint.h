/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_FAILPOINT_H
#define ASH_WIRE_FAILPOINT_H

/* The fail points that shared test suites of drivers configure, only on servers started with
 * test_commands.
 *
 *   failCommand                   the next commands of certain names fail, close the connection,
 *                                 wait, or carry a write concern error
 *   onPrimaryTransactionalWrite   the next retryable writes close the connection, having been done
 *                                 or, with failBeforeCommitExceptionCode, not
 *   failGetMoreAfterCursorCheckout
 *                                 the next getMore that found its cursor fails with errorCode
 */

#include "base/thread.h"
#include "bson/builder.h"

typedef struct ash_failpoint {
    ash_mutex lock;  /* guards all below */
    int64_t skip;    /* so many matching commands pass first */
    int64_t left;    /* so many then fail; < 0: all */
    ash_buffer data; /* the configuration's document */
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

/* mode: "off", "alwaysOn", {times: n} or {skip: n}; data: document or missing.  names_commands:
 * data must have failCommands. ASH_EINVAL. */
int ash__failpoint_set(ash_failpoint *f, ash_value mode, ash_value data, bool names_commands,
                       ash_error *err);

/* The number in its data, 0 if there is none or the fail point is off. */
int32_t ash__failpoint_code(ash_failpoint *f, const char *name);

/* Does one that is not about commands hit now?  *close: data.closeConnection, or close_otherwise.
 */
bool ash__failpoint_hit_plain(ash_failpoint *f, bool close_otherwise, bool *close);

/* Must this command fail?  On true *out is to be released.  command: its name; aliases: its other
 * spellings, each between spaces, or NULL. */
typedef struct ash_failpoint_command {
    const char *command;
    const char *aliases;
    const char *ns;
    const char *app;
} ash_failpoint_command;
bool ash__failpoint_hit(ash_failpoint *f, const ash_failpoint_command *command, ash_failure *out);
void ash__failure_release(ash_failure *failure);

#endif
