/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_STORES_STATE_H
#define ASH_HTTP_STORES_STATE_H

/* For the folder's own files. */

#include "http/stores/stores.h"

#include <ashlar/bucket.h>
#include <ashlar/object.h>

struct ash_http_stores {
    ash_store *store;
    ash_object_manager *objects;
    ash_site_annex annexes[3];
    _Atomic int32_t uploads; /* at a time: each holds up to 8 MiB */
};

/* A path's next name: the caller frees; NULL at the end.  *rest is moved behind it. */
char *ash__stores_next_name(const char **rest);
/* A whole number of the query, from min to max; *value stays where it is not given.  false: x is
 * answered. */
bool ash__stores_number(ash_exchange *x, const char *name, int64_t min, int64_t max,
                        int64_t *value);
/* 0 or 1; -1: x is answered. */
int ash__stores_flag(ash_exchange *x, const char *name);
/* One more upload, if there are not too many: else x is answered.  Each that got in is counted out
 * in its release. */
bool ash__stores_count_in(ash_http_stores *s, ash_exchange *x);
void ash__stores_count_out(ash_http_stores *s);
/* 405 with Allow. */
void ash__stores_refuse_method(ash_exchange *x, const char *allowed);
/* An object of JSON, with a newline. */
void ash__stores_answer_json(ash_exchange *x, int status, const bson_t *doc);
/* A document as a line of JSON. */
void ash__stores_add_json(ash_buffer *out, const bson_t *doc);

void ash__buckets_begin(void *ctx, ash_exchange *x, const char *rest);
void ash__objects_begin(void *ctx, ash_exchange *x, const char *rest);

#endif
