/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_FILES_PUT_H
#define ASH_CMD_FILES_PUT_H

/* The parts of `put`: put.c has the verb, put_file.c keeps one file, put_folder.c finds the files
 * of folders and lets several at once be kept. */

#include "cmd/kit/cmd.h"
#include "cmd/kit/work.h"

#include "base/thread.h"

#define ASH_PUT_BUFFER_BYTES (1024 * 1024)

typedef struct ash_put_job {
    char *path; /* "-": standard input */
    char *name;
    bool is_folder; /* an empty one: a marker without bytes */
} ash_put_job;

/* One run of the verb.  The lock guards the counters; the rest is set before the workers start. */
typedef struct ash_put {
    ash_cmd *cmd;
    ash_bucket *bucket;
    ash_upload_options opts;
    bson_value_t id; /* of the only file, with --id */
    bool recursive;
    bool resume;
    bool preserve, update, checksum;
    ash_store *secured_store; /* with resume, when it is a folder of this process; else NULL */
    char *settings;           /* the options that make an upload what it is, as one text */
    ash_progress *progress;
    const char *prefix;
    ash_mutex lock;
    int failed, done;
    int unchanged; /* left out */
    bool again;    /* a name was there already, and has one more revision now */
    int64_t done_bytes;
    int first_status; /* exit code of the first failure */
    ash_work *work;
    bool lost; /* the store is out of reach: what is left would fail the same slow way */
} ash_put;

/* Keep one file, or say why not.  buf: ASH_PUT_BUFFER_BYTES. */
void ash__put_one(ash_put *p, const ash_put_job *job, uint8_t *buf);
/* Keep all files below the words, with several threads. */
void ash__put_folders(ash_put *p, const ash_cmd_args *args);

void ash__put_note_failure(ash_put *p, const char *path, const ash_error *err);
/* Interrupted, or the store is out of reach? */
bool ash__put_must_stop(ash_put *p);

#endif
