/* SPDX-License-Identifier: Apache-2.0 */
#include "lock/lock.h"

#include <string.h>

/* What holders before this grant announced in `pending` and may not have done yet: changes of files
 * through a store without transactions (bucket/intent.h).  Taking their marks away makes sure that
 * what has not happened by now never does. */

typedef struct announced {
    const char *files;
    const bson_value_t *id;
    bson_oid_t mark;
    bool makes;
} announced;

/* out->id points into *id, which is therefore the caller's. */
static bool read_announced(const bson_iter_t *entry, bson_iter_t *id, announced *out)
{
    bson_iter_t at;
    bool files = false, mark = false, has_id = false;
    if (!BSON_ITER_HOLDS_DOCUMENT(entry) || !bson_iter_recurse(entry, &at))
        return false;
    *out = (announced){.files = NULL};
    while (bson_iter_next(&at)) {
        const char *name = bson_iter_key(&at);
        if (strcmp(name, "files") == 0 && BSON_ITER_HOLDS_UTF8(&at)) {
            out->files = bson_iter_utf8(&at, NULL);
            files = true;
        } else if (strcmp(name, "id") == 0) {
            *id = at;
            has_id = true;
        } else if (strcmp(name, "mark") == 0 && BSON_ITER_HOLDS_OID(&at)) {
            bson_oid_copy(bson_iter_oid(&at), &out->mark);
            mark = true;
        } else if (strcmp(name, "makes") == 0) {
            out->makes = bson_iter_as_bool(&at);
        }
    }
    if (has_id)
        out->id = bson_iter_value(id);
    return files && mark && has_id;
}

static int take_mark_away(ash_lock_collection *c, const announced *a, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_collection *files = NULL;
    int rc = ash_collection_new(c->store, c->db, a->files, &files, err);
    ash__lock_filter_id(&filter, "_id", a->id);
    BSON_APPEND_OID(&filter, "ashlar_intent.mark", &a->mark);
    if (rc == 0 && a->makes) { /* it has no name yet, so nobody has seen it */
        ash_remove_options o = ASH_REMOVE_OPTIONS_INIT;
        o.op = ash__lock_op(c);
        rc = ash_collection_remove(files, &filter, &o, NULL, err);
    } else if (rc == 0) {
        ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
        bson_t *unset = BCON_NEW("$unset", "{", "ashlar_intent", BCON_UTF8(""), "}");
        const bson_value_t update = ash__lock_view(unset, BSON_TYPE_DOCUMENT);
        o.op = ash__lock_op(c);
        rc = ash_collection_update(files, &filter, &update, &o, NULL, err);
        bson_destroy(unset);
    }
    ash_collection_free(files);
    bson_destroy(&filter);
    return rc;
}

static int forget(ash_lock_collection *c, const bson_value_t *doc_id, const bson_t *marks,
                  ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    bson_t *pull = BCON_NEW("$pull", "{", "pending", "{", "mark", "{", "$in", BCON_ARRAY(marks),
                            "}", "}", "}");
    ash__lock_filter_id(&filter, "_id", doc_id);
    const bson_value_t update = ash__lock_view(pull, BSON_TYPE_DOCUMENT);
    o.op = ash__lock_op(c);
    int rc = ash_collection_update(c->locks, &filter, &update, &o, NULL, err);
    bson_destroy(pull);
    bson_destroy(&filter);
    return rc;
}

int ash__lock_settle_pending(ash_lock_collection *c, const ash_lock_grant *g, ash_error *err)
{
    bson_iter_t list, entry, id;
    bson_t marks = BSON_INITIALIZER;
    uint32_t count = 0;
    int rc = 0;
    if (!bson_iter_init_find(&list, g->doc, "pending") || !BSON_ITER_HOLDS_ARRAY(&list) ||
        !bson_iter_recurse(&list, &entry)) {
        bson_destroy(&marks);
        return 0;
    }
    /* Marks first, then what announced them: who dies in between leaves it to the next grant. */
    while (rc == 0 && bson_iter_next(&entry)) {
        announced a;
        char key[12];
        const char *name;
        if (!read_announced(&entry, &id, &a))
            continue; /* of another kind: not ours to take away */
        rc = take_mark_away(c, &a, err);
        size_t len = bson_uint32_to_string(count++, &name, key, sizeof key);
        bson_append_oid(&marks, name, (int)len, &a.mark);
    }
    if (rc == 0 && count > 0)
        rc = forget(c, &g->doc_id, &marks, err);
    bson_destroy(&marks);
    return rc;
}
