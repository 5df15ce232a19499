/* SPDX-License-Identifier: Apache-2.0 */
#include "disk.h"

#include "base/file.h"
#include "base/mem.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTOR = 512, PIECE = 65536 };

typedef struct change {
    uint64_t number;
    enum journal_kind kind; /* WRITE, SIZE, RESERVE, PUNCH */
    uint64_t offset;        /* or the size */
    uint64_t len;
    const uint8_t *bytes;
} change;

typedef struct image {
    uint8_t *bytes; /* zero from size to capacity */
    uint64_t size;
    uint64_t capacity;
} image;

typedef struct node {
    struct node *next;
    uint64_t inode; /* 0: its number belongs to another file by now */
    image durable;
    change *changes;
    size_t count, capacity;
} node;

/* A path and what it names, or (of a pending change) does no longer name. */
typedef struct name {
    uint64_t number;
    char *path;
    node *file; /* NULL: a folder */
    bool gone;
} name;

typedef struct names {
    name *items;
    size_t count, capacity;
} names;

struct disk {
    node *nodes;
    names durable;
    names pending;
    struct {
        uint64_t number;
        node *file;
        char *folder; /* when file is NULL */
    } syncs[64];
    uint64_t next;
};

disk *disk_new(void)
{
    return ash__new(disk);
}

static void names_free(names *n)
{
    for (size_t i = 0; i < n->count; i++)
        ash__free(n->items[i].path);
    ash__free(n->items);
}

void disk_free(disk *d)
{
    if (d == NULL)
        return;
    while (d->nodes != NULL) {
        node *next = d->nodes->next;
        ash__free(d->nodes->durable.bytes);
        ash__free(d->nodes->changes);
        ash__free(d->nodes);
        d->nodes = next;
    }
    names_free(&d->durable);
    names_free(&d->pending);
    for (size_t i = 0; i < ASH_ARRAY_LEN(d->syncs); i++)
        ash__free(d->syncs[i].folder);
    ash__free(d);
}

/* ---- bytes ---- */

static void image_resize(image *m, uint64_t size)
{
    if (size > m->capacity) {
        uint64_t capacity = size + size / 2 + PIECE;
        m->bytes = ash__realloc_array(m->bytes, capacity, 1);
        memset(m->bytes + m->capacity, 0, capacity - m->capacity);
        m->capacity = capacity;
    }
    if (size < m->size)
        memset(m->bytes + size, 0, m->size - size);
    m->size = size;
}

static void image_put(image *m, uint64_t offset, const uint8_t *bytes, uint64_t len)
{
    if (offset + len > m->size)
        image_resize(m, offset + len);
    memcpy(m->bytes + offset, bytes, len);
}

static void image_clear(image *m, uint64_t offset, uint64_t len)
{
    if (offset >= m->size)
        return;
    memset(m->bytes + offset, 0, len < m->size - offset ? len : m->size - offset);
}

static void image_apply(image *m, const change *c)
{
    if (c->kind == JOURNAL_WRITE)
        image_put(m, c->offset, c->bytes, c->len);
    else if (c->kind == JOURNAL_PUNCH)
        image_clear(m, c->offset, c->len);
    else if (c->kind == JOURNAL_SIZE || c->offset > m->size)
        image_resize(m, c->offset);
}

/* Each sector of a change by itself. */
static void image_apply_some(image *m, const change *c, rng *r, uint32_t eighths)
{
    if (c->kind != JOURNAL_WRITE && c->kind != JOURNAL_PUNCH) {
        if (rng_below(r, 8) < eighths)
            image_apply(m, c);
        return;
    }
    for (uint64_t at = c->offset, end = c->offset + c->len; at < end;) {
        uint64_t stop = (at / SECTOR + 1) * SECTOR;
        change part = *c;
        part.offset = at;
        part.len = (stop < end ? stop : end) - at;
        if (part.bytes != NULL)
            part.bytes += at - c->offset;
        if (rng_below(r, 8) < eighths)
            image_apply(m, &part);
        at += part.len;
    }
}

/* ---- taking entries ---- */

static node *find_node(disk *d, uint64_t inode)
{
    for (node *n = d->nodes; n != NULL; n = n->next) {
        if (n->inode == inode)
            return n;
    }
    node *n = ash__new(node);
    n->inode = inode;
    n->next = d->nodes;
    d->nodes = n;
    return n;
}

