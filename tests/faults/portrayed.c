/* SPDX-License-Identifier: Apache-2.0 */
#include "portrayed.h"

#include "base/file.h"
#include "base/mem.h"
#include "scratch.h"
#include "steps.h"
#include "wrapped_engine.h"

#include <stdlib.h>
#include <string.h>

#define JOURNAL_ENV "ASH_FAULTS_JOURNAL" /* set: the engine uses its journal wherever it can */

/* ---- the store ---- */

ash_store *portrayed_open(const portrayed *s)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = steps_open_store(s->path, false, &err);
    if (store == NULL)
        fail_msg("the store does not open: %s", err.text);
    return store;
}

void portrayed_setup(portrayed *s, void (*fill)(ash_store *store))
{
    wrapped_engine_journal_eagerly(getenv(JOURNAL_ENV) != NULL);
    s->folder = scratch_new();
    s->path = ash__path_join(s->folder, "store");
    ash_store *store = portrayed_open(s);
    fill(store);
    ash_store_close(store);
    image_read(&s->image, s->path);
}

void portrayed_forget(portrayed *s)
{
    for (size_t i = 0; i < ASH_ARRAY_LEN(s->portraits); i++) {
        ash__free(s->portraits[i]);
        s->portraits[i] = NULL;
    }
}

void portrayed_release(portrayed *s)
{
    portrayed_forget(s);
    image_release(&s->image);
    remove_folder(s->folder);
    ash__free(s->path);
    ash__free(s->folder);
}

ash_store *portrayed_begin(const portrayed *s)
{
    image_write(&s->image, s->path, 0, 0);
    return portrayed_open(s);
}

size_t portrayed_find_step(const portrayed *s, char *now, size_t count, size_t done,
                           const char *what)
{
    bool further = strcmp(now, s->portraits[done]) != 0;
    if (further && (done == count || strcmp(now, s->portraits[done + 1]) != 0))
        fail_msg("%s: neither as after %zu steps nor as after one more:\n%s", what, done, now);
    ash__free(now);
    return done + further;
}
