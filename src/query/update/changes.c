/* SPDX-License-Identifier: Apache-2.0 */
/* {updatedFields, removedFields, truncatedArrays, disambiguatedPaths?}: operators say which fields
 * they touched, so the tree guides the comparison of before and after; for pipelines the documents
 * are compared.
 *
 * A path is ambiguous when a document's field in it looks like an array's index or holds a dot;
 * disambiguatedPaths spells those out, part by part. */
#include "query/update/node.h"

#include "base/mem.h"
#include "bson/path.h"

#include <stdlib.h>
#include <string.h>

/* One part of the path at hand; the name belongs to whoever pushed it. */
struct part {
    const char *name;
    bool is_index;
};

struct changes {
    ash_builder updated;
    ash_builder removed;
    uint32_t removed_count;
    ash_builder truncated;
    uint32_t truncated_count;
    ash_builder ambiguous;
    uint32_t ambiguous_count;
    ash_buffer path;
    ash_buffer parts; /* of struct part */
    int32_t position;
};

/* Appends a part to the path; the length before it, to go back to. */
static size_t push_part(struct changes *c, const char *name, bool is_index)
{
    struct part part = {name, is_index};
    size_t before = c->path.len;
    if (c->parts.len > 0)
        ash__buffer_append_byte(&c->path, '.');
    ash__buffer_append_text(&c->path, name);
    ash__buffer_append(&c->parts, &part, sizeof part);
    return before;
}

static void pop_part(struct changes *c, size_t before)
{
    c->path.len = before;
    c->parts.len -= sizeof(struct part);
}

static const char *path_text(struct changes *c)
{
    return ash__buffer_text(&c->path);
}

static bool is_ambiguous(const struct part *part)
{
    uint32_t index;
    return !part->is_index && (strchr(part->name, '.') != NULL ||
                               ash__path_index(part->name, strlen(part->name), &index));
}

/* The path at hand changed. */
static void note_path(struct changes *c)
{
    const struct part *parts = (const struct part *)(const void *)c->parts.data;
    size_t count = c->parts.len / sizeof *parts;
    size_t i = 0;
    char name[12];
    while (i < count && !is_ambiguous(&parts[i]))
        i++;
    if (i == count)
        return;
    c->ambiguous_count++;
    ash__builder_begin_array(&c->ambiguous, path_text(c));
    for (i = 0; i < count; i++) {
        const char *at = ash__index_name((uint32_t)i, name);
        if (parts[i].is_index)
            ash__builder_int32(&c->ambiguous, at, (int32_t)strtoul(parts[i].name, NULL, 10));
        else
            ash__builder_text(&c->ambiguous, at, parts[i].name);
    }
    ash__builder_end(&c->ambiguous);
}

static void add_updated(struct changes *c, ash_value v)
{
    note_path(c);
    ash__builder_value(&c->updated, path_text(c), v);
}

static void add_removed(struct changes *c)
{
    char name[12];
    note_path(c);
    ash__builder_text(&c->removed, ash__index_name(c->removed_count++, name), path_text(c));
}

static void add_truncated(struct changes *c, uint32_t len)
{
    char name[12];
    note_path(c);
    ash__builder_begin_doc(&c->truncated, ash__index_name(c->truncated_count++, name));
    ash__builder_text(&c->truncated, "field", path_text(c));
    ash__builder_int32(&c->truncated, "newSize", (int32_t)len);
    ash__builder_end(&c->truncated);
}

/* A document's fields by name: sorted when it pays, since wide documents may change everywhere. */
struct field {
    const char *name;
    ash_value value;
};

struct fields {
    ash_doc doc;
    struct field *sorted; /* or NULL */
    uint32_t count;
};

/* Of fields of one name the first is looked at, as everywhere. */
static int by_name_and_place(const void *a, const void *b)
{
    const struct field *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    return order != 0 ? order : (x->name > y->name) - (x->name < y->name);
}

static struct fields fields_of(ash_doc doc, uint32_t lookups)
{
    struct fields f = {doc, NULL, 0};
    /* So few searches are cheaper than sorting. */
    if (lookups < 16)
        return f;
    f.sorted = ash__alloc_array(ash__doc_count(doc) + 1, sizeof *f.sorted);
    for (ash_doc_iter it = ash__doc_iter(doc); ash__doc_iter_next(&it);)
        f.sorted[f.count++] = (struct field){it.name, it.value};
    qsort(f.sorted, f.count, sizeof *f.sorted, by_name_and_place);
    return f;
}

