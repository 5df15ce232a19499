/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_AUDIT_FILE_H
#define ASH_AUDIT_FILE_H

/* A file that is appended to, line by line, and gives way to a new one when it is large or was moved
 * away.  One thread. */

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ash_audit_file {
    char *path;
    int64_t max_bytes;
    int32_t keep;
    int fd;        /* -1: there is none */
    bool plain;    /* a file, which can be renamed; no pipe or device */
    int64_t bytes; /* in it */
    int64_t looked_ms;
} ash_audit_file;

int ash__audit_file_open(ash_audit_file *f, const char *path, ash_error *err);
void ash__audit_file_close(ash_audit_file *f);
/* Lines, each with its end; how many bytes of them, whole lines, are written.  Less than len: errno
 * says why. */
size_t ash__audit_file_write(ash_audit_file *f, const void *lines, size_t len);

#endif
