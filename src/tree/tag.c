/* SPDX-License-Identifier: Apache-2.0 */
/* Marks on versions.  They belong to the version, wherever it is: the next one does not have them,
 * and setting one makes none. */
#include "tree/change.h"

#include "base/mem.h"
#include "bucket/bucket.h"
#include "tree/acl.h"

#include <inttypes.h>
#include <string.h>

enum { TAG_MAX = 255 };

typedef struct tag_call {
    const ash_tree_path *path;
    int32_t version;
    const char *tag;
    bool remove;
} tag_call;

/* The tag, and since when and by whom it is there. */
static bson_t *build_update(const ash_tree_commit *c, const tag_call *call)
{
    bson_t mark = BSON_INITIALIZER;
    if (call->remove)
        return BCON_NEW("$pull", "{", "tags", BCON_UTF8(call->tag), "tagged", "{", "tag",
                        BCON_UTF8(call->tag), "}", "}");
    BSON_APPEND_UTF8(&mark, "tag", call->tag);
    BSON_APPEND_DATE_TIME(&mark, "at", c->now_ms);
    if (c->changed_by != NULL)
        BSON_APPEND_UTF8(&mark, "by", c->changed_by);
    bson_t *update = BCON_NEW("$addToSet", "{", "tags", BCON_UTF8(call->tag), "}", "$push", "{",
                              "tagged", BCON_DOCUMENT(&mark), "}");
    bson_destroy(&mark);
    return update;
}

static int mark(ash_tree_commit *c, const tag_call *call, const ash_tree_entry *e, bool current,
                ash_error *err)
{
    bson_t filter = BSON_INITIALIZER, eq;
    if (!call->remove && ash_tree_entry_has_tag(e, call->tag))
        return 0; /* since when and by whom stays */
    bson_t *update = build_update(c, call);
    if (current) {
        ash__filter_id(&filter, "_id", &e->id);
        bson_append_int32(&filter, "_version", 8, e->version);
    } else {
        bson_append_document_begin(&filter, "_id", 3, &eq);
        ash__tree_append_version_id(&eq, "$eq", &e->id, e->version);
        bson_append_document_end(&filter, &eq);
    }
    bson_value_t value = {.value_type = BSON_TYPE_DOCUMENT};
    ash_update_options o = ASH_UPDATE_OPTIONS_INIT;
    ash_write_result result;
    ash_write_result_init(&result);
    value.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(update);
    value.value.v_doc.data_len = update->len;
    o.op = c->op;
    int rc = ash_collection_update(current ? c->tree->current : c->tree->past, &filter, &value, &o,
                                   &result, err);
    if (rc == 0 && result.matched != 1)
        rc = ash__fail(err, ASH_ECONFLICT, "%s was changed meanwhile", e->name);
    ash_write_result_release(&result);
    bson_destroy(update);
    bson_destroy(&filter);
    return rc;
}

static int tag(ash_tree_commit *c, void *ctx, ash_error *err)
{
    const tag_call *call = ctx;
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_tree_entry *old = NULL;
    int rc = ash__commit_entry(c, call->path, &chain, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_WRITE, &c->op, err);
    if (rc == 0)
        rc = ash__commit_conditions(c, ash__chain_last(&chain), err);
    const ash_tree_entry *e = rc == 0 ? ash__chain_last(&chain) : NULL;
    bool current = rc == 0 && (call->version == 0 || call->version == e->version);
    if (rc == 0 && e->version == 0)
        rc = ash__fail(err, ASH_EINVAL, "the root has no version to be marked");
    if (rc == 0 && !current)
        rc = ash__tree_version(c->tree, &e->id, call->version, &c->op, &old, err);
    if (rc == 0 && !current && (old == NULL || old->is_deleted))
        rc = ash__fail(err, ASH_ENOREVISION, "%s has no version %" PRId32, e->path, call->version);
    if (rc == 0)
        rc = mark(c, call, current ? e : old, current, err);
    ash_tree_entry_free(old);
    ash__chain_release(&chain);
    return rc;
}

int ash_tree_tag_with(ash_tree *tree, const char *path, int32_t version, const char *name,
                      bool remove, const ash_tree_change_options *opts, const ash_op *op,
                      ash_error *err)
{
    ash_tree_change_options o;
    ash_tree_path parts = {0};
    tag_call call = {&parts, version, name, remove};
    size_t len = strlen(name);
    int rc = ash__tree_change_options(&o, opts, err);
    if (rc == 0 && (len == 0 || len > TAG_MAX || !bson_utf8_validate(name, len, false)))
        rc = ash__fail(err, ASH_EINVAL, "a tag is 1 to %d bytes of UTF-8", TAG_MAX);
    if (rc == 0)
        rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0)
        rc = ash__tree_change(tree, &o, op, tag, &call, err);
    ash__tree_path_release(&parts);
    return rc;
}

int ash_tree_tag(ash_tree *tree, const char *path, int32_t version, const char *name, bool remove,
                 const ash_op *op, ash_error *err)
{
    return ash_tree_tag_with(tree, path, version, name, remove, NULL, op, err);
}
