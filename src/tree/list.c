/* SPDX-License-Identifier: Apache-2.0 */
/* Listings: one scan of the index on folder and name.
 *
 * The folder as it was at a moment is two scans side by side in the order of names: what is current
 * still, and what ended later.  At one moment at most one of both has a name. */
#include "tree/list.h"

#include "base/mem.h"
#include "base/options.h"
#include "bucket/bucket.h"
#include "tree/acl.h"

#include <string.h>

/* One of the two scans, and the entry that it has in hand. */
typedef struct scan {
    ash_collection *collection;
    ash_cursor *cursor; /* NULL: none, or at its end */
    ash_tree_entry *head;
    char *last;   /* the name that it gave last; NULL: none */
    bool broken;  /* something could not be read; from then on */
    char *missed; /* … behind this name (NULL: from the first on) names may be missing, but for */
    char **given; /* … these, in their order */
    size_t given_count, given_capacity, given_at;
    bool natural; /* it looks for them among all documents, without the index */
} scan;

typedef struct level {
    scan scans[2];
    ash_tree_entry *folder;
} level;

struct ash_tree_listing {
    ash_tree *tree;
    ash_op op;
    int64_t at_ms, limit, given;
    bool recursive;
    bool past_damage;     /* the store's finds go on behind a damaged document */
    ash_tree_chain above; /* down to the first level's folder, without it */
    level *levels;        /* the deepest last */
    size_t depth, capacity;
    ash_tree_entry *current;
    ash_tree_entry **items; /* instead of all that: what is there already, … */
    size_t item_count, item_at;
    ash_tree_source source; /* … or comes from elsewhere */
};

/* ---- one folder ---- */

static int open_scan(ash_tree_listing *l, const ash_tree_entry *folder, const char *after,
                     scan *out, ash_error *err)
{
    bson_t filter = BSON_INITIALIZER;
    bson_t *sort = BCON_NEW("filename", BCON_INT32(1));
    bson_t *natural = BCON_NEW("$natural", BCON_INT32(1));
    ash_find_options o = ash__tree_find_options(&l->op);
    bson_value_t hint = {.value_type = BSON_TYPE_DOCUMENT};
    ash__filter_id(&filter, "parent", &folder->id);
    BCON_APPEND(&filter, "filename", "{", after != NULL ? "$gt" : "$gte",
                BCON_UTF8(after != NULL ? after : ""), "}");
    /* What ended before that moment is nothing to it; of v7files' own versions nobody knows yet. */
    if (out->collection == l->tree->past)
        BCON_APPEND(&filter, "$or", "[", "{", "until", "{", "$gt", BCON_DATE_TIME(l->at_ms), "}",
                    "}", "{", "until", BCON_NULL, "}", "]");
    hint.value.v_doc.data = (uint8_t *)(uintptr_t)bson_get_data(natural);
    hint.value.v_doc.data_len = natural->len;
    o.sort = sort;
    o.past_damage = true;
    o.allow_disk_use = out->natural;
    o.hint = out->natural ? &hint : NULL;
    if (l->limit > 0 && l->at_ms == 0 && !l->recursive)
        o.limit = l->limit;
    int rc = ash_collection_find(out->collection, &filter, &o, &out->cursor, err);
    bson_destroy(natural);
    bson_destroy(sort);
    bson_destroy(&filter);
    return rc;
}

static int was_there(ash_tree_listing *l, ash_tree_entry *e, bool *there, ash_error *err)
{
    *there = e->changed_ms <= l->at_ms;
    if (!*there)
        return 0;
    int rc = ash__tree_find_end(l->tree, e, &l->op, err);
    *there = e->ended_ms == 0 || l->at_ms < e->ended_ms;
    return rc;
}

/* Names in the path of what the last level gives: it may not come to more than paths have. */
static int check_path(const ash_tree_listing *l, const ash_tree_entry *folder,
                      const ash_tree_entry *e, ash_error *err)
{
    if (l->above.count + l->depth <= ASH_TREE_DEPTH_MAX &&
        strlen(folder->path) + 1 + strlen(e->name) <= ASH_TREE_PATH_MAX)
        return 0;
    return ash__fail(err, ASH_ECORRUPT,
                     "%.256s is left out, and what lies in it: its path would be longer than %d "
                     "bytes, or %d names",
                     e->name, ASH_TREE_PATH_MAX, ASH_TREE_DEPTH_MAX);
}

