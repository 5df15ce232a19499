/* SPDX-License-Identifier: Apache-2.0 */
/* `ashlar help`, and `ashlar help VERB`, from the tables of verbs and options. */
#include "cmd/kit/verbs.h"

#include "base/mem.h"

#include <string.h>

/* A verb's own letter counts, as `ls -h`. */
static bool is_taken(const ash_cmd_option *global, const ash_cmd_verb *verb)
{
    const ash_cmd_option *own = verb != NULL ? verb->options : NULL;
    for (; own != NULL && own->name != NULL; own++)
        if (own != global && own->letter == global->letter)
            return true;
    return false;
}

/* verb: whose help it is; NULL: nobody's. */
static void print_options(const ash_cmd_option *options, const ash_cmd_verb *verb)
{
    for (int i = 0; options != NULL && options[i].name != NULL; i++) {
        if (verb != NULL && !verb->has_dry_run && strcmp(options[i].name, "dry-run") == 0)
            continue;
        char left[64];
        char letter[5] = "    ";
        if (options[i].letter != 0 && !is_taken(&options[i], verb))
            snprintf(letter, sizeof letter, "-%c, ", options[i].letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, options[i].name,
                 options[i].argument != NULL ? "=" : "",
                 options[i].argument != NULL ? options[i].argument : "");
        printf("  %-26s %s\n", left, options[i].help);
    }
}

static int print_overview(void)
{
    const char *group = "";
    printf("usage: ashlar [-s STORE] VERB ...\n\n"
           "Keeps files of any size as documents: in a folder, or on a MongoDB deployment.\n");
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++) {
        const ash_cmd_verb *verb = ash__cmd_verbs[i];
        if (strcmp(group, verb->group) != 0)
            printf("\n%s:\n", verb->group);
        group = verb->group;
        printf("  %-11s %s\n", verb->name, verb->summary);
    }
    printf("\nA file is addressed by NAME, NAME@REV (@0 the first revision, @-1 the newest) or "
           "id:VALUE.\nA file whose whole name is exactly what you type, such as report@1, comes "
           "first.\nA TIME is in seconds, or with s, m, h or d after it; a SIZE in bytes, or "
           "with k, M or G after it (powers of 1024).\n\nGlobal options:\n");
    print_options(ash__cmd_globals, NULL);
    printf("\nExit status: 0 done; 1 other failure; 2 usage; 3 some items failed; 4 not found; 5 "
           "exists or a condition\n"
           "failed; 6 locked or timed out; 7 corrupt data found; 8 no space; 9 not allowed; 130 "
           "interrupted.\n"
           "`ashlar help VERB` tells more.\n");
    return ASH_EXIT_OK;
}

enum { MAN };
static const ash_cmd_option help_options[] = {
    {0, "man", NULL, "print the manual page, in troff"},
    {0, NULL, NULL, NULL},
};

/* Their own verbs by their words, as the overview has all. */
static void print_own_verbs(const ash_cmd_verb *verb)
{
    if (verb->verbs == NULL)
        return;
    printf("\nVerbs:\n");
    for (int i = 0; verb->verbs[i] != NULL; i++)
        printf("  %-11s %s\n", ash__cmd_own_word(verb->verbs[i]), verb->verbs[i]->summary);
}

static int print_verb(const ash_cmd *cmd, const ash_cmd_verb *verb)
{
    printf("usage: %s%s%s%s\n\n%s.\n", cmd->mongofiles ? "mongofiles" : "ashlar ",
           cmd->mongofiles ? "" : verb->name, verb->synopsis[0] != 0 ? " " : "", verb->synopsis,
           verb->summary);
    if (verb->details != NULL)
        printf("\n%s\n", verb->details);
    print_own_verbs(verb);
    if (verb->options != NULL)
        printf("\nOptions:\n");
    print_options(verb->options, verb);
    printf("\nGlobal options:\n");
    print_options(ash__cmd_globals, verb);
    return ASH_EXIT_OK;
}

static int run_help(ash_cmd *cmd, const ash_cmd_args *args)
{
    if (args->values[MAN] != NULL)
        return ash__cmd_print_man();
    if (args->count == 0)
        return print_overview();
    const ash_cmd_verb *verb = ash__cmd_find_verb(args->words[0]);
    if (verb == NULL)
        return ash__cmd_unknown_verb(cmd, args->words[0]);
    if (args->count > 1 && verb->verbs == NULL)
        return ash__cmd_usage(cmd, "%s has no verbs of its own", verb->name);
    if (args->count > 1 && ash__cmd_find_own_verb(verb, args->words[1]) == NULL)
        return ash__cmd_unknown_own_verb(cmd, verb, args->words[1]);
    if (args->count > 1)
        verb = ash__cmd_find_own_verb(verb, args->words[1]);
    return print_verb(cmd, verb);
}

const ash_cmd_verb ash__cmd_help = {
    .name = "help",
    .group = "misc",
    .synopsis = "[VERB [WORD]]",
    .summary = "explain the command, or one verb",
    .options = help_options,
    .max_words = 2,
    .run = run_help,
};
