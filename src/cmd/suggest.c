/* SPDX-License-Identifier: Apache-2.0 */
/* Words of other programs first, which no count of letters would find; then the known word that is
 * nearest. */
#include "cmd/suggest.h"

#include "cmd/kit/nearest.h"

#include <string.h>

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
    ash_nearest s = ash__nearest_to(typed, strlen(typed));
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++)
        ash__nearest_try(&s, ash__cmd_verbs[i]->name);
    return s.best;
}

const char *ash__suggest_own_verb(const ash_cmd_verb *verb, const char *typed)
{
    for (size_t i = 0; verb->known_as != NULL && verb->known_as[i] != NULL; i += 2) {
        if (strcmp(verb->known_as[i], typed) == 0)
            return verb->known_as[i + 1];
    }
    ash_nearest s = ash__nearest_to(typed, strlen(typed));
    for (int i = 0; verb->verbs[i] != NULL; i++)
        ash__nearest_try(&s, ash__cmd_own_word(verb->verbs[i]));
    return s.best;
}

const char *ash__suggest_option(const ash_cmd_option *own, const char *typed, size_t len)
{
    ash_nearest s = ash__nearest_to(typed, len);
    for (int i = 0; own != NULL && own[i].name != NULL; i++)
        ash__nearest_try(&s, own[i].name);
    for (int i = 0; ash__cmd_globals[i].name != NULL; i++)
        ash__nearest_try(&s, ash__cmd_globals[i].name);
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