/* What cannot be an entry is told by its folder and its name, and the scan goes on behind it. */
static int read_head(ash_tree_listing *l, const ash_tree_entry *folder, scan *s, ash_doc doc,
                     ash_error *err)
{
    bson_t view;
    bool there = true;
    ash__doc_to_bson(doc, &view);
    int rc = ash__entry_new(bson_copy(&view), &s->head, err);
    if (rc == ASH_ECORRUPT)
        ash__error_prefix(err, "%s", folder->path);
    if (rc == 0 && l->at_ms != 0)
        rc = was_there(l, s->head, &there, err);
    if (rc == 0 && there)
        rc = check_path(l, folder, s->head, err);
    if (rc == 0 && there) {
        ash__entry_set_path(s->head, folder->path);
    } else {
        ash_tree_entry_free(s->head);
        s->head = NULL;
    }
    return rc;
}

/* An entry of an index that is damaged may be that of a file which is not: behind the first error,
 * all documents are looked at for what the index did not give. */
static int end_scan(ash_tree_listing *l, const ash_tree_entry *folder, scan *s, ash_error *err)
{
    bool again = s->broken && !s->natural && l->past_damage;
    ash_cursor_free(s->cursor);
    s->cursor = NULL;
    if (!again)
        return 0;
    s->natural = true;
    return open_scan(l, folder, s->missed, s, err);
}

/* What cannot be read is told once, by the index: without it, of the other folders', too. */
static int take_error(ash_tree_listing *l, scan *s, int rc, const ash_error *what, ash_error *err)
{
    if (rc == ASH_ECORRUPT && s->natural)
        return 0;
    if (rc == ASH_ECORRUPT && !s->broken) {
        s->broken = true;
        s->missed = s->last;
        s->last = NULL;
    }
    if (rc != ASH_ECORRUPT || !l->past_damage) {
        ash_cursor_free(s->cursor);
        s->cursor = NULL;
    }
    return ash__unless(0, rc, what, err);
}

static bool was_given(scan *s, const char *name)
{
    while (s->given_at < s->given_count && strcmp(s->given[s->given_at], name) < 0)
        s->given_at++;
    return s->given_at < s->given_count && strcmp(s->given[s->given_at], name) == 0;
}

/* What the index gave already is not given twice. */
static void keep_name(scan *s)
{
    if (s->natural) {
        if (was_given(s, s->head->name)) {
            ash_tree_entry_free(s->head);
            s->head = NULL;
        }
    } else if (s->broken) {
        s->given = ash__grow_array(s->given, s->given_count, &s->given_capacity, sizeof *s->given);
        s->given[s->given_count++] = ash__strdup(s->head->name);
    } else {
        ash__free(s->last);
        s->last = ash__strdup(s->head->name);
    }
}

static void release_scan(scan *s)
{
    ash_cursor_free(s->cursor);
    ash_tree_entry_free(s->head);
    for (size_t i = 0; i < s->given_count; i++)
        ash__free(s->given[i]);
    ash__free(s->given);
    ash__free(s->missed);
    ash__free(s->last);
}

/* The next entry of the scan that counts, into its head. */
static int advance(ash_tree_listing *l, const ash_tree_entry *folder, scan *s, ash_error *err)
{
    int rc = 0;
    while (rc == 0 && s->cursor != NULL && s->head == NULL) {
        ash_error own = ASH_ERROR_INIT;
        ash_doc doc;
        rc = ash_cursor_next(s->cursor, &doc, &own);
        if (rc != 0)
            rc = take_error(l, s, rc, &own, err);
        else if (doc.data == NULL)
            rc = end_scan(l, folder, s, err);
        else
            rc = read_head(l, folder, s, doc, err);
        if (rc == 0 && s->head != NULL)
            keep_name(s);
    }
    return rc;
}

static void close_level(level *v)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(v->scans); i++)
        release_scan(&v->scans[i]);
    ash_tree_entry_free(v->folder);
}

/* Only the deepest folder has its path, which is those of all above it, too: with one each, a long
 * chain of folders would take the square of its length. */
