/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/sync.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"

#include <string.h>

struct merge {
    ash_sync *s;
    ash_tree_listing *listing;
    ash_local *local;
    const ash_tree_entry *there;
    const char *there_name;
    const ash_local_entry *here;
    char *skipped; /* a name; NULL: nothing is passed over */
    size_t skipped_len;
    int64_t *count;
};

static int next_there(struct merge *m, ash_error *err)
{
    m->there = NULL;
    int damaged = 0;
    int rc =
        m->listing != NULL ? ash__cmd_tree_next(m->s->r, m->listing, &m->there, &damaged, err) : 0;
    ash__sync_damaged(m->s, damaged);
    if (rc == 0 && m->there != NULL)
        m->there_name = ash_tree_entry_path(m->there) + strlen(m->s->folder) + 1;
    return rc;
}

static void next_here(struct merge *m)
{
    m->here = m->local != NULL ? ash__local_next(m->local) : NULL;
}

static bool is_skipped(const struct merge *m, const char *name)
{
    return m->skipped != NULL && strncmp(name, m->skipped, m->skipped_len) == 0 &&
           name[m->skipped_len] == '/';
}

static bool is_file(const ash_sync_pair *pair)
{
    return pair->there != NULL ? !ash_tree_entry_is_folder(pair->there)
                               : pair->here->kind != ASH_LOCAL_FOLDER;
}

static int show(struct merge *m, ash_sync_pair *pair, ash_sync_visit visit, ash_error *err)
{
    if (is_skipped(m, pair->name)) {
        if (m->count != NULL && is_file(pair))
            ++*m->count;
        return 0;
    }
    int rc = visit(m->s, pair, err);
    if (rc == 0 && pair->skip) {
        ash__free(m->skipped);
        m->skipped = ash__strdup(pair->name);
        m->skipped_len = strlen(pair->name);
        m->count = pair->count;
    }
    return rc;
}

int ash__sync_merge(ash_sync *s, ash_tree_listing *listing, ash_local *local, ash_sync_visit visit,
                    ash_error *err)
{
    struct merge m = {.s = s, .listing = listing, .local = local};
    int rc = next_there(&m, err);
    next_here(&m);
    while (rc == 0 && (m.there != NULL || m.here != NULL) && !ash__sync_must_stop(s)) {
        int order = m.there == NULL  ? 1
                    : m.here == NULL ? -1
                                     : ash__text_compare_paths(m.there_name, m.here->name);
        ash_sync_pair pair = {.name = order <= 0 ? m.there_name : m.here->name};
        pair.there = order <= 0 ? m.there : NULL;
        pair.here = order >= 0 ? m.here : NULL;
        rc = show(&m, &pair, visit, err);
        if (rc == 0 && order <= 0)
            rc = next_there(&m, err);
        if (rc == 0 && order >= 0)
            next_here(&m);
    }
    ash__free(m.skipped);
    return rc;
}
