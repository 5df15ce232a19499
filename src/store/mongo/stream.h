/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_MONGO_STREAM_H
#define ASH_STORE_MONGO_STREAM_H

/* Connections that keep the limits of the call at hand (limits.h). */

#include <mongoc/mongoc.h>

/* A mongoc_stream_initiator_t; limits: the client's ash_mongo_limits. */
mongoc_stream_t *ash__mongo_stream_open(const mongoc_uri_t *uri, const mongoc_host_list_t *host,
                                        void *limits, bson_error_t *error);

#endif
