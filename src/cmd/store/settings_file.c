/* SPDX-License-Identifier: Apache-2.0 */
/* From a file's text to settings.  What is wrong is told with its line, and reading goes on behind
 * it, so that one look finds all of it. */
#include "base/buffer.h"
#include "base/file.h"
#include "base/mem.h"
#include "base/text.h"
#include "cmd/kit/nearest.h"
#include "cmd/store/settings_key.h"
#include "http/site/site.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A piece of a value: a word, or (len 0 and not quoted) a comma. */
typedef struct word {
    const char *at;
    size_t len;
    bool quoted;
} word;

typedef struct reader {
    ash_settings *out;
    const char *section; /* NULL: one that there is not, whose keys are passed over */
    int line;
    word *words;
    size_t count;
} reader;

__attribute__((format(printf, 2, 3))) static bool complain(reader *r, const char *format, ...)
{
    char text[1024];
    va_list args;
    size_t at = r->out->error_count++;
    if (at >= ASH_SETTINGS_MAX_ERRORS)
        return false;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ash__text_trim(text);
    r->out->errors[at].line = r->line;
    r->out->errors[at].text = ash__strdup(text);
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_comma(const word *w)
{
    return w->len == 0 && !w->quoted;
}

/* ---- a value ---- */

static bool take_quoted(reader *r, const char **at, const char *end, bool is_list)
{
    const char *close = memchr(*at + 1, '"', (size_t)(end - *at - 1));
    if (close == NULL)
        return complain(r, "a quote is not closed");
    if (close + 1 < end && !is_blank(close[1]) && !(is_list && close[1] == ','))
        return complain(r, "a blank is missing behind a quote");
    r->words[r->count++] = (word){*at + 1, (size_t)(close - *at - 1), true};
    *at = close + 1;
    return true;
}

static bool take_words(reader *r, const char *at, const char *end, bool is_list)
{
    r->count = 0;
    while (at < end) {
        const char *begin = at;
        if (is_blank(*at)) {
            at++;
        } else if (*at == '"') {
            if (!take_quoted(r, &at, end, is_list))
                return false;
        } else if (is_list && *at == ',') {
            r->words[r->count++] = (word){at++, 0, false};
        } else {
            while (at < end && !is_blank(*at) && !(is_list && *at == ',')) {
                if (*at++ == '"')
                    return complain(r, "a quote stands within a word");
            }
            r->words[r->count++] = (word){begin, (size_t)(at - begin), false};
        }
    }
    return true;
}

/* Taken when it may be; a list grows. */
static bool add_value(reader *r, ash_setting key, const char *text)
{
    char why[ASH_SETTING_WHY_BYTES];
    char **value = &r->out->values[key];
    if (!ash__setting_check(key, text, why))
        return complain(r, "%s %s", ash__setting_name(key), why);
    if (ash__setting_key(key)->kind == ASH_KEY_FLAG) {
        *value = strcmp(text, "yes") == 0 ? ash__strdup("") : NULL;
    } else if (*value == NULL) {
        *value = ash__strdup(text);
    } else {
        char *longer = ash__sprintf("%s,%s", *value, text);
        ash__free(*value);
        *value = longer;
    }
    return true;
}

static bool add_word(reader *r, ash_setting key, const word *w)
{
    char *text = ash__strndup(w->at, w->len);
    bool good = add_value(r, key, text);
    ash__free(text);
    return good;
}

static int count_of(const char *list)
{
    int count = list != NULL;
    for (; list != NULL && (list = strchr(list, ',')) != NULL; list++)
        count++;
    return count;
}

static void take_list(reader *r, ash_setting key)
{
    int most = ash__setting_key(key)->max;
    bool good = true, any = false;
    for (size_t i = 0; i < r->count && good; i++) {
        if (is_comma(&r->words[i]))
            continue;
        if (count_of(r->out->values[key]) >= most)
            good = complain(r, "%s takes no more than %d", ash__setting_name(key), most);
        else
            (void)add_word(r, key, &r->words[i]);
        any = true;
    }
    if (!any)
        (void)complain(r, "%s has no value", ash__setting_name(key));
}

static void take_one(reader *r, ash_setting key)
{
    if (r->count > 1)
        (void)complain(r,
                       "%s takes one value; what has blanks stands in \"quotes\", and a remark on "
                       "a line of its own",
                       ash__setting_name(key));
    else
        (void)add_word(r, key, &r->words[0]);
}

/* ---- endpoints ---- */

/* v7files' endpoints begin with a '/', and "/" is all. */
static char *prefix_of(const word *w)
{
    size_t len = w->len > 0 && w->at[w->len - 1] == '/' ? w->len - 1 : w->len;
    return ash__strndup(w->at, len);
}

static bool check_endpoint(reader *r, const word *w, const char *prefix)
{
    const ash_settings *s = r->out;
    if (w->len == 0 || w->at[0] != '/' || !ash__site_is_good_prefix(prefix))
        return complain(r,
                        "endpoints takes PREFIX ROOT, and a PREFIX such as / or /docs, not "
                        "\"%.*s\"",
                        (int)(w->len < 80 ? w->len : 80), w->at);
    for (size_t i = 0; i < s->endpoint_count; i++)
        if (strcmp(s->endpoints[i].prefix, prefix) == 0)
            return complain(r, "two trees are to be at \"%s/\"", prefix);
    if (s->endpoint_count == ASH_SETTINGS_MAX_ENDPOINTS)
        return complain(r, "there may be no more than %d endpoints", ASH_SETTINGS_MAX_ENDPOINTS);
    return true;
}

/* PREFIX [ROOT].  As v7files has it, a root is called like its prefix unless something else is
 * said. */
static void take_endpoint(reader *r, const word *words, size_t count)
{
    if (count > 2) {
        (void)complain(r, "endpoints takes PREFIX ROOT, and commas between several");
        return;
    }
    char *prefix = prefix_of(&words[0]);
    const word *root = &words[count - 1];
    if (count == 2 && root->len == 0)
        (void)complain(r, "a root is empty");
    else if (check_endpoint(r, &words[0], prefix))
        r->out->endpoints[r->out->endpoint_count++] =
            (ash_endpoint){ash__strdup(prefix), count == 2 ? ash__strndup(root->at, root->len)
                                                : prefix[0] == '\0' ? ash__strdup("/")
                                                                    : ash__strdup(prefix)};
    ash__free(prefix);
}

static void take_endpoints(reader *r)
{
    size_t begin = 0;
    bool any = false;
    for (size_t i = 0; i <= r->count; i++) {
        if (i < r->count && !is_comma(&r->words[i]))
            continue;
        if (i > begin)
            take_endpoint(r, r->words + begin, i - begin);
        any = any || i > begin;
        begin = i + 1;
    }
    if (!any)
        (void)complain(r, "endpoints has no value");
}

/* ---- a line ---- */

static void add_allowed(const char *section, ash_buffer *out)
{
    for (int i = 0; i < ASH_SETTINGS; i++) {
        const ash_setting_key *k = ash__setting_key((ash_setting)i);
        if (strcmp(k->section, section) == 0)
            ash__buffer_printf(out, "%s%s", out->len > 0 ? ", " : "", k->name);
    }
}

/* The one that was meant, wherever it stands; all of them only where none is near. */
static void complain_of_unknown(reader *r, const char *name, size_t len)
{
    ash_nearest meant = ash__nearest_to(name, len);
    ash_buffer allowed = ASH_BUFFER_INIT;
    int shown = (int)(len < 80 ? len : 80);
    for (int i = 0; i < ASH_SETTINGS; i++)
        ash__nearest_try(&meant, ash__setting_key((ash_setting)i)->name);
    add_allowed(r->section, &allowed);
    if (meant.best != NULL)
        (void)complain(r, "unknown key \"%.*s\"; did you mean %s?", shown, name, meant.best);
    else
        (void)complain(r, "unknown key \"%.*s\"; there are: %s", shown, name,
                       ash__buffer_text(&allowed));
    ash__buffer_release(&allowed);
}

/* ASH_SETTINGS, with a word about it, when there is none. */
static ash_setting find_key(reader *r, const char *name, size_t len)
{
    const ash_setting_key *elsewhere = NULL;
    for (int i = 0; i < ASH_SETTINGS; i++) {
        const ash_setting_key *k = ash__setting_key((ash_setting)i);
        if (strlen(k->name) != len || strncmp(k->name, name, len) != 0)
            continue;
        if (strcmp(k->section, r->section) == 0)
            return (ash_setting)i;
        elsewhere = k;
    }
    if (elsewhere != NULL && elsewhere->section[0] == '\0') {
        (void)complain(r, "%s stands before the first section", elsewhere->name);
    } else if (elsewhere != NULL) {
        (void)complain(r, "%s stands in [%s]", elsewhere->name, elsewhere->section);
    } else {
        complain_of_unknown(r, name, len);
    }
    return ASH_SETTINGS;
}

static void take_section(reader *r, const char *at, const char *end)
{
    ash_buffer there = ASH_BUFFER_INIT;
    const char *name = at + 1, *name_end = end - 1;
    bool is_closed = end > name && *name_end == ']';
    r->section = NULL;
    for (int i = 0; i < ASH_SETTINGS && r->section == NULL; i++) {
        const char *section = ash__setting_key((ash_setting)i)->section;
        if (section[0] != '\0' && is_closed && strlen(section) == (size_t)(name_end - name) &&
            strncmp(section, name, strlen(section)) == 0)
            r->section = section;
        if (section[0] != '\0' && strstr(ash__buffer_text(&there), section) == NULL)
            ash__buffer_printf(&there, "%s[%s]", there.len > 0 ? ", " : "", section);
    }
    if (r->section == NULL)
        (void)complain(r, "unknown section \"%.*s\"; there are: %s",
                       (int)(end - at < 80 ? end - at : 80), at, ash__buffer_text(&there));
    ash__buffer_release(&there);
}

static void take_setting(reader *r, const char *at, const char *end)
{
    const char *equals = memchr(at, '=', (size_t)(end - at)), *name_end = equals;
    if (equals == NULL || equals == at) {
        (void)complain(r, "this is neither KEY = VALUE nor [SECTION], and no remark (#)");
        return;
    }
    while (name_end > at && is_blank(name_end[-1]))
        name_end--;
    ash_setting key = find_key(r, at, (size_t)(name_end - at));
    if (key == ASH_SETTINGS)
        return;
    int before = r->out->lines[key];
    bool is_list = ash__setting_is_list(key);
    r->out->lines[key] = r->line;
    if (!is_list && before != 0) {
        (void)complain(r, "%s stands in line %d already", ash__setting_name(key), before);
        return;
    }
    if (!take_words(r, equals + 1, end, is_list))
        return;
    if (r->count == 0)
        (void)complain(r, "%s has no value", ash__setting_name(key));
    else if (key == ASH_SET_ENDPOINTS)
        take_endpoints(r);
    else if (is_list)
        take_list(r, key);
    else
        take_one(r, key);
}

/* Nothing that a terminal or a log would not show. */
static bool is_plain(reader *r, const char *at, size_t len)
{
    if (len > ASH_SETTINGS_MAX_LINE)
        return complain(r, "the line has more than %d bytes", ASH_SETTINGS_MAX_LINE);
    for (size_t i = 0; i < len; i++)
        if (((unsigned char)at[i] < 0x20 && at[i] != '\t') || at[i] == 0x7f)
            return complain(r, "a control character (0x%02x) at byte %zu of the line",
                            (unsigned char)at[i], i + 1);
    size_t good = ash__text_good(at, len);
    return good == len || complain(r, "not UTF-8 at byte %zu of the line", good + 1);
}

static void take_line(reader *r, const char *at, size_t len)
{
    if (len > 0 && at[len - 1] == '\r')
        len--;
    if (!is_plain(r, at, len))
        return;
    const char *end = at + len;
    while (at < end && is_blank(*at))
        at++;
    while (end > at && is_blank(end[-1]))
        end--;
    if (at == end || *at == '#' || *at == ';')
        return;
    if (*at == '[')
        take_section(r, at, end);
    else if (r->section != NULL)
        take_setting(r, at, end);
}

/* What contradicts itself; told at whichever comes later. */
static void check_together(reader *r)
{
    const ash_settings *s = r->out;
    const int *lines = s->lines;
    if (s->values[ASH_SET_STANDALONE] != NULL && s->values[ASH_SET_REPLICA_SET] != NULL) {
        r->line = lines[ASH_SET_STANDALONE] > lines[ASH_SET_REPLICA_SET]
                      ? lines[ASH_SET_STANDALONE]
                      : lines[ASH_SET_REPLICA_SET];
        (void)complain(r, "a standalone server has no replica-set");
    }
    if (s->values[ASH_SET_HTTP_ROOT] != NULL && lines[ASH_SET_ENDPOINTS] != 0) {
        r->line = lines[ASH_SET_ENDPOINTS];
        (void)complain(r, "endpoints names the roots, so http-root (line %d) cannot",
                       lines[ASH_SET_HTTP_ROOT]);
    }
}

void ash__settings_parse(const char *text, size_t len, ash_settings *out)
{
    reader r = {.out = out, .section = ""};
    const char *end = text + len;
    if (len > ASH_SETTINGS_MAX_BYTES) {
        (void)complain(&r, "it has more than %d bytes", ASH_SETTINGS_MAX_BYTES);
        return;
    }
    /* A word has a byte at least, and there is none in longer lines. */
    r.words = ash__alloc_array(ASH_SETTINGS_MAX_LINE + 1, sizeof *r.words);
    /* As some editors begin UTF-8. */
    if (len >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        text += 3;
    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        size_t line_len = (size_t)((newline != NULL ? newline : end) - text);
        r.line++;
        take_line(&r, text, line_len);
        text = newline != NULL ? newline + 1 : end;
    }
    check_together(&r);
    ash__free(r.words);
}

/* ---- the file ---- */

/* A descriptor of a regular file, or -1 and errno.  It may be a link, as in /etc; a pipe of that
 * name would keep the server waiting for somebody who writes. */
static int open_file(const char *path)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        errno = EINVAL;
        return -1;
    }
    return fd;
}

