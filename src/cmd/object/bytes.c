/* SPDX-License-Identifier: Apache-2.0 */
/* put, get. */
#include "cmd/object/room.h"

#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/place.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1024 * 1024 };

/* ---- put ---- */

enum {
    PUT_NAME = ASH_CMD_OBJECT_BEHIND_SAID,
    PUT_CHUNK_SIZE,
    PUT_ENCODING,
    PUT_TTL,
    PUT_IF_ABSENT,
    PUT_IF_REVISION,
    PUT_FORCE
};
static const ash_cmd_option put_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    ASH_CMD_OBJECT_SAID_OPTIONS("a header; may be given repeatedly"),
    [PUT_NAME] = {0, "name", "NAME", "of the object (default: the last part of FILE)"},
    [PUT_CHUNK_SIZE] = {0, "chunk-size", "BYTES", "of its chunks (default: as its store says)"},
    [PUT_ENCODING] = {0, "encoding", "KIND", "zstd or none", .choices = "zstd none"},
    [PUT_TTL] = {0, "ttl", "TIME",
                 "how long it lives, as in 12h or 30d (default: as its store says)"},
    [PUT_IF_ABSENT] = {0, "if-absent", NULL, "fail if there is one of the name"},
    [PUT_IF_REVISION] = {0, "if-revision", "N", "fail if it has another revision"},
    [PUT_FORCE] = {'f', "force", NULL, "replace one that is there (as always; for who types it)"},
    ASH_CMD_OBJECT_NO_OPTION,
};

typedef struct local_input {
    int fd;
    const char *path;
    ash_progress *progress;
} local_input;

static int64_t read_local(void *ctx, void *buf, size_t len, ash_error *err)
{
    local_input *in = ctx;
    ssize_t got;
    do {
        if (ash__cmd_is_interrupted())
            return ash__fail(err, ASH_EINTERRUPTED, "interrupted");
        got = read(in->fd, buf, len);
    } while (got < 0 && errno == EINTR);
    if (got < 0)
        return ash__fail_errno(err, errno, "cannot read %s", in->path);
    ash__progress_add(in->progress, got, 0, NULL);
    return got;
}

static int read_put_options(const ash_cmd_object_run *r, ash_object_meta *m,
                            ash_object_change_options *o)
{
    int64_t chunk = 0, revision = 0;
    int status = ash__cmd_object_bytes(r, PUT_CHUNK_SIZE, &chunk);
    if (status == 0)
        status = ash__cmd_object_time(r, PUT_TTL, &o->ttl_ms);
    if (status == 0)
        status = ash__cmd_object_number(r, PUT_IF_REVISION, 1, INT64_MAX, &revision);
    m->chunk_size = chunk < INT32_MAX ? (int32_t)chunk : INT32_MAX;
    m->encoding = ash__cmd_object_value(r, PUT_ENCODING);
    o->if_revision = (uint64_t)revision;
    o->if_absent = ash__cmd_object_value(r, PUT_IF_ABSENT) != NULL;
    if (status == 0 && o->if_absent && revision != 0)
        status = ash__cmd_usage(r->cmd, "--if-absent and --if-revision exclude each other");
    return status;
}

static int put_stream(ash_cmd_object_run *r, local_input *local, const ash_object_meta *m,
                      const ash_object_change_options *o, ash_error *err)
{
    ash_input in = {local, read_local};
    ash_object *object = NULL;
    struct stat st;
    int64_t total = fstat(local->fd, &st) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
    local->progress = ash__progress_new(r->cmd, total, 1);
    ash__progress_add(local->progress, 0, 0, m->name);
    int rc = ash_object_store_put(r->objects, m, &in, o, &r->op, &object, err);
    ash__progress_free(local->progress);
    if (rc == 0 && r->cmd->json)
        ash__cmd_object_emit(r, object);
    else if (rc == 0)
        ash__cmd_say(r->cmd,
                     "put %s as %s, revision %" PRIu64 " (%" PRId64 " bytes, %" PRId64 " chunk%s)",
                     local->path, ash_object_name(object), ash_object_revision(object),
                     ash_object_size(object), ash_object_chunks(object),
                     ash__cmd_s(ash_object_chunks(object)));
    ash_object_free(object);
    return rc;
}

