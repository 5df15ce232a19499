/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_AUDIT_H
#define ASH_WIRE_AUDIT_H

/* What of a command goes into the audit log (audit/audit.h): its name, namespace, ids, users and
 * roles that it is about; never its documents, passwords or messages.
 *
 * Users, roles and structure have MongoDB's own types (createUser, dropCollection …); reads and
 * writes, and whatever was refused to somebody who has signed in, are "authCheck".  What strangers
 * are refused is not told: they could push everything else out of the log. */

#include "wire/command.h"

/* Has a command an event of its own? */
bool ash__wire_audit_knows(const char *command);

/* Before it runs: ASH_ENOSPC (14031) when it could not be told.  The owner may do all the same: it is
 * who makes room on the disk. */
int ash__wire_audit_admit(const ash_command *c, ash_error *err);
/* After it: code 0, or that of its failure. */
void ash__wire_audit_tell(ash_command *c, int32_t code);

/* Somebody signed in, or failed to, by that mechanism ("SCRAM-SHA-256"); failed: how often besides,
 * since it was told last. */
void ash__wire_audit_sign_in(const ash_command *c, const ash_attempt_name *who,
                             const char *mechanism, int32_t code, int64_t failed);
void ash__wire_audit_sign_out(const ash_command *c);

#endif