void ash__settings_load(const char *path, ash_settings *out)
{
    reader r = {.out = out};
    char *text = ash__alloc(ASH_SETTINGS_MAX_BYTES + 1);
    size_t len = 0;
    ssize_t n = -1;
    int fd = open_file(path), reason = errno;
    /* One byte more than it may have, by which that shows. */
    while (fd >= 0 && len <= ASH_SETTINGS_MAX_BYTES &&
           ((n = read(fd, text + len, ASH_SETTINGS_MAX_BYTES + 1 - len)) > 0 ||
            (n < 0 && errno == EINTR)))
        len += n > 0 ? (size_t)n : 0;
    if (fd >= 0) {
        reason = errno;
        close(fd);
    }
    if (n >= 0)
        ash__settings_parse(text, len, out);
    else if (reason == EINVAL)
        (void)complain(&r, "it is no regular file");
    else
        (void)complain(&r, "cannot read it: %s", strerror(reason));
    ash__free(text);
}

void ash__settings_release(ash_settings *s)
{
    for (int i = 0; i < ASH_SETTINGS; i++)
        ash__free(s->values[i]);
    for (size_t i = 0; i < s->endpoint_count; i++) {
        ash__free(s->endpoints[i].prefix);
        ash__free(s->endpoints[i].root);
    }
    for (size_t i = 0; i < s->error_count && i < ASH_SETTINGS_MAX_ERRORS; i++)
        ash__free(s->errors[i].text);
    *s = (ash_settings){0};
}
