/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/dav.h"

#include "base/mem.h"
#include "http/dav/kept.h"
#include "http/dav/locks.h"

#include <string.h>

static const struct {
    const char *name;
    void (*answer)(ash_dav *dav, ash_exchange *x, const char *path);
} methods[] = {
    {"GET", ash__dav_get},           {"HEAD", ash__dav_get},
    {"PROPFIND", ash__dav_propfind}, {"PUT", ash__dav_put},
    {"OPTIONS", ash__dav_options},   {"LOCK", ash__dav_lock},
    {"UNLOCK", ash__dav_unlock},     {"PROPPATCH", ash__dav_proppatch},
    {"DELETE", ash__dav_delete},     {"MKCOL", ash__dav_mkcol},
    {"MOVE", ash__dav_copy},         {"COPY", ash__dav_copy},
    {"PATCH", ash__dav_patch},       {"REPORT", ash__dav_report},
};

int ash__dav_new(ash_store *store, ash_tree *tree, const char *prefix, ash_dav **out,
                 ash_error *err)
{
    ash_dav *dav = ash__new(ash_dav);
    dav->store = store;
    dav->tree = tree;
    dav->prefix = ash__strdup(prefix);
    dav->kept = ash__kept_files_new();
    int rc = ash__dav_locks_new(store, tree, &dav->locks, err);
    if (rc != 0) {
        ash__dav_free(dav);
        return rc;
    }
    *out = dav;
    return 0;
}

void ash__dav_free(ash_dav *dav)
{
    if (dav == NULL)
        return;
    ash__dav_locks_free(dav->locks);
    ash__kept_files_free(dav->kept);
    ash__free(dav->prefix);
    ash__free(dav);
}

void ash__dav_begin(ash_dav *dav, ash_exchange *x, const char *path)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(methods); i++) {
        if (strcmp(x->method, methods[i].name) == 0) {
            methods[i].answer(dav, x, path);
            return;
        }
    }
    ash__answer_field(x, "Allow", "%s", ASH_DAV_ALLOW);
    ash__answer_text(x, 405, "%s is nothing that can be done here", x->method);
}

void ash__dav_options(ash_dav *dav, ash_exchange *x, const char *path)
{
    (void)dav;
    (void)path;
    ash__answer_field(x, "Allow", "%s", ASH_DAV_ALLOW);
    ash__answer_field(x, "DAV", "1, 2, 3, sabredav-partialupdate");
    /* Without it, Explorer takes the folder for a web page. */
    ash__answer_field(x, "MS-Author-Via", "DAV");
    ash__answer_field(x, "Accept-Ranges", "bytes");
    ash__answer_field(x, "Accept-Patch", "%s", ASH_DAV_PATCH_TYPE);
    /* Not 204, which Explorer does not take for a yes. */
    ash__answer_empty(x, 200);
}
