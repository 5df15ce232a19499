/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_DOC_H
#define ASHLAR_DOC_H

#include <stddef.h>
#include <stdint.h>

#include <bson/bson.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A view of one BSON document: its bytes, owned by somebody else.  len equals the length in the
 * document's first four bytes.  bson_init_static(&b, doc.data, doc.len) reads it with libbson. */
typedef struct ash_doc {
    const uint8_t *data;
    size_t len;
} ash_doc;

#ifdef __cplusplus
}
#endif
#endif
