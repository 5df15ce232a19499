/* SPDX-License-Identifier: Apache-2.0 */
/* The two first pages of meta.mdb, of which LMDB overwrites the older with each commit, while
 * somebody reads them. */
#include "engine/meta_page.h"

#include "base/file.h"

/* A reader that begins now would see the same commit.  The writer lets readers have a commit when
 * its description is written, and begins the next after that; so nobody touched this one's. */
static int is_newest(const ash_engine *e, MDB_txn *txn, bool *newest, ash_error *err)
{
    MDB_txn *now = NULL;
    int rc = ash__lmdb_txn_begin(e->env, NULL, MDB_RDONLY, &now);
    if (rc != 0)
        return ash__lmdb_fail(rc, err, "cannot read the metadata");
    *newest = mdb_txn_id(now) == mdb_txn_id(txn);
    ash__lmdb_txn_abort(now);
    return 0;
}

int ash__meta_pages_read(const ash_engine *e, MDB_txn *txn, const ash_meta_pages *pages,
                         bool *caught, ash_error *err)
{
    *caught = false;
    int rc = ash__file_read(pages->fd, pages->bytes, (size_t)2 * pages->page_bytes, 0, err);
    return rc == 0 ? is_newest(e, txn, caught, err) : rc;
}
