/* SPDX-License-Identifier: Apache-2.0 */
/* The verb gridfs: the commands, options and output of MongoDB's mongofiles. */
#include "cmd/gridfs/gridfs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "cmd/kit/verbs.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const ash_cmd_option options[] = {
    {0, "uri", "URI", "mongodb:// connection string; it may also stand before the command"},
    {'h', "host", "HOST", "host to connect to: [SET/]HOST[:PORT][,HOST...]"},
    {0, "port", "PORT", "its port"},
    {'u', "username", "NAME", "user to authenticate as"},
    {'p', "password", "PASSWORD", "password of the user"},
    {0, "authenticationDatabase", "DB", "database that knows the user (default: admin)"},
    {0, "authenticationMechanism", "NAME", "how to authenticate"},
    {0, "ssl", NULL, "connect with TLS"},
    {0, "sslCAFile", "FILE", "certificates of the authorities to trust"},
    {0, "sslPEMKeyFile", "FILE", "certificate and key of the client"},
    {0, "sslAllowInvalidCertificates", NULL, "do not check the server's certificate"},
    {0, "sslAllowInvalidHostnames", NULL, "do not check the name in it"},
    {'l', "local", "FILE", "local file to put or to get into (\"-\": standard streams)"},
    {'t', "type", "TYPE", "content type to keep with the file (put)"},
    {'r', "replace", NULL, "remove other files with the same name (put)"},
    {0, "prefix", "PREFIX", "the bucket's name (default: fs)"},
    {0, "regexOptions", "OPTIONS", "options of the regular expression (get_regex)"},
    {0, "writeConcern", "CONCERN", "majority, a number, or a document as JSON"},
    {0, "readPreference", "PREFERENCE", "primary, nearest, ..., or a document as JSON"},
    {'c', "collection", "NAME", "ignored, as in mongofiles"},
    {0, "version", NULL, "print the version"},
    {0, NULL, NULL, NULL},
};

static const struct command {
    const char *name;
    int min_words, max_words; /* after the name; max < 0: any number */
    int (*run)(ash_gridfs *g, ash_error *err);
} commands[] = {
    {"list", 0, 1, ash__gridfs_show},
    {"search", 1, 1, ash__gridfs_show},
    {"put", 1, -1, ash__gridfs_put},
    {"put_id", 2, 2, ash__gridfs_put},
    {"get", 1, -1, ash__gridfs_get},
    {"get_id", 1, 1, ash__gridfs_get_id},
    {"get_regex", 1, 1, ash__gridfs_get_regex},
    {"delete", 1, 1, ash__gridfs_delete},
    {"delete_id", 1, 1, ash__gridfs_delete_id},
};

