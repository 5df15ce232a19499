/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_TRACE_H
#define ASH_NATS_JETSTREAM_TRACE_H

/* What the audit log (audit/audit.h) has of NATS' clients, who are nobody: an "authCheck" with
 *
 *   {"command": "STREAM.CREATE", "store": NAME, "object"?: NAME, "code"?: JetStream's error}
 *
 * as param.  A meta message is "PUB"; chunks are not told, since nobody sees them before that. */

#include "audit/audit.h"
#include "nats/jetstream/answer.h"
#include "nats/jetstream/publication.h"

/* false: it could not be told (ASH_AUDIT_…), and is not to be done. */
bool ash__jsd_admits(const ash_jsd_client *c, unsigned kind);
void ash__jsd_tell_request(const ash_jsd_request *r, const char *command, unsigned kind);
void ash__jsd_tell_meta(const ash_jsd_publication *p);

#endif
