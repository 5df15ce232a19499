/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of mongofiles. */
#include "cmd/gridfs/gridfs.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/mem.h"
#include "cmd/kit/place.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

/* ---- list, search ---- */

static void show_file(ash_gridfs *g, const ash_file *file)
{
    if (g->cmd->json) {
        bson_t object = BSON_INITIALIZER;
        ash__cmd_file_object(file, &object);
        ash__cmd_emit(&object);
        bson_destroy(&object);
        return;
    }
    char *name = ash__cmd_printable(ash_file_filename(file) != NULL ? ash_file_filename(file) : "");
    printf("%s\t%" PRId64 "\n", name, ash_file_length(file));
    ash__free(name);
}

static void append_regex(bson_t *filter, const char *pattern, const char *options)
{
    bson_t inner;
    BSON_APPEND_DOCUMENT_BEGIN(filter, "filename", &inner);
    BSON_APPEND_UTF8(&inner, "$regex", pattern);
    if (options != NULL)
        BSON_APPEND_UTF8(&inner, "$options", options);
    bson_append_document_end(filter, &inner);
}

/* ^ and the text with everything quoted that a regular expression could take for something else. */
static char *prefix_pattern(const char *text)
{
    ash_buffer out = ASH_BUFFER_INIT;
    ash__buffer_append_byte(&out, '^');
    for (; *text != 0; text++) {
        /* Bytes of longer characters mean nothing to a regular expression, and must not be parted.
         */
        if ((unsigned char)*text < 0x80 && !isalnum((unsigned char)*text))
            ash__buffer_append_byte(&out, '\\');
        ash__buffer_append_byte(&out, (uint8_t)*text);
    }
    ash__buffer_append_byte(&out, 0);
    return (char *)ash__buffer_detach(&out);
}

int ash__gridfs_show(ash_gridfs *g, ash_error *err)
{
    ash_cursor *cursor = NULL;
    bson_t filter = BSON_INITIALIZER;
    bool search = strcmp(g->words[0], "search") == 0;
    int damaged = 0;
    if (g->count > 1 && g->words[1][0] != 0) {
        char *pattern = search ? ash__strdup(g->words[1]) : prefix_pattern(g->words[1]);
        append_regex(&filter, pattern, NULL);
        ash__free(pattern);
    }
    int rc = ash_bucket_find(g->bucket, &filter, NULL, &cursor, err);
    while (rc == 0) {
        ash_doc doc = {0};
        ash_file *file = NULL;
        rc = ash__cmd_next_document(g->cmd, g->bucket, cursor, &doc, &damaged, err);
        if (rc != 0 || doc.data == NULL)
            break;
        rc = ash__cmd_read_file(g->cmd, doc, &file, &damaged, err);
        if (file != NULL)
            show_file(g, file);
        ash_file_free(file);
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
    }
    if (rc == 0 && damaged > 0)
        rc = ash__fail(err, ASH_EPARTIAL, "damaged files passed over: %d", damaged);
    ash_cursor_free(cursor);
    bson_destroy(&filter);
    return rc;
}

/* ---- ids ---- */

/* As mongofiles reads them: Extended JSON when it begins with a brace, else a string.  The shell's
 * ObjectId("…") is what people copy, so it is taken too. */
static int parse_id(const char *text, bson_value_t *out, ash_error *err)
{
    static const char shell[] = "ObjectId(\"";
    ash_cmd_address address;
    text += strspn(text, " ");
    size_t len = strlen(text);
    if (strncmp(text, shell, sizeof shell - 1) == 0 && len == sizeof shell - 1 + 24 + 2 &&
        strcmp(text + len - 2, "\")") == 0) {
        char hex[25] = "";
        memcpy(hex, text + sizeof shell - 1, 24);
        if (!bson_oid_is_valid(hex, 24))
            return ash__fail(err, ASH_EINVAL, "error parsing id: %s", text);
        out->value_type = BSON_TYPE_OID;
        bson_oid_init_from_string(&out->value.v_oid, hex);
        return 0;
    }
    if (text[0] != '{') {
        out->value_type = BSON_TYPE_UTF8;
        out->value.v_utf8.len = (uint32_t)len;
        out->value.v_utf8.str = bson_strdup(text);
        return 0;
    }
    char *behind = ash__sprintf("id:%s", text);
    int rc = ash__cmd_address_parse(behind, &address, err);
    ash__free(behind);
    if (rc == 0)
        *out = address.id; /* taken over */
    return rc;
}

/* ---- put ---- */

struct input {
    int fd;
    int64_t bytes;
};

static int64_t read_input(void *ctx, void *buf, size_t len, ash_error *err)
{
    struct input *in = ctx;
    for (;;) {
        int rc = ash__cmd_check_interrupted(err);
        ssize_t got = rc == 0 ? read(in->fd, buf, len) : 0;
        if (rc != 0)
            return rc;
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return ash__fail_errno(err, errno, "cannot read");
        in->bytes += got;
        return got;
    }
}

