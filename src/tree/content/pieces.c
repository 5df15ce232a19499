/* SPDX-License-Identifier: Apache-2.0 */
#include "tree/content/write.h"

int ash__pieces_new(ash_content_writer *w, ash_error *err)
{
    (void)w;
    return ash__fail(err, ASH_ETOOBIG, "pieces are still to come");
}
int ash__pieces_cut(ash_content_writer *w, bool all, const ash_op *op, ash_error *err)
{
    (void)w, (void)all, (void)op;
    return ash__fail(err, ASH_ETOOBIG, "pieces are still to come");
}
int ash__pieces_document(const ash_content_writer *w, bson_t *out, ash_error *err)
{
    (void)w, (void)out;
    return ash__fail(err, ASH_ETOOBIG, "pieces are still to come");
}
int ash__pieces_rely_on(const ash_content_writer *w, const ash_op *op, ash_error *err)
{
    (void)w, (void)op;
    return ash__fail(err, ASH_ETOOBIG, "pieces are still to come");
}
void ash__pieces_free(ash_pieces *p)
{
    (void)p;
}
