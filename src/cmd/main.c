/* SPDX-License-Identifier: Apache-2.0 */
/* From the command line to a verb's function.  Options may stand anywhere; a verb's own go before
 * global ones of the same letter, so what a letter means is known once the verb is. */
#include "cmd/kit/cmd.h"

#include "base/clock.h"
#include "base/mem.h"
#include "cmd/hide.h"
#include "cmd/suggest.h"

#include <ashlar/log.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

const ash_cmd_option ash__cmd_globals[] = {
    {'s', "store", "STORE",
     "folder, mongodb://… or @NAME (default: $ASHLAR_STORE, else ~/.local/share/ashlar)"},
    {'d', "db", "DB", "database (default: the URI's, else \"test\")"},
    {'b', "bucket", "BUCKET", "bucket (default: fs; of trees: v7.fs)"},
    {0, "json", NULL, "one JSON object a line; errors too, on standard error"},
    {'q', "quiet", NULL, "print only results and errors"},
    {'v', "verbose", NULL,
     "say which store it is, what is done and how long it takes; twice: in detail"},
    {'n', "dry-run", NULL, "only say what would be done (not every verb can)"},
    {0, "progress", "WHEN", "auto, on or off", "auto on off"},
    {'h', "help", NULL, "explain the verb"},
    {'V', "version", NULL, "print the version, as the verb does"},
    {0, NULL, NULL, NULL},
};
enum {
    G_STORE,
    G_DB,
    G_BUCKET,
    G_JSON,
    G_QUIET,
    G_VERBOSE,
    G_DRY_RUN,
    G_PROGRESS,
    G_HELP,
    G_VERSION
};

const ash_cmd_verb *ash__cmd_find_verb(const char *name)
{
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++) {
        if (strcmp(ash__cmd_verbs[i]->name, name) == 0)
            return ash__cmd_verbs[i];
    }
    return NULL;
}

int ash__cmd_unknown_verb(const ash_cmd *cmd, const char *name)
{
    const char *meant = ash__suggest_verb(name);
    if (meant != NULL)
        return ash__cmd_usage(cmd, "unknown verb \"%s\"; did you mean %s?", name, meant);
    return ash__cmd_usage(cmd, "unknown verb \"%s\"; `ashlar help` lists them", name);
}

const char *ash__cmd_own_word(const ash_cmd_verb *verb)
{
    const char *space = strchr(verb->name, ' ');
    return space != NULL ? space + 1 : verb->name;
}

const ash_cmd_verb *ash__cmd_find_own_verb(const ash_cmd_verb *verb, const char *word)
{
    for (int i = 0; verb->verbs != NULL && verb->verbs[i] != NULL; i++) {
        if (strcmp(ash__cmd_own_word(verb->verbs[i]), word) == 0)
            return verb->verbs[i];
    }
    return NULL;
}

int ash__cmd_unknown_own_verb(const ash_cmd *cmd, const ash_cmd_verb *verb, const char *word)
{
    const char *meant = ash__suggest_own_verb(verb, word);
    if (meant != NULL)
        return ash__cmd_usage(cmd, "unknown verb \"%s %s\"; did you mean %s %s?", verb->name, word,
                              verb->name, meant);
    return ash__cmd_usage(cmd, "unknown verb \"%s %s\"; `ashlar help %s` lists them", verb->name,
                          word, verb->name);
}

static int find_option(const ash_cmd_option *table, const char *name, size_t len, char letter)
{
    for (int i = 0; table != NULL && table[i].name != NULL; i++) {
        if (letter != 0 ? table[i].letter == letter
                        : strlen(table[i].name) == len && strncmp(table[i].name, name, len) == 0)
            return i;
    }
    return -1;
}

static int set_global(ash_cmd *cmd, int option, const char *value)
{
    /* The variable that was to name it is not set: the default would be another store. */
    if (option <= G_BUCKET && value[0] == 0)
        return ash__cmd_usage(cmd, "--%s cannot be empty", ash__cmd_globals[option].name);
    switch (option) {
    case G_STORE:
        cmd->store_uri = value;
        return 0;
    case G_DB:
        cmd->db = value;
        return 0;
    case G_BUCKET:
        cmd->bucket = value;
        return 0;
    case G_JSON:
        cmd->json = true;
        return 0;
    case G_QUIET:
        cmd->quiet = true;
        return 0;
    case G_VERBOSE:
        cmd->verbose++;
        return 0;
    case G_DRY_RUN:
        cmd->dry_run = true;
        return 0;
    case G_PROGRESS:
        if (strcmp(value, "auto") == 0)
            cmd->progress = ASH_PROGRESS_AUTO;
        else if (strcmp(value, "on") == 0)
            cmd->progress = ASH_PROGRESS_ON;
        else if (strcmp(value, "off") == 0)
            cmd->progress = ASH_PROGRESS_OFF;
        else
            return ash__cmd_usage(cmd, "--progress takes auto, on or off, not \"%s\"", value);
        return 0;
    default:
        return 0;
    }
}

