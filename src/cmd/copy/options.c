/* SPDX-License-Identifier: Apache-2.0 */
/* What a collection is beside its documents: options, indexes, or the view that it is. */
#include "cmd/copy/documents.h"

#include "base/error.h"
#include "base/mem.h"
#include "bson/builder.h"
#include "bson/compare.h"

#include <string.h>

enum { SIZE_UNIT = 256 }; /* servers round a capped collection's size up to it */

/* ---- options ---- */

/* A server notes which version of its tables a collation was made with; another one has others. */
static void append_collation(ash_builder *b, const char *name, ash_doc collation)
{
    ash__builder_begin_doc(b, name);
    for (ash_doc_iter it = ash__doc_iter(collation); ash__doc_iter_next(&it);) {
        if (strcmp(it.name, "version") != 0)
            ash__builder_element(b, &it);
    }
    ash__builder_end(b);
}

/* Is it what a server takes when nothing is said? */
static bool is_default(const ash_doc_iter *it)
{
    uint32_t len;
    if (strcmp(it->name, "validationLevel") == 0 || strcmp(it->name, "validationAction") == 0)
        return it->value.type == BSON_TYPE_UTF8 &&
               (strcmp(ash__value_string(it->value, &len), "strict") == 0 ||
                strcmp(ash__value_string(it->value, &len), "error") == 0);
    if (strcmp(it->name, "changeStreamPreAndPostImages") == 0)
        return it->value.type == BSON_TYPE_DOCUMENT &&
               !ash__value_truthy(ash__doc_get(ash__value_doc(it->value), "enabled"));
    if (strcmp(it->name, "capped") == 0)
        return !ash__value_truthy(it->value);
    return strcmp(it->name, "validator") == 0 && it->value.type == BSON_TYPE_DOCUMENT &&
           ash__doc_is_empty(ash__value_doc(it->value));
}

/* How a server made its files, and not what the collection is. */
static bool is_private(const char *name)
{
    static const char *const names[] = {
        "uuid", "autoIndexId", "idIndex", "storageEngine", "temp", "flags", "indexOptionDefaults"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

/* As somebody would give them. */
static void take_options(ash_doc description, ash_builder *out)
{
    ash_value options = ash__doc_get(description, "options");
    ash__builder_begin(out);
    if (options.type == BSON_TYPE_DOCUMENT) {
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(options)); ash__doc_iter_next(&it);) {
            if (strcmp(it.name, "collation") == 0 && it.value.type == BSON_TYPE_DOCUMENT)
                append_collation(out, it.name, ash__value_doc(it.value));
            else if (!is_private(it.name))
                ash__builder_element(out, &it);
        }
    }
    ash__builder_end(out);
}

/* In a form that all servers agree on: some round a size up, or write down what is the default. */
static void normalise(ash_doc options, ash_builder *out)
{
    ash__builder_begin(out);
    for (ash_doc_iter it = ash__doc_iter(options); ash__doc_iter_next(&it);) {
        int64_t size;
        if (is_default(&it))
            continue;
        if (strcmp(it.name, "size") == 0 && ash__value_as_int64(it.value, &size))
            ash__builder_int64(out, it.name, (size + SIZE_UNIT - 1) / SIZE_UNIT * SIZE_UNIT);
        else
            ash__builder_element(out, &it);
    }
    ash__builder_end(out);
}

/* Every field of the one in the other, in any order. */
static bool holds(ash_doc a, ash_doc b)
{
    for (ash_doc_iter it = ash__doc_iter(a); ash__doc_iter_next(&it);) {
        ash_value other = ash__doc_get(b, it.name);
        if (ash__value_is_missing(other) || !ash__value_equal(it.value, other, NULL))
            return false;
    }
    return true;
}

static bool same_options(ash_doc a, ash_doc b)
{
    ash_builder x = ASH_BUILDER_INIT, y = ASH_BUILDER_INIT;
    normalise(a, &x);
    normalise(b, &y);
    bool same = holds(ash__builder_doc(&x), ash__builder_doc(&y)) &&
                holds(ash__builder_doc(&y), ash__builder_doc(&x));
    ash__builder_release(&x);
    ash__builder_release(&y);
    return same;
}

/* ---- the collection ---- */

/* Its description; empty: there is none. */
static int describe(ash_collection *c, ash_builder *out, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_doc doc = {0};
    bson_t *filter = BCON_NEW("name", BCON_UTF8(ash_collection_name(c)));
    int rc = ash_store_list_collections(ash_collection_store(c), ash_collection_db(c), filter, NULL,
                                        &cursor, err);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, err);
    ash__builder_begin(out);
    if (rc == 0 && doc.data != NULL)
        ash__builder_elements(out, doc);
    ash__builder_end(out);
    ash_cursor_free(cursor);
    bson_destroy(filter);
    return rc;
}

static int make(ash_copy_table *t, ash_doc options, ash_error *err)
{
    bson_t view;
    ash__doc_to_bson(options, &view);
    t->made = true;
    return t->all->cmd->dry_run ? 0 : ash_collection_create(t->to, &view, NULL, err);
}

