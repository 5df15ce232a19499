/* SPDX-License-Identifier: Apache-2.0 */
/* May one store be copied into the other? */
#include "cmd/copy/copy.h"

#include "base/mem.h"
#include "cmd/kit/folder.h"

#include <string.h>

static bool same_text(const char *a, size_t a_len, const char *b, size_t b_len)
{
    return a_len == b_len && memcmp(a, b, a_len) == 0;
}

/* The hosts and the database of a mongodb:// URI, and neither its user nor its options. */
static bool same_deployment(const char *a, const char *b)
{
    const char *hosts[2] = {strstr(a, "://"), strstr(b, "://")};
    size_t lens[2];
    for (int i = 0; i < 2; i++) {
        if (hosts[i] == NULL)
            return false;
        hosts[i] += strlen("://");
        size_t user = strcspn(hosts[i], "@/?");
        hosts[i] += hosts[i][user] == '@' ? user + 1 : 0;
        lens[i] = strcspn(hosts[i], "?");
        lens[i] -= lens[i] > 0 && hosts[i][lens[i] - 1] == '/' ? 1 : 0;
    }
    return same_text(hosts[0], lens[0], hosts[1], lens[1]);
}

int ash__copy_check_target(const ash_cmd *from, const ash_cmd *to)
{
    char *a = ash__cmd_store_folder(from), *b = ash__cmd_store_folder(to);
    bool same = false;
    int status = 0;
    if (a != NULL && b != NULL) {
        /* Each in the other: one folder under two names. */
        same = ash__folder_holds(a, b) && ash__folder_holds(b, a);
        if (!same && ash__folder_holds(a, b))
            status = ash__cmd_usage(from, "%s lies in the store that is to be copied", b);
    } else if (a == NULL && b == NULL) {
        char *x = ash__cmd_store_uri(from), *y = ash__cmd_store_uri(to);
        same = same_deployment(x, y);
        ash__free(x);
        ash__free(y);
    }
    if (same)
        status = ash__cmd_usage(from, "source and target are the same store");
    ash__free(a);
    ash__free(b);
    return status;
}
