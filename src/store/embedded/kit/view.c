/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/kit/view.h"

bool ash__coll_is_view(const ash_coll *c)
{
    return c != NULL && bson_has_field(&c->options, "viewOn");
}

int ash__view_refuse(const ash_coll *c, ash_error *err)
{
    if (!ash__coll_is_view(c))
        return 0;
    return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_COMMAND_NOT_SUPPORTED_ON_VIEW,
                            "Namespace %s.%s is a view, not a collection", c->db, c->name);
}

bool ash__view_was_refused(int rc, const ash_error *err)
{
    return rc == ASH_EUNSUPPORTED && err->server_code == ASH_MONGO_COMMAND_NOT_SUPPORTED_ON_VIEW;
}
