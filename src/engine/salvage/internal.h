/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_SALVAGE_INTERNAL_H
#define ASH_ENGINE_SALVAGE_INTERNAL_H

#include "engine/journal.h"
#include "engine/format/pages.h"
#include "engine/salvage/salvage.h"

typedef struct ash_salvage_list {
    ash_salvage_record *items;
    size_t count, capacity;
} ash_salvage_list;

typedef struct ash_salvage_entry {
    uint64_t hash; /* of the entry's key */
    uint64_t rid;
} ash_salvage_entry;

typedef struct ash_salvage_entries {
    ash_salvage_entry *items;
    size_t count, capacity;
    uint32_t last_index; /* seen, and whether it is one of chunks */
    bool last_wanted;
} ash_salvage_entries;

struct ash_salvage {
    char *folder;
    ash_folder_lock lock;
    ash_pages *pages; /* NULL: meta.mdb is lost */
    ash_journal_image journal;
    bool journal_promised; /* by the superblock; true when that is lost */
    bool was_open;         /* the last run did not end well, as far as meta.mdb is known … */
    uint64_t generation;   /* … and of its journal; 0: not known */
    ash_error journal_fault;
    ash_salvage_coll *colls;
    size_t coll_count, coll_capacity;
    uint32_t *dropped;
    size_t dropped_count, dropped_capacity;
    ash_salvage_list records; /* by collection and rid */
    ash_salvage_list unclaimed;
    ash_salvage_entries entries; /* of indexes of chunks */
    bool scanned;
    uint32_t *unclaimed_colls;
    size_t unclaimed_coll_count;
    int segment_fd; /* of the segment read last */
    uint32_t segment;
};

ash_salvage_record *ash__salvage_list_add(ash_salvage_list *list);

/* salvage_rows.c: collections and records of meta.mdb. */
void ash__salvage_gather(ash_salvage *s);
/* A change of the journal: of a record, numbered from 1; of any other row. */
void ash__salvage_take_change(ash_salvage *s, const ash_pages_row *row, uint64_t number,
                              bool is_delete);
void ash__salvage_take_row(ash_salvage *s, enum ash_database db, const ash_pages_row *row,
                           bool is_delete);

/* salvage_journal.c: apply the journal's changes of records and indexes, or of the others. */
void ash__salvage_journal(ash_salvage *s, bool records);
/* Find out what is wrong with it. */
void ash__salvage_judge_journal(ash_salvage *s);

/* salvage_index.c: item is one of a row of the catalogue. */
bool ash__salvage_is_chunk_index(ash_doc item);
void ash__salvage_visit_index(void *ctx, const ash_pages_row *row);
void ash__salvage_sort_entries(ash_salvage *s);

/* salvage_segments.c */
/* Find the unclaimed records. */
int ash__salvage_scan(ash_salvage *s, ash_error *err);
/* The document of the record at a place, a view of buf; data NULL when nothing could be read. */
int ash__salvage_payload(ash_salvage *s, const ash_pointer *place, uint32_t coll_id,
                         ash_buffer *buf, ash_doc *doc, ash_error *err);

#endif
