/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_MULTIPART_H
#define ASH_HTTP_MULTIPART_H

/* What a form with files sends (multipart/form-data, RFC 7578), as it comes.  Pure, no I/O. */

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ASH_MULTIPART_MAX_BOUNDARY = 70, /* RFC 2046 §5.1.1 */
    ASH_MULTIPART_MAX_HEAD_BYTES = 8192,
    ASH_MULTIPART_MAX_PARTS = 1000
};

/* What reading came to. */
enum {
    ASH_MULTIPART_BAD = -1, /* it is none, and why says what is wrong */
    ASH_MULTIPART_MORE = 0, /* all was read, and there is no end yet */
    ASH_MULTIPART_PART,     /* a part begins: name, file_name and type are its own */
    ASH_MULTIPART_DATA,     /* some of its bytes */
    ASH_MULTIPART_PART_END, /* that was all of it */
    ASH_MULTIPART_END       /* of the whole; what follows does not count */
};

typedef struct ash_multipart {
    char delimiter[ASH_MULTIPART_MAX_BOUNDARY + 5]; /* "\r\n--" and the boundary */
    size_t delimiter_len;
    int state;      /* see multipart.c */
    size_t matched; /* bytes of the delimiter that came last */
    ash_buffer head;
    int parts;
    const char *why;

    /* Of the part; "" or NULL when it says nothing. */
    char *name;
    char *file_name; /* as it came, a path in front of it left out; NULL: a field without a file */
    char *type;
} ash_multipart;

/* content_type: the request's, or NULL.  false: it is no form with a boundary.  Released in any
 * case. */
bool ash__multipart_init(ash_multipart *m, const char *content_type);
void ash__multipart_release(ash_multipart *m);

/* Reads from len bytes: *used of them are done with; of DATA *piece has *piece_len, which stay valid as
 * long as data does.  Call again with the rest until it says MORE, END or BAD. */
int ash__multipart_next(ash_multipart *m, const char *data, size_t len, size_t *used,
                        const char **piece, size_t *piece_len);

#endif
