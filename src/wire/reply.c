/* SPDX-License-Identifier: Apache-2.0 */
/* The body is built as one document; a batch's documents are gathered beside it and go between two
 * of its bytes when all is sent.  Lengths around them are corrected at the end. */
#include "wire/reply.h"

#include "base/bytes.h"
#include "base/mem.h"

#include <string.h>

enum {
    SPLICE_MIN_BYTES = 2048, /* below, a copy is cheaper than a piece of its own */
    KEEP_BYTES = 16 * 1024   /* for the next answer; so much needs no room */
};

void ash__reply_init(ash_reply *r, ash_room *room)
{
    memset(r, 0, sizeof *r);
    r->room = room;
}

static void give_room(ash_reply *r)
{
    if (r->claimed > 0)
        ash__room_give(r->room, r->claimed);
    r->claimed = 0;
}

void ash__reply_release(ash_reply *r)
{
    ash_assert(r->cursor == NULL);
    ash__builder_release(&r->body);
    ash__builder_release(&r->details);
    ash__buffer_release(&r->items);
    ash__free(r->splices);
    r->splices = NULL;
    r->splice_capacity = 0;
    give_room(r);
}

/* Memory of one large answer is not kept for the next. */
static void clear_buffer(ash_buffer *buf)
{
    if (buf->capacity > KEEP_BYTES)
        ash__buffer_release(buf);
    else
        ash__buffer_clear(buf);
}

void ash__reply_trim(ash_reply *r)
{
    clear_buffer(&r->body.buf);
    clear_buffer(&r->items);
    if (r->splice_capacity > KEEP_BYTES / sizeof *r->splices) {
        ash__free(r->splices);
        r->splices = NULL;
        r->splice_capacity = 0;
    }
    r->splice_count = 0;
    r->spliced_bytes = 0;
    r->item_count = 0;
    r->batch_at = 0;
    give_room(r);
}

void ash__reply_begin(ash_reply *r)
{
    ash__reply_trim(r);
    ash__builder_begin(&r->body);
}

int ash__reply_claim(ash_reply *r, size_t bytes, int64_t deadline_ms, ash_error *err)
{
    ash_error why = ASH_ERROR_INIT;
    if (r->room == NULL)
        return 0;
    if (bytes <= KEEP_BYTES)
        bytes = 0;
    if (bytes <= r->claimed) {
        if (bytes < r->claimed)
            ash__room_give(r->room, r->claimed - bytes);
        r->claimed = bytes;
        return 0;
    }
    /* Whoever waits holds none: else those who wait could wait for each other. */
    give_room(r);
    if (ash__room_take(r->room, bytes, deadline_ms, &why) != 0)
        return ash__fail(err, ASH_ENOMEM,
                         "no memory for an answer of %zu bytes: clients that do not read theirs "
                         "hold it; ask for less, or try again",
                         bytes);
    r->claimed = bytes;
    return 0;
}

bool ash__reply_claim_more(ash_reply *r, size_t bytes)
{
    ash_error why = ASH_ERROR_INIT;
    if (r->room == NULL || bytes <= KEEP_BYTES)
        return true;
    /* Does not wait: somebody holds room already, and that is us. */
    if (ash__room_take(r->room, bytes, 0, &why) != 0)
        return false;
    r->claimed += bytes;
    return true;
}

int ash__reply_claim_items(ash_reply *r, const ash_doc *docs, size_t count, int64_t deadline_ms,
                           ash_error *err)
{
    /* Type, an index of up to ten digits, NUL. */
    enum { HEAD_BYTES = 12 };
    size_t bytes = 0, copied = 0;
    for (size_t i = 0; i < count; i++) {
        bytes += HEAD_BYTES + docs[i].len;
        copied += HEAD_BYTES + (docs[i].len < SPLICE_MIN_BYTES ? docs[i].len : 0);
    }
    /* Views count, too: the documents may have been made for this answer. */
    int rc = ash__reply_claim(r, bytes, deadline_ms, err);
    if (rc == 0 && copied > KEEP_BYTES)
        ash__buffer_reserve(&r->items, copied);
    return rc;
}

