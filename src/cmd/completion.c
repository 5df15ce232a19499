/* SPDX-License-Identifier: Apache-2.0 */
/* Completions for shells, printed from the verbs' tables.  What they complete to may be any text,
 * so a shell must nowhere expand it. */
#include "cmd/kit/verbs.h"

#include <string.h>

static void print_verbs(const char *separator)
{
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++)
        printf("%s%s", i > 0 ? separator : "", ash__cmd_verbs[i]->name);
}

static void print_longs(const ash_cmd_option *options)
{
    for (int i = 0; options != NULL && options[i].name != NULL; i++)
        printf("%s--%s", i > 0 ? " " : "", options[i].name);
}

static void print_choices(const ash_cmd_verb *verb)
{
    for (int i = 0; verb->verbs != NULL && verb->verbs[i] != NULL; i++)
        printf("%s ", ash__cmd_own_word(verb->verbs[i]));
    if (verb->verbs != NULL)
        printf("help");
    else if (strcmp(verb->name, "help") == 0)
        print_verbs(" ");
    else if (verb->choices != NULL)
        printf("%s", verb->choices);
}

static bool has_choices(const ash_cmd_verb *verb)
{
    return verb->choices != NULL || verb->verbs != NULL || strcmp(verb->name, "help") == 0;
}

/* By what the help calls the value: the table has no other word for it. */
static bool takes_folder(const ash_cmd_option *option)
{
    return option->argument != NULL &&
           (strcmp(option->argument, "STORE") == 0 || strcmp(option->argument, "FOLDER") == 0);
}

/* ---- bash ---- */

/* readline cuts words at "=" and ":" and wants back what it cut off last: `words` are those that
 * ashlar gets, `before` is what of the last one readline keeps. */
static const char bash_line[] =
    "_ashlar_line() {\n"
    "    local rest=${COMP_LINE-} part=${COMP_WORDS[COMP_CWORD]} i last=-1\n"
    "    words=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        if [[ $last == -1 || -z ${COMP_LINE-} || $rest == [[:space:]]* ]]; then\n"
    "            ((++last))\n"
    "            words[last]=${COMP_WORDS[i]}\n"
    "        else\n"
    "            words[last]+=${COMP_WORDS[i]}\n"
    "        fi\n"
    "        rest=${rest#\"${rest%%[![:space:]]*}\"}\n"
    "        rest=${rest#\"${COMP_WORDS[i]}\"}\n"
    "    done\n"
    "    before=${words[last]%\"$part\"}\n"
    "    if [[ $part != *[!=:]* ]]; then before=${words[last]}; fi\n"
    "}\n";

/* Names are whatever somebody called a file: they are compared, never handed to `compgen -W`, which
 * would expand what is in them. */
static const char bash_offer[] =
    "_ashlar_offer() {\n"
    "    local one\n"
    "    while IFS= read -r one; do\n"
    "        one=$2$one\n"
    "        if [[ $one == \"$1\"* ]]; then COMPREPLY+=(\"${one#\"$before\"}\"); fi\n"
    "    done\n"
    "}\n"
    "_ashlar_command() {\n"
    "    local i\n"
    "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
    "        if [[ ${COMP_WORDS[i]} == -- ]]; then _command_offset $((i + 1)) 2>/dev/null; return; "
    "fi\n"
    "    done\n"
    "}\n";

static const char bash_words[] =
    "_ashlar() {\n"
    "    local -a words store=()\n"
    "    local before verb= choices= names= option= lead= first=0 i\n"
    "    _ashlar_line\n"
    "    local at=$((${#words[@]} - 1))\n"
    "    local word=${words[at]}\n"
    "    for ((i = 1; i < at; i++)); do\n"
    "        case ${words[i]} in\n"
    "        -s|-d|-b|--store|--db|--bucket)\n"
    "            store+=(\"${words[i]}\" \"${words[i + 1]}\"); ((i++));;\n"
    "        --store=*|--db=*|--bucket=*) store+=(\"${words[i]}\");;\n"
    "        --progress) ((i++));;\n"
    "        --) if [[ $verb == lock ]]; then _ashlar_command; return; fi;;\n"
    "        -*) ;;\n"
    "        *) if [[ -z $verb ]]; then\n"
    "               verb=${words[i]} first=$((i + 1))\n"
    "           elif [[ $_ashlar_rooms == *\" $verb \"* ]]; then\n"
    "               verb+=\" ${words[i]}\" first=0\n"
    "           fi;;\n"
    "        esac\n"
    "    done\n"
    "    COMPREPLY=()\n"
    "    case $word in\n"
    "    --*=*) option=${word%%=*} lead=${word%%=*}=;;\n"
    "    -*) ;;\n"
    "    *) case ${words[at - 1]} in -*) option=${words[at - 1]};; esac;;\n"
    "    esac\n";

