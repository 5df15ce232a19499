/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_STORE_EMBEDDED_WATCH_TOKEN_H
#define ASH_STORE_EMBEDDED_WATCH_TOKEN_H

#include "bson/builder.h"

/* Resume tokens: {_data: hexadecimal}, of one byte (0x81), the change's time (8, big-endian) and
 * one byte: what it stands behind.  As texts they sort like the events. */
enum ash_token_kind {
    ASH_TOKEN_EVENT = 0x80,      /* the event of that time */
    ASH_TOKEN_INVALIDATE = 0xC0, /* the invalidate event that followed it */
    ASH_TOKEN_PAST = 0xE0        /* all of that time: the stream goes on with what is later */
};

void ash__token_append(ash_builder *b, const char *name, uint64_t time, enum ash_token_kind kind);

/* ASH_EINVAL (260) for what is not a token of ours. */
int ash__token_parse(ash_doc token, uint64_t *time, enum ash_token_kind *kind, ash_error *err);

#endif
