/* SPDX-License-Identifier: Apache-2.0 */
/* The words of a command line are shown to every user of the machine (ps), so that secrets in them
 * are overwritten; what is parsed are copies. */
#include "cmd/hide.h"

#include "base/mem.h"
#include "cmd/kit/cmd.h"

#include <string.h>

static bool is_password_option(const char *word)
{
    return strcmp(word, "--password") == 0 || strcmp(word, "-p") == 0;
}

static void hide_from(char **word, size_t at)
{
    char *copy = ash__strdup(*word);
    size_t len = strlen(*word);
    if (at < len)
        memset(*word + at, 'x', len - at);
    *word = copy;
}

void ash__cmd_hide_secrets(int argc, char **argv, bool mongofiles)
{
    for (int i = 1; i < argc; i++) {
        char *word = argv[i];
        char *copy = ash__strdup(word);
        if (ash__cmd_uri_blot(word)) {
            argv[i] = copy;
            continue;
        }
        ash__free(copy);
        mongofiles = mongofiles || strcmp(word, "gridfs") == 0;
        /* Other verbs' -p is no password. */
        if (mongofiles && is_password_option(argv[i - 1]))
            hide_from(&argv[i], 0);
        else if (mongofiles && strncmp(word, "-p", 2) == 0 && word[2] != 0)
            hide_from(&argv[i], 2);
    }
}
