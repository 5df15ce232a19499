/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_ENGINE_META_PAGE_H
#define ASH_ENGINE_META_PAGE_H

#include "engine/internal.h"

/* Read pages 0 and 1 of meta.mdb into metas while the transaction's commit is the newest.  *caught:
 * it was, so its description is whole; the other one may just have been written to.  Else renew the
 * transaction and try again. */
int ash__meta_pages_read(const ash_engine *e, MDB_txn *txn, int fd, uint32_t page_bytes,
                         uint8_t *metas, bool *caught, ash_error *err);

#endif