static name *names_add(names *n, name item)
{
    if (n->count == n->capacity) {
        n->capacity = n->capacity * 2 + 16;
        n->items = ash__realloc_array(n->items, n->capacity, sizeof *n->items);
    }
    n->items[n->count] = item;
    return &n->items[n->count++];
}

static name *names_find(names *n, const char *path)
{
    for (size_t i = n->count; i > 0; i--) {
        if (strcmp(n->items[i - 1].path, path) == 0)
            return &n->items[i - 1];
    }
    return NULL;
}

static void names_set(names *n, const name *item)
{
    name *old = names_find(n, item->path);
    if (old != NULL) {
        old->file = item->file;
        old->gone = item->gone;
    } else {
        name copy = *item;
        copy.path = ash__strdup(item->path);
        names_add(n, copy);
    }
}

static void take_name(disk *d, const journal_entry *e, const uint8_t *bytes)
{
    const char *text = (const char *)bytes;
    name item = {.number = d->next, .path = ash__strndup(text, e->len)};
    if (e->kind == JOURNAL_CREATE) {
        find_node(d, e->a)->inode = 0;
        item.file = find_node(d, e->a);
    } else if (e->kind == JOURNAL_UNLINK) {
        item.gone = true;
    } else if (e->kind == JOURNAL_RENAME) {
        const name *old = names_find(&d->pending, item.path);
        if (old == NULL)
            old = names_find(&d->durable, item.path);
        ash_assert(old != NULL);
        name target = {.number = d->next, .file = old->file};
        target.path = ash__strndup(text + strlen(text) + 1, e->len - strlen(text) - 1);
        names_add(&d->pending, target);
        item.gone = true;
    }
    names_add(&d->pending, item);
}

static void take_change(disk *d, const journal_entry *e, const uint8_t *bytes)
{
    node *n = find_node(d, e->a);
    if (n->count == n->capacity) {
        n->capacity = n->capacity * 2 + 16;
        n->changes = ash__realloc_array(n->changes, n->capacity, sizeof *n->changes);
    }
    change c = {.number = d->next, .kind = (enum journal_kind)e->kind, .offset = e->b};
    c.len = e->kind == JOURNAL_WRITE ? e->len : e->c;
    c.bytes = e->kind == JOURNAL_WRITE ? bytes : NULL;
    n->changes[n->count++] = c;
}

static void begin_sync(disk *d, const journal_entry *e, const uint8_t *bytes)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(d->syncs); i++) {
        if (d->syncs[i].file != NULL || d->syncs[i].folder != NULL)
            continue;
        d->syncs[i].number = d->next;
        if (e->a != 0)
            d->syncs[i].file = find_node(d, e->a);
        else
            d->syncs[i].folder = ash__strndup((const char *)bytes, e->len);
        return;
    }
    ash_assert(!"too many syncs at once");
}

/* Changes before `number`, or just the one with it, are durable now. */
static void settle_file(node *n, uint64_t number, bool just_it)
{
    size_t left = 0;
    for (size_t i = 0; i < n->count; i++) {
        const change *c = &n->changes[i];
        if (just_it ? c->number == number : c->number < number)
            image_apply(&n->durable, c);
        else
            n->changes[left++] = *c;
    }
    n->count = left;
}

static bool is_in(const char *path, const char *folder)
{
    const char *slash = strrchr(path, '/');
    size_t len = slash != NULL ? (size_t)(slash - path) : 0;
    return strlen(folder) == len && memcmp(path, folder, len) == 0;
}

static void settle_folder(disk *d, const char *folder, uint64_t number)
{
    size_t left = 0;
    for (size_t i = 0; i < d->pending.count; i++) {
        name *item = &d->pending.items[i];
        if (item->number < number && is_in(item->path, folder)) {
            names_set(&d->durable, item);
            ash__free(item->path);
        } else {
            d->pending.items[left++] = *item;
        }
    }
    d->pending.count = left;
}

static void end_sync(disk *d, uint64_t number)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(d->syncs); i++) {
        if (d->syncs[i].number != number ||
            (d->syncs[i].file == NULL && d->syncs[i].folder == NULL))
            continue;
        if (d->syncs[i].file != NULL)
            settle_file(d->syncs[i].file, number, false);
        else
            settle_folder(d, d->syncs[i].folder, number);
        ash__free(d->syncs[i].folder);
        d->syncs[i].file = NULL;
        d->syncs[i].folder = NULL;
    }
}

