/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_HEAD_H
#define ASH_HTTP_HEAD_H

/* A request's head, as RFC 9112 has it, and strictly: what two readers could understand in two ways
 * is refused, since a proxy may be the other one.  Pure, no I/O. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    ASH_HEAD_TLS_BYTE = 0x16,       /* that a handshake begins with, and no method */
    ASH_HEAD_MAX_BYTES = 64 * 1024, /* of request line and fields together */
    ASH_HEAD_MAX_TARGET_BYTES = 32 * 1024,
    ASH_HEAD_MAX_FIELDS = 100,
    ASH_HEAD_MAX_METHOD_BYTES = 32
};

typedef struct ash_head_field {
    const char *name;  /* as it came */
    const char *value; /* without white space around it; NUL-terminated, never with NUL, CR or LF */
} ash_head_field;

/* Views into the bytes that were parsed, which are changed (NULs go in) and have to stay. */
typedef struct ash_head {
    const char *method; /* a token, as it came: "GET" */
    const char *target; /* as it came */
    bool is_http_1_0;
    ash_head_field fields[ASH_HEAD_MAX_FIELDS];
    size_t field_count;

    /* What follows from the fields. */
    int64_t body_length; /* announced; 0: none; -1: chunked */
    bool keep_alive;
    bool expects_continue;
} ash_head;

/* What parsing came to, besides a status of HTTP. */
enum { ASH_HEAD_INCOMPLETE = 0, ASH_HEAD_DONE = 1 };

/* Does a head end in these bytes?  ASH_HEAD_INCOMPLETE: more have to come (nothing was changed);
 * ASH_HEAD_DONE: *used bytes were the head, empty lines before it included; else the status that
 * refuses it: 400 (*why says what is wrong), 414, 431, 501, 505. */
int ash__head_parse(char *data, size_t len, ash_head *out, size_t *used, const char **why);

/* The first field of that name (case does not count), or NULL. */
const char *ash__head_field(const ash_head *head, const char *name);
/* Is the word among the members of the comma-separated list that all fields of that name make?
 * Case does not count. */
bool ash__head_has_word(const ash_head *head, const char *name, const char *word);
/* All fields of that name, joined by ", " as RFC 9110 §5.3 allows; NULL: none.  The caller frees. */
char *ash__head_join(const ash_head *head, const char *name);

#endif
