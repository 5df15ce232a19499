/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_DISK_H
#define ASH_TESTS_CRASH_DISK_H

/* A simulated disk: takes a journal's entries and says what may be left after a power cut.
 *
 * Durable is what a completed sync covers.  Of what came later, anything may be left: each write as
 * a whole or sector by sector (512 bytes), each change of a size, each name, independently of their
 * order.  A sector is old or new, never mixed.  Names are durable when their folder was synced. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal.h"
#include "rng.h"

typedef struct disk disk;

disk *disk_new(void);
void disk_free(disk *d);

/* Take the next entry; the bytes must stay where they are.  Entries are numbered from 0. */
void disk_take(disk *d, const journal_entry *entry, const uint8_t *bytes);

/* Which share of what was not synced is left. */
enum disk_cut { DISK_CUT_NOTHING_LEFT, DISK_CUT_ALL_LEFT, DISK_CUT_WRITES, DISK_CUT_SECTORS };
const char *disk_cut_name(enum disk_cut cut);

/* Make the folder what the disk holds after a cut now; it must be there and empty.  False when it
 * cannot be written. */
bool disk_save(disk *d, enum disk_cut cut, rng *r, const char *folder);

/* Bytes written but not durable now. */
size_t disk_pending(const disk *d);

#endif
