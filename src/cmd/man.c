/* SPDX-License-Identifier: Apache-2.0 */
/* The manual page, from the tables that the command itself uses. */
#include "cmd/kit/verbs.h"

/* Dashes and backslashes mean something to troff, and so does a dot that begins a line. */
static void print_troff(const char *text)
{
    bool line_start = true;
    for (; *text != 0; text++) {
        if (line_start && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\\')
            fputs("\\e", stdout);
        else
            putchar(*text);
        line_start = *text == '\n';
    }
}

static void print_man_options(const ash_cmd_option *options)
{
    for (int i = 0; options != NULL && options[i].name != NULL; i++) {
        printf(".TP\n.B ");
        if (options[i].letter != 0)
            printf("\\-%c, ", options[i].letter);
        printf("\\-\\-");
        print_troff(options[i].name);
        if (options[i].argument != NULL)
            printf("=%s", options[i].argument);
        printf("\n");
        print_troff(options[i].help);
        printf("\n");
    }
}

static void print_verb(const ash_cmd_verb *verb)
{
    printf(".SS ");
    print_troff(verb->name);
    printf(" ");
    print_troff(verb->synopsis);
    printf("\n");
    print_troff(verb->summary);
    printf(".\n");
    if (verb->details != NULL) {
        print_troff(verb->details);
        printf("\n");
    }
    print_man_options(verb->options);
    for (int i = 0; verb->verbs != NULL && verb->verbs[i] != NULL; i++)
        print_verb(verb->verbs[i]);
}

static const char head[] =
    ".TH ASHLAR 1 2026-11-23 \"Ashlar " ASH_VERSION
    "\" \"User Commands\"\n.SH NAME\nashlar \\- keep files as documents\n.SH SYNOPSIS\n.B ashlar\n"
    "[\\-s STORE] VERB ...\n.SH DESCRIPTION\n"
    "Keeps files of any size as documents: in a folder on this machine, or on a MongoDB "
    "deployment. A file is addressed by\n"
    ".IR NAME ,\n.IR NAME @ REV\n(@0 the first revision, @\\-1 the newest) or\n.BI id: VALUE .\n"
    "A\n.I TIME\nis in seconds, or with s, m, h or d after it; a\n.I SIZE\nin bytes, or with "
    "k, M or G after it (powers of 1024).\n"
    ".SH OPTIONS\n";

static const char tail[] =
    ".SH EXIT STATUS\n"
    "0 done; 1 other failure; 2 usage; 3 some items failed; 4 not found; 5 exists or a condition "
    "failed; 6 locked\n"
    "or timed out; 7 corrupt data found; 8 no space; 9 not allowed; 130 interrupted.\n"
    ".SH ENVIRONMENT\n"
    ".TP\n.B ASHLAR_STORE\nThe store, when \\-s is not given: a folder, a mongodb:// URI or "
    "@NAME.\n"
    ".TP\n.B ASHLAR_STORES\nThe list in which @NAME is looked up.\n"
    ".TP\n.B XDG_DATA_HOME\nWithout either, the store is the folder \\fIashlar\\fR in this one.\n"
    ".SH FILES\n"
    ".TP\n.I ~/.local/share/ashlar\nThe store, when nothing else names one.\n"
    ".TP\n.I ~/.config/ashlar/stores\nThe list in which @NAME is looked up, unless ASHLAR_STORES "
    "or XDG_CONFIG_HOME is set: lines of "
    "a name and an address or folder. Nobody else may read it (mode 600).\n"
    ".TP\n.IR STORE /ashlar.sock\n"
    "While a server runs: where other commands on the same folder reach it.\n"
    ".TP\n.IR STORE /ashlar.guest.sock\n"
    "The same, while a command holds the folder and no server does.\n"
    ".SH EXAMPLES\n"
    ".TP\nKeep a folder, and get it back elsewhere:\n"
    ".EX\nashlar put \\-r \\-\\-name docs ~/Documents\nashlar get \\-r docs/ /tmp/restored\n.EE\n"
    ".TP\nKeep a stream, and read a part of it:\n"
    ".EX\ntar c src | ashlar put \\- src.tar\nashlar cat \\-\\-range 0\\-511 src.tar\n.EE\n"
    ".TP\nKeep a folder with its past, and get it back as it was:\n"
    ".EX\nashlar tree put \\-r \\-\\-delete ~/site www\n"
    "ashlar tree get \\-r \\-\\-at \\(aq2 days ago\\(aq www /tmp/before\n.EE\n"
    ".TP\nLet MongoDB drivers use the store:\n"
    ".EX\nashlar \\-s /srv/files serve \\-\\-mongo 127.0.0.1:27017\n.EE\n"
    ".TP\nDo something one at a time:\n"
    ".EX\nashlar lock report.csv \\-\\-wait 60 \\-\\- ./rewrite\\-report\n.EE\n"
    ".TP\nA copy of the store, repeated every night; only what has changed is copied:\n"
    ".EX\nashlar \\-s /srv/files backup /mnt/disk/files\n.EE\n";

int ash__cmd_print_man(void)
{
    printf("%s", head);
    print_man_options(ash__cmd_globals);
    printf(".SH VERBS\n");
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++)
        print_verb(ash__cmd_verbs[i]);
    printf("%s", tail);
    return ASH_EXIT_OK;
}
