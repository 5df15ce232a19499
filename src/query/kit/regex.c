/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns come from clients, and a few bytes of one can keep a processor busy for days.  So a
 * match has limits of steps, depth and memory, and ends with the budget of the thread. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "query/kit/regex.h"

#include "base/budget.h"
#include "base/mem.h"

#include <pcre2.h>
#include <string.h>

/* The server's limit. */
#define MAX_PATTERN_BYTES 32764
#define MATCH_STEPS       1000000
#define MATCH_DEPTH       10000
#define MATCH_HEAP_KIB    20000

/* The limit of steps holds for each place where a match may begin, and one step may scan the rest
 * of the text: both are short in a text of so many bytes.  In a longer one each item of the pattern
 * looks at the budget, which is slower. */
#define SHORT_BYTES 512

/* The pattern with callouts; compiled when the first long text comes. */
struct watched {
    pcre2_code *code;
    bool is_too_large;
};

struct ash_regex {
    pcre2_code *code;
    pcre2_match_context *limits;
    char *pattern;
    uint32_t flags;
    struct watched *watched; /* both fields atomic */
};

static int flags_of(const char *options, uint32_t *flags, ash_error *err)
{
    /* Strings are not checked for UTF-8 when they come in; PCRE2 matches around what is none. */
    *flags = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    for (const char *o = options; *o != 0; o++) {
        switch (*o) {
        case 'i':
            *flags |= PCRE2_CASELESS;
            break;
        case 'm':
            *flags |= PCRE2_MULTILINE;
            break;
        case 's':
            *flags |= PCRE2_DOTALL;
            break;
        case 'x':
            *flags |= PCRE2_EXTENDED;
            break;
        /* Known to the server, and without effect, since all is UTF-8. */
        case 'u':
            break;
        default:
            return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_REGEX_UNKNOWN_OPTION,
                                    "invalid flag in regex options: %c", *o);
        }
    }
    return 0;
}

static int stop_when_late(pcre2_callout_block *block, void *ctx)
{
    (void)block;
    (void)ctx;
    return ash__budget_step(NULL) == 0 ? 0 : PCRE2_ERROR_CALLOUT;
}

static pcre2_match_context *new_limits(uint32_t steps)
{
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    ash_assert(limits != NULL);
    pcre2_set_match_limit(limits, steps);
    pcre2_set_depth_limit(limits, MATCH_DEPTH);
    pcre2_set_heap_limit(limits, MATCH_HEAP_KIB);
    pcre2_set_callout(limits, stop_when_late, NULL);
    return limits;
}

int ash__regex_new(const char *pattern, const char *options, ash_regex **out, ash_error *err)
{
    *out = NULL;
    uint32_t flags;
    int rc = flags_of(options, &flags, err);
    if (rc != 0)
        return rc;
    size_t len = strlen(pattern);
    if (len > MAX_PATTERN_BYTES)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_REGEX_INVALID,
                                "Regular expression is invalid: it is longer than %d bytes",
                                MAX_PATTERN_BYTES);
    int number;
    PCRE2_SIZE offset;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, len, flags, &number, &offset, NULL);
    if (code == NULL) {
        PCRE2_UCHAR text[160];
        pcre2_get_error_message(number, text, sizeof text);
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_REGEX_INVALID,
                                "Regular expression is invalid: %s", (const char *)text);
    }
    /* Where the system forbids executable memory this fails, and matching interprets. */
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    ash_regex *r = ash__new(ash_regex);
    r->code = code;
    r->limits = new_limits(MATCH_STEPS);
    r->pattern = ash__strdup(pattern);
    r->flags = flags;
    r->watched = ash__new(struct watched);
    *out = r;
    return 0;
}

void ash__regex_free(ash_regex *r)
{
    if (r == NULL)
        return;
    pcre2_code_free(r->code);
    pcre2_code_free(r->watched->code);
    pcre2_match_context_free(r->limits);
    ash__free(r->pattern);
    ash__free(r->watched);
    ash__free(r);
}

