/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MOCK_H
#define ASH_TESTS_MOCK_H

/* A MongoDB deployment that does what a script says: a thread on a loopback port (or a Unix
 * socket), for tests of what the backend sends and what it makes of the answers.
 *
 * Commands and answers are extended JSON with ' for ".  The script is a list of pairs, taken in
 * order.  A command fits when each field of the expected one is there with that value, numbers by
 * value, documents by the same rule, arrays item by item; "$any" fits everything and "$none" a
 * missing field.  A string "$break" in an answer is sent with a length that is not true.  What does
 * not fit is answered with an error and remembered.  hello, isMaster, endSessions and, unless it is
 * next in the script, killCursors and buildInfo answer by themselves.
 */

#include <bson/bson.h>
#include <stdbool.h>

typedef struct mock mock;

enum mock_kind {
    MOCK_STANDALONE,
    MOCK_REPLICA_SET, /* one member, primary */
    MOCK_ASHLAR       /* the same, and says that it is Ashlar's server */
};

/* path: of a Unix socket, or NULL for a loopback port. */
mock *mock_start(enum mock_kind kind, const char *path);
/* "mongodb://127.0.0.1:PORT/?" and the options; the caller frees. */
char *mock_uri(const mock *m, const char *options);

void mock_expect(mock *m, const char *command, const char *reply);
/* Hang up instead of an answer. */
void mock_expect_cut(mock *m, const char *command);
/* Send the first half of the answer, then hang up. */
void mock_expect_torn(mock *m, const char *command, const char *reply);
/* Say nothing for so long, then hang up. */
void mock_expect_silence(mock *m, const char *command, int64_t ms);

/* Stops and frees.  Fails the running test when a command did not fit or the script was not used
 * up. */
void mock_finish(mock *m);

/* The documents that came with the last command beside its body (insert's documents, …): how many
 * bytes they had together. */
size_t mock_last_bytes(mock *m);

/* match.c: does actual fit expected?  Else where it does not, for people. */
bool mock_fits(const bson_t *expected, const bson_t *actual, char *why, size_t why_bytes);
/* 'json' to BSON; the caller destroys. */
bson_t *mock_json(const char *text);

#endif