static int put_file(ash_gridfs *g, const char *name, const bson_value_t *id, ash_error *err)
{
    ash_upload_options opts = ASH_UPLOAD_OPTIONS_INIT;
    struct input state = {-1, 0};
    ash_input in = {&state, read_input};
    bson_t metadata = BSON_INITIALIZER;
    const char *local = g->options[ASH_GRIDFS_LOCAL] != NULL ? g->options[ASH_GRIDFS_LOCAL] : name;
    char *shown = ash__cmd_printable(name);
    ash__gridfs_log(g, "adding gridFile: %s\n", shown);
    int rc = ash__cmd_check_name(name, err);
    if (rc == 0 && strcmp(local, "-") == 0)
        state.fd = STDIN_FILENO;
    else if (rc == 0)
        rc = ash__file_open(local, O_RDONLY, &state.fd, err);
    if (g->options[ASH_GRIDFS_TYPE] != NULL) {
        BSON_APPEND_UTF8(&metadata, "contentType", g->options[ASH_GRIDFS_TYPE]);
        opts.metadata = &metadata;
    }
    opts.replace = g->options[ASH_GRIDFS_REPLACE] != NULL;
    if (rc == 0 && id != NULL)
        rc = ash_bucket_upload_from_stream_with_id(g->bucket, id, name, &in, &opts, err);
    else if (rc == 0)
        rc = ash_bucket_upload_from_stream(g->bucket, name, &in, &opts, NULL, err);
    if (rc == 0 && opts.replace)
        ash__gridfs_log(g, "successfully deleted all instances of '%s' from GridFS\n", shown);
    if (rc == 0 && g->cmd->verbose > 0)
        ash__gridfs_log(g, "copied %" PRId64 " bytes to server", state.bytes);
    if (rc == 0)
        ash__gridfs_log(g, "added gridFile: %s\n", shown);
    if (state.fd != STDIN_FILENO)
        ash__file_close(state.fd);
    ash__free(shown);
    bson_destroy(&metadata);
    return rc;
}

int ash__gridfs_put(ash_gridfs *g, ash_error *err)
{
    bson_value_t id = {.value_type = BSON_TYPE_EOD};
    int rc = 0;
    if (strcmp(g->words[0], "put_id") == 0) {
        rc = parse_id(g->words[2], &id, err);
        if (rc == 0)
            rc = put_file(g, g->words[1], &id, err);
        if (id.value_type != BSON_TYPE_EOD)
            bson_value_destroy(&id);
        return rc;
    }
    for (int i = 1; rc == 0 && i < g->count; i++)
        rc = put_file(g, g->words[i], NULL, err);
    return rc;
}

/* ---- get ---- */

static int write_place(void *ctx, const void *data, size_t len, ash_error *err)
{
    int rc = ash__cmd_check_interrupted(err);
    return rc != 0 ? rc : ash__place_write(ctx, data, len, err);
}

/* Where a file goes that is known by its own name only: that name may be anything. */
static int open_below_here(const char *name, ash_place **place, ash_error *err)
{
    int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return ash__fail_errno(err, errno, "cannot open the current folder");
    int rc = ash__place_open_below(fd, name, place, err);
    close(fd);
    if (rc == ASH_EACCES && strstr(err->text, "lead out") != NULL)
        rc = ash__fail(err, ASH_EACCES,
                       "the name %s would lead out of the current folder; --local says another",
                       name);
    return rc;
}

static int get_file(ash_gridfs *g, const ash_file *file, bool name_was_typed, ash_error *err)
{
    ash_download_options opts = ASH_DOWNLOAD_OPTIONS_INIT;
    ash_place *place = NULL;
    ash_output out = {NULL, ash__cmd_write_out};
    const char *name = ash_file_filename(file) != NULL ? ash_file_filename(file) : "";
    const char *local = g->options[ASH_GRIDFS_LOCAL];
    /* A name that the user typed may lead anywhere; one that a file brings may not. */
    bool typed = name_was_typed || local != NULL;
    int rc = 0;
    opts.with_attributes = opts.verify = true;
    if (local == NULL)
        local = name;
    bool to_stdout = typed && strcmp(local, "-") == 0;
    if (!to_stdout) {
        rc = typed ? ash__place_open(local, &place, err) : open_below_here(local, &place, err);
        if (rc == 0 && place == NULL && ash_file_length(file) > 0)
            rc =
                ash__fail(err, ASH_EEXISTS, "%s is a folder's name, and the file has bytes", local);
        if (rc != 0 || place == NULL)
            return rc;
        out = (ash_output){place, write_place};
    }
    rc = ash_bucket_download_to_stream(g->bucket, ash_file_id(file), &out, &opts, err);
    if (rc == 0 && place != NULL)
        rc = ash__place_finish(place, err);
    ash__place_free(place);
    if (rc == 0) {
        char *shown = ash__cmd_printable(local);
        ash__gridfs_log(g, "finished writing to %s\n", shown);
        ash__free(shown);
    }
    return rc;
}

