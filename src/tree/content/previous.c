/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/previous.h"

#include "base/mem.h"
#include "tree/codec/common.h"
#include "tree/content/named.h"

#include <stdlib.h>
#include <string.h>

/* As many pieces of before as may make a prefix, and how far around the place they may lie. */
enum { PREFIX_PARTS = 8 };

struct ash_previous {
    ash_fetch fetch;
    ash_form form; /* with parts in any case: a content that is kept as a whole is one */
    int64_t *starts;
    size_t *by_id; /* numbers of parts in order of their ids */
    int64_t moved; /* what to add to a place in the new content */
    /* Pieces in a row that had nothing in common with what was there, and those to be passed over
     * before the next look. */
    unsigned strange, unseen;
    ash_id_set verified;
};

typedef struct keyed {
    const ash_form_part *part;
    size_t i;
} keyed;

static int compare_keyed(const void *a, const void *b)
{
    const keyed *x = a, *y = b;
    int order = memcmp(x->part->id.bytes, y->part->id.bytes, sizeof x->part->id.bytes);
    return order != 0 ? order : (x->i > y->i) - (x->i < y->i);
}

static void index_parts(ash_previous *p)
{
    size_t n = p->form.part_count;
    keyed *all = ash__alloc_array(n + 1, sizeof *all);
    int64_t at = 0;
    p->starts = ash__alloc_array(n + 1, sizeof *p->starts);
    p->by_id = ash__alloc_array(n + 1, sizeof *p->by_id);
    for (size_t i = 0; i < n; i++) {
        p->starts[i] = at;
        at += p->form.parts[i].len;
        all[i] = (keyed){&p->form.parts[i], i};
    }
    p->starts[n] = at;
    qsort(all, n, sizeof *all, compare_keyed);
    for (size_t i = 0; i < n; i++)
        p->by_id[i] = all[i].i;
    ash__free(all);
}

/* What is no list is one of one part. */
static void make_list(ash_previous *p)
{
    ash_form *f = &p->form;
    if (f->kind == ASH_FORM_CAT)
        return;
    ash__free(f->parts);
    f->parts = ash__new(ash_form_part);
    f->parts[0] = (ash_form_part){.id = f->id, .len = f->size};
    f->part_count = 1;
}

int ash__previous_open(ash_contents *c, const ash_content_id *before, const ash_op *op,
                       ash_previous **out, ash_error *err)
{
    bson_t doc;
    bool found = false;
    *out = NULL;
    int rc = before->len != 0 ? ash__find_content(c, before, op, &doc, &found, err) : 0;
    if (rc != 0 || !found)
        return rc;
    ash_previous *p = ash__new(ash_previous);
    bool usable = ash__form_read(&doc, &p->form, NULL) == 0 && p->form.size > 0;
    bson_destroy(&doc);
    rc = ash__fetch_init(&p->fetch, c, op, err);
    if (rc == 0 && usable) {
        make_list(p);
        index_parts(p);
        *out = p;
        return 0;
    }
    ash__previous_close(p);
    return rc;
}

void ash__previous_close(ash_previous *p)
{
    if (p == NULL)
        return;
    ash__fetch_release(&p->fetch);
    ash__id_set_release(&p->verified);
    ash__form_release(&p->form);
    ash__free(p->starts);
    ash__free(p->by_id);
    ash__free(p);
}

/* Of several equal ones, that which lies nearest to where it was expected. */
void ash__previous_align(ash_previous *p, const ash_content_id *id, int64_t position)
{
    size_t low = 0, high = p->form.part_count;
    int64_t best = INT64_MAX, moved = p->moved;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const ash_form_part *part = &p->form.parts[p->by_id[middle]];
        if (memcmp(part->id.bytes, id->bytes, sizeof id->bytes) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < p->form.part_count; low++) {
        size_t i = p->by_id[low];
        if (!ash__content_id_equal(&p->form.parts[i].id, id))
            break;
        int64_t away = llabs(p->starts[i] - position - moved);
        if (away < best) {
            best = away;
            p->moved = p->starts[i] - position;
        }
    }
    if (best != INT64_MAX)
        p->strange = p->unseen = 0;
}

/* The parts that lie where the piece would, and one on either side. */
static size_t parts_around(const ash_previous *p, int64_t start, int64_t end, size_t *first)
{
    size_t n = p->form.part_count, i = 0, high = n;
    while (high - i > 1) {
        size_t middle = i + (high - i) / 2;
        if (p->starts[middle] <= start)
            i = middle;
        else
            high = middle;
    }
    *first = i > 0 ? i - 1 : 0;
    size_t last = i;
    while (last + 1 < n && p->starts[last + 1] < end)
        last++;
    if (last + 1 < n)
        last++;
    return last - *first + 1 < PREFIX_PARTS ? last - *first + 1 : PREFIX_PARTS;
}

/* Of a long part, what lies around the place. */
static ash_form_part narrow(const ash_previous *p, size_t i, int64_t start, int64_t end)
{
    ash_form_part part = p->form.parts[i];
    int64_t margin = end - start, from = start - margin - p->starts[i];
    int64_t to = end + margin - p->starts[i];
    if (part.id.len == 0 || part.zipped || part.len <= 4 * margin)
        return part;
    from = from > 0 ? from : 0;
    to = to < part.len ? to : part.len;
    if (from >= to)
        return part;
    part.off += from;
    part.len = to - from;
    return part;
}

