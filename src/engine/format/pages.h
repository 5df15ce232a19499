/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_FORMAT_PAGES_H
#define ASH_ENGINE_FORMAT_PAGES_H

/* meta.mdb read without LMDB, page by page, for salvaging.
 *
 * LMDB trusts its pages; here nothing is trusted: every page number, offset and length is checked,
 * pages are read and not mapped, so that a bad page costs the rows on it and nothing else.  The
 * file is never written to, and need not be whole.  page_format.h says what is in it. */

#include "base/error.h"
#include <ashlar/doc.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct ash_pages ash_pages;

/* key and value are views, valid during the visit. */
typedef struct ash_pages_row {
    ash_doc key;
    ash_doc value;
    uint64_t offset; /* of the value, in the file */
    bool stray;      /* on a page that nothing leads to any more … */
    bool vacant;     /* … and that the last commit known calls free */
} ash_pages_row;
typedef void (*ash_pages_visit)(void *ctx, const ash_pages_row *row);

/* A file with nothing usable in it opens too: it has no rows.  ASH_ENOTFOUND, ASH_EIO. */
int ash__pages_open(const char *path, ash_pages **out, ash_error *err);
void ash__pages_close(ash_pages *p);

/* Every row of a named database that can be reached, in order.  visit NULL: only take note of the
 * pages. */
void ash__pages_walk(ash_pages *p, const char *database, ash_pages_visit visit, void *ctx);

/* Every row on pages that no walk so far reached.  Free pages are left out when it is certain that
 * they are.  Which database a row belongs to has to be told from the row. */
void ash__pages_strays(ash_pages *p, ash_pages_visit visit, void *ctx);

/* Read len bytes at a row's offset again. */
int ash__pages_read(ash_pages *p, uint64_t offset, void *out, uint32_t len, ash_error *err);

uint64_t ash__pages_broken(const ash_pages *p); /* pages and nodes that could not be used */
/* Number of the newest commit that is described; 0: none is. */
uint64_t ash__pages_newest(const ash_pages *p);
/* Strays are what was lost from the tree, and nothing older: both descriptions of commits and the
 * list of free pages are whole. */
bool ash__pages_certain(const ash_pages *p);
/* All that was walked so far could be followed: strays are but what was deleted. */
bool ash__pages_are_whole(const ash_pages *p);

/* ---- of page 0 or 1 alone ---- */

/* The number of the commit that it describes, and the last page of that; 0: none. */
uint64_t ash__pages_commit(const uint8_t *meta, uint64_t *last_page);
/* Make a copy of one the other, which describes the same as the commit before. */
void ash__pages_make_former(uint8_t *meta);

#endif
