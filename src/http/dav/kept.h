/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_KEPT_H
#define ASH_HTTP_DAV_KEPT_H

/* Small files that were read whole, and are given again from memory for as long as nothing in the
 * store changes: nobody could read anything else (store/parts.h, ash__store_moment).
 *
 * At most ASH_KEPT_FILES of at most ASH_KEPT_MAX_BYTES each; of two whose paths meet in one place
 * the later one stays.  Any thread. */

#include <ashlar/tree.h>

#include <stdatomic.h>

enum { ASH_KEPT_FILES = 256, ASH_KEPT_MAX_BYTES = 16 * 1024 };

/* Never changes while anybody has it. */
typedef struct ash_kept_file {
    _Atomic int32_t holders;
    uint64_t moment; /* since which it is so */
    char *path;
    ash_tree_entry *entry;
    char *fields; /* of an answer, "Name: value\r\n" … */
    size_t fields_len, len;
    uint8_t *data;
} ash_kept_file;

typedef struct ash_kept_files ash_kept_files;

ash_kept_files *ash__kept_files_new(void);
void ash__kept_files_free(ash_kept_files *k); /* NULL is fine */

/* As it is at that moment, or NULL.  ash__kept_file_release() it. */
ash_kept_file *ash__kept_file_find(ash_kept_files *k, const char *path, uint64_t moment);
void ash__kept_file_release(ash_kept_file *f); /* NULL is fine */

/* Everything is copied.  moment: from before it was looked for. */
typedef struct ash_kept_facts {
    const char *path;
    uint64_t moment;
    const ash_tree_entry *entry;
    const void *fields, *data;
    size_t fields_len, len;
} ash_kept_facts;
void ash__kept_file_add(ash_kept_files *k, const ash_kept_facts *facts);

#endif