/* Nothing is written when one of the names is missing. */
int ash__gridfs_get(ash_gridfs *g, ash_error *err)
{
    int count = g->count - 1, found = 0, rc = 0;
    ash_file **files = ash__alloc_array((size_t)count, sizeof *files);
    ash_buffer missing = ASH_BUFFER_INIT;
    if (count > 1 && g->options[ASH_GRIDFS_LOCAL] != NULL)
        rc = ash__fail(err, ASH_EINVAL, "cannot get multiple files with --local specified");
    for (int i = 0; rc == 0 && i < count; i++) {
        ash__buffer_printf(&missing, "%s%s", i > 0 ? " " : "", g->words[i + 1]);
        rc = ash_bucket_get_file_by_name(g->bucket, g->words[i + 1], -1, false, &files[i], err);
        found += rc == 0 ? 1 : 0;
        if (rc == ASH_ENOTFOUND || rc == ASH_ENOREVISION)
            rc = 0;
    }
    if (rc == 0 && found < count) {
        ash__buffer_append_byte(&missing, 0);
        rc = ash__fail(err, ASH_ENOTFOUND, "requested files not found: [%s]",
                       (const char *)missing.data);
    }
    for (int i = 0; rc == 0 && i < count; i++)
        rc = get_file(g, files[i], true, err);
    for (int i = 0; i < count; i++)
        ash_file_free(files[i]);
    ash__free(files);
    ash__buffer_release(&missing);
    return rc;
}

/* The file that the command line names by its id; a missing one is said as mongofiles does. */
static int find_by_id(ash_gridfs *g, ash_file **file, ash_error *err)
{
    bson_value_t id = {.value_type = BSON_TYPE_EOD};
    int rc = parse_id(g->words[1], &id, err);
    if (rc != 0)
        return rc;
    rc = ash_bucket_get_file(g->bucket, &id, false, file, err);
    bson_value_destroy(&id);
    if (rc == ASH_ENOTFOUND)
        rc = ash__fail(err, ASH_ENOTFOUND, "no such file with _id: %s", g->words[1]);
    return rc;
}

int ash__gridfs_get_id(ash_gridfs *g, ash_error *err)
{
    ash_file *file = NULL;
    int rc = find_by_id(g, &file, err);
    if (rc == 0)
        rc = get_file(g, file, false, err);
    ash_file_free(file);
    return rc;
}

struct matches {
    ash_gridfs *g;
    bool count_only;
    int count;
    ash_error *err;
};

static int visit_match(void *ctx, const ash_file *file)
{
    struct matches *m = ctx;
    m->count++;
    if (m->count_only || get_file(m->g, file, false, m->err) == 0)
        return 0;
    return 1; /* the error is in m->err */
}

int ash__gridfs_get_regex(ash_gridfs *g, ash_error *err)
{
    struct matches m = {.g = g, .count_only = true, .err = err};
    ash_file_visitor visitor = {visit_match, &m, false};
    bson_t filter = BSON_INITIALIZER;
    append_regex(&filter, g->words[1], g->options[ASH_GRIDFS_REGEX_OPTIONS]);
    int rc = ash__cmd_each_match(NULL, g->bucket, &filter, &visitor, err);
    if (rc == ASH_EPARTIAL)
        rc = 0; /* the second run reports them */
    if (rc == 0 && m.count == 0)
        rc = ash__fail(err, ASH_ENOTFOUND,
                       "files matching the following pattern were not found: %s", g->words[1]);
    if (rc == 0 && m.count > 1 && g->options[ASH_GRIDFS_LOCAL] != NULL)
        rc = ash__fail(err, ASH_EINVAL, "cannot get multiple files with --local specified");
    m.count_only = false;
    if (rc == 0)
        rc = ash__cmd_each_match(g->cmd, g->bucket, &filter, &visitor, err);
    bson_destroy(&filter);
    return rc > 0 ? err->code : rc;
}

/* ---- delete ---- */

int ash__gridfs_delete(ash_gridfs *g, ash_error *err)
{
    int rc = ash_bucket_delete_by_name(g->bucket, g->words[1], NULL, err);
    /* mongofiles says that it deleted all, also when there were none. */
    if (rc != 0 && rc != ASH_ENOTFOUND)
        return rc;
    char *shown = ash__cmd_printable(g->words[1]);
    ash__gridfs_log(g, "successfully deleted all instances of '%s' from GridFS\n", shown);
    ash__free(shown);
    return 0;
}

int ash__gridfs_delete_id(ash_gridfs *g, ash_error *err)
{
    ash_file *file = NULL;
    int rc = find_by_id(g, &file, err);
    if (rc == 0)
        rc = ash_bucket_delete(g->bucket, ash_file_id(file), NULL, err);
    ash_file_free(file);
    if (rc == 0) {
        char *shown = ash__cmd_printable(g->words[1]);
        ash__gridfs_log(g, "successfully deleted file with _id %s from GridFS", shown);
        ash__free(shown);
    }
    return rc;
}
