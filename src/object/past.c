/* SPDX-License-Identifier: Apache-2.0 */
/* What a name had before, on both sides of a copy.  Revisions and times are each store's own, so what
 * is there already is told by what it is. */
#include "object/copy.h"

#include "base/mem.h"

static void reverse(ash_copy_past *p)
{
    for (size_t i = 0; i + i + 1 < p->count; i++) {
        ash_object *o = p->items[i];
        p->items[i] = p->items[p->count - 1 - i];
        p->items[p->count - 1 - i] = o;
    }
}

int ash__copy_past(ash_object_store *s, const char *name, const ash_op *op, ash_copy_past *out,
                   ash_error *err)
{
    ash_object_listing *l = NULL;
    const ash_object *o = NULL;
    *out = (ash_copy_past){NULL, 0, 0};
    int rc = ash_object_store_versions(s, name, 0, op, &l, err);
    while (rc == 0) {
        rc = ash_object_listing_next(l, &o, err);
        if (rc != 0 || o == NULL)
            break;
        out->items = ash__grow_array(out->items, out->count, &out->capacity, sizeof *out->items);
        out->items[out->count++] = ash_object_copy(o);
    }
    ash_object_listing_free(l);
    reverse(out);
    return rc;
}

void ash__copy_past_release(ash_copy_past *p)
{
    for (size_t i = 0; i < p->count; i++)
        ash_object_free(p->items[i]);
    ash__free(p->items);
}

static int is_beginning(ash_copy_run *c, const ash_copy_past *source, const ash_copy_past *target,
                        bool *out, ash_error *err)
{
    int rc = 0;
    *out = target->count <= source->count;
    for (size_t i = 0; rc == 0 && *out && i < target->count; i++)
        rc = ash__copy_compare(c, source->items[i], target->items[i], out, err);
    return rc;
}

/* A copy that was interrupted has the beginning.  Else the target has had other things, or forgot
 * some by its rules: then it is as far as the last one that is what it has now. */
int ash__copy_align(ash_copy_run *c, const ash_copy_past *source, const ash_copy_past *target,
                    size_t *count, bool *known, ash_error *err)
{
    *count = target->count;
    *known = true;
    if (target->count == 0)
        return 0;
    int rc = is_beginning(c, source, target, known, err);
    if (rc != 0 || *known)
        return rc;
    for (*count = source->count; rc == 0 && *count > 0; --*count) {
        rc = ash__copy_compare(c, source->items[*count - 1], target->items[target->count - 1],
                               known, err);
        if (rc != 0 || *known)
            break;
    }
    return rc;
}
