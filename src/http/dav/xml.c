/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/xml.h"

#include "base/mem.h"
#include "base/text.h"

#include <expat.h>
#include <string.h>

enum { MAX_DEPTH = 32, MAX_NODES = 4096 };
static const char separator = '\x01'; /* between a namespace and a name; in neither */
#define XML_SPACE "http://www.w3.org/XML/1998/namespace\x01"

struct ash_xml_reader {
    XML_Parser parser;
    size_t max_bytes, taken;
    bool keep_inner, empty, too_large;
    const char *why;
    size_t nodes;
    ash_xml_node *root;
    ash_xml_node *open[MAX_DEPTH];
    ash_buffer texts[MAX_DEPTH];
    int depth;
    int inner_from; /* depth of the element whose inside is kept; 0: none is */
    ash_buffer inner;
};

static void refuse(ash_xml_reader *r, const char *why)
{
    if (r->why == NULL)
        r->why = why;
    XML_StopParser(r->parser, XML_FALSE);
}

/* ---- what is inside, as XML that stands by itself ---- */

static bool is(const ash_xml_node *n, const char *name)
{
    return strcmp(n->space, "DAV:") == 0 && strcmp(n->name, name) == 0;
}

/* The values of properties, and who owns a lock. */
static bool is_kept(const ash_xml_reader *r)
{
    const ash_xml_node *here = r->open[r->depth - 1];
    return r->keep_inner && r->inner_from == 0 &&
           (is(here, "owner") || (r->depth > 1 && is(r->open[r->depth - 2], "prop")));
}

static void write_attribute_name(ash_buffer *out, const char *full, int number)
{
    const char *bar = strchr(full, separator);
    if (bar == NULL) {
        ash__buffer_append_text(out, full);
    } else if (strncmp(full, XML_SPACE, sizeof XML_SPACE - 1) == 0) {
        ash__buffer_printf(out, "xml:%s", bar + 1);
    } else {
        char *space = ash__strndup(full, (size_t)(bar - full));
        ash__buffer_printf(out, "xmlns:a%d=\"", number);
        ash__xml_text(out, space);
        ash__buffer_printf(out, "\" a%d:%s", number, bar + 1);
        ash__free(space);
    }
}

static void write_start(ash_buffer *out, const ash_xml_node *n, const char **attributes)
{
    ash__buffer_append_byte(out, '<');
    ash__buffer_append_text(out, n->name);
    /* Each element declares its own namespace, so that no prefix has to be known elsewhere. */
    ash__buffer_append_text(out, " xmlns=\"");
    ash__xml_text(out, n->space);
    ash__buffer_append_byte(out, '"');
    for (int i = 0; attributes[i] != NULL; i += 2) {
        ash__buffer_append_byte(out, ' ');
        write_attribute_name(out, attributes[i], i);
        ash__buffer_append_text(out, "=\"");
        ash__xml_text(out, attributes[i + 1]);
        ash__buffer_append_byte(out, '"');
    }
    ash__buffer_append_byte(out, '>');
}

/* ---- Expat's events ---- */

static ash_xml_node *new_node(const char *full)
{
    ash_xml_node *n = ash__new(ash_xml_node);
    const char *bar = strchr(full, separator);
    n->space = bar != NULL ? ash__strndup(full, (size_t)(bar - full)) : ash__strdup("");
    n->name = ash__strdup(bar != NULL ? bar + 1 : full);
    return n;
}

static void set_language(ash_xml_node *n, const ash_xml_node *above, const char **attributes)
{
    const char *language = above != NULL ? above->language : NULL;
    for (int i = 0; attributes[i] != NULL; i += 2)
        if (strcmp(attributes[i], XML_SPACE "lang") == 0)
            language = attributes[i + 1];
    if (language != NULL && strlen(language) < 64)
        n->language = ash__strdup(language);
}

static void append_child(ash_xml_node *above, ash_xml_node *n)
{
    ash_xml_node **at = &above->first;
    while (*at != NULL)
        at = &(*at)->next;
    *at = n;
}

