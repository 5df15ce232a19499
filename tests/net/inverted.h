/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_NET_INVERTED_H
#define ASH_TESTS_NET_INVERTED_H

#include "net/stream.h"

#include "base/error.h"

/* A stream on top of a plain one, as TLS will be: each byte is sent inverted, received ones are
 * kept in a buffer of its own (so that the descriptor does not tell of them), and every third call
 * wants to be asked again.  As ash_host_options.wrap; ctx: counts those that were released, or
 * NULL. */
int inverted_wrap(void *ctx, ash_stream *stream, ash_error *err);

void invert(void *data, size_t len);

#endif
