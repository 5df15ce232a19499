/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/tree/room.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/when.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char ID[] = "id:", DIGEST[] = "digest:";

void ash__cmd_tree_address_release(ash_cmd_tree_address *a)
{
    ash__free(a->path);
    ash__free(a->tag);
    ash__free(a->digest);
    if (a->id.value_type != BSON_TYPE_EOD)
        bson_value_destroy(&a->id);
    memset(a, 0, sizeof *a);
}

static bool is_number(const char *text)
{
    return text[0] != 0 && text[strspn(text, "0123456789")] == 0;
}

/* Where "@{…}", "@7" or "@TAG" begins at the end of the text; NULL: it has none. */
static const char *find_suffix(const char *text)
{
    size_t len = strlen(text);
    const char *at = strrchr(text, '@');
    if (len > 3 && text[len - 1] == '}') {
        for (const char *here = strstr(text, "@{"); here != NULL; here = strstr(here + 1, "@{"))
            at = here;
        return at != NULL && at[1] == '{' ? at : NULL;
    }
    return at != NULL && at[1] != 0 && (at != text || is_number(at + 1)) ? at : NULL;
}

/* The newest version that has the tag, if any has. */
static int find_tag(const ash_cmd_tree_run *r, const char *path, const char *tag, int32_t *version,
                    ash_error *err)
{
    ash_tree_listing *listing = NULL;
    const ash_tree_entry *e = NULL;
    ash_error own = ASH_ERROR_INIT;
    *version = 0;
    int rc = r->tree != NULL ? ash_tree_history(r->tree, path, 0, &r->op, &listing, &own) : 0;
    while (rc == 0 && listing != NULL && *version == 0) {
        rc = ash_tree_listing_next(listing, &e, &own);
        if (rc != 0 || e == NULL)
            break;
        if (ash_tree_entry_has_tag(e, tag))
            *version = ash_tree_entry_version(e);
    }
    ash_tree_listing_free(listing);
    return rc == ASH_ENOTFOUND || rc == ASH_EINVAL ? 0 : ash__unless(0, rc, &own, err);
}

static int parse_suffix(const char *suffix, ash_tree_when *when, ash_error *err)
{
    if (suffix[1] != '{') {
        errno = 0;
        long version = strtol(suffix + 1, NULL, 10);
        if (errno != 0 || version < 1 || version > INT32_MAX)
            return ash__fail(err, ASH_EINVAL, "version %s is out of range: the first is 1",
                             suffix + 1);
        when->version = (int32_t)version;
        return 0;
    }
    char *time = ash__strndup(suffix + 2, strlen(suffix) - 3);
    int rc = 0;
    if (!ash__cmd_parse_time(time, ash__clock_wall_ms(), &when->at_ms))
        rc = ash__fail(err, ASH_EINVAL, "\"%s\" is no time; these are: " ASH_CMD_TIME_FORMS, time);
    ash__free(time);
    return rc;
}

int ash__cmd_tree_peek(const ash_cmd_tree_run *r, const char *path, ash_tree_entry **out,
                       ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    *out = NULL;
    int rc = r->tree != NULL ? ash_tree_get(r->tree, path, NULL, &r->op, out, &own) : 0;
    if (rc == ASH_ENOTFOUND)
        return 0;
    if (rc != 0 && err != NULL)
        *err = own;
    return rc;
}

/* Is what was typed the whole name of something? */
static bool is_there(const ash_cmd_tree_run *r, const char *path, const ash_tree_when *when)
{
    ash_tree_entry *entry = NULL;
    bool there = r->tree != NULL && ash_tree_get(r->tree, path, when, &r->op, &entry, NULL) == 0;
    ash_tree_entry_free(entry);
    return there;
}

bool ash__cmd_tree_is_id(const char *word)
{
    return strncmp(word, ID, strlen(ID)) == 0;
}