static ash_value field_named(const struct fields *f, const char *name)
{
    uint32_t low = 0, high = f->count;
    if (f->sorted == NULL)
        return ash__doc_get(f->doc, name);
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (strcmp(f->sorted[mid].name, name) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    bool found = low < f->count && strcmp(f->sorted[low].name, name) == 0;
    return found ? f->sorted[low].value : ASH_VALUE_MISSING;
}

static bool add_simple(struct changes *c, ash_value before, ash_value after)
{
    if (ash__value_identical(before, after))
        return true;
    if (ash__value_is_missing(after)) {
        add_removed(c);
        return true;
    }
    if (ash__value_is_missing(before)) {
        add_updated(c, after);
        return true;
    }
    return false;
}

/* Elements behind the end of `before`, when all before them is unchanged: then its bytes, but for
 * the length and the end, are the beginning of those of `after`. */
static bool add_appended(struct changes *c, ash_value before, ash_value after)
{
    uint32_t index = 0;
    if (before.type != BSON_TYPE_ARRAY || after.type != BSON_TYPE_ARRAY || after.len < before.len ||
        memcmp(before.data + 4, after.data + 4, before.len - 5) != 0)
        return false;
    uint32_t skip = ash__doc_count(ash__value_doc(before));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(after)); ash__doc_iter_next(&it); index++) {
        if (index < skip)
            continue;
        size_t mark = push_part(c, it.name, true);
        add_updated(c, it.value);
        pop_part(c, mark);
    }
    return true;
}

static void walk(struct changes *c, const ash_update_node *n, ash_value before, ash_value after);

/* Such an update touches every item, and leaves each in its place. */
static void walk_items(struct changes *c, const ash_update_node *n, ash_value before,
                       ash_value after)
{
    ash_doc_iter other = ash__doc_iter(ash__value_doc(after));
    for (ash_doc_iter it = ash__doc_iter(ash__value_doc(before)); ash__doc_iter_next(&it);) {
        ash_value item = ash__doc_iter_next(&other) ? other.value : ASH_VALUE_MISSING;
        size_t mark = push_part(c, it.name, true);
        /* Where several filters may have met an item, it is told as a whole. */
        if (n->count == 1)
            walk(c, n->children[0], it.value, item);
        else if (!ash__value_identical(it.value, item))
            add_updated(c, item);
        pop_part(c, mark);
    }
}

static void walk(struct changes *c, const ash_update_node *n, ash_value before, ash_value after)
{
    bool lists = before.type == BSON_TYPE_ARRAY && after.type == BSON_TYPE_ARRAY;
    bool docs = before.type == BSON_TYPE_DOCUMENT && after.type == BSON_TYPE_DOCUMENT;
    if (add_simple(c, before, after))
        return;
    /* $push may have added at the end; what others did to an array is told as a whole. */
    if (n->kind == ASH_UPDATE_LEAF && lists && n->mod->push != NULL &&
        add_appended(c, before, after))
        return;
    if (n->kind == ASH_UPDATE_LEAF || !(lists || docs)) {
        add_updated(c, after);
        return;
    }
    if (n->kind == ASH_UPDATE_ITEMS) {
        walk_items(c, n, before, after);
        return;
    }
    struct fields old = fields_of(ash__value_doc(before), n->count);
    struct fields new = fields_of(ash__value_doc(after), n->count);
    for (uint32_t i = 0; i < n->count; i++) {
        char index[12];
        const char *name = n->names[i];
        /* The place that the filter had met. */
        if (strcmp(name, "$") == 0)
            name = ash__index_name((uint32_t)c->position, index);
        size_t mark = push_part(c, name, lists);
        walk(c, n->children[i], field_named(&old, name), field_named(&new, name));
        pop_part(c, mark);
    }
    ash__free(old.sorted);
    ash__free(new.sorted);
}

static void compare(struct changes *c, ash_value before, ash_value after);

