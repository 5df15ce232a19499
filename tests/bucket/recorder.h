/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_BUCKET_RECORDER_H
#define ASH_TESTS_BUCKET_RECORDER_H

/* A store around the fixture's that has no transactions, as a single MongoDB server has none,
 * writes down each operation ("find fs.files\n", …), and can fail one. */

#include "support.h"

typedef struct recorder recorder;
/* The bucket is on the recording store; chunk size 16. */
recorder *recorder_new(fixture *f, ash_bucket **bucket);
void recorder_free(recorder *r, ash_bucket *bucket);
void recorder_clear(recorder *r);
const char *recorder_log(recorder *r); /* until the next operation */
/* How many operations came without a deadline, from the beginning. */
int recorder_without_deadline(const recorder *r);
/* The n-th operation from now (1 = the next) whose log line starts with `prefix` fails with
 * ASH_ENETWORK, and so do all after it when `all` is set.  0: none. */
void recorder_fail(recorder *r, const char *prefix, int nth, bool all);

#endif