static int put(ash_cmd_object_run *r, ash_error *err)
{
    ash_cmd_object_said said;
    ash_object_change_options o = ASH_OBJECT_CHANGE_OPTIONS_INIT;
    const char *path = ash__cmd_object_word(r, 1), *name = ash__cmd_object_value(r, PUT_NAME);
    bool standard = path == NULL || strcmp(path, "-") == 0;
    local_input local = {.fd = STDIN_FILENO, .path = standard ? "standard input" : path};
    int rc = ash__cmd_object_read_said(r, &said);
    if (rc == 0 && standard && name == NULL)
        rc = ash__cmd_usage(r->cmd, "--name is needed for what is read from standard input");
    if (rc == 0)
        rc = read_put_options(r, &said.meta, &o);
    if (rc == 0 && !standard) {
        local.fd = open(path, O_RDONLY | O_CLOEXEC);
        if (local.fd < 0)
            rc = ash__fail_errno(err, errno, "cannot open %s", path);
    }
    said.meta.name = name != NULL ? name : standard ? NULL : ash__cmd_last_part(path);
    if (rc == 0)
        rc = put_stream(r, &local, &said.meta, &o, err);
    if (!standard && local.fd >= 0)
        close(local.fd);
    ash__cmd_object_said_release(&said);
    return rc;
}

static int run_put(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_WRITE, args, put);
}

const ash_cmd_verb ash__cmd_object_put = {
    .name = "object put",
    .group = "objects",
    .synopsis = "[OPTION]... STORE [FILE]",
    .summary = "put a file into a store",
    .details =
        "Without FILE, or with \"-\", what is read from standard input.  The object is there "
        "once all of it is, and until then\n"
        "whoever reads the name has the one before.",
    .options = put_options,
    .min_words = 1,
    .max_words = 2,
    .run = run_put,
};

/* ---- get ---- */

enum { GET_OUTPUT = ASH_CMD_OBJECT_FIRST_OPTION, GET_REVISION, GET_RANGE, GET_CHUNK, GET_FORCE };
static const ash_cmd_option get_options[] = {
    ASH_CMD_OBJECT_OPTIONS,
    [GET_OUTPUT] = {'O', "output", "FILE",
                    "where it goes (default: the last part of NAME); \"-\": standard output"},
    [GET_REVISION] = {0, "revision", "N", "as it was then"},
    [GET_RANGE] = {0, "range", "A-B", "bytes A to B, counted from 0, B included; A-: to the end"},
    [GET_CHUNK] = {0, "chunk", "N", "that chunk alone, counted from 0"},
    [GET_FORCE] = {'f', "force", NULL, "replace FILE (as always; for who types it)"},
    ASH_CMD_OBJECT_NO_OPTION,
};

static int read_range(const ash_cmd_object_run *r, ash_object_read_options *o)
{
    const char *range = ash__cmd_object_value(r, GET_RANGE);
    long long from = 0, to = -1;
    int n = 0;
    if (range == NULL)
        return 0;
    bool two = sscanf(range, "%lld-%lld%n", &from, &to, &n) == 2 && range[n] == '\0';
    bool one = !two && sscanf(range, "%lld-%n", &from, &n) == 1 && n > 0 && range[n] == '\0';
    if ((!two && !one) || from < 0 || (two && to < from))
        return ash__cmd_usage(r->cmd, "--range takes A-B or A-, not \"%s\"", range);
    o->start = from;
    o->end = two ? to + 1 : 0;
    return 0;
}

static int read_get_options(const ash_cmd_object_run *r, ash_object_read_options *o)
{
    int64_t revision = 0;
    int status = ash__cmd_object_number(r, GET_REVISION, 1, INT64_MAX, &revision);
    o->revision = (uint64_t)revision;
    if (status == 0)
        status = read_range(r, o);
    if (status == 0)
        status = ash__cmd_object_number(r, GET_CHUNK, 0, INT64_MAX, &o->chunk);
    o->has_chunk = ash__cmd_object_value(r, GET_CHUNK) != NULL;
    if (status == 0 && o->has_chunk && ash__cmd_object_value(r, GET_RANGE) != NULL)
        status = ash__cmd_usage(r->cmd, "--range and --chunk exclude each other");
    return status;
}

