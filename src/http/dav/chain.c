/* SPDX-License-Identifier: Apache-2.0 */
#include "http/dav/chain.h"

#include "base/mem.h"

#include <string.h>

/* 1 + how many names there are in "/a/b". */
static size_t length_of(const char *path)
{
    size_t n = 1;
    for (const char *at = path; *at != '\0'; at++)
        n += *at == '/' && at[1] != '\0';
    return n;
}

/* false: there is nothing more. */
static bool add(ash_tree *tree, const char *path, ash_dav_chain *out, ash_error *err)
{
    ash_tree_entry *e = NULL;
    bool there = ash_tree_get(tree, path, NULL, NULL, &e, err) == 0;
    if (there)
        bson_value_copy(ash_tree_entry_id(e), &out->ids[out->count++]);
    ash_tree_entry_free(e);
    return there;
}

bool ash__dav_chain_read(ash_tree *tree, const char *path, ash_dav_chain *out)
{
    ash_error err = ASH_ERROR_INIT;
    *out = (ash_dav_chain){0};
    if (length_of(path) > ASH_DAV_CHAIN_MAX)
        return false;
    char *above = ash__strdup(path);
    bool there = add(tree, "/", out, &err);
    for (const char *at = path; there && *at != '\0' && at[1] != '\0';) {
        at += 1 + strcspn(at + 1, "/");
        memcpy(above, path, (size_t)(at - path));
        above[at - path] = '\0';
        there = add(tree, above, out, &err);
    }
    ash__free(above);
    return there || err.code == ASH_ENOTFOUND;
}

bool ash__dav_chain_has(const ash_dav_chain *chain, const bson_value_t *id)
{
    bson_t a = BSON_INITIALIZER;
    bool found = false;
    BSON_APPEND_VALUE(&a, "", id);
    for (size_t i = 0; i < chain->count && !found; i++) {
        bson_t b = BSON_INITIALIZER;
        BSON_APPEND_VALUE(&b, "", &chain->ids[i]);
        found = bson_equal(&a, &b);
        bson_destroy(&b);
    }
    bson_destroy(&a);
    return found;
}

void ash__dav_chain_release(ash_dav_chain *chain)
{
    for (size_t i = 0; i < chain->count; i++)
        bson_value_destroy(&chain->ids[i]);
    chain->count = 0;
}
