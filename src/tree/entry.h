/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TREE_ENTRY_H
#define ASH_TREE_ENTRY_H

/* Documents of files and folders, taken apart. */

#include "tree/tree.h"

struct ash_tree_entry {
    bson_t *doc; /* as the store has it; everything below but path points into it, or is computed */
    bson_value_t id;     /* of the entry, also where the document is of the history; own */
    bson_value_t parent; /* own; EOD: there is none */
    const char *name;
    const char *content_type; /* or NULL */
    char *path;               /* own; NULL until somebody knows it */
    int32_t version;
    bool is_folder;
    bool is_deleted; /* a deletion, or the last version before one */
    ash_content_ref content;
    char digest[ASH_DIGEST_TEXT_BYTES];
    int64_t created_ms, changed_ms, ended_ms, modified_ms;
};

/* doc: taken over, also on failure.  ASH_ECORRUPT: a field cannot be; the text names it. */
int ash__entry_new(bson_t *doc, ash_tree_entry **out, ash_error *err);
/* The next document of a cursor; NULL at its end. */
int ash__entry_next(ash_cursor *cursor, ash_tree_entry **out, ash_error *err);
/* The root where it has no document of its own. */
ash_tree_entry *ash__entry_new_root(const char *root);
/* Instead of a folder's path, where none leads to what lies in it. */
#define ASH_TREE_NOWHERE "?"

/* What would be longer than a path may be becomes "?/name". */
void ash__entry_set_path(ash_tree_entry *e, const char *folder_path);
/* "/a/b" of a folder and a name in it; ash__free(). */
char *ash__entry_join(const char *folder_path, const char *name);
/* To a caller who may not want it; after a failure to nobody. */
void ash__tree_give(int rc, ash_tree_entry *e, ash_tree_entry **out);

/* As ash__id_equal(), but quick with ObjectIds, which nearly all are. */
bool ash__same_id(const bson_value_t *a, const bson_value_t *b);
/* Of the same ids the same. */
uint64_t ash__hash_id(const bson_value_t *id);
/* {name: {$in: the entries' ids}}, appended to the filter. */
void ash__filter_entries(bson_t *filter, const char *name, ash_tree_entry *const *entries,
                         size_t count);
/* A field of the document by its name; false: there is none. */
bool ash__entry_field(const ash_tree_entry *e, const char *name, bson_iter_t *it);

#endif
