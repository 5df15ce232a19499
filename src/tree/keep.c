/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of how much history is kept, in the folders that they are for. */
#include "tree/keep.h"

#include "base/mem.h"
#include "base/options.h"
#include "tree/acl.h"
#include "tree/set.h"

/* A number of a rule; missing is 0.  False: it is none. */
static bool read_number(const bson_iter_t *rule, const char *name, int64_t most, int64_t *out)
{
    bson_iter_t it;
    *out = 0;
    if (!bson_iter_recurse(rule, &it) || !bson_iter_find(&it, name))
        return true;
    if (BSON_ITER_HOLDS_DOUBLE(&it)) {
        double d = bson_iter_double(&it);
        *out = d >= (double)most ? most : d >= 0 ? (int64_t)d : -1;
    } else {
        *out = BSON_ITER_HOLDS_INT(&it) ? bson_iter_as_int64(&it) : -1;
    }
    if (*out > most)
        *out = most;
    return *out >= 0;
}

/* A rule that cannot be read keeps everything: what is forgotten does not come back. */
bool ash__keep_read(const ash_tree_entry *e, ash_tree_keep *out)
{
    bson_iter_t rule, it;
    int64_t last, within;
    if (!ash__entry_field(e, "keep", &rule) || !BSON_ITER_HOLDS_DOCUMENT(&rule))
        return false;
    out->all =
        bson_iter_recurse(&rule, &it) && bson_iter_find(&it, "all") && bson_iter_as_bool(&it);
    if (!read_number(&rule, "last", INT32_MAX, &last) ||
        !read_number(&rule, "within", INT64_MAX / 1000, &within)) {
        out->all = true;
        last = within = 0;
    }
    out->last = (int32_t)last;
    out->within_s = within;
    return true;
}

const ash_tree_entry *ash__keep_find(const ash_tree_chain *chain, ash_tree_keep *out)
{
    for (size_t i = chain->count; i-- > 0;)
        if (ash__keep_read(chain->items[i], out))
            return chain->items[i];
    out->all = true;
    return NULL;
}

int ash_tree_set_keep(ash_tree *tree, const char *path, const ash_tree_keep *keep,
                      const ash_tree_change_options *opts, const ash_op *op, ash_error *err)
{
    bson_t set = BSON_INITIALIZER, rule;
    ash_tree_keep k;
    int rc = ash__options_copy(&k, sizeof k, keep, err);
    if (rc == 0 && (k.last < 0 || k.within_s < 0))
        rc = ash__fail(err, ASH_EINVAL, "a rule's numbers are not negative");
    if (keep == NULL) {
        bson_append_null(&set, "keep", 4);
    } else {
        bson_append_document_begin(&set, "keep", 4, &rule);
        if (k.all)
            bson_append_bool(&rule, "all", 3, true);
        if (!k.all && k.last > 0)
            bson_append_int32(&rule, "last", 4, k.last);
        if (!k.all && k.within_s > 0)
            bson_append_int64(&rule, "within", 6, k.within_s);
        bson_append_document_end(&set, &rule);
    }
    if (rc == 0)
        rc = ash__tree_set_fields(tree, path, &set, opts, op, err);
    bson_destroy(&set);
    return rc;
}

int ash_tree_get_keep(ash_tree *tree, const char *path, const ash_op *op, ash_tree_keep *keep,
                      char **from, ash_error *err)
{
    ash_op own = ash__op_of(op);
    ash_tree_path parts = {0};
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    ash_tree_keep found = ASH_TREE_KEEP_INIT;
    if (from != NULL)
        *from = NULL;
    int rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0)
        rc = ash__tree_walk_all(tree, &parts, 0, &own, &chain, err);
    if (rc == 0)
        rc = ash__tree_require(&chain, ASH_TREE_READ, &own, err);
    if (rc == 0) {
        const ash_tree_entry *source = ash__keep_find(&chain, &found);
        rc = ash__out_copy(keep, &found, sizeof found, err);
        if (rc == 0 && from != NULL && source != NULL)
            *from = ash__strdup(source->path);
    }
    ash__chain_release(&chain);
    ash__tree_path_release(&parts);
    return rc;
}

void ash_tree_string_free(char *text)
{
    ash__free(text);
}