void disk_take(disk *d, const journal_entry *e, const uint8_t *bytes)
{
    switch (e->kind) {
    case JOURNAL_CREATE:
    case JOURNAL_MKDIR:
    case JOURNAL_RENAME:
    case JOURNAL_UNLINK:
        take_name(d, e, bytes);
        break;
    case JOURNAL_WRITE:
    case JOURNAL_SIZE:
    case JOURNAL_RESERVE:
    case JOURNAL_PUNCH:
        take_change(d, e, bytes);
        break;
    case JOURNAL_SYNC_BEGIN:
        begin_sync(d, e, bytes);
        break;
    case JOURNAL_SYNC_END:
        end_sync(d, e->c);
        break;
    case JOURNAL_WRITTEN:
        settle_file(find_node(d, e->a), e->c, true);
        break;
    default:
        break;
    }
    d->next++;
}

size_t disk_pending(const disk *d)
{
    size_t sum = 0;
    for (const node *n = d->nodes; n != NULL; n = n->next) {
        for (size_t i = 0; i < n->count; i++)
            sum += n->changes[i].kind == JOURNAL_WRITE ? n->changes[i].len : 0;
    }
    return sum;
}

/* ---- cutting ---- */

const char *disk_cut_name(enum disk_cut cut)
{
    static const char *const texts[] = {"nothing unsynced left", "everything left", "some writes",
                                        "some sectors"};
    return texts[cut];
}

static uint32_t share_of(enum disk_cut cut, rng *r)
{
    static const uint32_t shares[] = {1, 4, 7};
    if (cut == DISK_CUT_NOTHING_LEFT)
        return 0;
    return cut == DISK_CUT_ALL_LEFT ? 8 : shares[rng_below(r, 3)];
}

static void cut_file(const node *n, enum disk_cut cut, rng *r, uint32_t eighths, image *out)
{
    *out = (image){0};
    image_put(out, 0, n->durable.bytes, n->durable.size);
    for (size_t i = 0; i < n->count; i++) {
        if (cut == DISK_CUT_SECTORS)
            image_apply_some(out, &n->changes[i], r, eighths);
        else if (rng_below(r, 8) < eighths)
            image_apply(out, &n->changes[i]);
    }
}

static bool is_zero(const uint8_t *bytes, size_t len)
{
    return len == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, len - 1) == 0);
}

static bool save_image(const image *m, const char *path)
{
    int fd = -1;
    int result = ash__file_open(path, O_RDWR | O_CREAT | O_TRUNC, &fd, NULL);
    if (result == 0 && ftruncate(fd, (off_t)m->size) != 0)
        result = -1;
    for (uint64_t at = 0; result == 0 && at < m->size; at += PIECE) {
        size_t len = m->size - at < PIECE ? (size_t)(m->size - at) : PIECE;
        if (!is_zero(m->bytes + at, len))
            result = ash__file_write(fd, m->bytes + at, len, (off_t)at, NULL);
    }
    ash__file_close(fd);
    return result == 0;
}

static bool save_name(const name *item, enum disk_cut cut, rng *r, uint32_t eighths,
                      const char *folder)
{
    image m = {0};
    char *path = ash__path_join(folder, item->path);
    char *parent = ash__strdup(path);
    struct stat st;
    bool ok = true;
    *strrchr(parent, '/') = 0;
    if (item->gone || stat(parent, &st) != 0) {
        ok = true;
    } else if (item->file == NULL) {
        ok = mkdir(path, 0700) == 0;
    } else {
        cut_file(item->file, cut, r, eighths, &m);
        ok = save_image(&m, path);
        ash__free(m.bytes);
    }
    ash__free(parent);
    ash__free(path);
    return ok;
}

bool disk_save(disk *d, enum disk_cut cut, rng *r, const char *folder)
{
    names left = {0};
    uint32_t eighths = share_of(cut, r);
    bool ok = true, kept = false;
    for (size_t i = 0; i < d->durable.count; i++)
        names_set(&left, &d->durable.items[i]);
    for (size_t i = 0; i < d->pending.count; i++) {
        /* Both halves of a rename share their fate. */
        bool is_half = i > 0 && d->pending.items[i - 1].number == d->pending.items[i].number;
        kept = is_half ? kept : rng_below(r, 8) < eighths;
        if (kept)
            names_set(&left, &d->pending.items[i]);
    }
    /* Folders come before what is in them: they were made before. */
    for (size_t i = 0; ok && i < left.count; i++)
        ok = save_name(&left.items[i], cut, r, eighths, folder);
    names_free(&left);
    return ok;
}
