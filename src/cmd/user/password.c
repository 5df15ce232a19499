/* SPDX-License-Identifier: Apache-2.0 */
/* Never an argument: those are in `ps` and in the shell's history. */
#include "cmd/user/room.h"

#include "base/error.h"
#include "base/mem.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { MAX_PASSWORD_BYTES = 4096 };

void ash__cmd_forget_password(char *password)
{
    if (password != NULL)
        OPENSSL_cleanse(password, strlen(password));
    ash__free(password);
}

/* A line without its end; past stdio, which would keep a copy. */
static int read_line(char **out, ash_error *err)
{
    char *line = ash__alloc(MAX_PASSWORD_BYTES + 1);
    size_t len = 0;
    ssize_t n = 0;
    *out = NULL;
    while (len < MAX_PASSWORD_BYTES && (n = read(STDIN_FILENO, line + len, 1)) == 1 &&
           line[len] != '\n')
        len++;
    bool whole = len < MAX_PASSWORD_BYTES && (n == 1 || (n == 0 && len > 0));
    bool interrupted = (n < 0 && errno == EINTR) || memchr(line, '\3', len) != NULL;
    bool has_nul = memchr(line, '\0', len) != NULL;
    line[len] = '\0';
    if (len > 0 && line[len - 1] == '\r')
        line[len - 1] = '\0';
    if (whole && !has_nul && !interrupted && line[0] != '\0') {
        *out = line;
        return 0;
    }
    OPENSSL_cleanse(line, len);
    ash__free(line);
    if (interrupted)
        return ash__fail(err, ASH_EINTERRUPTED, "interrupted");
    return ash__fail(err, ASH_EINVAL, "a password is a line of 1 to %d bytes on standard input",
                     MAX_PASSWORD_BYTES - 1);
}

static int ask(const char *prompt, char **out, ash_error *err)
{
    fputs(prompt, stderr);
    int rc = read_line(out, err);
    fputc('\n', stderr);
    return rc;
}

static int ask_twice(char **out, ash_error *err)
{
    char *again = NULL;
    int rc = ask("Password: ", out, err);
    if (rc == 0)
        rc = ask("Again: ", &again, err);
    if (rc == 0 && strcmp(*out, again) != 0)
        rc = ash__fail(err, ASH_EINVAL, "these were two different passwords");
    ash__cmd_forget_password(again);
    if (rc != 0) {
        ash__cmd_forget_password(*out);
        *out = NULL;
    }
    return rc;
}

int ash__cmd_read_password(const ash_cmd *cmd, char **out, ash_error *err)
{
    struct termios before, silent;
    (void)cmd;
    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &before) != 0)
        return read_line(out, err);
    silent = before;
    /* Ctrl-C comes as a character, so that the terminal is as before when the command ends. */
    silent.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent);
    int rc = ask_twice(out, err);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
    return rc;
}
