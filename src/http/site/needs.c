/* SPDX-License-Identifier: Apache-2.0 */
/* What each part of the space needs of who asks: the same as the commands on the wire that do the
 * same with the same collections. */
#include "http/gate/may.h"
#include "http/site/state.h"

#include "base/mem.h"

#include <string.h>

/* What a tree is made of, in the store's default database. */
static const char *const tree_collections[] = {"v7files", "v7files.vermongo", "v7.fs.files",
                                               "v7.fs.chunks"};

static bool may_all(const ash_site *s, const ash_exchange *x, ash_actions actions)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(tree_collections); i++)
        if (!ash__gate_may(x, ash_store_default_db(s->store), tree_collections[i], actions))
            return false;
    return true;
}

static bool may_share(const ash_site *s, const ash_exchange *x, ash_actions actions)
{
    return ash__gate_may(x, ash_store_default_db(s->store), "v7files.shares", actions);
}

bool ash__site_may(const ash_site *s, const ash_exchange *x, ash_site_need need)
{
    const ash_actions looks = ASH_CAN(FIND);
    const ash_actions changes = looks | ASH_CAN(INSERT) | ASH_CAN(UPDATE) | ASH_CAN(REMOVE);
    switch (need) {
    case ASH_SITE_NEEDS_NOTHING:
        return true;
    case ASH_SITE_NEEDS_NAME:
        return !ash__gate_is_stranger(x);
    case ASH_SITE_NEEDS_LOOK:
        return may_all(s, x, looks);
    case ASH_SITE_NEEDS_CHANGE:
        return may_all(s, x, changes);
    case ASH_SITE_NEEDS_BY_METHOD:
        return may_all(s, x, ash__method_is_safe(x->method) ? looks : changes);
    case ASH_SITE_NEEDS_SHARE:
        return may_all(s, x, looks) && may_share(s, x, ASH_CAN(INSERT));
    case ASH_SITE_NEEDS_SHARES:
        return may_all(s, x, looks) && may_share(s, x, looks);
    case ASH_SITE_NEEDS_UNSHARE:
        return may_all(s, x, looks) && may_share(s, x, ASH_CAN(REMOVE));
    case ASH_SITE_NEEDS_MONITOR:
        return ash__gate_may_cluster(x, ASH_CAN(SERVER_STATUS));
    }
    return false;
}

bool ash__site_refuse_need(const ash_site *s, ash_exchange *x, ash_site_need need)
{
    if (ash__site_may(s, x, need))
        return false;
    ash__gate_refuse(x);
    return true;
}