static int copy_out(ash_object_reader *reader, const ash_output *out, ash_progress *progress,
                    ash_error *err)
{
    char *buf = ash__alloc(BUFFER_BYTES);
    size_t got = 1;
    int rc = 0;
    while (rc == 0 && got > 0) {
        rc = ash_object_reader_read(reader, buf, BUFFER_BYTES, &got, err);
        if (rc == 0)
            rc = ash__cmd_check_interrupted(err);
        if (rc == 0 && got > 0)
            rc = out->write(out->ctx, buf, got, err);
        if (progress != NULL)
            ash__progress_add(progress, (int64_t)got, 0, NULL);
    }
    ash__free(buf);
    return rc;
}

/* NAME's last part, below a folder if that is what -O names.  NULL with err filled: no file can be
 * called so. */
static char *choose_path(const char *output, const ash_object *o, ash_error *err)
{
    struct stat st;
    const char *name = ash__cmd_last_part(ash_object_name(o));
    if (output != NULL && (stat(output, &st) != 0 || !S_ISDIR(st.st_mode)))
        return ash__strdup(output);
    if (strchr(name, '/') != NULL || strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        (void)ash__fail(err, ASH_EINVAL, "no file can be called %s: -O says where it goes", name);
        return NULL;
    }
    return output != NULL ? ash__sprintf("%s/%s", output, name) : ash__strdup(name);
}

static int get_to_file(ash_cmd_object_run *r, ash_object_reader *reader, const char *output,
                       ash_error *err)
{
    const ash_object *o = ash_object_reader_object(reader);
    char *path = choose_path(output, o, err);
    ash_place *place = NULL;
    if (path == NULL)
        return ASH_EINVAL;
    ash_progress *progress = ash__progress_new(r->cmd, ash_object_size(o), 1);
    ash__progress_add(progress, 0, 0, path);
    int rc = ash__place_open(path, &place, err);
    ash_output out = {place, ash__place_write};
    if (rc == 0)
        rc = copy_out(reader, &out, progress, err);
    if (rc == 0)
        rc = ash__place_finish(place, err);
    ash__place_free(place);
    ash__progress_free(progress);
    if (rc == 0 && !ash__cmd_object_emit(r, o))
        ash__cmd_say(r->cmd, "got %s (%" PRId64 " bytes)", path, ash_object_size(o));
    ash__free(path);
    return rc;
}

static int get(ash_cmd_object_run *r, ash_error *err)
{
    ash_object_read_options o = ASH_OBJECT_READ_OPTIONS_INIT;
    const char *output = ash__cmd_object_value(r, GET_OUTPUT);
    ash_object_reader *reader = NULL;
    ash_output standard = {NULL, ash__cmd_write_out};
    int rc = read_get_options(r, &o);
    if (rc == 0)
        rc = ash_object_store_open_reader(r->objects, r->args->words[1], &o, &r->op, &reader, err);
    if (rc == 0 && output != NULL && strcmp(output, "-") == 0)
        rc = copy_out(reader, &standard, NULL, err);
    else if (rc == 0)
        rc = get_to_file(r, reader, output, err);
    ash_object_reader_free(reader);
    return rc;
}

static int run_get(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_object_run(cmd, ASH_CMD_READ, args, get);
}

const ash_cmd_verb ash__cmd_object_get = {
    .name = "object get",
    .group = "objects",
    .synopsis = "[-O FILE] [--revision N] [--range A-B | --chunk N] STORE NAME",
    .summary = "get an object, behind links",
    .details = "FILE is there, whole and compared with the digest, or not at all; of what goes to "
               "standard output, the exit status tells.",
    .options = get_options,
    .min_words = 2,
    .max_words = 2,
    .run = run_get,
};
