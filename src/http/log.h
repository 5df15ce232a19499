/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_LOG_H
#define ASH_HTTP_LOG_H

/* The access log: a line for each request, in the form that Apache calls combined, or as JSON. */

#include "http/server.h"

typedef struct ash_http_log ash_http_log;

typedef enum ash_http_log_format { ASH_HTTP_LOG_COMBINED, ASH_HTTP_LOG_JSON } ash_http_log_format;

/* Appends to the file, which is made with mode 0640; "-" is standard output.  A file that was moved
 * away is made anew within a second, so that logs can be rotated without a signal.  *out is yours. */
int ash__http_log_open(const char *path, ash_http_log_format format, ash_http_log **out,
                       ash_error *err);
void ash__http_log_close(ash_http_log *log); /* NULL is fine */

/* As ash_http_options.log; ctx: the log.  Any thread.  A line is one write.  What cannot be written
 * is lost, and told once in the server's own log. */
void ash__http_log_write(void *ctx, const ash_http_record *record);

/* Whoever reads a log must not learn a link or an upload's address: of 32 hexadecimal digits in a row
 * and more (a share's token, share/share.h; http/site/uploads.h) the first six stay, which tell one
 * from another.  The caller frees. */
char *ash__http_without_secrets(const char *text);

/* The line by itself, with its newline. */
void ash__http_log_line(ash_buffer *out, ash_http_log_format format, const ash_http_record *record);

#endif