static void hide_path(ash_tree_listing *l)
{
    if (l->depth == 0)
        return;
    ash_tree_entry *folder = l->levels[l->depth - 1].folder;
    ash__free(folder->path);
    folder->path = NULL;
}

static void leave_level(ash_tree_listing *l)
{
    level *v = &l->levels[--l->depth];
    const char *path = v->folder->path;
    if (l->depth > 0) {
        size_t len = strlen(path) - strlen(v->folder->name) - 1;
        l->levels[l->depth - 1].folder->path =
            len > 0 ? ash__sprintf("%.*s", (int)len, path) : ash__strdup("/");
    }
    close_level(v);
}

static int open_level(ash_tree_listing *l, const ash_tree_entry *folder, const char *after,
                      ash_error *err)
{
    level v = {.folder = ash_tree_entry_copy(folder)};
    v.scans[0].collection = l->tree->current;
    v.scans[1].collection = l->tree->past;
    v.scans[0].last = after != NULL ? ash__strdup(after) : NULL;
    v.scans[1].last = after != NULL ? ash__strdup(after) : NULL;
    int rc = open_scan(l, folder, after, &v.scans[0], err);
    if (rc == 0 && l->at_ms != 0)
        rc = open_scan(l, folder, after, &v.scans[1], err);
    if (rc != 0) {
        close_level(&v);
        return rc;
    }
    hide_path(l);
    l->levels = ash__grow_array(l->levels, l->depth, &l->capacity, sizeof *l->levels);
    l->levels[l->depth++] = v;
    return 0;
}

/* The smaller name of both heads. */
static int take_next(ash_tree_listing *l, level *v, ash_tree_entry **out, ash_error *err)
{
    int rc = advance(l, v->folder, &v->scans[0], err);
    if (rc == 0)
        rc = advance(l, v->folder, &v->scans[1], err);
    if (rc != 0)
        return rc;
    scan *s = &v->scans[0];
    const scan *other = &v->scans[1];
    if (s->head == NULL || (other->head != NULL && strcmp(other->head->name, s->head->name) < 0))
        s = &v->scans[1];
    *out = s->head;
    s->head = NULL;
    return 0;
}

/* ---- listings ---- */

static ash_tree_listing *new_listing(ash_tree *tree, int64_t at_ms, const ash_op *op)
{
    ash_tree_listing *l = ash__new(ash_tree_listing);
    l->tree = tree;
    l->op = ash__op_of(op);
    l->at_ms = at_ms;
    return l;
}

ash_tree_listing *ash__list_entries(ash_tree_entry **items, size_t count)
{
    ash_tree_listing *l = new_listing(NULL, 0, NULL);
    l->items = items;
    l->item_count = count;
    return l;
}

ash_tree_listing *ash__list_from(const ash_tree_source *source, int64_t limit)
{
    ash_tree_listing *l = new_listing(NULL, 0, NULL);
    l->source = *source;
    l->limit = limit;
    return l;
}

static int open_listing(ash_tree_listing *l, const ash_tree_path *path, const char *after,
                        ash_error *err)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    int rc = ash__tree_walk_all(l->tree, path, l->at_ms, &l->op, &chain, err);
    /* What it is, is told to who may read it. */
    if (rc == 0)
        rc = ash__tree_require_at(l->tree, &chain, l->at_ms, ASH_TREE_READ, &l->op, err);
    if (rc == 0 && !ash__chain_last(&chain)->is_folder)
        rc =
            ash__fail(err, ASH_EINVAL, "%s is a file, not a folder", ash__chain_last(&chain)->path);
    if (rc == 0)
        rc = ash__tree_require_at(l->tree, &chain, l->at_ms, ASH_TREE_READ | ASH_TREE_ENTER, &l->op,
                                  err);
    if (rc == 0)
        rc = open_level(l, ash__chain_last(&chain), after, err);
    if (rc == 0) {
        ash_tree_entry_free(ash__chain_take(&chain));
        l->above = chain;
        return 0;
    }
    ash__chain_release(&chain);
    return rc;
}