static void start(void *ctx, const char *name, const char **attributes)
{
    ash_xml_reader *r = ctx;
    if (r->why != NULL)
        return;
    if (r->depth == MAX_DEPTH || ++r->nodes > MAX_NODES) {
        refuse(r, "the XML is too deep, or has too many elements");
        return;
    }
    ash_xml_node *above = r->depth > 0 ? r->open[r->depth - 1] : NULL;
    ash_xml_node *n = new_node(name);
    set_language(n, above, attributes);
    if (above != NULL)
        append_child(above, n);
    else
        r->root = n;
    r->open[r->depth] = n;
    ash__buffer_clear(&r->texts[r->depth]);
    r->depth++;
    if (r->inner_from > 0) {
        write_start(&r->inner, n, attributes);
    } else if (is_kept(r)) {
        r->inner_from = r->depth;
        ash__buffer_clear(&r->inner);
    }
}

static void end(void *ctx, const char *name)
{
    ash_xml_reader *r = ctx;
    (void)name;
    if (r->why != NULL)
        return;
    ash_xml_node *n = r->open[--r->depth];
    n->text = ash__strdup(ash__buffer_text(&r->texts[r->depth]));
    if (r->inner_from == r->depth + 1) {
        n->inner = ash__strdup(ash__buffer_text(&r->inner));
        r->inner_from = 0;
    } else if (r->inner_from > 0) {
        ash__buffer_printf(&r->inner, "</%s>", n->name);
    }
}

static void text(void *ctx, const char *data, int len)
{
    ash_xml_reader *r = ctx;
    if (r->why != NULL || r->depth == 0)
        return;
    ash__buffer_append(&r->texts[r->depth - 1], data, (size_t)len);
    if (r->inner_from > 0) {
        char *copy = ash__strndup(data, (size_t)len);
        ash__xml_text(&r->inner, copy);
        ash__free(copy);
    }
}

/* Nothing that WebDAV says needs one, and only with one can entities be declared. */
static void doctype(void *ctx, const char *name, const char *system, const char *public,
                    int internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)internal;
    refuse(ctx, "a DOCTYPE is not taken");
}

/* ---- the reader ---- */

ash_xml_reader *ash__xml_reader_new(size_t max_bytes, bool keep_inner)
{
    ash_xml_reader *r = ash__new(ash_xml_reader);
    r->parser = XML_ParserCreateNS(NULL, separator);
    ash_assert(r->parser != NULL);
    r->max_bytes = max_bytes;
    r->keep_inner = keep_inner;
    r->empty = true;
    XML_SetUserData(r->parser, r);
    XML_SetElementHandler(r->parser, start, end);
    XML_SetCharacterDataHandler(r->parser, text);
    XML_SetStartDoctypeDeclHandler(r->parser, doctype);
    return r;
}

static bool parse(ash_xml_reader *r, const void *data, size_t len, bool last)
{
    if (r->why == NULL && XML_Parse(r->parser, data, (int)len, last) != XML_STATUS_OK &&
        r->why == NULL)
        r->why = XML_ErrorString(XML_GetErrorCode(r->parser));
    return r->why == NULL;
}

bool ash__xml_reader_take(ash_xml_reader *r, const void *data, size_t len)
{
    r->taken += len;
    if (r->taken > r->max_bytes) {
        r->too_large = true;
        r->why = "the XML is too large";
        return false;
    }
    r->empty = r->empty && len == 0;
    return parse(r, data, len, false);
}

const ash_xml_node *ash__xml_reader_finish(ash_xml_reader *r)
{
    if (r->empty || !parse(r, "", 0, true))
        return NULL;
    return r->root;
}

const char *ash__xml_reader_why(const ash_xml_reader *r)
{
    return r->why;
}

bool ash__xml_reader_was_too_large(const ash_xml_reader *r)
{
    return r->too_large;
}

/* Depth is bounded, so this may call itself. */
static void free_node(ash_xml_node *n)
{
    while (n != NULL) {
        ash_xml_node *next = n->next;
        free_node(n->first);
        ash__free(n->space);
        ash__free(n->name);
        ash__free(n->text);
        ash__free(n->inner);
        ash__free(n->language);
        ash__free(n);
        n = next;
    }
}