static const char bash_end[] =
    "    esac\n"
    "    case $word in\n"
    "    --*=*) return;;\n"
    "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")); return;;\n"
    "    esac\n"
    "    if [[ -n $choices && $at == $first ]]; then\n"
    "        COMPREPLY=($(compgen -W \"$choices\" -- \"$word\"))\n"
    "    elif [[ -n $names ]]; then\n"
    "        _ashlar_offer \"$word\" < <(\"${words[0]}\" \"${store[@]}\" -q ls 2>/dev/null)\n"
    "    fi\n"
    "}\ncomplete -o default -o filenames -F _ashlar ashlar\n";

static void print_bash_values(const ash_cmd_option *options)
{
    for (int i = 0; options != NULL && options[i].name != NULL; i++) {
        const ash_cmd_option *option = &options[i];
        if (!takes_folder(option) && option->choices == NULL)
            continue;
        printf("    --%s", option->name);
        if (option->letter != 0)
            printf("|-%c", option->letter);
        printf(") _ashlar_offer \"$word\" \"$lead\" < <(");
        if (takes_folder(option))
            printf("compgen -d -- \"${word#\"$lead\"}\"");
        else
            printf("printf '%%s\\n' %s", option->choices);
        printf("); return;;\n");
    }
}

static void print_bash_verb(const ash_cmd_verb *verb)
{
    printf("    '%s') options=\"$options ", verb->name);
    print_longs(verb->options);
    printf("\" choices=\"");
    print_choices(verb);
    printf("\" names=%s;;\n", verb->takes_names ? "yes" : "");
    for (int i = 0; verb->verbs != NULL && verb->verbs[i] != NULL; i++)
        print_bash_verb(verb->verbs[i]);
}

/* Those whose next word is a verb, too. */
static void print_bash_rooms(void)
{
    printf("_ashlar_rooms=' ");
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++) {
        if (ash__cmd_verbs[i]->verbs != NULL)
            printf("%s ", ash__cmd_verbs[i]->name);
    }
    printf("'\n");
}

static void print_bash(void)
{
    printf("# bash completion for ashlar: source <(ashlar completion bash)\n");
    print_bash_rooms();
    printf("%s%s%s    case $option in\n", bash_line, bash_offer, bash_words);
    print_bash_values(ash__cmd_globals);
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++)
        print_bash_values(ash__cmd_verbs[i]->options);
    printf("    esac\n    local options=\"");
    print_longs(ash__cmd_globals);
    printf("\"\n    case $verb in\n    '') choices=\"");
    print_verbs(" ");
    printf("\" first=$at;;\n");
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++)
        print_bash_verb(ash__cmd_verbs[i]);
    printf("%s", bash_end);
}

/* ---- zsh and fish ---- */

/* What zsh and fish put between single quotes. */
static void print_quoted(const char *text)
{
    for (; *text != 0; text++) {
        if (*text == '\'')
            printf("'\\''");
        else
            putchar(*text);
    }
}

static void print_zsh_summaries(const ash_cmd_verb *const *verbs)
{
    for (int i = 0; verbs[i] != NULL; i++) {
        printf("        '%s:", ash__cmd_own_word(verbs[i]));
        print_quoted(verbs[i]->summary);
        printf("'\n");
    }
}

static void print_zsh_options(const ash_cmd_option *options)
{
    for (int i = 0; options != NULL && options[i].name != NULL; i++) {
        const ash_cmd_option *option = &options[i];
        printf(" '--%s%s[", option->name, option->argument != NULL ? "=" : "");
        for (const char *at = option->help; *at != 0; at++) {
            if (strchr("[]:\\", *at) != NULL)
                putchar('\\');
            if (*at == '\'')
                printf("'\\'");
            putchar(*at);
        }
        printf("]");
        if (option->choices != NULL)
            printf(":value:(%s)", option->choices);
        else if (option->argument != NULL)
            printf(":value:_files%s", takes_folder(option) ? " -/" : "");
        printf("'");
    }
}

static void print_zsh_verb(const ash_cmd_verb *verb);

/* The next word decides, and is shifted away as the verb was. */
static void print_zsh_room(const ash_cmd_verb *verb)
{
    printf("    %s)\n    verbs=(\n", verb->name);
    print_zsh_summaries(verb->verbs);
    printf("    )\n    if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
           "    shift words; (( CURRENT-- ))\n    case $words[1] in\n");
    for (int i = 0; verb->verbs[i] != NULL; i++)
        print_zsh_verb(verb->verbs[i]);
    printf("    esac;;\n");
}

