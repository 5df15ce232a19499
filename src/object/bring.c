/* SPDX-License-Identifier: Apache-2.0 */
#include "object/copy.h"

#include "base/clock.h"
#include "base/mem.h"
#include "bson/value.h"

#include <string.h>

/* ---- what the target has ---- */

static bool same_field(const ash_object *a, const ash_object *b, const char *field)
{
    bson_iter_t x, y;
    bool has_x = bson_iter_init_find(&x, a->document, field);
    bool has_y = bson_iter_init_find(&y, b->document, field);
    if (!has_x || !has_y)
        return has_x == has_y;
    return ash__value_identical(ash__value_of_iter(&x), ash__value_of_iter(&y));
}

/* A link into the store that is copied leads into the copy. */
static const char *link_store(const ash_copy_run *c, const ash_object *o)
{
    return strcmp(o->link_store, c->transfer.from->name) == 0 ? c->transfer.to->name
                                                              : o->link_store;
}

static bool same_link(const ash_copy_run *c, const ash_object *a, const ash_object *b)
{
    return strcmp(link_store(c, a), b->link_store) == 0 &&
           strcmp(a->link_name != NULL ? a->link_name : "",
                  b->link_name != NULL ? b->link_name : "") == 0;
}

/* The target may have no digest of the source's kind. */
static int same_bytes(ash_copy_run *c, const ash_object *object, const ash_object *there,
                      bool *same, ash_error *err)
{
    ash_digest_kind kind_a, kind_b;
    uint8_t bytes_a[32], bytes_b[32];
    char text[64];
    size_t len_a, len_b;
    *same = object->deleted || strcmp(object->digest, there->digest) == 0;
    if (*same || !ash__digest_parse(object->digest, &kind_a, bytes_a, &len_a) ||
        !ash__digest_parse(there->digest, &kind_b, bytes_b, &len_b) || kind_a == kind_b)
        return 0;
    int rc = ash__transfer_digest(&c->transfer, object, kind_b, text, err);
    *same = rc == 0 && strcmp(text, there->digest) == 0;
    return rc;
}

int ash__copy_compare(ash_copy_run *c, const ash_object *object, const ash_object *there,
                      bool *same, ash_error *err)
{
    static const char *const fields[] = {"description", "headers", "metadata", "tags", "size"};
    *same = ash_object_is_link(object) == ash_object_is_link(there) &&
            object->deleted == there->deleted;
    if (*same && ash_object_is_link(object)) {
        *same = same_link(c, object, there);
        return 0;
    }
    for (size_t i = 0; *same && i < ASH_ARRAY_LEN(fields); i++)
        *same = same_field(object, there, fields[i]);
    return *same ? same_bytes(c, object, there, same, err) : 0;
}

/* ---- bringing one ---- */

static int bring_bytes(ash_copy_run *c, const ash_object *object,
                       const ash_object_change_options *o, ash_object **made, ash_error *err)
{
    ash_object_said said;
    ash_object_writer *w = NULL;
    ash__object_said(object, c->transfer.to, &said);
    int rc = ash_object_store_open_writer(c->transfer.to, &said.meta, o, c->transfer.op, &w, err);
    if (rc == 0)
        rc = ash__transfer_bytes(&c->transfer, object, w, err);
    if (rc == 0)
        rc = ash_object_writer_finish(w, NULL, made, err);
    ash_object_writer_free(w);
    return rc;
}

static int bring_link(ash_copy_run *c, const ash_object *object, const ash_object_change_options *o,
                      ash_object **made, ash_error *err)
{
    ash_object_store *to = c->transfer.to;
    bson_t *set =
        BCON_NEW("bucket", BCON_UTF8(to->name), "options", "{", "link", "{", "bucket",
                 BCON_UTF8(link_store(c, object)), "name",
                 BCON_UTF8(object->link_name != NULL ? object->link_name : ""), "}", "}", "expires",
                 BCON_NULL, "revision", BCON_NULL, "mtime", BCON_NULL, "until", BCON_NULL);
    ash_object_request r = {object->name, o, c->transfer.op};
    ash_object *link = NULL;
    int rc = ash__object_set(object, set, &link, err);
    if (rc == 0)
        rc = to->manager->ops->link(to, &r, link, made, err);
    ash_object_free(link);
    bson_destroy(set);
    return rc;
}

/* No link takes the place of an object: that goes first. */
static int make_way(ash_copy_run *c, const ash_object *there, ash_object_change_options *o,
                    ash_error *err)
{
    ash_object *left = NULL;
    if (there == NULL || there->deleted || ash_object_is_link(there))
        return 0;
    int rc = ash_object_store_delete(c->transfer.to, there->name, o, c->transfer.op, &left, err);
    o->if_revision = rc == 0 ? left->revision : 0;
    ash_object_free(left);
    return rc;
}

static int64_t time_left(const ash_copy_run *c, const ash_object *object)
{
    if (object->expires_ms == 0 || !c->transfer.to->manager->can.object_ttl)
        return 0;
    int64_t left = object->expires_ms - ash__clock_wall_ms();
    return left > 0 ? left : 1;
}

int ash__copy_bring(ash_copy_run *c, const ash_object *object, const ash_object *there, bool final,
                    ash_object **made, ash_error *err)
{
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    int rc = 0;
    *made = NULL;
    o.if_revision = there != NULL ? there->revision : 0;
    o.if_absent = there == NULL;
    if (object->deleted)
        return ash_object_store_delete(c->transfer.to, object->name, &o, c->transfer.op, made, err);
    if (ash_object_is_link(object))
        rc = make_way(c, there, &o, err);
    o.ttl_ms = final ? time_left(c, object) : 0;
    if (rc != 0)
        return rc;
    return ash_object_is_link(object) ? bring_link(c, object, &o, made, err)
                                      : bring_bytes(c, object, &o, made, err);
}
