/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/source.h"

#include "base/mem.h"

#include <string.h>

/* Parts one after the other.  Only the one that is read is open. */

/* What a part is opened again for, when it is stored anew meanwhile. */
enum { ATTEMPTS = 5 };

typedef struct list_source {
    ash_source head;
    ash_form *form;
    int64_t *starts; /* of each part in the whole, and where the last ends */
    size_t part;     /* that `inner` is; with inner */
    ash_source *inner;
    int level; /* of the content in others: parts are opened long after it was */
} list_source;

static size_t part_at(const list_source *l, int64_t position)
{
    size_t low = 0, high = l->form->part_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (l->starts[middle] <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static int open_content(list_source *l, const ash_form_part *part, ash_error *err)
{
    ash_fetch *f = l->head.fetch;
    int level = f->level, delta_level = f->delta_level, rc = ASH_ECONFLICT;
    for (int i = 0; rc == ASH_ECONFLICT && i < ATTEMPTS; i++) {
        f->level = l->level;
        f->delta_level = delta_level;
        rc = part->zipped ? ash__source_of_zip(f, part, &l->inner, err)
                          : ash__source_open(f, &part->id, &l->inner, err);
    }
    f->level = level;
    return rc;
}

static bool is_of_same(const ash_form_part *before, const ash_form_part *part)
{
    return part->id.len != 0 && !part->zipped && !before->zipped &&
           ash__content_id_equal(&before->id, &part->id);
}

static int open_part(list_source *l, size_t i, ash_error *err)
{
    const ash_form_part *part = &l->form->parts[i];
    ash_fetch *f = l->head.fetch;
    if (l->inner != NULL && (l->part == i || is_of_same(&l->form->parts[l->part], part))) {
        l->part = i;
        return 0;
    }
    ash__source_free(l->inner);
    l->inner = NULL;
    l->part = i;
    if (part->id.len == 0) {
        l->inner = ash__source_memory(f, part->bytes, part->bytes_len, part->off + part->len);
        return 0;
    }
    return open_content(l, part, err);
}

/* v7files lets a part be longer than what it names, which is repeated then. */
static int check_repetition(const list_source *l, const ash_form_part *part, ash_error *err)
{
    int64_t length = part->id.len == 0 ? (int64_t)part->bytes_len : l->inner->length;
    if (length < 0 || part->off + part->len <= length || l->head.length <= ASH_REPEATED_MAX)
        return 0;
    return ash__fail(err, ASH_ECORRUPT,
                     "repeats a part to be longer than anything that is repeated");
}

/* Where in the opened part the position lies, and how much can be had there. */
static int place_in_part(list_source *l, const ash_form_part *part, int64_t *room, ash_error *err)
{
    int64_t within = l->head.position - l->starts[l->part];
    int64_t at = (part->zipped ? 0 : part->off) + within;
    int64_t length = l->inner->length;
    *room = part->len - within;
    if (length == 0)
        return ash__fail(err, ASH_ECORRUPT, "takes bytes from a content that has none");
    if (length > 0) {
        at %= length;
        if (*room > length - at)
            *room = length - at;
    }
    return ash__source_seek(l->inner, at, err);
}

static int list_read(ash_source *s, uint8_t *buf, size_t len, size_t *got, ash_error *err)
{
    list_source *l = (list_source *)s;
    int64_t room = 0;
    if (s->position >= s->length)
        return 0;
    size_t i = part_at(l, s->position);
    int rc = ash__fetch_go_on(s->fetch, err);
    if (rc == 0)
        rc = open_part(l, i, err);
    if (rc == 0)
        rc = check_repetition(l, &l->form->parts[i], err);
    if (rc == 0)
        rc = place_in_part(l, &l->form->parts[i], &room, err);
    if (rc == 0 && (int64_t)len > room)
        len = (size_t)room;
    if (rc == 0)
        rc = ash__source_read(l->inner, buf, len, got, err);
    if (rc == 0 && *got == 0)
        rc = ash__fail(err, ASH_ECORRUPT, "takes more bytes of a content than that has");
    return rc;
}

static int list_seek(ash_source *s, int64_t position, ash_error *err)
{
    (void)s, (void)position, (void)err;
    return 0;
}

static void destroy(list_source *l)
{
    ash__source_free(l->inner);
    ash__form_release(l->form);
    ash__free(l->form);
    ash__free(l->starts);
    ash__free(l);
}

/* Short ones are read again as quickly. */
static void list_free(ash_source *s)
{
    enum { WORTHWHILE_PARTS = 64 };
    list_source *l = (list_source *)s;
    ash_source **idle = s->fetch->idle;
    if (l->form->part_count < WORTHWHILE_PARTS) {
        destroy(l);
        return;
    }
    ash__source_free(l->inner);
    l->inner = NULL;
    s->position = 0;
    if (idle[ASH_FETCH_IDLE - 1] != NULL)
        destroy((list_source *)idle[ASH_FETCH_IDLE - 1]);
    memmove(idle + 1, idle, (ASH_FETCH_IDLE - 1) * sizeof *idle);
    idle[0] = s;
}

void ash__list_drop_idle(ash_fetch *f)
{
    for (int i = 0; i < ASH_FETCH_IDLE; i++) {
        if (f->idle[i] != NULL)
            destroy((list_source *)f->idle[i]);
        f->idle[i] = NULL;
    }
}

static const ash_source_ops list_ops = {list_read, list_seek, list_free};

ash_source *ash__list_take_idle(ash_fetch *f, const ash_content_id *id)
{
    for (int i = 0; i < ASH_FETCH_IDLE; i++) {
        list_source *l = (list_source *)f->idle[i];
        /* How deep it may be is known of where it was. */
        if (l == NULL || l->level != f->level + 1 || !ash__content_id_equal(&l->head.id, id))
            continue;
        f->idle[i] = NULL;
        return &l->head;
    }
    return NULL;
}

int ash__source_of_list(ash_fetch *f, ash_form *form, ash_source **out, ash_error *err)
{
    list_source *l = ash__new(list_source);
    int64_t sum = 0;
    (void)err;
    l->form = form;
    l->level = f->level;
    l->starts = ash__alloc_array(form->part_count + 1, sizeof *l->starts);
    for (size_t i = 0; i < form->part_count; i++) {
        l->starts[i] = sum;
        sum += form->parts[i].len;
    }
    l->starts[form->part_count] = sum;
    l->head = (ash_source){.ops = &list_ops, .fetch = f, .id = form->id, .length = sum};
    *out = &l->head;
    return 0;
}
