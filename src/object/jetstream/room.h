/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_ROOM_H
#define ASH_OBJECT_JETSTREAM_ROOM_H

/* Full streams on servers before 2.10.5: whether a message fits is decided there without its subject
 * and what it is stored with, and when that is too much, the oldest message of the stream goes, an
 * object's bytes.  So nothing is sent that may not fit.  Two clients that fill the same store at
 * once can still come too close. */

#include "object/jetstream/jetstream.h"

enum { ASH_JS_OVERHEAD_BYTES = 512 }; /* of a message, but for a long subject; more than ever is */

/* Is this such a server, and the stream limited? */
bool ash__js_room_matters(const ash_js_manager *m, const ash_json *config);
/* Bytes that still fit; INT64_MAX: any number.  Everything that was sent is acknowledged. */
int ash__js_room(ash_js_store *s, const ash_op *op, int64_t *out, ash_error *err);
/* ASH_ENOSPC */
int ash__js_room_is_over(const ash_js_store *s, ash_error *err);

#endif
