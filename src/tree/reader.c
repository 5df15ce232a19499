/* SPDX-License-Identifier: Apache-2.0 */
/* Reading files: an entry, and its content's bytes within a range. */
#include "base/mem.h"
#include "base/options.h"
#include "tree/acl.h"
#include "tree/get.h"

#include <inttypes.h>

struct ash_tree_reader {
    ash_tree_entry *entry;
    ash_content_reader *content;
    int64_t start, end, at;
};

static int check_range(const ash_tree_entry *e, const ash_tree_read_options *o, int64_t *end,
                       ash_error *err)
{
    *end = o->end != 0 ? o->end : e->content.length;
    if (e->is_folder)
        return ash__fail(err, ASH_EINVAL, "%s is a folder", ash_tree_entry_path(e));
    if (e->is_deleted && e->content.id.len == 0 && e->content.in == NULL)
        return ash__fail(err, ASH_EINVAL, "a deletion has no contents");
    if (o->start < 0 || o->start > *end || *end > e->content.length)
        return ash__fail(err, ASH_EINVAL,
                         "bytes %" PRId64 " to %" PRId64 " are not within the %" PRId64 " of %s",
                         o->start, *end, e->content.length, ash_tree_entry_path(e));
    return 0;
}

/* entry: taken over, also on failure. */
static int open_reader(ash_tree *tree, ash_tree_entry *entry, const ash_tree_read_options *o,
                       const ash_op *op, ash_tree_reader **out, ash_error *err)
{
    ash_tree_reader *r = ash__new(ash_tree_reader);
    r->entry = entry;
    int rc = check_range(entry, o, &r->end, err);
    bool whole = o->start == 0 && r->end == entry->content.length;
    if (rc == 0)
        rc = ash__content_open(tree->contents, &entry->content, whole && !o->unverified, op,
                               &r->content, err);
    if (rc == 0 && o->start > 0)
        rc = ash__content_reader_seek(r->content, o->start, err);
    r->start = r->at = o->start;
    if (rc != 0) {
        if (err != NULL)
            ash__error_prefix(err, "%s", ash_tree_entry_path(entry));
        ash_tree_reader_free(r);
    } else {
        *out = r;
    }
    return rc;
}

int ash_tree_open_reader(ash_tree *tree, const char *path, const ash_tree_read_options *opts,
                         const ash_op *op, ash_tree_reader **out, ash_error *err)
{
    ash_tree_read_options o;
    ash_tree_entry *entry = NULL;
    ash_assert(tree != NULL && path != NULL && out != NULL);
    *out = NULL;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    ash_tree_when when = {.size = sizeof when, .at_ms = o.at_ms, .version = o.version};
    if (rc == 0)
        rc = ash__tree_get(tree, path, &when, op, &entry, err);
    return rc == 0 ? open_reader(tree, entry, &o, op, out, err) : rc;
}

/* Whoever may list a folder has entries of files that he may not read. */
int ash__tree_require_read(ash_tree *tree, const ash_tree_entry *entry, const ash_op *op,
                           ash_error *err)
{
    ash_op own = ash__op_of(op);
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_tree_entry *guard = NULL;
    bool reached;
    if (own.principal == NULL)
        return 0;
    int rc = ash__tree_climb(tree, entry, &own, &chain, &reached, err);
    if (rc == 0)
        rc = ash__acl_guard(tree, entry, &own, &guard, err);
    if (rc == 0) {
        ash__chain_add(&chain, guard);
        rc = ash__tree_require(&chain, ASH_TREE_READ, &own, err);
    }
    ash__chain_release(&chain);
    return rc;
}

int ash_tree_open_entry(ash_tree *tree, const ash_tree_entry *entry,
                        const ash_tree_read_options *opts, const ash_op *op, ash_tree_reader **out,
                        ash_error *err)
{
    ash_tree_read_options o;
    ash_assert(tree != NULL && entry != NULL && out != NULL);
    *out = NULL;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = ash__tree_require_read(tree, entry, op, err);
    return rc == 0 ? open_reader(tree, ash_tree_entry_copy(entry), &o, op, out, err) : rc;
}

int ash_tree_probe(ash_tree *tree, const ash_tree_entry *entry, const ash_op *op, ash_error *err)
{
    ash_op own = ash__op_of(op);
    ash_assert(tree != NULL && entry != NULL);
    int rc = ash__tree_require_read(tree, entry, &own, err);
    if (rc == 0 && entry->content.id.len != 0)
        rc = ash__content_probe(tree->contents, &entry->content.id, &own, err);
    return rc;
}

/* A file that has nothing but this content. */
static int entry_of_content(const ash_content_ref *content, ash_tree_entry **out, ash_error *err)
{
    char hex[ASH_DIGEST_TEXT_BYTES];
    ash__content_id_hex(&content->id, hex);
    bson_t *doc = BCON_NEW("_id", BCON_BIN(BSON_SUBTYPE_BINARY, content->id.bytes, content->id.len),
                           "_version", BCON_INT32(1), "filename", BCON_UTF8(hex), "length",
                           BCON_INT64(content->length), "sha",
                           BCON_BIN(BSON_SUBTYPE_BINARY, content->id.bytes, content->id.len));
    int rc = ash__entry_new(doc, out, err);
    if (rc == 0)
        (*out)->path = ash__strdup(hex);
    return rc;
}

int ash_tree_open_content(ash_tree *tree, const char *digest, const ash_tree_read_options *opts,
                          const ash_op *op, ash_tree_reader **out, ash_error *err)
{
    ash_tree_read_options o;
    ash_op own = ash__op_of(op);
    ash_content_ref content;
    ash_tree_entry *entry = NULL;
    ash_assert(tree != NULL && digest != NULL && out != NULL);
    *out = NULL;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0)
        rc = ash__tree_require_care(tree, &own, err);
    if (rc == 0)
        rc = ash__contents_by_digest(tree->contents, digest, &own, &content, err);
    if (rc == 0)
        rc = entry_of_content(&content, &entry, err);
    return rc == 0 ? open_reader(tree, entry, &o, op, out, err) : rc;
}

const ash_tree_entry *ash_tree_reader_entry(const ash_tree_reader *r)
{
    return r->entry;
}

int ash_tree_reader_read(ash_tree_reader *r, void *buf, size_t len, size_t *got, ash_error *err)
{
    int64_t left = r->end - r->at;
    *got = 0;
    /* The whole content is read past its last byte, too: that is where its digest is compared. */
    if (left == 0 && r->end < r->entry->content.length)
        return 0;
    if (left > 0 && (uint64_t)left < len)
        len = (size_t)left;
    int rc = ash__content_reader_read(r->content, buf, len, got, err);
    if (rc != 0 && err != NULL)
        ash__error_prefix(err, "%s", ash_tree_entry_path(r->entry));
    r->at += (int64_t)*got;
    return rc;
}

int ash_tree_reader_seek(ash_tree_reader *r, int64_t position, ash_error *err)
{
    if (position < r->start || position > r->end)
        return ash__fail(err, ASH_EINVAL, "position %" PRId64 " is not within the range", position);
    int rc = ash__content_reader_seek(r->content, position, err);
    if (rc == 0)
        r->at = position;
    return rc;
}

void ash_tree_reader_free(ash_tree_reader *r)
{
    if (r == NULL)
        return;
    ash__content_reader_free(r->content);
    ash_tree_entry_free(r->entry);
    ash__free(r);
}
