/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_LIVE_H
#define ASH_HTTP_DAV_LIVE_H

/* Live properties: what the server says of a resource. */

#include "http/dav/locks.h"
#include "http/dav/resource.h"

/* What one request needs to know for all resources that it tells of. */
typedef struct ash_dav_facts {
    ash_dav *dav;
    const ash_op *op; /* of who asks; NULL: nobody is asked who he is */
    const ash_dav_lock_set *locks;
    int64_t store_used, store_free; /* bytes, of the store and its disk; -1: not known */
    bool has_quotas;                /* some of its folders or users have one */
    int64_t used_bytes, free_bytes; /* of the folder that is told of; likewise, or not for him */
} ash_dav_facts;
void ash__dav_facts_read_quota(ash_dav_facts *f);
/* The next resource, for whoever has read quotas. */
void ash__dav_facts_turn_to(ash_dav_facts *f, const ash_tree_entry *e);

typedef struct ash_dav_live {
    const char *space, *name;
    bool in_allprop; /* RFC 4918 §9.1: the others cost more, or are for those who ask */
    bool is_protected;
    /* false: this resource has none. */
    bool (*write)(const ash_dav_facts *f, const ash_tree_entry *e, const char *path,
                  ash_buffer *out);
} ash_dav_live;

/* The table; ends with a row without a name. */
extern const ash_dav_live ash__dav_live[];
const ash_dav_live *ash__dav_live_find(const char *space, const char *name);
bool ash__dav_live_write(const ash_dav_live *row, const ash_dav_facts *f, const ash_tree_entry *e,
                         const char *path, ash_buffer *out);

#define ASH_DAV_OWNCLOUD "http://owncloud.org/ns"
#define ASH_DAV_WINDOWS  "urn:schemas-microsoft-com:"

#endif
