/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASHLAR_DOC_H
#define ASHLAR_DOC_H

#include <stddef.h>
#include <stdint.h>

#include <bson/bson.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In short.
 *
 * Example:
 *
 *     bson_t *made = BCON_NEW("name", BCON_UTF8("a"));
 *     ash_doc view = {bson_get_data(made), made->len};
 *     bson_t read;
 *     if (bson_init_static(&read, view.data, view.len) && bson_has_field(&read, "name"))
 *         puts("name");
 *     bson_destroy(made);
 */

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
