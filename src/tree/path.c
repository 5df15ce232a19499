/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as users write them.  Only what could not be found again, or would mean something else to
 * the programs that show trees, is refused: everything else may be a name. */
#include "tree/path.h"

#include "base/buffer.h"
#include "base/mem.h"
#include "base/text.h"
#include "tree/tree.h"

#include <string.h>

int ash__tree_path_check_name(const char *name, size_t len, ash_error *err)
{
    if (len == 0)
        return ash__fail(err, ASH_EINVAL, "a path has an empty name in it");
    if (len > ASH_TREE_NAME_MAX)
        return ash__fail(err, ASH_EINVAL, "a name of %zu bytes is longer than %d", len,
                         ASH_TREE_NAME_MAX);
    /* Every client of a file system takes these two for the folder and the one above it. */
    if ((len == 1 && name[0] == '.') || (len == 2 && name[0] == '.' && name[1] == '.'))
        return ash__fail(err, ASH_EINVAL, "%.*s is no name: paths are taken as they are written",
                         (int)len, name);
    if (ash__text_good(name, len) != len)
        return ash__fail(err, ASH_EINVAL, "a name in the path is not valid UTF-8");
    return 0;
}

/* As entries have it, and so as it is measured everywhere else: with the first '/', and without one
 * at its end. */
static size_t whole_length(const char *text)
{
    size_t len = strlen(text);
    bool ends_in_slash = len > 1 && text[len - 1] == '/';
    return len + (text[0] != '/') - ends_in_slash;
}

int ash__tree_path_parse(const char *text, ash_tree_path *out, ash_error *err)
{
    size_t capacity = 0, len_bytes = whole_length(text);
    *out = (ash_tree_path){0};
    if (len_bytes > ASH_TREE_PATH_MAX)
        return ash__fail(err, ASH_EINVAL, "a path of %zu bytes is longer than %d", len_bytes,
                         ASH_TREE_PATH_MAX);
    out->text = ash__strdup(text[0] == '/' ? text + 1 : text);
    if (out->text[0] == '\0')
        return 0;
    for (char *at = out->text; at != NULL;) {
        char *slash = strchr(at, '/');
        size_t len = slash != NULL ? (size_t)(slash - at) : strlen(at);
        if (slash != NULL && slash[1] == '\0') /* a folder is often written with one at its end */
            slash[0] = '\0', slash = NULL;
        int rc = out->count < ASH_TREE_DEPTH_MAX
                     ? ash__tree_path_check_name(at, len, err)
                     : ash__fail(err, ASH_EINVAL, "a path of more than %d names is too deep",
                                 ASH_TREE_DEPTH_MAX);
        if (rc != 0)
            return rc;
        out->names = ash__grow_array(out->names, out->count, &capacity, sizeof *out->names);
        out->names[out->count++] = at;
        if (slash != NULL)
            *slash++ = '\0';
        at = slash;
    }
    return 0;
}

void ash__tree_path_release(ash_tree_path *p)
{
    ash__free(p->text);
    ash__free(p->names);
    *p = (ash_tree_path){0};
}

char *ash__tree_path_join(const ash_tree_path *p, size_t count)
{
    ash_buffer text = ASH_BUFFER_INIT;
    if (count == 0)
        ash__buffer_append_text(&text, "/");
    for (size_t i = 0; i < count; i++)
        ash__buffer_printf(&text, "/%s", p->names[i]);
    (void)ash__buffer_text(&text);
    return (char *)ash__buffer_detach(&text);
}