/* Where the parser stands. */
struct parser {
    ash_cmd *cmd;
    ash_cmd_args *args;
    char **argv;
    int argc;
    int at;
    bool help, version;
    const char *verb_name, *own_word;
    const char *swallowed; /* a verb that was taken for the value of an option … */
    const char *swallower; /* … of that name */
};

static int unknown_option(const struct parser *p, const char *name, size_t len, char letter)
{
    const ash_cmd_verb *verb = p->cmd->verb;
    char lister[64] = "mongofiles --help";
    if (!p->cmd->mongofiles)
        snprintf(lister, sizeof lister, "ashlar help%s%s", verb != NULL ? " " : "",
                 verb != NULL ? verb->name : "");
    const char *hint = letter != 0 ? ash__suggest_letter(verb, letter) : NULL;
    if (hint != NULL)
        return ash__cmd_usage(p->cmd, "unknown option -%c: %s; `%s` lists them", letter, hint,
                              lister);
    if (letter != 0)
        return ash__cmd_usage(p->cmd, "unknown option -%c; `%s` lists them", letter, lister);
    const char *meant = ash__suggest_option(verb != NULL ? verb->options : NULL, name, len);
    if (meant != NULL)
        return ash__cmd_usage(p->cmd, "unknown option --%.*s; did you mean --%s?", (int)len, name,
                              meant);
    return ash__cmd_usage(p->cmd, "unknown option --%.*s; `%s` lists them", (int)len, name, lister);
}

/* One option, long (name, len) or short (letter).  inline_value: what followed "=" or the letter,
 * or NULL. *used says whether it was taken. */
static int take_option(struct parser *p, const char *name, size_t len, char letter,
                       const char *inline_value, bool *used)
{
    const ash_cmd_option *own = p->cmd->verb != NULL ? p->cmd->verb->options : NULL;
    const ash_cmd_option *table = own;
    int option = find_option(own, name, len, letter);
    if (option < 0) {
        table = ash__cmd_globals;
        option = find_option(table, name, len, letter);
    }
    if (option < 0)
        return unknown_option(p, name, len, letter);
    const char *value = "";
    *used = table[option].argument != NULL && inline_value != NULL;
    if (table[option].argument != NULL) {
        value = inline_value;
        /* The next word is the value, whatever it looks like, as getopt has it. */
        if (value == NULL && p->at + 1 < p->argc) {
            value = p->argv[++p->at];
            /* `ashlar -s ls`: remembered for the message, should no verb follow. */
            if (p->verb_name == NULL && ash__cmd_find_verb(value) != NULL) {
                p->swallowed = value;
                p->swallower = table[option].name;
            }
        }
        if (value == NULL)
            return ash__cmd_usage(p->cmd, "option --%s needs a value: %s", table[option].name,
                                  table[option].argument);
    } else if (letter == 0 && inline_value != NULL) {
        return ash__cmd_usage(p->cmd, "option --%s takes no value", table[option].name);
    }
    if (table == own) {
        p->args->values[option] = value;
        if (table[option].argument != NULL)
            p->args->given[p->args->given_count++] = (struct ash_cmd_given){option, value};
        return 0;
    }
    p->help = p->help || option == G_HELP;
    p->version = p->version || option == G_VERSION;
    return set_global(p->cmd, option, value);
}

static int take_long(struct parser *p, const char *text)
{
    const char *equals = strchr(text, '=');
    bool used;
    return take_option(p, text, equals != NULL ? (size_t)(equals - text) : strlen(text), 0,
                       equals != NULL ? equals + 1 : NULL, &used);
}

static int take_letters(struct parser *p, const char *letters)
{
    for (; *letters != 0; letters++) {
        bool used = false;
        int status = take_option(p, NULL, 0, *letters, letters[1] != 0 ? letters + 1 : NULL, &used);
        /* The rest was its value: -s/srv/files. */
        if (status != 0 || used)
            return status;
    }
    return 0;
}

/* `ashlar tree help put` is `ashlar help tree put`. */
static int take_own_verb(struct parser *p, const char *word)
{
    const ash_cmd_verb *verb = p->cmd->verb;
    if (strcmp(word, "help") == 0) {
        p->cmd->verb = ash__cmd_find_verb(word);
        p->args->words[p->args->count++] = verb->name;
        return 0;
    }
    p->own_word = word;
    p->cmd->verb = ash__cmd_find_own_verb(verb, word);
    return p->cmd->verb != NULL ? 0 : ash__cmd_unknown_own_verb(p->cmd, verb, word);
}

static int take_word(struct parser *p, const char *word)
{
    if (p->cmd->verb != NULL && p->cmd->verb->verbs != NULL)
        return take_own_verb(p, word);
    if (p->verb_name != NULL) {
        p->args->words[p->args->count++] = word;
        return 0;
    }
    p->verb_name = word;
    p->cmd->verb = ash__cmd_find_verb(word);
    return p->cmd->verb != NULL ? 0 : ash__cmd_unknown_verb(p->cmd, word);
}

