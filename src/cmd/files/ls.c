/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/kit/verbs.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

#include <inttypes.h>
#include <string.h>

enum { LONG, ALL, HUMAN, PREFIX };
static const ash_cmd_option options[] = {
    {'l', "long", NULL, "show size, date and id, too"},
    {'a', "all", NULL, "every revision of a name, not just the newest"},
    {'h', "human", NULL, "with -l: sizes as 1.2 MiB"},
    {0, "prefix", NULL, "every file whose name begins with NAME, wherever it ends"},
    {0, NULL, NULL, NULL},
};

struct listing {
    const ash_cmd *cmd;
    const ash_cmd_args *args;
    bool any;
};

static void print_long(const ash_file *f, const char *name, bool human)
{
    char date[64], size[32];
    /* As it would be typed behind "id:". */
    char *id = ash__cmd_id_text(ash_file_id(f));
    ash__clock_print(date, sizeof date, ash_file_upload_date_ms(f));
    if (human)
        ash__cmd_print_size(size, sizeof size, ash_file_length(f));
    else
        snprintf(size, sizeof size, "%" PRId64, ash_file_length(f));
    printf("%*s  %s  %-24s  %s\n", human ? 10 : 14, size, date, id, name);
    ash__cmd_keep_output_error();
    ash__free(id);
}

static int print_file(void *ctx, const ash_file *f)
{
    struct listing *l = ctx;
    l->any = true;
    if (l->cmd->json) {
        bson_t object = BSON_INITIALIZER;
        ash__cmd_file_object(f, &object);
        ash__cmd_emit(&object);
        bson_destroy(&object);
        return 0;
    }
    char *name =
        ash__cmd_printable(ash_file_filename(f) != NULL ? ash_file_filename(f) : "(no name)");
    if (l->args->values[LONG] != NULL)
        print_long(f, name, l->args->values[HUMAN] != NULL);
    else
        printf("%s\n", name);
    ash__cmd_keep_output_error();
    ash__free(name);
    return ferror(stdout) ? ASH_EXIT_OTHER : 0; /* nobody reads on, or the disk is full */
}

/* NAME@REV and id:VALUE are one file; a NAME that is none may still be a folder. */
static int list_addressed(struct listing *l, ash_bucket *bucket, const char *name, ash_error *err)
{
    ash_cmd_address address;
    ash_file *file = NULL;
    int rc = ash__cmd_address_find(bucket, name, &address, err);
    if (rc != 0)
        return rc;
    bool one = address.name == NULL || address.has_revision;
    if (one)
        rc = ash__cmd_address_file(bucket, &address, &file, err);
    if (one && rc == 0)
        rc = print_file(l, file);
    ash_file_free(file);
    ash__cmd_address_release(&address);
    return rc;
}

static int say_none(const char *name, enum ash_cmd_scope scope, ash_error *err)
{
    size_t plain = strcspn(name, "*");
    if (scope == ASH_CMD_PREFIX || name[plain] == 0)
        return ash__cmd_no_such(name, scope, err);
    if (plain == 0)
        return ash__fail(err, ASH_ENOTFOUND,
                         "no file and no folder is named %s, and there are no wildcards: without "
                         "a NAME everything is listed",
                         name);
    return ash__fail(err, ASH_ENOTFOUND,
                     "no file and no folder is named %s, and there are no wildcards: --prefix %.*s "
                     "lists the names that begin with it",
                     name, (int)plain, name);
}

static int list_word(ash_cmd *cmd, ash_bucket *bucket, const char *name, void *ctx, ash_error *err)
{
    struct listing *l = ctx;
    enum ash_cmd_scope scope = l->args->values[PREFIX] != NULL ? ASH_CMD_PREFIX : ASH_CMD_FOLDER;
    ash_file_visitor printer = {print_file, l, l->args->values[ALL] != NULL};
    bool everything = name[0] == 0 || (scope == ASH_CMD_FOLDER && strcmp(name, ".") == 0);
    int rc = ash__cmd_check_name(name, err);
    if (rc != 0)
        return rc;
    l->any = false;
    /* As a folder or a plain name first, which is the usual case; then as an address. */
    rc = ash__cmd_each_file(cmd, bucket, name, scope, &printer, err);
    if (rc == 0 && !l->any)
        rc = ash__cmd_check_named(cmd, bucket, err);
    if (rc == 0 && !l->any && !everything && scope == ASH_CMD_FOLDER)
        rc = list_addressed(l, bucket, name, err);
    if (rc > 0 && ferror(stdout))
        return 0; /* ash__cmd_finish_output() says so, and why */
    return rc == 0 && !l->any && !everything ? say_none(name, scope, err) : rc;
}

static int list(ash_cmd *cmd, ash_bucket *bucket, const ash_cmd_args *args, ash_error *err)
{
    struct listing listing = {cmd, args, false};
    if (args->count == 0)
        return list_word(cmd, bucket, "", &listing, err);
    return ash__cmd_each_word(cmd, bucket, args, list_word, &listing);
}

static int run_ls(ash_cmd *cmd, const ash_cmd_args *args)
{
    return ash__cmd_with_bucket(cmd, ASH_CMD_READ, args, list);
}

const ash_cmd_verb ash__cmd_ls = {
    .name = "ls",
    .group = "files",
    .synopsis = "[-l] [-h] [-a] [--prefix] [NAME...]",
    .summary = "list files",
    .details =
        "Lists all files, or the file NAME and what lies in folder NAME, in the order of "
        "their names; NAME@REV and\n"
        "id:VALUE are one file.  Exit status 4 when there is no NAME, 3 when some of several "
        "are missing.",
    .options = options,
    .max_words = -1,
    .takes_names = true,
    .run = run_ls,
};
