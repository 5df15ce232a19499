/* SPDX-License-Identifier: Apache-2.0 */
#include "http/body.h"

enum { MAX_SKIPPED_BYTES = 8192, MAX_DIGITS = 15 };

/* Of chunks: what the next byte belongs to. */
enum {
    SIZE,       /* a chunk's size, in hexadecimal */
    SPACE,      /* that may stand behind it */
    EXTENSION,  /* from a ';' on */
    SIZE_LF,    /* the line's end */
    CONTENT,    /* left bytes of it */
    CONTENT_CR, /* the line's end behind it */
    CONTENT_LF, /* … */
    TRAILER,    /* the beginning of a line behind the last chunk */
    TRAILER_REST,
    TRAILER_LF,
    LAST_LF, /* of the empty line that ends it */
    OVER
};

void ash__body_init(ash_body *b, int64_t length)
{
    *b = (ash_body){.chunked = length < 0, .left = length < 0 ? 0 : length};
}

bool ash__body_is_over(const ash_body *b)
{
    return b->chunked ? b->state == OVER : b->left == 0;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool skip(ash_body *b)
{
    return ++b->skipped <= MAX_SKIPPED_BYTES;
}

/* Behind a size.  Another number there would be a chunk's length to somebody else. */
static bool take_space(ash_body *b, char c)
{
    b->state = c == '\r' ? SIZE_LF : c == ';' ? EXTENSION : SPACE;
    return c == '\r' || c == ';' || ((c == ' ' || c == '\t') && skip(b));
}

static bool take_size(ash_body *b, char c)
{
    int digit = hex_digit(c);
    if (digit >= 0) {
        b->left = b->left * 16 + digit;
        return ++b->digits <= MAX_DIGITS;
    }
    if (b->digits == 0)
        return false;
    return take_space(b, c);
}

/* One byte that is no content. */
static bool take_frame(ash_body *b, char c)
{
    switch (b->state) {
    case SIZE:
        return take_size(b, c);
    case SPACE:
        return take_space(b, c);
    case EXTENSION:
        if (c == '\r')
            b->state = SIZE_LF;
        return c != '\n' && skip(b);
    case SIZE_LF:
        b->state = b->left > 0 ? CONTENT : TRAILER;
        b->digits = 0;
        return c == '\n';
    case CONTENT_CR:
        b->state = CONTENT_LF;
        return c == '\r';
    case CONTENT_LF:
        b->state = SIZE;
        return c == '\n';
    case TRAILER:
        b->state = c == '\r' ? LAST_LF : TRAILER_REST;
        return c != '\n' && skip(b);
    case TRAILER_REST:
        if (c == '\r')
            b->state = TRAILER_LF;
        return c != '\n' && skip(b);
    case TRAILER_LF:
        b->state = TRAILER;
        return c == '\n';
    case LAST_LF:
        b->state = OVER;
        return c == '\n';
    default:
        return false;
    }
}

/* left: bytes behind *used. */
static void take_content(ash_body *b, const char *data, size_t left, size_t *used,
                         const char **piece, size_t *piece_len)
{
    size_t n = (int64_t)left < b->left ? left : (size_t)b->left;
    *piece = data + *used;
    *piece_len = n;
    *used += n;
    b->left -= (int64_t)n;
    if (b->chunked && b->left == 0)
        b->state = CONTENT_CR;
}

bool ash__body_next(ash_body *b, const char *data, size_t len, size_t *used, const char **piece,
                    size_t *piece_len)
{
    *used = 0;
    *piece = NULL;
    *piece_len = 0;
    while (*used < len && !ash__body_is_over(b)) {
        if (!b->chunked || b->state == CONTENT) {
            take_content(b, data, len - *used, used, piece, piece_len);
            return true;
        }
        if (!take_frame(b, data[(*used)++]))
            return false;
    }
    return true;
}
