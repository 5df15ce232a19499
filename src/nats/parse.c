/* SPDX-License-Identifier: Apache-2.0 */
/* A line is cut into words, the words are given their meaning, and last, once the payload is there,
 * each word gets its NUL: where a blank or the line's end stood. */
#include "nats/parse.h"

#include "base/mem.h"

#include <string.h>
#include <strings.h>

enum {
    MOST_WORDS = 4,  /* HPUB subject reply headers all */
    SIZE_DIGITS = 9, /* what has more is no size of anything */
    COUNT_DIGITS = 18
};

typedef struct word {
    uint8_t *at;
    size_t len;
} word;

typedef struct line {
    uint8_t *data;
    size_t len;  /* without its end */
    size_t size; /* with it */
    word words[MOST_WORDS];
    size_t count; /* MOST_WORDS + 1: more */
} line;

/* One row each.  Words are what stands behind the name. */
static const struct syntax {
    const char *name;
    ash_nats_op op;
    uint8_t least, most;
    bool one_text; /* all behind the name is one word */
    bool payload;
} syntaxes[] = {
    {"PUB", ASH_NATS_PUB, 2, 3, false, true},         {"HPUB", ASH_NATS_HPUB, 3, 4, false, true},
    {"SUB", ASH_NATS_SUB, 2, 3, false, false},        {"UNSUB", ASH_NATS_UNSUB, 1, 2, false, false},
    {"PING", ASH_NATS_PING, 0, 0, true, false},       {"PONG", ASH_NATS_PONG, 0, 0, true, false},
    {"CONNECT", ASH_NATS_CONNECT, 1, 1, true, false}, {"+OK", ASH_NATS_OK, 0, 0, true, false},
    {"-ERR", ASH_NATS_ERR, 0, 1, true, false},
};

static ash_nats_outcome bad(ash_nats_command *out, const char *text)
{
    out->text = text;
    return ASH_NATS_BAD;
}

static ash_nats_outcome part(ash_nats_command *out, size_t size)
{
    out->size = size;
    return ASH_NATS_PART;
}

/* ---- lines and words ---- */

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

static ash_nats_outcome find_line(uint8_t *data, size_t len, line *out, ash_nats_command *command)
{
    /* With its end, which may have two bytes. */
    size_t most = ASH_NATS_LINE_BYTES + 2;
    uint8_t *end = memchr(data, '\n', len < most ? len : most);
    if (end == NULL)
        return len < most ? part(command, len + 1) : bad(command, "Maximum Control Line Exceeded");
    *out = (line){.data = data, .len = (size_t)(end - data), .size = (size_t)(end - data) + 1};
    if (out->len > 0 && data[out->len - 1] == '\r')
        out->len--;
    if (out->len > ASH_NATS_LINE_BYTES)
        return bad(command, "Maximum Control Line Exceeded");
    if (memchr(data, '\0', out->len) != NULL)
        return bad(command, "Parser Error");
    return ASH_NATS_WHOLE;
}

/* Also before the line is whole, so that other protocols are told at once. */
static const struct syntax *find_syntax(const uint8_t *data, size_t len)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(syntaxes); i++) {
        size_t name_len = strlen(syntaxes[i].name);
        size_t common = len < name_len ? len : name_len;
        if (strncasecmp((const char *)data, syntaxes[i].name, common) != 0)
            continue;
        if (len <= name_len || is_blank(data[name_len]) || data[name_len] == '\r' ||
            data[name_len] == '\n')
            return &syntaxes[i];
    }
    return NULL;
}

static void add_word(line *l, size_t from, size_t to)
{
    if (l->count < MOST_WORDS)
        l->words[l->count] = (word){l->data + from, to - from};
    l->count++;
}

static void cut(line *l, const struct syntax *s)
{
    size_t at = strlen(s->name), end = l->len;
    while (end > at && is_blank(l->data[end - 1]))
        end--;
    while (at < end && l->count <= MOST_WORDS) {
        while (is_blank(l->data[at]))
            at++;
        size_t from = at;
        while (at < end && (s->one_text || !is_blank(l->data[at])))
            at++;
        add_word(l, from, at);
    }
}

/* ---- what the words mean ---- */

