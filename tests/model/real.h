/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_MODEL_REAL_H
#define ASH_TESTS_MODEL_REAL_H

/* The same steps on a store, through its public interface. */

#include "model.h"

#include <ashlar/store.h>

typedef struct real {
    char *folder;
    ash_store_options opts;
    ash_store *store;
    ash_collection *copies[COPIES];
    ash_transaction *transaction; /* that the following writes belong to; NULL: each is its own */
} real;

ash_store_options real_options(void);
/* opts: NULL for the above. */
bool real_open(real *r, const char *folder, const ash_store_options *opts);
void real_close(real *r);
/* Empty collections without indexes; most: capped at so many documents, 0 = not capped. */
bool real_reset(real *r, uint32_t most);

/* hint: an index's name, "$natural", NULL, or that a find is to be done by a pipeline. */
#define REAL_PIPELINE "(pipeline)"
answer real_step(real *r, uint32_t copy, const mv *step, const char *hint, char *text,
                 size_t text_bytes);
bool real_drop_index(real *r, uint32_t copy, const char *name);
/* All documents in insertion order. */
mv *real_documents(real *r, uint32_t copy);

#endif
