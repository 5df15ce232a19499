/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_CRASH_JOURNAL_H
#define ASH_TESTS_CRASH_JOURNAL_H

/* What a process did to the files below one folder, in the order in which it did it.
 *
 * record.c writes a journal from inside the process, cut.c replays it.  It is a row of entries: a
 * journal_entry, then `len` bytes.  Both sides are the same machine, so integers are its own.
 * Files are known by inode numbers, folders by paths (relative to the recorded folder). */

#include <stdint.h>

enum journal_kind {
    JOURNAL_CREATE = 1, /* a: inode; bytes: its path */
    JOURNAL_MKDIR,      /* bytes: path */
    JOURNAL_RENAME,     /* bytes: from NUL to */
    JOURNAL_UNLINK,     /* bytes: path */
    JOURNAL_WRITE,      /* a: inode, b: offset; bytes: what was written */
    JOURNAL_SIZE,       /* a: inode, b: new size */
    JOURNAL_RESERVE,    /* a: inode, b: least size */
    JOURNAL_PUNCH,      /* a: inode, b: offset, c: length */
    JOURNAL_SYNC_BEGIN, /* a: inode; or 0 and bytes: a folder's path */
    JOURNAL_SYNC_END,   /* c: number of the entry that began it */
    JOURNAL_WRITTEN,    /* c: number of the JOURNAL_WRITE that is durable now (O_DSYNC) */
    JOURNAL_ACK         /* bytes: what the process wrote to its file of acknowledgements */
};

typedef struct journal_entry {
    uint32_t kind;
    uint32_t len;
    uint64_t a;
    uint64_t b;
    uint64_t c;
} journal_entry;

/* The environment of a recorded process. */
#define JOURNAL_ENV_ROOT "ASH_RECORD_ROOT" /* the folder, absolute */
#define JOURNAL_ENV_FILE "ASH_RECORD_FILE" /* the journal */
#define JOURNAL_ENV_ACKS "ASH_RECORD_ACKS" /* the file of acknowledgements, outside the folder */

#endif