/* The target's stays as it is; of a view, which holds nothing, --replace makes another. */
static int settle_difference(ash_copy_table *t, ash_doc theirs, ash_doc options, ash_error *err)
{
    bool views = !ash__value_is_missing(ash__doc_get(theirs, "viewOn")) &&
                 !ash__value_is_missing(ash__doc_get(options, "viewOn"));
    if (!views || !t->all->replace)
        return ash__fail(err, ASH_EEXISTS,
                         views ? "the target has another view of that name; --replace replaces it"
                               : "the target has it with other options; drop, rename or change "
                                 "that one");
    int rc = t->all->cmd->dry_run ? 0 : ash_collection_drop(t->to, NULL, err);
    return rc == 0 ? make(t, options, err) : rc;
}

static int compare_options(ash_copy_table *t, ash_doc there, ash_doc options, ash_error *err)
{
    ash_builder theirs = ASH_BUILDER_INIT;
    take_options(there, &theirs);
    int rc = same_options(ash__builder_doc(&theirs), options)
                 ? 0
                 : settle_difference(t, ash__builder_doc(&theirs), options, err);
    ash__builder_release(&theirs);
    return rc;
}

int ash__copy_options(ash_copy_table *t, ash_doc description, ash_error *err)
{
    ash_builder options = ASH_BUILDER_INIT, there = ASH_BUILDER_INIT;
    int rc = 0;
    take_options(description, &options);
    ash_doc wanted = ash__builder_doc(&options);
    t->has_collation = !ash__value_is_missing(ash__doc_get(wanted, "collation"));
    t->bypass = !ash__value_is_missing(ash__doc_get(wanted, "validator"));
    if (t->to != NULL)
        rc = describe(t->to, &there, err);
    if (rc == 0 && (t->to == NULL || ash__doc_is_empty(ash__builder_doc(&there)))) {
        ash_error own = ASH_ERROR_INIT;
        rc = make(t, wanted, &own);
        if (rc == ASH_EEXISTS && own.server_code == ASH_MONGO_NAMESPACE_EXISTS)
            rc = describe(t->to, &there, err); /* somebody else was faster */
        else
            (void)ash__unless(0, rc, &own, err);
    }
    if (rc == 0 && t->to != NULL && !ash__doc_is_empty(ash__builder_doc(&there))) {
        t->made = false;
        t->may_be_there = true;
        rc = compare_options(t, ash__builder_doc(&there), wanted, err);
    }
    ash__builder_release(&there);
    ash__builder_release(&options);
    return rc;
}

/* ---- indexes ---- */

/* The spec as somebody would give it: without the source's own notes on it. */
static void index_spec(const ash_copy_table *t, ash_doc listed, ash_builder *out)
{
    bool has_collation = false;
    ash__builder_begin(out);
    ash__builder_begin_doc(out, "0");
    for (ash_doc_iter it = ash__doc_iter(listed); ash__doc_iter_next(&it);) {
        bool collation = strcmp(it.name, "collation") == 0 && it.value.type == BSON_TYPE_DOCUMENT;
        has_collation = has_collation || collation;
        if (collation)
            append_collation(out, it.name, ash__value_doc(it.value));
        else if (strcmp(it.name, "v") != 0 && strcmp(it.name, "ns") != 0)
            ash__builder_element(out, &it);
    }
    /* Left out, the index would get the collection's collation. */
    if (t->has_collation && !has_collation) {
        ash__builder_begin_doc(out, "collation");
        ash__builder_text(out, "locale", "simple");
        ash__builder_end(out);
    }
    ash__builder_end(out);
    ash__builder_end(out);
}

static int64_t count_of(const bson_t *reply, const char *name)
{
    bson_iter_t at;
    return bson_iter_init_find(&at, reply, name) ? bson_iter_as_int64(&at) : 0;
}

static int make_index(ash_copy_table *t, ash_doc listed, ash_error *err)
{
    ash_builder specs = ASH_BUILDER_INIT;
    bson_t view, reply;
    index_spec(t, listed, &specs);
    ash__doc_to_bson(ash__builder_doc(&specs), &view);
    int rc = ash_collection_create_indexes(t->to, &view, NULL, &reply, err);
    if (rc == 0) {
        t->indexes += count_of(&reply, "numIndexesAfter") - count_of(&reply, "numIndexesBefore");
        bson_destroy(&reply);
    }
    ash__builder_release(&specs);
    return rc;
}

static int bring_index(ash_copy_table *t, ash_doc listed, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    ash_value name = ash__doc_get(listed, "name");
    uint32_t len;
    /* Every collection has that one. */
    if (name.type != BSON_TYPE_UTF8 || strcmp(ash__value_string(name, &len), "_id_") == 0)
        return 0;
    int rc = t->all->cmd->dry_run ? 0 : make_index(t, listed, &own);
    if (rc != 0 && !ash__copy_ends_all(rc)) {
        ash__copy_table_fail(t, ash__value_string(name, &len), &own);
        return 0;
    }
    return ash__unless(0, rc, &own, err);
}

int ash__copy_indexes(ash_copy_table *t, ash_error *err)
{
    ash_cursor *cursor = NULL;
    ash_error own = ASH_ERROR_INIT;
    ash_doc doc = {0};
    int rc = ash_collection_list_indexes(t->from, NULL, &cursor, &own);
    if (rc == ASH_ENOTFOUND)
        return 0; /* it was dropped meanwhile */
    (void)ash__unless(0, rc, &own, err);
    if (rc == 0)
        rc = ash_cursor_next(cursor, &doc, err);
    while (rc == 0 && doc.data != NULL) {
        rc = bring_index(t, doc, err);
        if (rc == 0)
            rc = ash_cursor_next(cursor, &doc, err);
    }
    ash_cursor_free(cursor);
    return rc;
}
