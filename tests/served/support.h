/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_SERVED_SUPPORT_H
#define ASH_TESTS_SERVED_SUPPORT_H

/* A process that holds a folder and serves it, and a client of it. */

#include "check.h"

#include "wire/server.h"

#include <ashlar/ashlar.h>

typedef struct served {
    char *folder;
    ash_store *store; /* in this process */
    ash_server *server;
    ash_server_options opts;
    char listen[64], uri[96];
    ash_store *client;       /* through the server */
    ash_collection *own, *c; /* the same collection by either */
    int runs;
    ash_error err;
} served;

int served_setup(void **state);
int served_setup_standalone(void **state);
int served_teardown(void **state);
void served_start(served *s); /* the server; the same address again after the first time */
void served_open(served *s);  /* the store of this process */

/* ---- operations, with ' for " ---- */

void served_parse(const char *text, bson_t *out);
int served_insert(ash_collection *c, ash_transaction *t, const char *text, ash_error *err);
int served_update(ash_collection *c, ash_transaction *t, const char *filter, const char *change,
                  bool upsert, ash_write_result *r, ash_error *err);
int64_t served_count(ash_collection *c, ash_transaction *t, const char *filter); /* or a code */
/* The number x of the document, or a code. */
int served_find_x(ash_collection *c, ash_transaction *t, const char *filter, int64_t *x,
                  ash_error *err);
/* A command as it is, by a driver; *reply is the caller's. */
bool served_run(served *s, const char *db, const bson_t *command, bson_t *reply, int32_t *code);
void served_run_text(served *s, const char *text);

#endif