void ash__xml_reader_free(ash_xml_reader *r)
{
    if (r == NULL)
        return;
    XML_ParserFree(r->parser);
    free_node(r->root);
    for (int i = 0; i < MAX_DEPTH; i++)
        ash__buffer_release(&r->texts[i]);
    ash__buffer_release(&r->inner);
    ash__free(r);
}

const ash_xml_node *ash__xml_child(const ash_xml_node *node, const char *space, const char *name)
{
    for (const ash_xml_node *n = node->first; n != NULL; n = n->next)
        if (strcmp(n->space, space) == 0 && strcmp(n->name, name) == 0)
            return n;
    return NULL;
}

/* ---- a body ---- */

typedef struct collecting {
    ash_xml_reader *reader;
    const ash_xml_node *root; /* once all has come */
    bool is_over;
    void (*then)(ash_exchange *x, const ash_xml_node *root);
    /* Of who asked for it. */
    void *state;
    void (*release)(ash_exchange *x);
} collecting;

static void release(ash_exchange *x)
{
    collecting *c = x->state;
    ash__xml_reader_free(c->reader);
    x->state = c->state;
    if (c->release != NULL)
        c->release(x);
    ash__free(c);
}

static void answer_bad(ash_exchange *x, const ash_xml_reader *r)
{
    ash__answer_text(x, ash__xml_reader_was_too_large(r) ? 413 : 400,
                     "the body is no XML that is taken: %s", r->why);
}

static void take(ash_exchange *x, const void *data, size_t len)
{
    collecting *c = x->state;
    if (!ash__xml_reader_take(c->reader, data, len))
        answer_bad(x, c->reader);
}

/* From here on the exchange is again of who asked; unless that puts it off, and is asked once more. */
static void finish(ash_exchange *x)
{
    collecting *c = x->state;
    if (!c->is_over)
        c->root = ash__xml_reader_finish(c->reader);
    c->is_over = true;
    if (c->root == NULL && c->reader->why != NULL) {
        answer_bad(x, c->reader);
        return;
    }
    x->state = c->state;
    x->release = c->release;
    c->then(x, c->root);
    if (x->is_put_off) {
        x->state = c;
        x->release = release;
        return;
    }
    ash__xml_reader_free(c->reader);
    ash__free(c);
}

void ash__xml_collect(ash_exchange *x, size_t max_bytes, bool keep_inner,
                      void (*then)(ash_exchange *x, const ash_xml_node *root))
{
    collecting *c = ash__new(collecting);
    *c = (collecting){.reader = ash__xml_reader_new(max_bytes, keep_inner),
                      .then = then,
                      .state = x->state,
                      .release = x->release};
    x->state = c;
    x->release = release;
    x->take = take;
    x->finish = finish;
    if (x->body_length == 0)
        finish(x);
}

/* ---- writing ---- */

static bool is_plain(unsigned char c)
{
    return c >= 0x20 && c < 0x7f && c != '&' && c != '<' && c != '>' && c != '"' && c != '\'';
}

void ash__xml_text(ash_buffer *out, const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        /* Nearly all of it is plain, and goes at once. */
        size_t plain = 0;
        while (plain < left && is_plain((unsigned char)text[plain]))
            plain++;
        ash__buffer_append(out, text, plain);
        text += plain;
        left -= plain;
        if (left == 0)
            return;
        unsigned char c = (unsigned char)*text;
        size_t n = ash__text_char(text, left);
        if (c == '&')
            ash__buffer_append_text(out, "&amp;");
        else if (c == '<')
            ash__buffer_append_text(out, "&lt;");
        else if (c == '>')
            ash__buffer_append_text(out, "&gt;");
        else if (c == '"')
            ash__buffer_append_text(out, "&quot;");
        else if (c == '\'')
            ash__buffer_append_text(out, "&#39;");
        else if (c == '\t' || c == '\n' || c == '\r')
            ash__buffer_printf(out, "&#%d;", c);
        else if (n == 0 || c < 0x20 || c == 0x7f ||
                 (n == 3 && memcmp(text, "\xef\xbf\xbe", 2) == 0 && (unsigned char)text[2] >= 0xbe))
            ash__buffer_append_text(out, "\xef\xbf\xbd");
        else
            ash__buffer_append(out, text, n);
        n = n == 0 ? 1 : n;
        text += n;
        left -= n;
    }
}
