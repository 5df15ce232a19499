/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_WIRE_REPLY_H
#define ASH_WIRE_REPLY_H

/* One answer in the making: a document, in which a cursor's batch may stand as views of documents
 * that the store owns, so that large ones go from its mapping to the socket without a copy. */

#include "bson/builder.h"
#include "net/room.h"

#include <sys/uio.h>

typedef struct ash_splice {
    size_t at; /* in items: the document's bytes go in here */
    ash_doc doc;
} ash_splice;

struct ash_wire_cursor;

typedef struct ash_reply {
    ash_builder body; /* root open until ash__reply_finish() */
    /* Documents of the batch, each as an array element: all bytes in items but for the large
     * documents, which are spliced in. */
    ash_buffer items;
    ash_splice *splices;
    size_t splice_count;
    size_t splice_capacity;
    size_t spliced_bytes;
    uint32_t item_count;
    size_t batch_at;      /* in body: where the items go; 0 = there is no batch */
    size_t batch_open[2]; /* in body: lengths of the documents around the batch */
    ash_builder details;  /* fields that an error answer carries besides the usual ones */
    bool has_details;
    struct ash_wire_cursor *cursor; /* owner of the views; given back once the answer is sent */
    bool keep_cursor;               /* it lives on */
    uint64_t at_time;               /* of the state that is read; 0 = none in particular */
    bool close;                     /* close the connection without an answer */
    ash_room *room;                 /* that bounds the memory of answers; or NULL */
    size_t claimed;                 /* of it */
} ash_reply;

/* room: shared with other answers; NULL when somebody else bounds this one. */
void ash__reply_init(ash_reply *r, ash_room *room);
void ash__reply_release(ash_reply *r); /* the cursor must have been given back */

/* Start over with an empty root document.  Batch and cursor are dropped from the answer (the cursor
 * stays in r->cursor, for its owner). */
void ash__reply_begin(ash_reply *r);

/* The answer is sent: give back memory that only a large one needs. */
void ash__reply_trim(ash_reply *r);

/* Take room for so many bytes in all, or give back what is beyond; small answers need none.  Waits
 * until the deadline (monotonic ms), holding no room: ASH_ENOMEM (146).  Starting over and trimming
 * give all back. */
int ash__reply_claim(ash_reply *r, size_t bytes, int64_t deadline_ms, ash_error *err);

/* Room for so many bytes more, if there is some at once. */
bool ash__reply_claim_more(ash_reply *r, size_t bytes);

/* Room and memory for a batch's documents, which are added then. */
int ash__reply_claim_items(ash_reply *r, const ash_doc *docs, size_t count, int64_t deadline_ms,
                           ash_error *err);

/* Add a document to the batch.  Views must stay valid until the answer is sent. */
void ash__reply_add_item(ash_reply *r, ash_doc doc);
void ash__reply_copy_item(ash_reply *r, ash_doc doc); /* not a view, however large */

/* Write {cursor: {<batch_name>: [items so far], id, ns, postBatchResumeToken?, atClusterTime?}},
 * which must be the first field of the root. resume_token.data NULL: none. */
void ash__reply_cursor(ash_reply *r, const char *batch_name, int64_t id, const char *ns,
                       ash_doc resume_token);

/* Close the root and set all lengths; returns the length of the whole document. */
size_t ash__reply_finish(ash_reply *r);

/* The finished document in pieces: how many there are at most, and the pieces. */
size_t ash__reply_piece_limit(const ash_reply *r);
size_t ash__reply_pieces(const ash_reply *r, struct iovec *out);

#endif