/* "id:VALUE", "id:VALUE@VERSION". */
static int parse_id(const char *text, ash_cmd_tree_address *out, ash_error *err)
{
    ash_cmd_address address;
    const char *suffix = find_suffix(text);
    bool version = suffix != NULL && is_number(suffix + 1);
    char *id = version ? ash__strndup(text, (size_t)(suffix - text)) : ash__strdup(text);
    int rc = ash__cmd_address_parse(id, &address, err);
    if (rc == 0)
        bson_value_copy(&address.id, &out->id);
    ash__cmd_address_release(&address);
    ash__free(id);
    return rc == 0 && version ? parse_suffix(suffix, &out->when, err) : rc;
}

int ash__cmd_tree_address(const ash_cmd_tree_run *r, const char *text, ash_cmd_tree_address *out,
                          ash_error *err)
{
    ash_cmd_tree_address a = {.when = ASH_TREE_WHEN_INIT};
    const char *suffix = find_suffix(text);
    *out = a;
    if (ash__cmd_tree_is_id(text))
        return parse_id(text, out, err);
    if (strncmp(text, DIGEST, strlen(DIGEST)) == 0) {
        out->digest = ash__strdup(text + strlen(DIGEST));
        return 0;
    }
    int rc = ash__cmd_check_name(text, err);
    if (rc != 0)
        return rc;
    out->when.at_ms = r->at_ms;
    if (suffix != NULL && is_there(r, text, &out->when))
        suffix = NULL;
    out->path = suffix != NULL ? ash__strndup(text, (size_t)(suffix - text)) : ash__strdup(text);
    bool time = suffix != NULL && suffix[1] == '{' && suffix[strlen(suffix) - 1] == '}';
    if (suffix == NULL || time || is_number(suffix + 1))
        return suffix != NULL ? parse_suffix(suffix, &out->when, err) : 0;
    rc = find_tag(r, out->path, suffix + 1, &out->when.version, err);
    if (rc == 0 && out->when.version != 0)
        out->tag = ash__strdup(suffix + 1);
    if (rc == 0 && out->when.version == 0) { /* a name that has an @ in it */
        ash__free(out->path);
        out->path = ash__strdup(text);
    }
    return rc;
}

/* "a@yesterday", "docs@{yesterday}/a", "a@{2" of two words without quotes, or a tag that no version
 * has; or it was deleted. */
static int say_why(const ash_cmd_tree_run *r, const ash_cmd_tree_address *a, ash_error *err)
{
    if (err == NULL || a->when.at_ms != 0)
        return ASH_ENOTFOUND;
    if (strchr(a->path, '@') == NULL)
        return ash__cmd_tree_say_gone(r, a->path, err);
    ash_error said = *err;
    return ash__fail(err, ASH_ENOTFOUND,
                     "%s; a version is PATH@3 or \"PATH@{TIME}\", or PATH@TAG of one that has the "
                     "tag, with the @ behind the whole path",
                     said.text);
}

/* A content is a file without a past. */
static int find_content(const ash_cmd_tree_run *r, const char *digest, ash_tree_entry **out,
                        ash_error *err)
{
    ash_tree_reader *reader = NULL;
    ash_error own = ASH_ERROR_INIT;
    int rc = ash_tree_open_content(r->tree, digest, NULL, &r->op, &reader, &own);
    if (rc == ASH_ENOTFOUND)
        rc = ash__fail(err, rc,
                       "%s; tiny ones stand in the documents of files, and are found by a "
                       "path only",
                       own.text);
    else if (rc != 0 && err != NULL)
        *err = own;
    if (rc == 0)
        *out = ash_tree_entry_copy(ash_tree_reader_entry(reader));
    ash_tree_reader_free(reader);
    return rc;
}

int ash__cmd_tree_entry_at(const ash_cmd_tree_run *r, const ash_cmd_tree_address *a,
                           ash_tree_entry **out, ash_error *err)
{
    if (a->digest != NULL)
        return find_content(r, a->digest, out, err);
    if (a->path == NULL)
        return ash_tree_get_by_id(r->tree, &a->id, a->when.version, &r->op, out, err);
    int rc = ash_tree_get(r->tree, a->path, &a->when, &r->op, out, err);
    return rc == ASH_ENOTFOUND ? say_why(r, a, err) : rc;
}

