/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_XML_H
#define ASH_HTTP_DAV_XML_H

/* XML bodies of requests as small trees of nodes, by Expat with namespaces; and writing XML.
 *
 * Bounded: 64 KiB of text (1 MiB for PROPPATCH, whose values may be large), 32 deep, 4,096 nodes; a
 * DOCTYPE is refused, so that no entity can be declared, let alone be expanded. */

#include "http/exchange.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct ash_xml_node {
    char *space; /* the namespace, "" for none */
    char *name;
    char *text;     /* character data directly inside, joined; "" for none */
    char *inner;    /* everything inside as XML that stands by itself, namespaces declared; only
                       where asked for, else NULL */
    char *language; /* xml:lang that counts there, or NULL */
    struct ash_xml_node *first, *next; /* children in order; siblings */
} ash_xml_node;

typedef struct ash_xml_reader ash_xml_reader;

/* keep_inner: fill `inner` of elements inside DAV:prop (PROPPATCH) and DAV:owner (LOCK). */
ash_xml_reader *ash__xml_reader_new(size_t max_bytes, bool keep_inner);
/* false: refused, and ash__xml_reader_why() says why. */
bool ash__xml_reader_take(ash_xml_reader *r, const void *data, size_t len);
/* The root element, which stays the reader's; NULL: an empty body (why is NULL then), or what was no whole XML. */
const ash_xml_node *ash__xml_reader_finish(ash_xml_reader *r);
const char *ash__xml_reader_why(const ash_xml_reader *r);
bool ash__xml_reader_was_too_large(const ash_xml_reader *r); /* 413, not 400 */
void ash__xml_reader_free(ash_xml_reader *r);

/* First child of that name; NULL. */
const ash_xml_node *ash__xml_child(const ash_xml_node *node, const char *space, const char *name);

/* Collect an exchange's body, then call with the root, which lives for the call (NULL: no body); 400
 * and 413 are answered here.  Meanwhile x->state is not the caller's; in `then` it is again what it
 * was before, and so is x->release.  Where it puts x off it is called once more, with the same. */
void ash__xml_collect(ash_exchange *x, size_t max_bytes, bool keep_inner,
                      void (*then)(ash_exchange *x, const ash_xml_node *root));

/* Text with &, <, >, and quotes as references; what XML 1.0 cannot hold becomes U+FFFD. */
void ash__xml_text(ash_buffer *out, const char *text);

#endif