static int parse(struct parser *p)
{
    int status = 0;
    for (p->at = 1; p->at < p->argc && status == 0; p->at++) {
        const char *word = p->argv[p->at];
        if (strcmp(word, "--") == 0) {
            while (++p->at < p->argc && status == 0)
                status = take_word(p, p->argv[p->at]);
        } else if (strncmp(word, "--", 2) == 0) {
            status = take_long(p, word + 2);
            /* "-" alone is a word: standard input or output. */
        } else if (word[0] == '-' && word[1] != 0) {
            status = take_letters(p, word + 1);
        } else {
            status = take_word(p, word);
        }
    }
    return status;
}

static int run_verb(struct parser *p)
{
    const char *help_words[] = {p->verb_name, p->own_word};
    ash_cmd_args help_args = {.words = help_words,
                              .count = (p->verb_name != NULL) + (p->own_word != NULL)};
    const ash_cmd_verb *verb = p->cmd->verb;
    if (p->version)
        return ash__cmd_find_verb("version")->run(p->cmd, &help_args);
    if (!p->help && verb == NULL && p->swallowed != NULL)
        return ash__cmd_usage(p->cmd,
                              "there is no verb: \"%s\" was taken for the value of --%s, as in "
                              "ashlar --%s=VALUE %s",
                              p->swallowed, p->swallower, p->swallower, p->swallowed);
    if (!p->help && verb == NULL && p->argc > 1)
        return ash__cmd_usage(p->cmd, "there is no verb; `ashlar help` lists them");
    if (p->help || verb == NULL) {
        int status = ash__cmd_find_verb("help")->run(p->cmd, &help_args);
        return p->help ? status : ASH_EXIT_USAGE;
    }
    if (p->cmd->dry_run && !verb->has_dry_run) {
        const char *hint = ash__suggest_letter(verb, 'n');
        return ash__cmd_usage(p->cmd, "%s does not take -n (--dry-run)%s%s", verb->name,
                              hint != NULL ? "; " : "", hint != NULL ? hint : "");
    }
    if (p->args->count < verb->min_words)
        return ash__cmd_usage(p->cmd, "too few arguments: ashlar %s %s", verb->name,
                              verb->synopsis);
    if (verb->max_words == 0 && p->args->count > 0)
        return ash__cmd_usage(p->cmd,
                              "%s takes no \"%s\"; a store is named by -s: ashlar -s STORE %s",
                              verb->name, p->args->words[0], verb->name);
    if (verb->max_words > 0 && p->args->count > verb->max_words)
        return ash__cmd_usage(p->cmd, "too many arguments: ashlar %s %s", verb->name,
                              verb->synopsis);
    return verb->run(p->cmd, p->args);
}

/* Under the name of MongoDB's own tool the command is the verb that does as that one does, and
 * knows no exit status but 0 and 1. */
static void take_name(struct parser *p, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (strcmp(slash != NULL ? slash + 1 : path, "mongofiles") != 0)
        return;
    p->cmd->mongofiles = true;
    take_word(p, "gridfs");
}

/* A descriptor that was closed would be given to a file of the store, and what is printed would end
 * up in it.  Output to such a one still fails. */
static void fill_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF)
            /* The wrong way round, so that using it is an error. */
            open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
    }
}

static void print_log(void *context, ash_log_level level, const char *line)
{
    (void)level;
    ash__cmd_trace(context, 1, "%s", line);
}

/* With -v what is slow or strange, with -vv all that it has to say. */
static void listen_to_library(ash_cmd *cmd)
{
    if (cmd->verbose > 0)
        ash_log_set(print_log, cmd, cmd->verbose > 1 ? ASH_LOG_DEBUG : ASH_LOG_INFO);
}

int main(int argc, char **argv)
{
    ash_cmd cmd = {.started_ms = ash__clock_ms()};
    ash_cmd_args args = {.words = ash__alloc_array((size_t)argc + 1, sizeof(char *)),
                         .given = ash__alloc_array((size_t)argc + 1, sizeof *args.given)};
    struct parser parser = {.cmd = &cmd, .args = &args, .argv = argv, .argc = argc};
    /* Before anything can open a file. */
    fill_standard_descriptors();
    if (argc > 0)
        take_name(&parser, argv[0]);
    ash__cmd_hide_secrets(argc, argv, cmd.mongofiles);
    int status = parse(&parser);
    if (status == 0) {
        listen_to_library(&cmd);
        status = ash__cmd_finish_output(&cmd, run_verb(&parser));
        ash__cmd_trace(&cmd, 1, "exit status %d", status);
    }
    ash__free(args.words);
    ash__free(args.given);
    return cmd.mongofiles && status != 0 ? ASH_EXIT_OTHER : status;
}
