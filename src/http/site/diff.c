/* SPDX-License-Identifier: Apache-2.0 */
/* Eugene Myers: An O(ND) Difference Algorithm and Its Variations (1986), in its form that needs only
 * linear space: from both ends at once, until the two ways meet. */
#include "http/site/diff.h"

#include "base/hash.h"
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

enum {
    CONTEXT = 3,
    MAX_PROBES = 64,
    MAX_EDITS = 500 /* each way, before anything that leads far is good enough */
};

typedef struct side {
    const char *data;
    size_t count;
    uint32_t *starts; /* of each line, and the end of the last one */
    uint32_t *ids;    /* equal lines have equal ids */
    bool *changed;    /* is not in the other one */
} side;

typedef struct comparison {
    side a, b;
    /* How far each way came on its diagonals, -MAX_EDITS - 1 … MAX_EDITS + 1; -1: it is not there. */
    int ahead[2 * MAX_EDITS + 3], back[2 * MAX_EDITS + 3];
} comparison;

/* ---- lines ---- */

static bool split(side *s, ash_diff_text text)
{
    size_t count = 0;
    for (size_t i = 0; i < text.len; i++)
        count += text.data[i] == '\n' || i + 1 == text.len;
    if (count > ASH_DIFF_MAX_LINES)
        return false;
    s->data = text.data;
    s->count = count;
    s->starts = ash__alloc_array(count + 1, sizeof *s->starts);
    s->ids = ash__alloc_array(count + 1, sizeof *s->ids);
    s->changed = ash__alloc_array(count + 1, sizeof *s->changed);
    size_t line = 0;
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] == '\n' || i + 1 == text.len)
            s->starts[++line] = (uint32_t)i + 1;
    return true;
}

static void release(side *s)
{
    ash__free(s->starts);
    ash__free(s->ids);
    ash__free(s->changed);
}

static size_t line_length(const side *s, size_t line)
{
    return s->starts[line + 1] - s->starts[line];
}

static const char *line_of(const side *s, size_t line)
{
    return s->data + s->starts[line];
}

/* The line that this one is equal to, or itself, among those in slots: the number + 1, of both
 * sides one after the other; 0: free.  Who makes up lines of one checksum gets a longer diff, and no
 * longer search. */
static uint32_t find_equal(const comparison *c, uint32_t *slots, size_t mask, size_t i)
{
    const side *s = i < c->a.count ? &c->a : &c->b;
    size_t line = i < c->a.count ? i : i - c->a.count;
    size_t len = line_length(s, line);
    size_t at = ash__checksum(line_of(s, line), len) & mask;
    for (int probes = 0; probes < MAX_PROBES; probes++, at = (at + 1) & mask) {
        if (slots[at] == 0)
            return slots[at] = (uint32_t)i + 1;
        size_t k = slots[at] - 1;
        const side *t = k < c->a.count ? &c->a : &c->b;
        size_t other = k < c->a.count ? k : k - c->a.count;
        if (line_length(t, other) == len && memcmp(line_of(t, other), line_of(s, line), len) == 0)
            return slots[at];
    }
    return (uint32_t)i + 1;
}

static void give_ids(comparison *c)
{
    size_t total = c->a.count + c->b.count, mask = 1;
    while (mask < 2 * total)
        mask = 2 * mask;
    uint32_t *slots = ash__alloc_array(mask, sizeof *slots);
    for (size_t i = 0; i < total; i++) {
        uint32_t id = find_equal(c, slots, mask - 1, i);
        if (i < c->a.count)
            c->a.ids[i] = id;
        else
            c->b.ids[i - c->a.count] = id;
    }
    ash__free(slots);
}

/* ---- what both have ---- */

/* Lines a … a + n and b … b + m. */
typedef struct part {
    size_t a, b;
    int n, m;
} part;

typedef struct place {
    int x, y; /* lines of both that lie before it */
} place;

static bool same(const comparison *c, const part *p, bool is_back, int x, int y)
{
    return is_back
               ? c->a.ids[p->a + (size_t)(p->n - 1 - x)] == c->b.ids[p->b + (size_t)(p->m - 1 - y)]
               : c->a.ids[p->a + (size_t)x] == c->b.ids[p->b + (size_t)y];
}

/* One line more is left out of one of both, on each diagonal; true: the ways met, at *met from
 * where this one began.  `other` came `reach` steps. */
static bool step(comparison *c, const part *p, bool is_back, int edits, int reach, place *met)
{
    int *own = (is_back ? c->back : c->ahead) + MAX_EDITS + 1;
    const int *other = (is_back ? c->ahead : c->back) + MAX_EDITS + 1;
    for (int k = -edits; k <= edits; k += 2) {
        int right = own[k - 1] >= 0 && own[k - 1] < p->n ? own[k - 1] + 1 : -1;
        int down = own[k + 1] - k <= p->m ? own[k + 1] : -1;
        int at = edits == 0 ? 0 : right > down ? right : down;
        while (at >= 0 && at < p->n && at - k < p->m && same(c, p, is_back, at, at - k))
            at++;
        own[k] = at;
        int across = p->n - p->m - k;
        if (at < 0 || across < -reach || across > reach || other[across] < 0 ||
            at + other[across] < p->n)
            continue;
        *met = (place){at, at - k};
        return true;
    }
    return false;
}