int ash__cmd_tree_lookup(const ash_cmd_tree_run *r, const char *text, ash_tree_entry **out,
                         ash_error *err)
{
    ash_cmd_tree_address address;
    *out = NULL;
    int rc = ash__cmd_tree_address(r, text, &address, err);
    if (rc == 0)
        rc = ash__cmd_tree_entry_at(r, &address, out, err);
    ash__cmd_tree_address_release(&address);
    return rc;
}

int ash__cmd_tree_folder_at(ash_cmd_tree_address *a, const ash_tree_entry *folder, ash_error *err)
{
    char date[64];
    int64_t tagged_ms = a->tag != NULL ? ash_tree_entry_tagged_ms(folder, a->tag, NULL) : 0;
    if (tagged_ms != 0) {
        a->when.version = 0;
        a->when.at_ms = tagged_ms;
    }
    if (a->when.version == 0)
        return 0;
    ash__cmd_tree_print_time(date, sizeof date, ash_tree_entry_changed_ms(folder));
    return ash__fail(
        err, ASH_EINVAL,
        "a folder's versions do not say what lay in it: %s@{TIME} does, and this version "
        "began at %s",
        a->path != NULL ? a->path : ash_tree_entry_path(folder), date);
}

int ash__cmd_tree_no_id(const char *path, ash_error *err)
{
    bool id = ash__cmd_tree_is_id(path);
    if (!id && strncmp(path, DIGEST, strlen(DIGEST)) != 0)
        return 0;
    return ash__fail(err, ASH_EINVAL,
                     "this takes a PATH, not %s; /%s is what has that for its name",
                     id ? "an id" : "a digest", path);
}

int ash__cmd_tree_check_new_path(const ash_cmd *cmd, const char *path)
{
    ash_error err = ASH_ERROR_INIT;
    if (ash__cmd_tree_no_id(path, &err) != 0)
        return ash__cmd_usage(cmd, "%s: %s", path, err.text);
    if (path[0] == 0) /* most likely a variable that should have had a value */
        return ash__cmd_usage(cmd, "a path cannot be empty; \"/\" is the whole tree");
    for (const char *at = path + (path[0] == '/'); *at != 0;) {
        size_t len = strcspn(at, "/");
        if (len == 0)
            return ash__cmd_usage(cmd, "%s has an empty name in it", path);
        if ((len == 1 && at[0] == '.') || (len == 2 && at[0] == '.' && at[1] == '.'))
            return ash__cmd_usage(cmd,
                                  "%.*s is no name in a tree, whose paths begin at its root; \"/\" "
                                  "is the root itself",
                                  (int)len, at);
        at += len + (at[len] == '/');
    }
    return 0;
}

char *ash__cmd_tree_join(const char *folder, const char *name)
{
    size_t len = strlen(folder);
    while (len > 0 && folder[len - 1] == '/')
        len--;
    return ash__sprintf("%.*s/%s", (int)len, folder, name);
}

char *ash__cmd_tree_target(const ash_cmd_tree_run *r, const char *to, const char *name,
                           ash_error *err)
{
    ash_tree_entry *there = NULL;
    size_t len = strlen(to);
    if (ash__cmd_tree_peek(r, to, &there, err) != 0)
        return NULL;
    bool into =
        (len > 0 && to[len - 1] == '/') || (there != NULL && ash_tree_entry_is_folder(there));
    ash_tree_entry_free(there);
    if (into && (name == NULL || name[0] == 0)) {
        ash__fail(err, ASH_EINVAL, "%s is a folder; say what it is called in it", to);
        return NULL;
    }
    return into ? ash__cmd_tree_join(to, name) : ash__strdup(to);
}