static void add_splice(ash_reply *r, ash_doc doc)
{
    if (r->splice_count == r->splice_capacity) {
        r->splice_capacity = r->splice_capacity == 0 ? 64 : r->splice_capacity * 2;
        r->splices = ash__realloc_array(r->splices, r->splice_capacity, sizeof *r->splices);
    }
    r->splices[r->splice_count++] = (ash_splice){r->items.len, doc};
    r->spliced_bytes += doc.len;
}

/* An element of the array: type and name; its document follows, here or as a view. */
static void add_item_head(ash_reply *r)
{
    char name[12];
    const char *index = ash__index_name(r->item_count++, name);
    ash__buffer_append_byte(&r->items, BSON_TYPE_DOCUMENT);
    ash__buffer_append(&r->items, index, strlen(index) + 1);
}

void ash__reply_copy_item(ash_reply *r, ash_doc doc)
{
    add_item_head(r);
    ash__buffer_append(&r->items, doc.data, doc.len);
}

void ash__reply_add_item(ash_reply *r, ash_doc doc)
{
    add_item_head(r);
    if (doc.len >= SPLICE_MIN_BYTES)
        add_splice(r, doc);
    else
        ash__buffer_append(&r->items, doc.data, doc.len);
}

void ash__reply_cursor(ash_reply *r, const char *batch_name, int64_t id, const char *ns,
                       ash_doc resume_token)
{
    ash_builder *b = &r->body;
    /* Nothing but the root's length: the batch has to be at a place that no later field moves. */
    ash_assert(b->buf.len == 4 && r->batch_at == 0);
    ash__builder_begin_doc(b, "cursor");
    r->batch_open[0] = b->buf.len - 4;
    ash__builder_begin_array(b, batch_name);
    r->batch_open[1] = b->buf.len - 4;
    /* Just before the zero byte that ends the array. */
    r->batch_at = b->buf.len;
    ash__builder_end(b);
    if (resume_token.data != NULL)
        ash__builder_doc_value(b, "postBatchResumeToken", resume_token);
    ash__builder_int64(b, "id", id);
    ash__builder_text(b, "ns", ns);
    if (r->at_time != 0)
        ash__builder_timestamp(b, "atClusterTime", r->at_time);
    ash__builder_end(b);
}

/* The builder closed a document without knowing of the items in it. */
static void grow_length(ash_reply *r, size_t at, size_t more)
{
    uint8_t *p = r->body.buf.data + at;
    ash__put_le32(p, ash__get_le32(p) + (uint32_t)more);
}

size_t ash__reply_finish(ash_reply *r)
{
    ash__builder_end(&r->body);
    size_t more = r->batch_at != 0 ? r->items.len + r->spliced_bytes : 0;
    if (more != 0) {
        grow_length(r, 0, more);
        grow_length(r, r->batch_open[0], more);
        grow_length(r, r->batch_open[1], more);
    }
    return r->body.buf.len + more;
}

size_t ash__reply_piece_limit(const ash_reply *r)
{
    /* Before the batch, its last items, behind it; and for each view the items before it and
     * itself. */
    return 3 + 2 * r->splice_count;
}

static size_t add_piece(struct iovec *out, size_t n, const uint8_t *data, size_t len)
{
    if (len == 0)
        return n;
    out[n].iov_base = (void *)(uintptr_t)data;
    out[n].iov_len = len;
    return n + 1;
}

size_t ash__reply_pieces(const ash_reply *r, struct iovec *out)
{
    const ash_buffer *body = &r->body.buf;
    /* A plain document. */
    if (r->batch_at == 0)
        return add_piece(out, 0, body->data, body->len);
    size_t n = add_piece(out, 0, body->data, r->batch_at);
    size_t at = 0;
    for (size_t i = 0; i < r->splice_count; i++) {
        const ash_splice *s = &r->splices[i];
        n = add_piece(out, n, r->items.data + at, s->at - at);
        n = add_piece(out, n, s->doc.data, s->doc.len);
        at = s->at;
    }
    if (at < r->items.len)
        n = add_piece(out, n, r->items.data + at, r->items.len - at);
    return add_piece(out, n, body->data + r->batch_at, body->len - r->batch_at);
}