/* Where the shortest way from the beginning to the end passes its middle; or a place that is far
 * from the beginning, where it is a long one. */
static place find_middle(comparison *c, const part *p)
{
    bool odd = ((p->n - p->m) & 1) != 0;
    place met = {0};
    memset(c->ahead, -1, sizeof c->ahead);
    memset(c->back, -1, sizeof c->back);
    for (int edits = 0; edits <= MAX_EDITS; edits++) {
        if (step(c, p, false, edits, odd ? edits - 1 : -1, &met))
            return met;
        if (step(c, p, true, edits, odd ? -1 : edits, &met))
            return (place){p->n - met.x, p->m - met.y};
    }
    const int *ahead = c->ahead + MAX_EDITS + 1;
    for (int k = -MAX_EDITS; k <= MAX_EDITS; k += 2)
        if (ahead[k] >= 0 && 2 * ahead[k] - k > met.x + met.y)
            met = (place){ahead[k], ahead[k] - k};
    return met;
}

static void compare(comparison *c, part p)
{
    for (;;) {
        for (; p.n > 0 && p.m > 0 && same(c, &p, false, 0, 0); p.n--, p.m--) {
            p.a++;
            p.b++;
        }
        while (p.n > 0 && p.m > 0 && same(c, &p, true, 0, 0)) {
            p.n--;
            p.m--;
        }
        if (p.n == 0 || p.m == 0)
            break;
        place at = find_middle(c, &p);
        compare(c, (part){p.a, p.b, at.x, at.y});
        p = (part){p.a + (size_t)at.x, p.b + (size_t)at.y, p.n - at.x, p.m - at.y};
    }
    for (int i = 0; i < p.n; i++)
        c->a.changed[p.a + (size_t)i] = true;
    for (int i = 0; i < p.m; i++)
        c->b.changed[p.b + (size_t)i] = true;
}

/* ---- hunks ---- */

static bool is_change(const comparison *c, size_t i, size_t k)
{
    return (i < c->a.count && c->a.changed[i]) || (k < c->b.count && c->b.changed[k]);
}

static bool is_end(const comparison *c, size_t i, size_t k)
{
    return i == c->a.count && k == c->b.count;
}

static void write_line(ash_buffer *out, char how, const side *s, size_t line)
{
    size_t len = line_length(s, line);
    ash__buffer_append_byte(out, (uint8_t)how);
    ash__buffer_append(out, line_of(s, line), len);
    if (line_of(s, line)[len - 1] != '\n')
        ash__buffer_append_text(out, "\n\\ No newline at end of file\n");
}

/* An empty range is said by the line before it. */
static void write_range(ash_buffer *out, char how, size_t from, size_t to)
{
    ash__buffer_printf(out, " %c%zu", how, to > from ? from + 1 : from);
    if (to - from != 1)
        ash__buffer_printf(out, ",%zu", to - from);
}

static void write_hunk(const comparison *c, ash_buffer *out, size_t i, size_t k, size_t i_end,
                       size_t k_end)
{
    ash__buffer_append_text(out, "@@");
    write_range(out, '-', i, i_end);
    write_range(out, '+', k, k_end);
    ash__buffer_append_text(out, " @@\n");
    while (i < i_end || k < k_end) {
        if (i < i_end && c->a.changed[i]) {
            write_line(out, '-', &c->a, i++);
        } else if (k < k_end && c->b.changed[k]) {
            write_line(out, '+', &c->b, k++);
        } else {
            write_line(out, ' ', &c->a, i++);
            k++;
        }
    }
}

/* Changes with few lines between them are one hunk. */
static void write_hunks(const comparison *c, ash_buffer *out)
{
    size_t i = 0, k = 0;
    for (;;) {
        size_t same_lines = 0;
        for (; !is_change(c, i, k) && !is_end(c, i, k); i++, k++)
            same_lines++;
        if (is_end(c, i, k))
            return;
        size_t before = same_lines < CONTEXT ? same_lines : CONTEXT;
        size_t i_start = i - before, k_start = k - before, after = 0;
        while (!is_end(c, i, k) && after <= 2 * CONTEXT) {
            for (; is_change(c, i, k); after = 0) {
                bool is_gone = i < c->a.count && c->a.changed[i];
                i += is_gone;
                k += !is_gone;
            }
            if (!is_end(c, i, k)) {
                i++;
                k++;
                after++;
            }
        }
        size_t spare = after > CONTEXT ? after - CONTEXT : 0;
        i -= spare;
        k -= spare;
        write_hunk(c, out, i_start, k_start, i, k);
    }
}

bool ash__diff_unified(ash_diff_text a, ash_diff_text b, ash_buffer *out)
{
    comparison *c = ash__new(comparison);
    bool good = split(&c->a, a) && split(&c->b, b);
    if (good) {
        give_ids(c);
        compare(c, (part){0, 0, (int)c->a.count, (int)c->b.count});
        write_hunks(c, out);
    }
    release(&c->a);
    release(&c->b);
    ash__free(c);
    return good;
}
