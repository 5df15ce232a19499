/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/kept.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/thread.h"

#include <string.h>

struct ash_kept_files {
    ash_mutex lock; /* guards the places; what they point to never changes */
    ash_kept_file *places[ASH_KEPT_FILES];
};

ash_kept_files *ash__kept_files_new(void)
{
    ash_kept_files *k = ash__new(ash_kept_files);
    ash__mutex_init(&k->lock, ASH_RANK_KEPT);
    return k;
}

void ash__kept_files_free(ash_kept_files *k)
{
    if (k == NULL)
        return;
    for (size_t i = 0; i < ASH_KEPT_FILES; i++)
        ash__kept_file_release(k->places[i]);
    ash__mutex_release(&k->lock);
    ash__free(k);
}

static ash_kept_file **place_of(ash_kept_files *k, const char *path)
{
    ash__mutex_assert_held(&k->lock);
    return &k->places[ash__checksum(path, strlen(path)) % ASH_KEPT_FILES];
}

ash_kept_file *ash__kept_file_find(ash_kept_files *k, const char *path, uint64_t moment)
{
    ash__mutex_lock(&k->lock);
    ash_kept_file *f = *place_of(k, path);
    if (f != NULL && (f->moment != moment || strcmp(f->path, path) != 0))
        f = NULL;
    if (f != NULL)
        atomic_fetch_add_explicit(&f->holders, 1, memory_order_relaxed);
    ash__mutex_unlock(&k->lock);
    return f;
}

void ash__kept_file_release(ash_kept_file *f)
{
    if (f == NULL || atomic_fetch_sub_explicit(&f->holders, 1, memory_order_acq_rel) > 1)
        return;
    ash_tree_entry_free(f->entry);
    ash__free(f->path);
    ash__free(f->fields);
    ash__free(f->data);
    ash__free(f);
}

void ash__kept_file_add(ash_kept_files *k, const ash_kept_facts *facts)
{
    if (facts->len > ASH_KEPT_MAX_BYTES)
        return;
    ash_kept_file *f = ash__new(ash_kept_file);
    atomic_init(&f->holders, 1);
    f->moment = facts->moment;
    f->path = ash__strdup(facts->path);
    f->entry = ash_tree_entry_copy(facts->entry);
    f->fields = ash__memdup(facts->fields, facts->fields_len);
    f->fields_len = facts->fields_len;
    f->data = ash__memdup(facts->data, facts->len);
    f->len = facts->len;
    ash__mutex_lock(&k->lock);
    ash_kept_file **place = place_of(k, facts->path), *before = *place;
    *place = f;
    ash__mutex_unlock(&k->lock);
    ash__kept_file_release(before);
}
