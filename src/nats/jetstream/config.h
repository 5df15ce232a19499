/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_CONFIG_H
#define ASH_NATS_JETSTREAM_CONFIG_H

/* A store's configuration as that of a stream. */

#include "nats/jetstream/answer.h"

/* Reads the stream's configuration that a client sends for `store`.  old: what the store has, whose
 * fields that no stream has stay as they are; or NULL.  ASH_JSD_OK; then *out is yours,
 * ash_object_status_free().  Otherwise err's text says what a store cannot be; "" for the error's
 * own. */
ash_jsd_error ash__jsd_config_read(const ash_json *config, const char *store,
                                   const ash_object_status *old, ash_object_status **out,
                                   ash_error *err);
/* Appends the members "config" and "created". */
void ash__jsd_config_write(const ash_object_status *st, ash_buffer *out);

#endif