static void print_zsh_verb(const ash_cmd_verb *verb)
{
    if (verb->verbs != NULL) {
        print_zsh_room(verb);
        return;
    }
    printf("    %s) _arguments", ash__cmd_own_word(verb));
    print_zsh_options(verb->options);
    print_zsh_options(ash__cmd_globals);
    if (has_choices(verb)) {
        printf(" '1:word:(");
        print_choices(verb);
        printf(")'");
    }
    printf(" '*:file:%s';;\n", verb->takes_names ? "_ashlar_names" : "_files");
}

static void print_zsh(void)
{
    printf("#compdef ashlar\n# zsh completion for ashlar: source <(ashlar completion zsh)\n"
           "_ashlar_names() {\n    local -a names\n"
           "    names=(\"${(@f)$(ashlar -q ls 2>/dev/null)}\")\n"
           "    compadd -a names\n    _files\n}\n"
           "_ashlar() {\n    local -a verbs\n    verbs=(\n");
    print_zsh_summaries(ash__cmd_verbs);
    printf("    )\n    if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n"
           "    shift words; (( CURRENT-- ))\n    case $words[1] in\n");
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++)
        print_zsh_verb(ash__cmd_verbs[i]);
    printf("    *) _files;;\n    esac\n}\n"
           "if [ \"$funcstack[1]\" = _ashlar ]; then _ashlar \"$@\"; else compdef _ashlar ashlar; "
           "fi\n");
}

/* name: of a verb, or of a verb's own one, where both words were typed. */
static void print_fish_condition(const char *name)
{
    const char *space = strchr(name, ' ');
    int len = space != NULL ? (int)(space - name) : (int)strlen(name);
    printf(" -n '__fish_seen_subcommand_from %.*s", len, name);
    if (space != NULL)
        printf("; and __fish_seen_subcommand_from %s", space + 1);
    printf("'");
}

static void print_fish_option(const char *condition, const ash_cmd_option *option)
{
    printf("complete -c ashlar");
    if (condition != NULL)
        print_fish_condition(condition);
    if (option->letter != 0)
        printf(" -s %c", option->letter);
    printf(" -l %s", option->name);
    if (option->choices != NULL)
        printf(" -xa '%s'", option->choices);
    else if (takes_folder(option))
        printf(" -xa '(__fish_complete_directories)'");
    else if (option->argument != NULL)
        printf(" -r");
    printf(" -d '");
    print_quoted(option->help);
    printf("'\n");
}

static void print_fish_own_verbs(const ash_cmd_verb *verb)
{
    for (int i = 0; verb->verbs != NULL && verb->verbs[i] != NULL; i++) {
        const ash_cmd_verb *own = verb->verbs[i];
        for (int j = 0; own->options != NULL && own->options[j].name != NULL; j++)
            print_fish_option(own->name, &own->options[j]);
    }
}

static void print_fish(void)
{
    printf("# fish completion for ashlar: ashlar completion fish | source\n");
    for (int j = 0; ash__cmd_globals[j].name != NULL; j++)
        print_fish_option(NULL, &ash__cmd_globals[j]);
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++) {
        const ash_cmd_verb *verb = ash__cmd_verbs[i];
        printf("complete -c ashlar -f -n __fish_use_subcommand -a %s -d '", verb->name);
        print_quoted(verb->summary);
        printf("'\n");
        for (int j = 0; verb->options != NULL && verb->options[j].name != NULL; j++)
            print_fish_option(verb->name, &verb->options[j]);
        print_fish_own_verbs(verb);
        if (has_choices(verb)) {
            printf("complete -c ashlar -f -n '__fish_seen_subcommand_from %s' -a '", verb->name);
            print_choices(verb);
            printf("'\n");
        }
        if (verb->takes_names)
            printf("complete -c ashlar -n '__fish_seen_subcommand_from %s' -a '(ashlar -q ls "
                   "2>/dev/null)'\n",
                   verb->name);
    }
}

static int run_completion(ash_cmd *cmd, const ash_cmd_args *args)
{
    const char *shell = args->words[0];
    if (strcmp(shell, "bash") == 0)
        print_bash();
    else if (strcmp(shell, "zsh") == 0)
        print_zsh();
    else if (strcmp(shell, "fish") == 0)
        print_fish();
    else
        return ash__cmd_usage(cmd, "no completion for \"%s\": bash, zsh or fish", shell);
    return ASH_EXIT_OK;
}

const ash_cmd_verb ash__cmd_completion = {
    .name = "completion",
    .group = "misc",
    .synopsis = "bash|zsh|fish",
    .summary = "print completions for a shell",
    .min_words = 1,
    .max_words = 1,
    .choices = "bash zsh fish",
    .run = run_completion,
};
