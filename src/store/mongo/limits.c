/* SPDX-License-Identifier: Apache-2.0 */
/* Which limits hold on which connection: a list by client, since the driver hands a client's
 * streams nothing of a call. */

#include "store/mongo/limits.h"

#include "base/hash.h"
#include "base/mem.h"
#include "store/mongo/stream.h"

void ash__mongo_limits_init(ash_mongo_limits_list *list)
{
    ash__mutex_init(&list->lock, ASH_RANK_STORE);
    list->first = NULL;
}

void ash__mongo_limits_release(ash_mongo_limits_list *list)
{
    while (list->first != NULL) {
        ash_mongo_limits *next = list->first->next;
        ash__free(list->first);
        list->first = next;
    }
    ash__mutex_release(&list->lock);
}

static bool wants_tls(mongoc_client_t *client)
{
    const mongoc_uri_t *uri = mongoc_client_get_uri(client);
    const char *mechanism = mongoc_uri_get_auth_mechanism(uri);
    return mongoc_uri_get_tls(uri) ||
           (mechanism != NULL && bson_strcasecmp(mechanism, "MONGODB-X509") == 0);
}

ash_mongo_limits *ash__mongo_limits_of(ash_mongo_limits_list *list, mongoc_client_t *client)
{
    ash_mongo_limits *l;

    ash__mutex_lock(&list->lock);
    /* As many as the pool has connections, at most; a walk is short beside a command. */
    for (l = list->first; l != NULL && l->client != client; l = l->next) {
    }
    if (l == NULL) {
        l = ash__new(ash_mongo_limits);
        l->client = client;
        ash__random(l->session, sizeof l->session);
        l->next = list->first;
        list->first = l;
        /* Over TLS the driver opens its streams itself (limits.h). */
        if (!wants_tls(client))
            mongoc_client_set_stream_initiator(client, ash__mongo_stream_open, l);
    }
    ash__mutex_unlock(&list->lock);
    return l;
}