static bool read_number(const word *w, size_t most_digits, uint64_t *out)
{
    *out = 0;
    if (w->len == 0 || w->len > most_digits)
        return false;
    for (size_t i = 0; i < w->len; i++) {
        if (w->at[i] < '0' || w->at[i] > '9')
            return false;
        *out = *out * 10 + (w->at[i] - '0');
    }
    return true;
}

/* The sizes are at the end, the subject at the start, and in between what may be left out. */
static ash_nats_outcome read_sizes(const line *l, const struct syntax *s, size_t max_payload,
                                   ash_nats_command *out)
{
    bool has_headers = s->op == ASH_NATS_HPUB;
    uint64_t all = 0, headers = 0;
    if (!read_number(&l->words[l->count - 1], SIZE_DIGITS, &all) ||
        (has_headers && !read_number(&l->words[l->count - 2], SIZE_DIGITS, &headers)) ||
        headers > all)
        return bad(out, "Parser Error");
    if (all > max_payload)
        return bad(out, "Maximum Payload Violation");
    out->headers_len = (size_t)headers;
    out->len = (size_t)(all - headers);
    out->size = l->size + (size_t)all + 2;
    return ASH_NATS_WHOLE;
}

static ash_nats_outcome read_unsub(const line *l, ash_nats_command *out)
{
    if (l->count == 2 && !read_number(&l->words[1], COUNT_DIGITS, &out->max))
        return bad(out, "Parser Error");
    return ASH_NATS_WHOLE;
}

static const char *terminated(const word *w)
{
    w->at[w->len] = '\0';
    return (const char *)w->at;
}

/* Nothing can be wrong any more. */
static void give_words(const line *l, const struct syntax *s, ash_nats_command *out)
{
    const word *w = l->words;
    if (s->op == ASH_NATS_UNSUB) {
        out->sid = terminated(&w[0]);
    } else if (s->op == ASH_NATS_SUB) {
        out->subject = terminated(&w[0]);
        out->queue = l->count == 3 ? terminated(&w[1]) : NULL;
        out->sid = terminated(&w[l->count - 1]);
    } else if (s->payload) {
        out->subject = terminated(&w[0]);
        out->reply = l->count == s->most ? terminated(&w[1]) : NULL;
    } else if (l->count > 0) {
        out->text = terminated(&w[0]);
    }
}

/* ---- payloads ---- */

static bool are_headers(const uint8_t *data, size_t len)
{
    static const char start[] = "NATS/1.0", end[] = "\r\n\r\n";
    return len >= sizeof start + sizeof end - 2 && memcmp(data, start, sizeof start - 1) == 0 &&
           memcmp(data + len - (sizeof end - 1), end, sizeof end - 1) == 0 &&
           memchr(data, '\0', len) == NULL;
}

static ash_nats_outcome find_payload(const line *l, size_t len, ash_nats_command *out)
{
    const uint8_t *at = l->data + l->size;
    if (len < out->size)
        return part(out, out->size);
    if (memcmp(l->data + out->size - 2, "\r\n", 2) != 0 ||
        (out->headers_len > 0 && !are_headers(at, out->headers_len)))
        return bad(out, "Parser Error");
    out->headers = out->headers_len > 0 ? (const char *)at : NULL;
    out->data = at + out->headers_len;
    return ASH_NATS_WHOLE;
}

ash_nats_outcome ash__nats_parse(uint8_t *data, size_t len, size_t max_payload,
                                 ash_nats_command *out)
{
    line l = {0};
    *out = (ash_nats_command){0};
    if (len == 0)
        return part(out, 1);
    const struct syntax *s = find_syntax(data, len);
    if (s == NULL)
        return bad(out, "Unknown Protocol Operation");
    ash_nats_outcome outcome = find_line(data, len, &l, out);
    if (outcome != ASH_NATS_WHOLE)
        return outcome;
    out->op = s->op;
    out->size = l.size;
    cut(&l, s);
    /* What stands behind PING, PONG and +OK is nobody's business. */
    if (l.count < s->least || (l.count > s->most && s->most > 0))
        return bad(out, "Parser Error");
    if (s->payload)
        outcome = read_sizes(&l, s, max_payload, out);
    else if (s->op == ASH_NATS_UNSUB)
        outcome = read_unsub(&l, out);
    if (outcome == ASH_NATS_WHOLE && s->payload)
        outcome = find_payload(&l, len, out);
    if (outcome == ASH_NATS_WHOLE)
        give_words(&l, s, out);
    return outcome;
}
