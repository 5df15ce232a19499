/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_JETSTREAM_H
#define ASH_NATS_JETSTREAM_JETSTREAM_H

/* JetStream's API for object stores: what NATS' clients of the object store (ADR-20) send to a
 * server that has JetStream, answered by the object stores of an ash_store.
 *
 * A store NAME is the stream OBJ_NAME.  An object is a message on $O.NAME.M.base64url(name), whose
 * sequence is its revision; the bytes are messages on $O.NAME.C.NUID, whose sequences count from 1
 * for each NUID.  There are no other streams.
 *
 * Chunks that are published are bytes of a put that nobody sees; the object is there, in one commit
 * and durable, when its meta message is acknowledged, and one whose bytes did not all come is
 * refused. */

#include "nats/client.h"

#include <ashlar/store.h>

typedef struct ash_jetstream ash_jetstream;
struct ash_audit;

/* store: open until the free.  *out is yours: ash__jetstream_free(). */
int ash__jetstream_new(ash_store *store, ash_jetstream **out, ash_error *err);
/* What is done goes there (audit/audit.h), borrowed.  Before there are clients. */
void ash__jetstream_tell(ash_jetstream *j, struct ash_audit *audit);
/* After the last client's detach.  NULL is fine. */
void ash__jetstream_free(ash_jetstream *j);

/* Its ctx is the ash_jetstream. */
const ash_nats_service *ash__jetstream_service(void);

#endif
