/* SPDX-License-Identifier: Apache-2.0 */
#include "object/said.h"

#include "object/core.h"
#include "object/transfer.h"

#include <string.h>

void ash__object_unsay(const ash_object *said, bson_t *set)
{
    static const char *const ours[] = {"_id",      "mtime",   "revision", "expires",
                                       "encoding", "archive", "until",    "stored"};
    bson_iter_t it;
    if (!bson_iter_init(&it, said->document))
        return;
    while (bson_iter_next(&it)) {
        const char *name = bson_iter_key(&it);
        bool out = name[0] == '$' || strchr(name, '.') != NULL;
        for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
            out = out || strcmp(name, ours[i]) == 0;
        if (out && !bson_has_field(set, name))
            BSON_APPEND_NULL(set, name);
    }
}

static int check_link(const ash_object *said, ash_error *err)
{
    ash_object_said s;
    if (said->link_store == NULL)
        return ash__fail(err, ASH_EINVAL, "%.200s is no link", said->name);
    memset(&s, 0, sizeof s);
    int rc = ash__object_store_name_check(said->link_store, err);
    if (rc == 0 && said->link_name != NULL)
        rc = ash__object_name_check(said->link_name, err);
    if (rc == 0) {
        ash__object_said_meta(said, &s);
        rc = ash__object_meta_check(&s.meta, false, err);
    }
    return rc;
}

int ash__object_put_link(ash_object_store *s, const ash_object *said,
                         const ash_object_change_options *opts, const ash_op *op, ash_object **out,
                         ash_error *err)
{
    ash_object_change_options o;
    ash_object *link = NULL;
    bson_t set = BSON_INITIALIZER;
    char nuid[ASH_NUID_TEXT_BYTES];
    ash_op own = ash__op_of(op);
    ash_object_request r = {said->name, &o, &own};

    *out = NULL;
    int rc = ash__object_change_options_copy(s, &o, opts, err);
    if (rc == 0)
        rc = check_link(said, err);
    if (rc == 0) {
        BCON_APPEND(&set, "bucket", BCON_UTF8(s->name), "size", BCON_INT64(0), "chunks",
                    BCON_INT64(0), "digest", BCON_NULL, "deleted", BCON_NULL);
        if (said->nuid[0] == '\0') {
            ash__nuid(nuid);
            BSON_APPEND_UTF8(&set, "nuid", nuid);
        }
        ash__object_unsay(said, &set);
        rc = ash__object_set(said, &set, &link, err);
    }
    if (rc == 0)
        rc = s->manager->ops->link(s, &r, link, out, err);
    ash_object_free(link);
    bson_destroy(&set);
    return rc;
}

int ash__object_describe(ash_object_store *s, const ash_object_request *r, const ash_object *said,
                         ash_object **out, ash_error *err)
{
    ash_object_said whole;
    bson_t nothing = BSON_INITIALIZER;
    ash__object_said_meta(said, &whole);
    ash_object_meta *m = &whole.meta;
    if (m->headers == NULL)
        m->headers = &nothing;
    if (m->metadata == NULL)
        m->metadata = &nothing;
    if (m->tags == NULL)
        m->tags = &nothing;
    int rc = ash_object_store_update_meta(s, r->name, m, r->opts, r->op, out, err);
    bson_destroy(&nothing);
    return rc;
}

int ash__object_find_nuid(ash_object_store *s, const char *nuid, const ash_op *op, ash_object **out,
                          ash_error *err)
{
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_object_listing *l = NULL;
    const ash_object *found = NULL;
    bson_t *filter = BCON_NEW("nuid", BCON_UTF8(nuid));
    *out = NULL;
    o.filter = filter;
    o.limit = 1;
    int rc = ash_object_store_list(s, &o, op, &l, err);
    if (rc == 0)
        rc = ash_object_listing_next(l, &found, err);
    if (rc == 0 && found == NULL)
        rc = ash__fail(err, ASH_ENOTFOUND, "no object has the bytes %.64s", nuid);
    if (rc == 0)
        *out = ash_object_copy(found);
    ash_object_listing_free(l);
    bson_destroy(filter);
    return rc;
}
