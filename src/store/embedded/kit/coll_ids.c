/* SPDX-License-Identifier: Apache-2.0 */
/* Known ids by a checksum of the name, 64 of them.  Two names in one place, or a wrong id, cost no
 * more than a payload that is staged again. */

#include "store/embedded/kit/embedded.h"

#include "base/hash.h"

#include <string.h>

static uint64_t name_hash(ash_ns ns)
{
    ash_checksum *sum = ash__checksum_new();
    ash__checksum_add(sum, ns.db, strlen(ns.db) + 1);
    ash__checksum_add(sum, ns.coll, strlen(ns.coll));
    uint64_t hash = ash__checksum_value(sum);
    ash__checksum_free(sum);
    return hash;
}

uint32_t ash__coll_ids_get(ash_coll_ids *ids, ash_ns ns)
{
    uint64_t hash = name_hash(ns);
    size_t at = hash % ASH_ARRAY_LEN(ids->slots);
    ash__monitor_lock(ids->monitor);
    uint32_t id = ids->slots[at].name == hash ? ids->slots[at].id : 0;
    ash__monitor_unlock(ids->monitor);
    return id;
}

void ash__coll_ids_put(ash_coll_ids *ids, ash_ns ns, uint32_t id)
{
    uint64_t hash = name_hash(ns);
    size_t at = hash % ASH_ARRAY_LEN(ids->slots);
    ash__monitor_lock(ids->monitor);
    ids->slots[at].name = hash;
    ids->slots[at].id = id;
    ash__monitor_unlock(ids->monitor);
}
