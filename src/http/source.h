/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_SOURCE_H
#define ASH_HTTP_SOURCE_H

/* Bytes from anywhere as the answer to GET and HEAD: conditions, and one range. */

#include "http/condition.h"
#include "http/exchange.h"

typedef struct ash_http_source {
    void *ctx;
    int64_t length;
    const char *etag; /* with its quotes, strong */
    int64_t modified_ms;
    const char *type; /* NULL: bytes of any kind */
    /* Bytes from start (to end, first one not wanted) are read next. */
    int (*open)(void *ctx, int64_t start, int64_t end, ash_error *err);
    int (*read)(void *ctx, void *data, size_t len, size_t *got, ash_error *err);
    void (*release)(void *ctx);
} ash_http_source;

/* Texts are copied; ctx is taken over.  Sets x->state.  Fields of the caller's own come before. */
void ash__http_send_source(ash_exchange *x, const ash_http_source *source);

#endif
