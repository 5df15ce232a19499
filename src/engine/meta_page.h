/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_META_PAGE_H
#define ASH_ENGINE_META_PAGE_H

#include "engine/internal.h"

/* Pages 0 and 1 of meta.mdb, read beside the writer. */
typedef struct ash_meta_pages {
    int fd; /* of meta.mdb */
    uint32_t page_bytes;
    uint8_t *bytes; /* room for both */
} ash_meta_pages;

/* Read them while the transaction's commit is the newest.  *caught: it was, so its description is
 * whole; the other one may just have been written to.  Else renew the transaction and try again. */
int ash__meta_pages_read(const ash_engine *e, MDB_txn *txn, const ash_meta_pages *pages,
                         bool *caught, ash_error *err);

#endif
