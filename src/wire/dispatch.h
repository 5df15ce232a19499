/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_DISPATCH_H
#define ASH_WIRE_DISPATCH_H

/* From a request to an answer. */

#include "wire/command.h"

/* Run the request's command.  The answer is in connection->reply, unfinished only in its length
 * fields (ash__reply_finish()), or reply.close is set.  Its views and cursor live until the caller
 * gives the cursor back. */
void ash__dispatch(ash_connection *connection, const ash_request *request);

/* Fill an answer just begun with {ok: 0, errmsg, code, codeName}; the root stays open. */
void ash__reply_error(ash_reply *r, const ash_error *err);

/* An operation inside another command: its body, server, connection and (empty) request are set;
 * this finds its command, database and collection, and checks its arguments.  ASH_EUNSUPPORTED
 * (263) unless the command's flags allow it in transactions. */
int ash__command_read_nested(ash_command *c, ash_error *err);

/* ---- parts of dispatch.c in files of their own ---- */

int ash__command_check_arguments(const ash_command *c, ash_error *err); /* args.c */

/* concern.c: the command's session, txnNumber, transaction fields, concerns and API version, into
 * c.  Checked before anything runs. */
int ash__command_read_session(ash_command *c, ash_error *err);
/* What the client calls so, among its user's. */
void ash__session_of(const ash_command *c, const uint8_t bytes[ASH_SESSION_ID_BYTES],
                     ash_session_id *out);
void ash__session_use(const ash_command *c, const ash_session_id *id); /* it lives on, or begins */
uint64_t ash__session_reader(const ash_session_id *id); /* the ash_op.reader of its commands */
int ash__command_read_concerns(ash_command *c, ash_error *err);
int ash__command_hold_snapshot(ash_command *c, ash_error *err); /* sets c->op.at_time */
int ash__command_check_api(const ash_command *c, ash_error *err);

#endif