int ash_tree_list(ash_tree *tree, const char *path, const ash_tree_list_options *opts,
                  const ash_op *op, ash_tree_listing **out, ash_error *err)
{
    ash_tree_list_options o;
    ash_tree_path parts = {0};
    ash_assert(tree != NULL && path != NULL && out != NULL);
    *out = NULL;
    int rc = ash__options_copy(&o, sizeof o, opts, err);
    if (rc == 0 && o.recursive && o.after != NULL)
        rc = ash__fail(err, ASH_EINVAL, "a listing of all below a folder begins at its start");
    if (rc == 0 && (o.limit < 0 || o.at_ms < 0))
        rc = ash__fail(err, ASH_EINVAL, "limit and time are not negative");
    if (rc == 0)
        rc = ash__tree_path_parse(path, &parts, err);
    if (rc == 0) {
        ash_capabilities can = ASH_CAPABILITIES_INIT;
        ash_tree_listing *l = new_listing(tree, o.at_ms, op);
        l->limit = o.limit;
        l->recursive = o.recursive;
        rc = ash_store_capabilities(tree->store, &can, err);
        l->past_damage = can.past_damage;
        if (rc == 0)
            rc = open_listing(l, &parts, o.after, err);
        if (rc != 0)
            ash_tree_listing_free(l);
        else
            *out = l;
    }
    ash__tree_path_release(&parts);
    return rc;
}

static int next_entry(ash_tree_listing *l, ash_tree_entry **out, ash_error *err)
{
    int rc = 0;
    *out = NULL;
    if (l->source.next != NULL)
        return l->source.next(l->source.ctx, out, err);
    if (l->item_at < l->item_count) {
        *out = l->items[l->item_at];
        l->items[l->item_at++] = NULL;
    }
    while (rc == 0 && *out == NULL && l->depth > 0) {
        rc = take_next(l, &l->levels[l->depth - 1], out, err);
        if (rc == 0 && *out == NULL)
            leave_level(l);
    }
    return rc;
}

/* May the principal do that with an entry of the level that is open? */
static bool may(const ash_tree_listing *l, ash_tree_entry *e, unsigned rights)
{
    ash_tree_chain chain = ASH_TREE_CHAIN_INIT;
    if (l->op.principal == NULL)
        return true;
    for (size_t i = 0; i < l->above.count; i++)
        ash__chain_add(&chain, l->above.items[i]);
    for (size_t i = 0; i < l->depth; i++)
        ash__chain_add(&chain, l->levels[i].folder);
    ash__chain_add(&chain, e);
    int rc = ash__tree_require_at(l->tree, &chain, l->at_ms, rights, &l->op, NULL);
    ash__free(chain.items);
    return rc == 0;
}

/* What has no list of its own is read by whoever reads the folder. */
static bool may_see(const ash_tree_listing *l, ash_tree_entry *e)
{
    bson_iter_t it;
    return l->op.principal == NULL || l->depth == 0 ||
           (l->at_ms == 0 && !ash__entry_field(e, "acl", &it)) || may(l, e, ASH_TREE_READ);
}

/* The next one that the principal may know of. */
static int next_seen(ash_tree_listing *l, ash_error *err)
{
    int rc = next_entry(l, &l->current, err);
    while (rc == 0 && l->current != NULL && !may_see(l, l->current)) {
        ash_tree_entry_free(l->current);
        rc = next_entry(l, &l->current, err);
    }
    return rc;
}

int ash_tree_listing_next(ash_tree_listing *l, const ash_tree_entry **out, ash_error *err)
{
    int rc = 0;
    *out = NULL;
    ash_tree_entry *before = l->current;
    l->current = NULL;
    if (l->limit == 0 || l->given < l->limit) {
        if (before != NULL && before->is_folder && l->recursive &&
            may(l, before, ASH_TREE_READ | ASH_TREE_ENTER))
            rc = open_level(l, before, NULL, err);
        if (rc == 0)
            rc = next_seen(l, err);
    }
    ash_tree_entry_free(before);
    if (rc == 0 && l->current != NULL)
        l->given++;
    *out = l->current;
    return rc;
}

void ash_tree_listing_free(ash_tree_listing *l)
{
    if (l == NULL)
        return;
    while (l->depth > 0)
        close_level(&l->levels[--l->depth]);
    for (size_t i = l->item_at; i < l->item_count; i++)
        ash_tree_entry_free(l->items[i]);
    if (l->source.free != NULL)
        l->source.free(l->source.ctx);
    ash__free(l->items);
    ash__chain_release(&l->above);
    ash__free(l->levels);
    ash_tree_entry_free(l->current);
    ash__free(l);
}
