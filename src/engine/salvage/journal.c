/* SPDX-License-Identifier: Apache-2.0 */
/* What the journal holds and LMDB does not yet: acknowledged, so it belongs to what is salvaged. */
#include "engine/salvage/internal.h"

#include "engine/journal.h"

/* Records count when they build upon the newest commit that is known, or on one that is lost. */
static bool find_first(const ash_salvage *s, ash_journal_cursor *c)
{
    const ash_journal_image *image = &s->journal;
    if (image->bytes == NULL || image->len < ASH_JOURNAL_FIRST + ASH_JOURNAL_HEAD ||
        image->state == ASH_JOURNAL_FOREIGN)
        return false;
    *c = (ash_journal_cursor){.generation = s->generation};
    if (image->state == ASH_JOURNAL_GOOD)
        c->generation = image->generation;
    else if (c->generation == 0) /* neither header nor metadata tell: the first record does */
        c->generation = ash__get_le64(image->bytes + ASH_JOURNAL_FIRST + 8);
    c->base = ash__journal_newest(image, c->generation);
    return c->base >= ash__pages_newest(s->pages);
}

void ash__salvage_judge_journal(ash_salvage *s)
{
    if (s->journal_promised && s->was_open && s->generation != 0)
        ash__journal_judge(&s->journal, s->generation, ash__pages_newest(s->pages),
                           &s->journal_fault);
}

static void take_record(ash_salvage *s, const ash_redo_change *change, uint64_t number)
{
    if (change->key.len != ASH_RECORD_KEY_BYTES)
        return;
    ash_pages_row row = {.key = change->key, .value = change->value};
    if (!change->is_delete)
        row.offset = (uint64_t)(change->value.data - s->journal.bytes);
    ash__salvage_take_change(s, &row, number, change->is_delete);
}

static void take(ash_salvage *s, const ash_redo_change *change, uint64_t number, bool records)
{
    ash_pages_row row = {.key = change->key, .value = change->value};
    if (records && change->db == ASH_DB_RECORDS)
        take_record(s, change, number);
    else if (records && change->db == ASH_DB_INDEX && !change->is_delete)
        ash__salvage_visit_index(s, &row);
    else if (!records && change->db != ASH_DB_RECORDS && change->db != ASH_DB_INDEX)
        ash__salvage_take_row(s, change->db, &row, change->is_delete);
}

void ash__salvage_journal(ash_salvage *s, bool records)
{
    ash_journal_cursor c;
    ash_doc changes;
    uint64_t number = 0;
    if (!find_first(s, &c))
        return;
    /* Other than when a store is opened, what is behind a damaged record is worth having. */
    do {
        while (ash__journal_next(&s->journal, &c, &changes)) {
            ash_redo_change change;
            size_t at = 0;
            while (ash__redo_next(changes, &at, &change))
                take(s, &change, ++number, records);
        }
    } while (ash__journal_skip(&s->journal, &c));
}
