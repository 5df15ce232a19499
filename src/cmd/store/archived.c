/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/store/archived.h"

#include <ashlar/object.h>

#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct looking {
    const ash_cmd *cmd;
    const char *db;
    ash_op op;
    ash_object_manager *manager;
    ash_object_store *store;
    ash_object_store *archive; /* the last one that was looked into, or NULL: it is not beside it */
    char *archive_name;
    int64_t missing;
    int64_t elsewhere; /* nobody knows here */
} looking;

/* Where the bytes are; false: in the store itself. */
static bool place_of(const ash_object *o, const char **store, const char **name)
{
    ash_doc doc = ash_object_document(o);
    bson_iter_t it, in;
    *store = *name = NULL;
    if (!ash_object_is_archived(o) || !bson_iter_init_from_data(&it, doc.data, doc.len) ||
        !bson_iter_find(&it, "archive") || !bson_iter_recurse(&it, &in))
        return false;
    while (bson_iter_next(&in)) {
        if (BSON_ITER_IS_KEY(&in, "bucket"))
            *store = bson_iter_utf8(&in, NULL);
        else if (BSON_ITER_IS_KEY(&in, "name"))
            *name = bson_iter_utf8(&in, NULL);
    }
    return *store != NULL && *name != NULL;
}

static void leave_archive(looking *l)
{
    ash_object_store_close(l->archive);
    ash__free(l->archive_name);
    l->archive = NULL;
    l->archive_name = NULL;
}

static int reach_archive(looking *l, const char *name, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    if (l->archive_name != NULL && strcmp(l->archive_name, name) == 0)
        return 0;
    leave_archive(l);
    l->archive_name = ash__strdup(name);
    int rc = ash_object_manager_bind(l->manager, name, &l->op, &l->archive, &own);
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

static void tell(const looking *l, const ash_object *o, const char *archive)
{
    bson_t out = BSON_INITIALIZER;
    if (l->cmd->json) {
        BCON_APPEND(
            &out, "db", BCON_UTF8(l->db), "objectStore", BCON_UTF8(ash_object_store_name(l->store)),
            "name", BCON_UTF8(ash_object_name(o)), "revision",
            BCON_INT64((int64_t)ash_object_revision(o)), "missingInArchive", BCON_UTF8(archive));
        ash__cmd_emit(&out);
    } else {
        char *name = ash__cmd_printable(ash_object_name(o));
        printf("database %s, object store %s: the bytes of %s, revision %" PRIu64
               ", are not in the archive %s\n",
               l->db, ash_object_store_name(l->store), name, ash_object_revision(o), archive);
        ash__cmd_keep_output_error();
        ash__free(name);
    }
    bson_destroy(&out);
}

static int look_at(looking *l, const ash_object *o, ash_error *err)
{
    const char *archive, *name;
    ash_object *there = NULL;
    ash_error own = ASH_ERROR_INIT;
    if (!place_of(o, &archive, &name))
        return 0;
    int rc = reach_archive(l, archive, err);
    if (rc != 0)
        return rc;
    if (l->archive == NULL) {
        l->elsewhere++;
        return 0;
    }
    rc = ash_object_store_info(l->archive, name, NULL, &l->op, &there, &own);
    bool whole = rc == 0 && ash_object_size(there) == ash_object_size(o);
    ash_object_free(there);
    if ((rc == 0 || rc == ASH_ENOTFOUND) && !whole) {
        l->missing++;
        tell(l, o, archive);
    }
    return ash__unless(ASH_ENOTFOUND, rc, &own, err);
}

/* pasts: of each object its versions, itself among them. */
static int look_at_listing(looking *l, ash_object_listing *objects, bool pasts, ash_error *err)
{
    const ash_object *o = NULL;
    int rc = 0;
    while (rc == 0) {
        rc = ash_object_listing_next(objects, &o, err);
        if (rc != 0 || o == NULL)
            break;
        ash_object_listing *past = NULL;
        if (pasts)
            rc = ash_object_store_versions(l->store, ash_object_name(o), 0, &l->op, &past, err);
        if (rc == 0)
            rc = pasts ? look_at_listing(l, past, false, err) : look_at(l, o, err);
    }
    ash_object_listing_free(objects);
    return rc;
}

static int look_at_store(looking *l, const ash_object_status *st, ash_error *err)
{
    ash_object_config c = ASH_OBJECT_CONFIG_INIT;
    ash_object_list_options o = ASH_OBJECT_LIST_OPTIONS_INIT;
    ash_object_listing *objects = NULL;
    bson_t *archived = BCON_NEW("archive", "{", "$exists", BCON_BOOL(true), "}");
    int rc = ash_object_status_config(st, &c, err);
    bool pasts = c.keep_last != 0 || c.keep_within_ms != 0;
    o.deleted = pasts;
    o.filter = pasts ? NULL : archived;
    if (rc == 0)
        rc = ash_object_manager_bind(l->manager, c.name, &l->op, &l->store, err);
    if (rc == 0)
        rc = ash_object_store_list(l->store, &o, &l->op, &objects, err);
    if (rc == 0)
        rc = look_at_listing(l, objects, pasts, err);
    leave_archive(l);
    ash_object_store_close(l->store);
    l->store = NULL;
    bson_destroy(archived);
    return rc;
}

static int look_at_database(void *ctx, ash_store *store, const char *db, ash_error *err)
{
    looking *l = ctx;
    ash_object_manager_options o = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    ash_object_status_listing *stores = NULL;
    const ash_object_status *st = NULL;
    o.db = l->db = db;
    int rc = ash_object_manager_new(store, &o, &l->manager, err);
    if (rc == 0)
        rc = ash_object_manager_list(l->manager, &l->op, &stores, err);
    while (rc == 0 && ash_object_status_listing_next(stores, &st, NULL) == 0 && st != NULL)
        rc = look_at_store(l, st, err);
    ash_object_status_listing_free(stores);
    ash_object_manager_close(l->manager);
    l->manager = NULL;
    return rc;
}

int ash__cmd_check_archived(const ash_cmd *cmd, ash_store *store, ash_error *err)
{
    looking l = {.cmd = cmd, .op = ASH_OP_INIT};
    l.op.cancel = &ash__cmd_interrupted;
    int rc = ash__cmd_each_database(cmd, store, look_at_database, &l, err);
    if (rc == 0 && l.elsewhere > 0)
        ash__cmd_note(cmd,
                      "the bytes of %" PRId64 " object%s are in archives that are not beside "
                      "their store: nobody looked there",
                      l.elsewhere, ash__cmd_s(l.elsewhere));
    if (rc != 0 || l.missing == 0)
        return rc;
    return ash__fail(err, ASH_ECHUNKMISSING,
                     "an archive lacks the bytes of %" PRId64 " object%s: a backup of the archive "
                     "has them, and --repair does not",
                     l.missing, ash__cmd_s(l.missing));
}
