/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/verbs.h"

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

static void print_bash(void)
{
    printf("# bash completion for ashlar: source <(ashlar completion bash)\n_ashlar() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} verb= i options=\"");
    print_longs(ash__cmd_globals);
    printf("\"\n    for ((i = 1; i < COMP_CWORD; i++)); do\n        case ${COMP_WORDS[i]} in\n"
           "        -s|-d|-b|--store|--db|--bucket|--progress) ((i++));;\n        -*) ;;\n"
           "        *) verb=${COMP_WORDS[i]}; break;;\n        esac\n    done\n    case $verb in\n "
           "   '') COMPREPLY=($(compgen -W \"");
    print_verbs(" ");
    printf(" $options\" -- \"$word\")); return;;\n");
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++) {
        if (ash__cmd_verbs[i]->options == NULL)
            continue;
        printf("    %s) options=\"$options ", ash__cmd_verbs[i]->name);
        print_longs(ash__cmd_verbs[i]->options);
        printf("\";;\n");
    }
    printf("    esac\n    case $word in\n    -*) COMPREPLY=($(compgen -W \"$options\" -- "
           "\"$word\"));;\n"
           "    *) case $verb in\n        put|init) COMPREPLY=($(compgen -f -- \"$word\"));;\n     "
           "   help) COMPREPLY=($(compgen -W \"");
    print_verbs(" ");
    printf("\" -- \"$word\"));;\n"
           "        cat|get|ls|mv|rm|stat|sum) local IFS=$'\\n'; COMPREPLY=($(compgen -W "
           "\"$(ashlar -q ls 2>/dev/null)\" -- \"$word\"));;\n"
           "        esac;;\n    esac\n}\ncomplete -o default -o filenames -F _ashlar ashlar\n");
}

static void print_zsh(void)
{
    printf("#compdef ashlar\n# zsh completion for ashlar: source <(ashlar completion "
           "zsh)\n_ashlar() {\n    local -a verbs\n    verbs=(\n");
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++)
        printf("        '%s:%s'\n", ash__cmd_verbs[i]->name, ash__cmd_verbs[i]->summary);
    printf("    )\n    if (( CURRENT == 2 )); then _describe verb verbs; else _files; "
           "fi\n}\ncompdef _ashlar ashlar\n");
}

static void print_fish(void)
{
    printf("# fish completion for ashlar: ashlar completion fish | source\n");
    for (int i = 0; ash__cmd_verbs[i] != NULL; i++) {
        const ash_cmd_verb *verb = ash__cmd_verbs[i];
        printf("complete -c ashlar -n __fish_use_subcommand -a %s -d '%s'\n", verb->name,
               verb->summary);
        for (int j = 0; verb->options != NULL && verb->options[j].name != NULL; j++)
            printf("complete -c ashlar -n '__fish_seen_subcommand_from %s' -l %s\n", verb->name,
                   verb->options[j].name);
    }
    for (int j = 0; ash__cmd_globals[j].name != NULL; j++)
        printf("complete -c ashlar -l %s\n", ash__cmd_globals[j].name);
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
    .run = run_completion,
};
