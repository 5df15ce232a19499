/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_BSON_BUILDER_H
#define ASH_BSON_BUILDER_H

/* Write a document byte by byte, so that values are copied exactly as they are.
 *
 *   ash_builder b = ASH_BUILDER_INIT;
 *   ash__builder_begin(&b);                 the root document
 *   ash__builder_value(&b, "_id", id);
 *   ash__builder_begin_array(&b, "tags");   … ash__builder_end(&b);
 *   ash__builder_end(&b);
 *   ash_doc doc = ash__builder_doc(&b);     view, until the builder changes
 *   ash__builder_release(&b);
 *
 * Size is not limited here, but 2 GiB and nesting deeper than ASH_DOC_MAX_DEPTH + 20 are bugs:
 * where data says how much is built, ash__builder_check() comes before each document that is opened
 * and behind each value. */

#include "base/buffer.h"
#include "bson/value.h"

typedef struct ash_builder {
    ash_buffer buf;
    uint32_t open[ASH_DOC_MAX_DEPTH + 20]; /* offsets of the unfinished documents' lengths */
    int depth;
} ash_builder;

#define ASH_BUILDER_INIT                                                                           \
    {                                                                                              \
        .depth = 0                                                                                 \
    }

void ash__builder_begin(ash_builder *b); /* starts over with an empty root */
void ash__builder_begin_doc(ash_builder *b, const char *name);
void ash__builder_begin_array(
    ash_builder *b, const char *name); /* its items' names are the caller's ("0", "1", …) */
void ash__builder_end(ash_builder *b);
/* Is it still within a full document and its slack, and may one more document be opened?
 * ASH_ETOOBIG: 10334, 15.  what: names whose result it is. */
int ash__builder_check(const ash_builder *b, const char *what, ash_error *err);
ash_doc ash__builder_doc(const ash_builder *b);
void ash__builder_release(ash_builder *b);

void ash__builder_value(ash_builder *b, const char *name,
                        ash_value v); /* missing appends nothing */
void ash__builder_value_n(ash_builder *b, const char *name, uint32_t name_len, ash_value v);
void ash__builder_item(ash_builder *b, uint32_t index,
                       ash_value v);                               /* array item: name from index */
void ash__builder_element(ash_builder *b, const ash_doc_iter *it); /* copies it->element whole */
void ash__builder_elements(ash_builder *b, ash_doc doc);           /* all fields of doc */
void ash__builder_int32(ash_builder *b, const char *name, int32_t v);
void ash__builder_int64(ash_builder *b, const char *name, int64_t v);
void ash__builder_double(ash_builder *b, const char *name, double v);
void ash__builder_bool(ash_builder *b, const char *name, bool v);
void ash__builder_null(ash_builder *b, const char *name);
void ash__builder_date(ash_builder *b, const char *name, int64_t ms);
void ash__builder_timestamp(ash_builder *b, const char *name, uint64_t v);
void ash__builder_oid(ash_builder *b, const char *name, const bson_oid_t *oid);
void ash__builder_text(ash_builder *b, const char *name, const char *text);
void ash__builder_string(ash_builder *b, const char *name, const char *text, uint32_t len);
void ash__builder_binary(ash_builder *b, const char *name, uint8_t subtype, const void *data,
                         uint32_t len);
void ash__builder_doc_value(ash_builder *b, const char *name, ash_doc doc);
void ash__builder_array_value(ash_builder *b, const char *name, ash_doc doc);

/* Array index as text ("17"), for names of array items. */
const char *ash__index_name(uint32_t index, char buf[12]);

#endif
