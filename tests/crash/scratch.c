/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* nftw */
#include "scratch.h"

#include "base/mem.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

char *scratch_new(void)
{
    const char *where = getenv("ASH_CRASH_DIR");
    if (where == NULL)
        where = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    if (where == NULL)
        where = "/tmp";
    char *folder = ash__sprintf("%s/ash-crash-XXXXXX", where);
    REQUIRE(mkdtemp(folder) != NULL);
    return folder;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

void scratch_remove(const char *folder)
{
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void scratch_stop(const char *condition, const char *file, int line)
{
    printf("Bail out! %s:%d: %s\n", file, line, condition);
    fflush(stdout);
    _exit(99);
}