void ash__gridfs_log(const ash_gridfs *g, const char *format, ...)
{
    char date[48] = "", zone[8] = "";
    struct tm parts;
    va_list args;
    int64_t now = ash__clock_wall_ms();
    time_t seconds = (time_t)(now / 1000);
    if (g->cmd->quiet)
        return;
    if (localtime_r(&seconds, &parts) != NULL) {
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
        strftime(zone, sizeof zone, "%z", &parts);
    }
    fprintf(stderr, "%s.%03d%s\t", date, (int)(now % 1000), zone);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static int usage(const ash_gridfs *g, const char *text, const char *detail)
{
    bool quiet = g->cmd->quiet;
    /* A mistake is told even with --quiet. */
    g->cmd->quiet = false;
    ash__gridfs_log(g, "error parsing command line options: %s%s", detail != NULL ? detail : "",
                    text);
    ash__gridfs_log(g, "try '%s' for more information",
                    g->cmd->mongofiles ? "mongofiles --help" : "ashlar help gridfs");
    g->cmd->quiet = quiet;
    return ASH_EXIT_USAGE;
}

/* The command that the words name, or NULL after a complaint. */
static const struct command *choose(const ash_gridfs *g)
{
    const struct command *found = NULL;
    if (g->count == 0) {
        usage(g, "no command specified", NULL);
        return NULL;
    }
    for (size_t i = 0; i < ASH_ARRAY_LEN(commands); i++) {
        if (strcmp(commands[i].name, g->words[0]) == 0)
            found = &commands[i];
    }
    char *word = ash__cmd_printable(g->words[0]);
    char *name = ash__sprintf("'%s'", word);
    int given = g->count - 1;
    const char *complaint = NULL;
    if (found == NULL)
        complaint = " is not a valid command";
    else if (found->max_words >= 0 && given > found->max_words)
        complaint = " takes fewer arguments";
    else if (given < found->min_words)
        complaint = found->min_words > 1 ? " argument(s) missing" : " argument missing";
    for (int i = 1; complaint == NULL && found->min_words > 0 && i < g->count; i++)
        complaint = g->words[i][0] == 0 ? " argument missing" : NULL;
    if (complaint != NULL)
        usage(g, complaint, name);
    ash__free(word);
    ash__free(name);
    return complaint == NULL ? found : NULL;
}

/* A document as JSON, or {name: text}, or (numbers, of write concerns) {name: number}. */
static int parse_document(const char *text, const char *name, bson_t *out, ash_error *err)
{
    bson_error_t reason;
    char *end;
    if (text == NULL)
        return 0;
    /* w: as a number up to as many members as a set can have. */
    long number = strtol(text, &end, 10);
    if (text[0] == '{') {
        bson_destroy(out);
        if (!bson_init_from_json(out, text, -1, &reason)) {
            bson_init(out);
            return ash__fail(err, ASH_EINVAL, "error parsing '%s': %s", text, reason.message);
        }
    } else if (end != text && *end == 0 && number >= 0 && number <= 50) {
        BSON_APPEND_INT32(out, name, (int32_t)number);
    } else {
        BSON_APPEND_UTF8(out, name, text);
    }
    return 0;
}

static int open_bucket(ash_gridfs *g, const char *given, ash_store **store, ash_error *err)
{
    ash_bucket_options opts = ASH_BUCKET_OPTIONS_INIT;
    bson_t concern = BSON_INITIALIZER, preference = BSON_INITIALIZER;
    ash_cmd target = *g->cmd;
    char *uri = NULL, *shown = NULL;
    int rc = ash__gridfs_uri(g->options, given, target.db, &uri, err);
    if (rc == 0)
        rc = parse_document(g->options[ASH_GRIDFS_WRITE_CONCERN], "w", &concern, err);
    if (rc == 0)
        rc = parse_document(g->options[ASH_GRIDFS_READ_PREFERENCE], "mode", &preference, err);
    opts.bucket_name =
        g->options[ASH_GRIDFS_PREFIX] != NULL ? g->options[ASH_GRIDFS_PREFIX] : g->cmd->bucket;
    opts.write_concern = g->options[ASH_GRIDFS_WRITE_CONCERN] != NULL ? &concern : NULL;
    opts.read_preference = g->options[ASH_GRIDFS_READ_PREFERENCE] != NULL ? &preference : NULL;
    if (uri == NULL)
        uri = ash__cmd_store_uri(g->cmd);
    target.store_uri = uri;
    /* No store is made by asking for a file, nor by deleting one. */
    bool writes = strncmp(g->words[0], "put", 3) == 0;
    if (rc == 0)
        rc = ash__cmd_open_store(&target, writes ? ASH_CMD_WRITE : ASH_CMD_READ, NULL, store, err);
    if (rc == 0)
        rc = ash_bucket_new(*store, &opts, &g->bucket, err);
    if (rc == 0) {
        char *without_password = ash__cmd_uri_shown(uri);
        shown = ash__cmd_printable(without_password);
        ash__gridfs_log(g, "connected to: %s", shown);
        ash__free(without_password);
    }
    ash__free(shown);
    ash__free(uri);
    bson_destroy(&concern);
    bson_destroy(&preference);
    return rc;
}

static int fail(ash_gridfs *g, const ash_error *err)
{
    char *shown = ash__cmd_printable(err->text[0] != 0 ? err->text : ash_error_text(err->code));
    bool quiet = g->cmd->quiet;
    /* mongofiles keeps even failures to itself with --quiet; ours are always said. */
    g->cmd->quiet = false;
    ash__gridfs_log(g, "Failed: %s", shown);
    g->cmd->quiet = quiet;
    ash__free(shown);
    return ash_error_exit_code(err->code);
}

static bool is_connection_string(const char *word)
{
    return strncmp(word, "mongodb://", 10) == 0 || strncmp(word, "mongodb+srv://", 14) == 0;
}

static int run_gridfs(ash_cmd *cmd, const ash_cmd_args *args)
{
    ash_gridfs g = {
        .cmd = cmd, .options = args->values, .words = args->words, .count = args->count};
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    const char *given = NULL;
    if (args->values[ASH_GRIDFS_VERSION] != NULL) {
        printf("mongofiles version: ashlar %s\n", ASH_VERSION);
        return ASH_EXIT_OK;
    }
    if (cmd->dry_run)
        return usage(&g, "there is no --dry-run here", NULL);
    if (g.count > 0 && is_connection_string(g.words[0])) {
        given = g.words[0];
        g.words++;
        g.count--;
    }
    const struct command *command = choose(&g);
    if (command == NULL)
        return ASH_EXIT_USAGE;
    if (args->values[ASH_GRIDFS_PREFIX] != NULL && args->values[ASH_GRIDFS_PREFIX][0] == 0)
        return usage(&g, "--prefix cannot be blank", NULL);
    ash__cmd_catch_signals();
    int rc = open_bucket(&g, given, &store, &err);
    if (rc == 0)
        rc = command->run(&g, &err);
    if (rc != 0)
        rc = fail(&g, &err);
    ash_bucket_free(g.bucket);
    ash__cmd_close_store(store);
    return rc;
}

const ash_cmd_verb ash__cmd_gridfs = {
    .name = "gridfs",
    .group = "files",
    .synopsis = "COMMAND [NAME or ID]...",
    .summary = "do what MongoDB's mongofiles does, with its options and output",
    .details =
        "Commands: list [PREFIX], search REGEX, put NAME..., put_id NAME ID, get NAME..., get_id "
        "ID,\n"
        "get_regex REGEX, delete NAME, delete_id ID.  An ID is Extended JSON, or else a string.  "
        "Called under the name\n"
        "mongofiles (`ln -s ashlar mongofiles`), the command is this verb.  --uri and --host "
        "name a deployment; without\n"
        "them the store is that of -s or $ASHLAR_STORE.\n"
        "Unlike mongofiles, get takes the newest of several files of one name, replaces local "
        "files in one step, and\n"
        "get_id and get_regex write only below the current folder; --replace is one step; errors "
        "show with --quiet too.",
    .options = options,
    .min_words = 0,
    .max_words = -1,
    .choices = "list search put put_id get get_id get_regex delete delete_id",
    .has_dry_run = true,
    .run = run_gridfs,
};
