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
};

/* A path's next name: the caller frees; NULL at the end.  *rest is moved behind it. */
char *ash__stores_next_name(const char **rest);
/* 405 with Allow. */
void ash__stores_refuse_method(ash_exchange *x, const char *allowed);
/* An object of JSON, with a newline. */
void ash__stores_answer_json(ash_exchange *x, int status, const bson_t *doc);
/* A document as a line of JSON. */
void ash__stores_add_json(ash_buffer *out, const bson_t *doc);

void ash__buckets_begin(void *ctx, ash_exchange *x, const char *rest);
void ash__objects_begin(void *ctx, ash_exchange *x, const char *rest);

#endif
