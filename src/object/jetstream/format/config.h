/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_OBJECT_JETSTREAM_FORMAT_CONFIG_H
#define ASH_OBJECT_JETSTREAM_FORMAT_CONFIG_H

/* The configuration of an object store as that of a stream, and back. */

#include "object/info.h"
#include "object/jetstream/format/json.h"

/* Times of JetStream's are in nanoseconds, ours in milliseconds. */
#define ASH_JS_NS_PER_MS INT64_C(1000000)

/* Appends the members "name", "description" (if there is one) and "subjects". */
void ash__js_put_names(const ash_object_config *c, ash_buffer *out);
/* Appends the member "metadata", if there are any. */
void ash__js_put_metadata(const ash_object_config *c, ash_buffer *out);
/* Appends the stream's configuration.  base: what is there already (a stream's "config"), whose
 * fields stay unless c has something for them; or NULL. */
void ash__js_write_config(const ash_object_config *c, const ash_json *base, ash_buffer *out);
/* base with "sealed", or with times to live of single messages allowed. */
void ash__js_write_flag(const ash_json *base, const char *flag, ash_buffer *out);

/* "2026-11-25T09:30:00.123456789Z" as ms since 1970; 0: no such text. */
int64_t ash__js_time(const char *text);

/* NULL, or the name of the first field that the server's echo lacks or has otherwise. */
const char *ash__js_config_dropped(const ash_object_config *c, const ash_json *echo);

/* "config" and "state" of a stream.  false: it is no object store.  ASH_ECORRUPT in err. */
bool ash__js_is_object_store(const ash_json *config);
/* *out is yours: ash_object_status_free(). */
int ash__js_read_status(const ash_json *info, ash_object_status **out, ash_error *err);
/* The same of a "config" alone: what it asks for. */
int ash__js_config_status(const ash_json *config, ash_object_status **out, ash_error *err);

#endif
