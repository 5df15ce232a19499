/* SPDX-License-Identifier: Apache-2.0 */
/* From a name to an object, behind links. */
#include "object/core.h"

#include <string.h>

void ash__object_found_release(ash_object_found *f)
{
    ash_object_free(f->object);
    ash_object_store_close(f->bound);
    *f = (ash_object_found){NULL, NULL, NULL};
}

/* The store that the link leads into becomes `where`. */
static int enter(ash_object_found *f, const char *store, const ash_op *op, ash_error *err)
{
    ash_object_store *next = NULL;
    if (strcmp(f->where->name, store) == 0)
        return 0;
    int rc = ash_object_manager_bind(f->where->manager, store, op, &next, err);
    if (rc != 0)
        return rc;
    next->archive = f->where->archive;
    ash_object_store_close(f->bound);
    f->bound = f->where = next;
    return 0;
}

static int step(ash_object_found *f, const ash_op *op, ash_error *err)
{
    static const ash_object_read_options live = ASH_OBJECT_READ_OPTIONS_INIT;
    ash_object *link = f->object;
    f->object = NULL;
    int rc = 0;
    if (link->link_name == NULL)
        rc = ash__fail(err, ASH_EINVAL, "%.200s is a link to a whole store: %.128s", link->name,
                       link->link_store);
    if (rc == 0)
        rc = enter(f, link->link_store, op, err);
    if (rc == 0)
        rc = f->where->manager->ops->info(f->where, link->link_name, &live, op, &f->object, err);
    if (rc == ASH_ENOTFOUND && err != NULL)
        ash__error_prefix(err, "link %.150s", link->name);
    ash_object_free(link);
    return rc;
}

int ash__object_find(ash_object_store *s, const char *name, const ash_object_read_options *o,
                     const ash_op *op, ash_object_found *out, ash_error *err)
{
    *out = (ash_object_found){.where = s};
    int rc = s->manager->ops->info(s, name, o, op, &out->object, err);
    for (int depth = 0; rc == 0 && o->follow && ash_object_is_link(out->object); depth++) {
        if (depth == ASH_OBJECT_LINK_DEPTH)
            rc = ash__fail(err, ASH_EINVAL, "links of %.200s lead on after %d of them", name,
                           ASH_OBJECT_LINK_DEPTH);
        else
            rc = step(out, op, err);
    }
    if (rc != 0)
        ash__object_found_release(out);
    return rc;
}
