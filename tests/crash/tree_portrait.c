/* SPDX-License-Identifier: Apache-2.0 */
#include "tree_steps.h"

#include "base/error.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* What a twin has otherwise: ids, dates (of tags, too), and the digest as bytes. */
static bool is_own(const bson_iter_t *it)
{
    static const char *const names[] = {"_id", "parent", "sha", "in", "tagged"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(names); i++)
        if (strcmp(bson_iter_key(it), names[i]) == 0)
            return true;
    return bson_iter_type(it) == BSON_TYPE_DATE_TIME || bson_iter_type(it) == BSON_TYPE_OID;
}

static void add_fields(const ash_tree_entry *e, ash_buffer *out)
{
    ash_doc doc = ash_tree_entry_document(e);
    bson_t view, told = BSON_INITIALIZER;
    bson_iter_t it;
    if (doc.len == 0 || !bson_init_static(&view, doc.data, doc.len) || !bson_iter_init(&it, &view))
        return;
    while (bson_iter_next(&it))
        if (!is_own(&it))
            bson_append_iter(&told, NULL, 0, &it);
    char *text = bson_as_relaxed_extended_json(&told, NULL);
    ash__buffer_append_text(out, text);
    bson_free(text);
    bson_destroy(&told);
}

static void add_entry(const ash_tree_entry *e, const char *what, ash_buffer *out)
{
    bool timed = ash_tree_entry_modified_ms(e) != ash_tree_entry_changed_ms(e);
    ash__buffer_printf(out, "%s %s %d%s%s %lld %s %lld ", what, ash_tree_entry_path(e),
                       ash_tree_entry_version(e), ash_tree_entry_is_deleted(e) ? " deleted" : "",
                       ash_tree_entry_is_folder(e) ? " folder" : "",
                       (long long)ash_tree_entry_length(e), ash_tree_entry_digest(e),
                       timed ? (long long)ash_tree_entry_modified_ms(e) : 0);
    add_fields(e, out);
    ash__buffer_append_byte(out, '\n');
}

static int add_history(ash_tree *tree, const char *path, ash_buffer *out, ash_error *err)
{
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    int rc = ash_tree_history(tree, path, 0, NULL, &l, err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, err)) == 0 && e != NULL)
        add_entry(e, "-", out);
    ash_tree_listing_free(l);
    return rc;
}

static int add_current(ash_tree *tree, ash_buffer *out, ash_error *err)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    o.recursive = true;
    int rc = ash_tree_list(tree, "", &o, NULL, &l, err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, err)) == 0 && e != NULL) {
        add_entry(e, "now", out);
        rc = add_history(tree, ash_tree_entry_path(e), out, err);
        if (rc != 0)
            break;
    }
    ash_tree_listing_free(l);
    return rc;
}

/* Versions before the deletion, as far as they are kept. */
static int add_gone(ash_tree *tree, const ash_tree_entry *gone, ash_buffer *out, ash_error *err)
{
    int rc = 0;
    add_entry(gone, "gone", out);
    out->len--; /* of several lines; the last one is ended by the caller */
    for (int32_t v = 1; rc == 0 && v < ash_tree_entry_version(gone); v++) {
        ash_tree_entry *e = NULL;
        rc = ash_tree_get_by_id(tree, ash_tree_entry_id(gone), v, NULL, &e, err);
        if (rc == 0)
            ash__buffer_printf(out, "\ngone %s before %d: %d %s", ash_tree_entry_path(gone),
                               ash_tree_entry_version(gone), v, ash_tree_entry_digest(e));
        rc = rc == ASH_ENOTFOUND || rc == ASH_ENOREVISION ? 0 : rc;
        ash_tree_entry_free(e);
    }
    return rc;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Their order is that of their times, of which a twin may have two in one millisecond. */
static int add_trash(ash_tree *tree, ash_buffer *out, ash_error *err)
{
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    char **texts = NULL;
    size_t count = 0, capacity = 0;
    int rc = ash_tree_trash(tree, "", 0, NULL, &l, err);
    while (rc == 0 && (rc = ash_tree_listing_next(l, &e, err)) == 0 && e != NULL) {
        ash_buffer one = ASH_BUFFER_INIT;
        rc = add_gone(tree, e, &one, err);
        texts = ash__grow_array(texts, count, &capacity, sizeof *texts);
        texts[count++] = ash__strdup(ash__buffer_text(&one));
        ash__buffer_release(&one);
        if (rc != 0)
            break;
    }
    if (count > 1)
        qsort(texts, count, sizeof *texts, compare_texts);
    for (size_t i = 0; i < count; i++) {
        ash__buffer_printf(out, "%s\n", texts[i]);
        ash__free(texts[i]);
    }
    ash__free(texts);
    ash_tree_listing_free(l);
    return rc;
}

int tree_portrait(ash_tree *tree, ash_buffer *out, ash_error *err)
{
    ash_tree_usage u = {.size = sizeof u};
    ash__buffer_clear(out);
    int rc = add_history(tree, "", out, err);
    if (rc == ASH_ENOTFOUND)
        rc = 0; /* nothing was ever set on the root */
    if (rc == 0)
        rc = add_current(tree, out, err);
    if (rc == 0)
        rc = add_trash(tree, out, err);
    if (rc == 0)
        rc = ash_tree_measure(tree, "", NULL, &u, err);
    if (rc == 0)
        ash__buffer_printf(out, "%lld folders, %lld files of %lld, %lld versions of %lld\n",
                           (long long)u.folders, (long long)u.files, (long long)u.bytes,
                           (long long)u.versions, (long long)u.version_bytes);
    return rc;
}
