/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_BODY_H
#define ASH_HTTP_BODY_H

/* Where a request's body ends, by its length or in chunks (RFC 9112 §7.1).  Pure, no I/O. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ash_body {
    bool chunked;
    int state;      /* of chunks, see body.c */
    int64_t left;   /* of the body, or of the chunk */
    int digits;     /* of the chunk's size, so far */
    size_t skipped; /* of extensions and trailers, which are read and dropped */
} ash_body;

/* length: as ash_head.body_length. */
void ash__body_init(ash_body *b, int64_t length);
bool ash__body_is_over(const ash_body *b);

/* Reads from len bytes: *used of them are done with, and of these *piece_len at *piece are content
 * (0: none was).  Call again with the rest until *used is 0 or it is over.  false: that is no
 * body. */
bool ash__body_next(ash_body *b, const char *data, size_t len, size_t *used, const char **piece,
                    size_t *piece_len);

#endif