/* NULL when there is no room for the callouts of so long a pattern. */
static const pcre2_code *watched_code(const ash_regex *r)
{
    struct watched *w = r->watched;
    pcre2_code *code = __atomic_load_n(&w->code, __ATOMIC_ACQUIRE), *other = NULL;
    if (code != NULL || __atomic_load_n(&w->is_too_large, __ATOMIC_RELAXED))
        return code;
    int number;
    PCRE2_SIZE offset;
    code = pcre2_compile((PCRE2_SPTR)r->pattern, strlen(r->pattern), r->flags | PCRE2_AUTO_CALLOUT,
                         &number, &offset, NULL);
    if (code == NULL) {
        __atomic_store_n(&w->is_too_large, true, __ATOMIC_RELAXED);
        return NULL;
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    /* Another thread may have been faster: then its code is the one that stays. */
    if (__atomic_compare_exchange_n(&w->code, &other, code, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return code;
    pcre2_code_free(code);
    return other;
}

/* What pcre2_match returns. */
static int match_code(const pcre2_code *code, const char *text, size_t len_bytes, size_t from,
                      pcre2_match_data *data, pcre2_match_context *limits)
{
    PCRE2_SPTR subject = (PCRE2_SPTR)text;
    int found = pcre2_match(code, subject, len_bytes, from, 0, data, limits);
    /* The compiled form has a small stack of its own; the interpreter has only the limits above. */
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
        found = pcre2_match(code, subject, len_bytes, from, PCRE2_NO_JIT, data, limits);
    return found;
}

/* With callouts if there is room for them, else with fewer steps. */
static int match_long(const ash_regex *r, const char *text, size_t len_bytes, size_t from,
                      pcre2_match_data *data)
{
    const pcre2_code *code = watched_code(r);
    if (code != NULL)
        return match_code(code, text, len_bytes, from, data, r->limits);
    /* Nothing looks at the budget: the longer the text, the fewer steps. */
    size_t steps = (size_t)MATCH_STEPS * SHORT_BYTES / (len_bytes - from);
    pcre2_match_context *limits = new_limits(steps > 0 ? (uint32_t)steps : 1);
    int found = match_code(r->code, text, len_bytes, from, data, limits);
    pcre2_match_context_free(limits);
    return found;
}

static int run_match(const ash_regex *r, const char *text, size_t len_bytes, size_t from,
                     pcre2_match_data *data, ash_error *err)
{
    int found = len_bytes - from <= SHORT_BYTES
                    ? match_code(r->code, text, len_bytes, from, data, r->limits)
                    : match_long(r, text, len_bytes, from, data);
    if (found >= 0)
        return 1;
    if (found == PCRE2_ERROR_NOMATCH)
        return 0;
    int rc = found == PCRE2_ERROR_CALLOUT ? ash__budget_check(err) : 0;
    if (rc != 0)
        return rc;
    PCRE2_UCHAR message[160];
    pcre2_get_error_message(found, message, sizeof message);
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_LOCATION_REGEX_FAILED,
                            "Error occurred while executing regular expression: %s",
                            (const char *)message);
}

int ash__regex_test(const ash_regex *r, const char *text, size_t len_bytes, ash_error *err)
{
    /* Room for the match alone: nobody asks for its groups. */
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);
    ash_assert(data != NULL);
    int found = run_match(r, text, len_bytes, 0, data, err);
    pcre2_match_data_free(data);
    return found;
}

int ash__regex_find(const ash_regex *r, const char *text, size_t len_bytes, size_t from,
                    ash_regex_match *out, ash_error *err)
{
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(r->code, NULL);
    ash_assert(data != NULL);
    *out = (ash_regex_match){NULL, 0};
    int found = run_match(r, text, len_bytes, from, data, err);
    if (found == 1) {
        out->pairs = pcre2_get_ovector_count(data);
        size_t count = 2 * (size_t)out->pairs;
        out->offsets = ash__alloc_array(count, sizeof *out->offsets);
        memcpy(out->offsets, pcre2_get_ovector_pointer(data), count * sizeof *out->offsets);
    }
    pcre2_match_data_free(data);
    return found;
}

/* Take the last whole UTF-8 character off again: a quantifier behind it makes it optional. */
static void drop_last_char(ash_buffer *out)
{
    while (out->len > 0) {
        uint8_t byte = out->data[--out->len];
        if ((byte & 0xC0) != 0x80)
            return;
    }
}

/* One literal of the pattern at p: its length in the pattern, 0 when p is no literal. */
static size_t literal_at(const char *p, char *literal)
{
    *literal = *p;
    if (*p == 0 || strchr("^$.[]|()?*+{}", *p) != NULL)
        return 0;
    if (*p != '\\')
        return 1;
    /* A backslash makes punctuation a literal, but of letters and digits classes and references. */
    *literal = p[1];
    bool is_ascii_punct = p[1] > ' ' && p[1] < 127 && strchr("\"#%&',/:;<=>@_`~!-", p[1]) != NULL;
    return is_ascii_punct || (p[1] != 0 && strchr("^$.[]|()?*+{}\\", p[1]) != NULL) ? 2 : 0;
}

bool ash__regex_prefix(const char *pattern, const char *options, ash_buffer *out, bool *whole)
{
    *whole = false;
    /* Any | is taken for an alternative, also in brackets: without a prefix a query is only
     * slower. */
    if (pattern[0] != '^' || strpbrk(options, "imx") != NULL || strchr(pattern, '|') != NULL)
        return false;
    size_t start = out->len;
    const char *p = pattern + 1;
    for (;;) {
        char literal;
        size_t len = literal_at(p, &literal);
        if (len == 0)
            break;
        ash__buffer_append_byte(out, (uint8_t)literal);
        p += len;
    }
    /* Behind a + the character is there at least once. */
    if (out->len > start && *p != 0 && strchr("?*{", *p) != NULL)
        drop_last_char(out);
    *whole = *p == 0;
    return out->len > start;
}
