/* SPDX-License-Identifier: Apache-2.0 */
/* Words of other programs first, which no count of letters would find; then the known word that is
 * nearest. */
#include "cmd/suggest.h"

#include <string.h>

enum { LONGEST = 40 }; /* more was not mistyped but pasted */

struct search {
    const char *typed;
    size_t len;
    const char *best;
    size_t distance; /* of best; before there is one: one more than is near enough */
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Letters left out, added, replaced, or swapped with their neighbour (optimal string alignment). */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    size_t rows[3][LONGEST + 1];
    size_t *before = rows[0], *last = rows[1], *now = rows[2];
    for (size_t j = 0; j <= b_len; j++)
        last[j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t other = a[i - 1] != b[j - 1];
            now[j] = least(least(last[j], now[j - 1]) + 1, last[j - 1] + other);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        size_t *free_row = before;
        before = last;
        last = now;
        now = free_row;
    }
    return last[b_len];
}

static struct search begin(const char *typed, size_t len)
{
    /* A third of the word may be wrong: more is another word. */
    return (struct search){typed, len, NULL, len < 3 ? 2 : len / 3 + 1};
}

static void consider(struct search *s, const char *word)
{
    size_t len = strlen(word);
    if (s->len == 0 || s->len > LONGEST || len > LONGEST)
        return;
    /* What was begun and not finished: at least three letters, or they tell nothing. */
    bool begun = s->len >= 3 && len > s->len && strncmp(word, s->typed, s->len) == 0;
    size_t errors = begun ? 1 : distance(s->typed, s->len, word, len);
    /* Not a word that shares no letter with what was typed. */
    if (errors < s->distance && errors < len) {
        s->best = word;
        s->distance = errors;
    }
}

/* What other programs call it: word, verb, word, verb … */
static const char *const elsewhere[] = {
    "list",      "ls",
    "dir",       "ls",
    "delete",    "rm",
    "remove",    "rm",
    "del",       "rm",
    "rename",    "mv",
    "move",      "mv",
    "upload",    "put",
    "add",       "put",
    "save",      "put",
    "store",     "put",
    "download",  "get",
    "fetch",     "get",
    "show",      "cat",
    "read",      "cat",
    "search",    "find",
    "query",     "find",
    "info",      "stat",
    "repair",    "check",
    "fsck",      "check",
    "verify",    "check",
    "du",        "df",
    "start",     "serve",
    "server",    "serve",
    "cp",        "put, get, or copy (stores)",
    "sync",      "put -r --update",
    "rsync",     "put -r --update",
    "mkdir",     "put (folders need not be made: put FILE FOLDER/)",
    "rmdir",     "rm -r",
    "ll",        "ls -l",
    "create",    "init",
    "dump",      "backup",
    "restore",   "get, or backup (a backup is itself a store)",
    "mirror",    "copy",
    "cksum",     "sum",
    "sha256sum", "sum",
    "gc",        "sweep",
    "clean",     "sweep",
    "prune",     "sweep",
};

const char *ash__suggest_verb(const char *typed)
{
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i += 2) {
        if (strcmp(elsewhere[i], typed) == 0)
            return elsewhere[i + 1];
    }
    struct search s = begin(typed, strlen(typed));
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++)
        consider(&s, ash__cmd_verbs[i]->name);
    return s.best;
}

const char *ash__suggest_own_verb(const ash_cmd_verb *verb, const char *typed)
{
    for (size_t i = 0; verb->known_as != NULL && verb->known_as[i] != NULL; i += 2) {
        if (strcmp(verb->known_as[i], typed) == 0)
            return verb->known_as[i + 1];
    }
    struct search s = begin(typed, strlen(typed));
    for (int i = 0; verb->verbs[i] != NULL; i++)
        consider(&s, ash__cmd_own_word(verb->verbs[i]));
    return s.best;
}

const char *ash__suggest_option(const ash_cmd_option *own, const char *typed, size_t len)
{
    struct search s = begin(typed, len);
    for (int i = 0; own != NULL && own[i].name != NULL; i++)
        consider(&s, own[i].name);
    for (int i = 0; ash__cmd_globals[i].name != NULL; i++)
        consider(&s, ash__cmd_globals[i].name);
    return s.best;
}

const char *ash__suggest_letter(const ash_cmd_verb *verb, char letter)
{
    static const struct {
        const char *verb;
        char letter;
        const char *hint;
    } habits[] = {
        {"tree log", 'n', "--limit N shows so many versions"},
        {"tree ls", 'a', "names that begin with a dot are shown as all are"},
        {"tree cp", 'a', "cp -r copies folders, and times and properties come along"},
        {"tree cp", 'p', "times and properties come along"},
    };
    for (size_t i = 0; verb != NULL && i < sizeof habits / sizeof *habits; i++)
        if (habits[i].letter == letter && strcmp(habits[i].verb, verb->name) == 0)
            return habits[i].hint;
    return NULL;
}