static void compare_fields(struct changes *c, ash_doc before, ash_doc after)
{
    struct fields old = fields_of(before, ash__doc_count(after));
    struct fields new = fields_of(after, ash__doc_count(before));
    for (ash_doc_iter it = ash__doc_iter(before); ash__doc_iter_next(&it);) {
        size_t mark = push_part(c, it.name, false);
        compare(c, it.value, field_named(&new, it.name));
        pop_part(c, mark);
    }
    for (ash_doc_iter it = ash__doc_iter(after); ash__doc_iter_next(&it);) {
        if (!ash__value_is_missing(field_named(&old, it.name)))
            continue;
        size_t mark = push_part(c, it.name, false);
        add_updated(c, it.value);
        pop_part(c, mark);
    }
    ash__free(old.sorted);
    ash__free(new.sorted);
}

static void compare_arrays(struct changes *c, ash_value before, ash_value after)
{
    ash_doc_iter x = ash__doc_iter(ash__value_doc(before));
    ash_doc_iter y = ash__doc_iter(ash__value_doc(after));
    uint32_t same = 0, index = 0;
    while (ash__doc_iter_next(&x) && ash__doc_iter_next(&y))
        same += ash__value_identical(x.value, y.value);
    uint32_t len = ash__doc_count(ash__value_doc(after));
    /* Mostly new items are told as a whole. */
    if (len > 0 && same * 2 < len) {
        add_updated(c, after);
        return;
    }
    /* A change stream tells the new length, and the items that changed one by one. */
    if (len < ash__doc_count(ash__value_doc(before)))
        add_truncated(c, len);
    x = ash__doc_iter(ash__value_doc(before));
    bool more = ash__doc_iter_next(&x);
    for (y = ash__doc_iter(ash__value_doc(after)); ash__doc_iter_next(&y); index++) {
        size_t mark = push_part(c, y.name, true);
        if (more)
            compare(c, x.value, y.value);
        else
            add_updated(c, y.value);
        pop_part(c, mark);
        more = more && ash__doc_iter_next(&x);
    }
}

static void compare(struct changes *c, ash_value before, ash_value after)
{
    if (add_simple(c, before, after))
        return;
    if (before.type == BSON_TYPE_DOCUMENT && after.type == BSON_TYPE_DOCUMENT)
        compare_fields(c, ash__value_doc(before), ash__value_doc(after));
    else if (before.type == BSON_TYPE_ARRAY && after.type == BSON_TYPE_ARRAY)
        compare_arrays(c, before, after);
    else
        add_updated(c, after);
}

static void begin(struct changes *c)
{
    ash__builder_begin(&c->updated);
    ash__builder_begin(&c->removed);
    ash__builder_begin(&c->truncated);
    ash__builder_begin(&c->ambiguous);
}

static void finish(struct changes *c, ash_builder *out)
{
    ash__builder_end(&c->updated);
    ash__builder_end(&c->removed);
    ash__builder_end(&c->truncated);
    ash__builder_end(&c->ambiguous);
    ash__builder_begin(out);
    ash__builder_doc_value(out, "updatedFields", ash__builder_doc(&c->updated));
    ash__builder_array_value(out, "removedFields", ash__builder_doc(&c->removed));
    ash__builder_array_value(out, "truncatedArrays", ash__builder_doc(&c->truncated));
    if (c->ambiguous_count > 0)
        ash__builder_doc_value(out, "disambiguatedPaths", ash__builder_doc(&c->ambiguous));
    ash__builder_end(out);
    ash__builder_release(&c->updated);
    ash__builder_release(&c->removed);
    ash__builder_release(&c->truncated);
    ash__builder_release(&c->ambiguous);
    ash__buffer_release(&c->path);
    ash__buffer_release(&c->parts);
}

void ash__update_changes(const ash_update *u, ash_doc before, ash_doc after, int32_t position,
                         ash_builder *changes)
{
    struct changes c = {.position = position};
    begin(&c);
    walk(&c, u->root, ash__value_of_doc(before), ash__value_of_doc(after));
    finish(&c, changes);
}

void ash__doc_changes(ash_doc before, ash_doc after, ash_builder *changes)
{
    struct changes c = {.position = -1};
    begin(&c);
    compare_fields(&c, before, after);
    finish(&c, changes);
}
