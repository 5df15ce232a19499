/* SPDX-License-Identifier: Apache-2.0 */
/* A field stays where it came up first, with the value that came last: a table by name finds it
 * again. */
#include "query/kit/merge.h"

#include "base/mem.h"

#include <string.h>

/* Open addressing over the fields of both documents, so that wide documents stay linear. */
struct field {
    const char *name;
    uint32_t name_len;
    ash_value value;
};

struct fields {
    struct field *list;
    uint32_t count;
    uint32_t *slots; /* index + 1 into list; 0 = free */
    uint32_t mask;
};

static uint32_t hash_name(const char *name, uint32_t len)
{
    /* FNV-1a; the upper bits are mixed in, since the mask takes the lower ones. */
    uint32_t h = 2166136261u;
    for (uint32_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)name[i]) * 16777619u;
    return h ^ h >> 15;
}

static void put(struct fields *f, const ash_doc_iter *it)
{
    uint32_t at = hash_name(it->name, it->name_len) & f->mask;
    for (; f->slots[at] != 0; at = (at + 1) & f->mask) {
        struct field *old = &f->list[f->slots[at] - 1];
        if (old->name_len == it->name_len && memcmp(old->name, it->name, it->name_len) == 0) {
            old->value = it->value;
            return;
        }
    }
    f->list[f->count] = (struct field){it->name, it->name_len, it->value};
    f->slots[at] = ++f->count;
}

void ash__doc_merge(ash_builder *out, ash_doc base, ash_doc over)
{
    ash_value both[] = {ash__value_of_doc(base), ash__value_of_doc(over)};
    ash__docs_merge(out, both, 2);
}

void ash__docs_merge(ash_builder *out, const ash_value *docs, uint32_t count)
{
    uint32_t total = 0, size = 8;
    for (uint32_t i = 0; i < count; i++)
        total += ash__doc_count(ash__value_doc(docs[i]));
    /* At most half full, so that a search always ends, and soon. */
    while (size < 2 * total)
        size *= 2;
    struct fields f = {.list = ash__alloc_array(total, sizeof *f.list),
                       .slots = ash__alloc_array(size, sizeof *f.slots),
                       .mask = size - 1};
    for (uint32_t i = 0; i < count; i++)
        for (ash_doc_iter it = ash__doc_iter(ash__value_doc(docs[i])); ash__doc_iter_next(&it);)
            put(&f, &it);
    for (uint32_t i = 0; i < f.count; i++)
        ash__builder_value_n(out, f.list[i].name, f.list[i].name_len, f.list[i].value);
    ash__free(f.list);
    ash__free(f.slots);
}
