/* SPDX-License-Identifier: Apache-2.0 */
#include "store/embedded/find/unverified.h"

#include "base/mem.h"

/* Downloads whose caller verifies what he looks at (store/parts.h). */

static ash_find_cursor *of(ash_cursor *cursor)
{
    return (ash_find_cursor *)(void *)cursor;
}

bool ash__find_take_parts(ash_cursor *cursor)
{
    ash_find_cursor *c = of(cursor);
    c->in_parts = c->mode == ASH_CURSOR_DOWNLOAD && c->request.projection == NULL;
    return c->in_parts;
}

static void add_payload(ash_find_cursor *c, const ash_payload *payload)
{
    if (c->batch.count == c->payload_capacity) {
        c->payload_capacity = c->payload_capacity == 0 ? 4 : 2 * c->payload_capacity;
        c->payloads = ash__realloc_array(c->payloads, c->payload_capacity, sizeof *c->payloads);
    }
    c->payloads[c->batch.count] = *payload;
}

int ash__find_fill_parts(ash_find_cursor *c, ash_error *err)
{
    /* Unlike documents that are verified as they are read, views into lapsed pins could show
     * anything. */
    if (!ash__download_begin_batch(c->download))
        return ash__fail(err, ASH_ECURSOR, "the cursor was idle for too long");
    while (!ash__batch_memory_is_full(&c->batch)) {
        ash_payload payload;
        ash_doc doc;
        int rc = ash__op_check(&c->op, err);
        if (rc == 0)
            rc = ash__download_look(c->download, &payload, &doc, err);
        if (rc != 0)
            return rc;
        if (doc.data == NULL) {
            c->exhausted = true;
            return 0;
        }
        if (!ash__batch_memory_fits(&c->batch, doc.len))
            return 0;
        add_payload(c, &payload);
        ash__batch_memory_add_view(&c->batch, doc);
        ash__download_advance(c->download);
    }
    c->exhausted = ash__download_at_end(c->download);
    return 0;
}

int ash__find_verify(ash_cursor *cursor, size_t index, size_t *from, size_t *to, ash_error *err)
{
    ash_find_cursor *c = of(cursor);
    ash_payload payload;
    ash_assert(c->in_parts);
    size_t at = index - ash__download_batch_from(c->download);
    if (at < c->batch.count)
        return ash__download_verify(c->download, index, &c->payloads[at], from, to, err);
    /* An earlier batch's document is looked at: its pins must not lapse meanwhile. */
    ash__batch_memory_hold(&c->batch);
    int rc = ash__download_look_again(c->download, index, &payload, err);
    return rc == 0 ? ash__download_verify(c->download, index, &payload, from, to, err) : rc;
}

bool ash__find_lasts(ash_cursor *cursor, size_t index)
{
    return ash__download_lasts(of(cursor)->download, index);
}

bool ash__find_seek(ash_cursor *cursor, size_t index)
{
    ash_find_cursor *c = of(cursor);
    ash_assert(c->in_parts);
    if (!ash__download_seek(c->download, index))
        return false;
    c->exhausted = false;
    return true;
}
