/* SPDX-License-Identifier: Apache-2.0 */
/* @NAME stands for an address in the user's list of stores, whose secrets no command line shows. */
#include "cmd/kit/named.h"

#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/kit/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_BYTES = 1 << 20 };

static char *list_path(ash_error *err)
{
    const char *named = getenv("ASHLAR_STORES"), *config = getenv("XDG_CONFIG_HOME");
    if (named != NULL && named[0] != 0)
        return ash__strdup(named);
    if (config != NULL && config[0] == '/')
        return ash__path_join(config, "ashlar/stores");
    char *home = ash__cmd_home();
    char *path = home != NULL ? ash__path_join(home, ".config/ashlar/stores") : NULL;
    if (home == NULL)
        ash__fail(err, ASH_EINVAL,
                  "there is no home folder with a list of stores: set ASHLAR_STORES or HOME");
    ash__free(home);
    return path;
}

/* As ssh has it: what others may read is no secret, and nobody is told later. */
static int check_mode(int fd, const char *path, size_t *size, ash_error *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return ash__fail_errno(err, errno, "cannot look at %s", path);
    if (!S_ISREG(st.st_mode))
        return ash__fail(err, ASH_EINVAL, "%s is no regular file", path);
    if (st.st_uid != geteuid() && st.st_uid != 0)
        return ash__fail(err, ASH_EACCES, "%s belongs to somebody else", path);
    if ((st.st_mode & (S_IRWXG | S_IRWXO)) != 0)
        return ash__fail(err, ASH_EACCES,
                         "others may read or change %s, which may have passwords: chmod 600 %s",
                         path, path);
    if (st.st_size > MAX_BYTES)
        return ash__fail(err, ASH_ETOOBIG, "%s is no list of stores: it is too long", path);
    *size = (size_t)st.st_size;
    return 0;
}

static int read_list(const char *path, char **out, ash_error *err)
{
    size_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    *out = NULL;
    if (fd < 0)
        return ash__fail_errno(err, errno, "cannot open the list of stores %s", path);
    int rc = check_mode(fd, path, &size, err);
    if (rc == 0) {
        *out = ash__alloc(size + 1);
        rc = ash__file_read(fd, *out, size, 0, err);
        (*out)[rc == 0 ? size : 0] = 0;
    }
    close(fd);
    return rc;
}

/* The address on the line of that name; "" where the line has none, NULL where there is no line.
 * *after: what stands behind the line. */
static char *find_line(const char *list, const char *name, const char **after)
{
    static const char blanks[] = " \t\r";
    size_t len = strlen(name);
    for (const char *line = list; *line != 0; line += *line != 0) {
        size_t whole = strcspn(line, "\n");
        const char *at = line + strspn(line, blanks), *end = line + whole;
        line = end;
        if (strncmp(at, name, len) != 0 || strchr(" \t\r\n", at[len]) == NULL)
            continue;
        at += len;
        at += strspn(at, blanks);
        while (end > at && strchr(blanks, end[-1]) != NULL)
            end--;
        *after = line;
        return ash__strndup(at, (size_t)(end - at));
    }
    return NULL;
}

static int look_up(const char *path, const char *name, char **out, ash_error *err)
{
    char *list = NULL, *again = NULL;
    const char *after = NULL;
    int rc = read_list(path, &list, err);
    *out = rc == 0 ? find_line(list, name, &after) : NULL;
    if (rc == 0 && *out == NULL)
        rc = ash__fail(err, ASH_ENOTFOUND,
                       "%s names no store @%s (a folder of that name is typed ./@%s)", path, name,
                       name);
    /* Neither nothing, nor another name: that could go round for ever. */
    if (rc == 0 && ((*out)[0] == 0 || (*out)[0] == '@'))
        rc =
            ash__fail(err, ASH_EINVAL, "%s says of %s neither an address nor a folder", path, name);
    /* Which of the two was meant nobody can tell; and one may be a store that is emptied. */
    if (rc == 0 && (again = find_line(after, name, &after)) != NULL && strcmp(again, *out) != 0)
        rc = ash__fail(err, ASH_EINVAL, "%s has two lines for @%s: which of them?", path, name);
    if (again != NULL)
        explicit_bzero(again, strlen(again));
    ash__free(again);
    if (list != NULL)
        explicit_bzero(list, strlen(list));
    ash__free(list);
    return rc;
}

int ash__cmd_named_store(const char *text, char **out, ash_error *err)
{
    *out = NULL;
    if (text[0] != '@') {
        *out = ash__strdup(text);
        return 0;
    }
    if (text[1] == 0 || text[1] == '#' || strpbrk(text, " \t\r\n") != NULL)
        return ash__fail(err, ASH_EINVAL, "\"%s\" cannot be a name in the list of stores", text);
    char *path = list_path(err);
    int rc = path != NULL ? look_up(path, text + 1, out, err) : err->code;
    if (rc != 0) {
        ash__free(*out);
        *out = NULL;
    }
    ash__free(path);
    return rc;
}