typedef struct prefix_parts {
    ash_plan *plan;
    int64_t len;
} prefix_parts;

static void add_part(prefix_parts *x, const ash_form_part *part, int32_t depth)
{
    ash_plan *plan = x->plan;
    if (part->id.len == 0 || part->zipped || depth >= ASH_PIECE_CHAIN_MAX ||
        plan->part_count == PREFIX_PARTS || x->len + part->len > ASH_CONTENT_WHOLE_MAX)
        return;
    for (size_t i = 0; i < plan->part_count; i++)
        if (ash__content_id_equal(&plan->parts[i].id, &part->id))
            return;
    x->len += part->len;
    plan->parts[plan->part_count++] = *part;
    if (depth >= plan->depth)
        plan->depth = depth + 1;
}

/* A piece, or where its chain is as long as they get, what it stands on itself. */
static int add_piece(ash_previous *p, prefix_parts *x, const ash_form_part *part, ash_error *err)
{
    bson_t doc;
    ash_form form;
    bool found = false;
    int rc = ash__find_content(p->fetch.contents, &part->id, &p->fetch.op, &doc, &found, err);
    if (rc != 0 || !found)
        return rc;
    if (ash__form_read(&doc, &form, NULL) == 0) {
        if (form.depth < ASH_PIECE_CHAIN_MAX)
            add_part(x, part, form.depth);
        for (size_t i = 0; form.depth == ASH_PIECE_CHAIN_MAX && i < form.part_count; i++)
            add_part(x, &form.parts[i], form.depth - 1);
    }
    ash__form_release(&form);
    bson_destroy(&doc);
    return 0;
}

static int choose_parts(ash_previous *p, int64_t start, int64_t end, ash_plan *plan, ash_error *err)
{
    size_t first = 0, count = parts_around(p, start, end, &first);
    prefix_parts x = {.plan = plan};
    int rc = 0;
    plan->parts = ash__alloc_array(PREFIX_PARTS, sizeof *plan->parts);
    for (size_t i = first; rc == 0 && i < first + count; i++) {
        const ash_form_part part = narrow(p, i, start, end);
        if (part.id.len != 0)
            rc = add_piece(p, &x, &part, err);
    }
    return rc;
}

/* What stands on bytes that are not what their digest says would be damaged by whoever heals them.
 * Each is looked at once, and only where something would stand on it. */
static bool are_sound(ash_previous *p, const ash_plan *plan)
{
    bool sound = true;
    for (size_t i = 0; sound && i < plan->part_count; i++) {
        const ash_content_id *id = &plan->parts[i].id;
        if (ash__id_set_has(&p->verified, id))
            continue;
        sound = ash__fetch_verify(&p->fetch, id, NULL) == 0;
        if (sound)
            ash__id_set_add(&p->verified, id);
    }
    return sound;
}

/* Where one piece after the other is new, and is of bytes that do not compress, it is another content
 * under an old name: half as many are looked at each time, and 1 of 64 in the end. */
static bool is_worth_a_look(ash_previous *p, bool random)
{
    if (!random || p->unseen == 0)
        return true;
    p->unseen--;
    return false;
}

static bool has_common_bytes(ash_previous *p, ash_span data, ash_span prefix)
{
    enum { TRIED_ALL = 2, MOST = 6 };
    if (ash__has_common_run(data, prefix)) {
        p->strange = 0;
        return true;
    }
    unsigned doublings = ++p->strange > TRIED_ALL ? p->strange - TRIED_ALL : 0;
    p->unseen = (1U << (doublings < MOST ? doublings : MOST)) - 1;
    return false;
}

int ash__previous_delta(ash_previous *p, ash_content_writer *w, ash_plan *plan, ash_span data,
                        int64_t position, ash_error *err)
{
    int64_t size = p->starts[p->form.part_count], start = position + p->moved;
    ash_blob *prefix = NULL;
    start = start < 0 ? 0 : start < size ? start : size - 1;
    if (!is_worth_a_look(p, plan->is_random))
        return 0;
    int rc = choose_parts(p, start, start + (int64_t)data.len, plan, err);
    /* What cannot be read does not keep the new version from being stored. */
    if (rc == 0 && plan->part_count > 0 &&
        ash__fetch_parts(&p->fetch, plan->parts, plan->part_count, &prefix, NULL) == 0 &&
        (!plan->is_random || has_common_bytes(p, data, (ash_span){prefix->data, prefix->len})))
        rc = ash__plan_frame(w, plan, (ash_span){prefix->data, prefix->len}, data,
                             data.len - data.len / 4, err);
    bool good = rc == 0 && plan->packed != NULL && are_sound(p, plan);
    ash__fetch_forgive(&p->fetch);
    ash__blob_release(prefix);
    if (good) {
        plan->store = "delta";
        return 0;
    }
    ash__free(plan->parts);
    ash__free(plan->packed);
    plan->packed = NULL;
    plan->data = data.data;
    plan->len = data.len;
    plan->parts = NULL;
    plan->part_count = 0;
    plan->depth = 0;
    return rc;
}
