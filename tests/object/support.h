/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_TESTS_OBJECT_SUPPORT_H
#define ASH_TESTS_OBJECT_SUPPORT_H

/* An object store for each test: on a fresh folder, or where ASH_OBJECT_STORE says (mongodb://…,
 * nats://…), under a name of its own.  All that a test makes is named by support_name(), and deleted
 * at its end.  Nothing here or in the tests knows a backend; what one cannot do, `can` says. */

#include "check.h"

#include <ashlar/object.h>

#include "base/error.h"
#include "base/mem.h"

typedef struct fixture {
    char *folder;
    ash_object_manager *manager;
    ash_object_store *store;
    ash_object_capabilities can;
    char base[24]; /* what names of stores begin with */
    char db[40];
    char name[80]; /* of the last support_name() */
    ash_error err;
} fixture;

int support_setup(void **state);
int support_teardown(void **state);
/* A second way to the same stores: *out is the caller's. */
void support_open(fixture *f, ash_object_manager **out);
void support_reopen(fixture *f);

/* "BASE-suffix"; "" is f->store's.  Valid until the next call. */
const char *support_name(fixture *f, const char *suffix);
/* A store; config may be NULL, and its name is set. */
ash_object_store *support_store(fixture *f, const char *suffix, ash_object_config *config);
/* f->store, made anew with that configuration. */
void support_configure(fixture *f, ash_object_config *config);

uint8_t *support_bytes(size_t len, uint32_t seed); /* ash__free() */

int support_try_put(fixture *f, ash_object_store *s, const char *name, const void *data, size_t len,
                    ash_object **out);
void support_put(fixture *f, ash_object_store *s, const char *name, const char *text);
void support_put_bytes(fixture *f, ash_object_store *s, const char *name, const void *data,
                       size_t len);
ash_object *support_info(fixture *f, ash_object_store *s, const char *name);
void support_delete(fixture *f, ash_object_store *s, const char *name);
int support_read(fixture *f, ash_object_store *s, const char *name, char *text, size_t room);
void support_expect(fixture *f, ash_object_store *s, const char *name, const char *text);
void support_expect_bytes(fixture *f, ash_object_store *s, const char *name, const void *data,
                          size_t len);
void support_expect_missing(fixture *f, ash_object_store *s, const char *name);
/* "a b c", in the order of the listing; deleted ones as "a!". */
void support_expect_list(fixture *f, ash_object_store *s, const ash_object_list_options *opts,
                         const char *names);
void support_expect_listing(fixture *f, ash_object_listing *l, const char *names); /* frees it */
/* No bytes that nobody has, and the store's sums are right. */
void support_expect_sound(fixture *f, ash_object_store *s);
ash_object_status *support_status(fixture *f, ash_object_store *s);

/* Skips the test where the backend lacks it. */
#define support_need(f, what)                                                                      \
    do {                                                                                           \
        if (!(f)->can.what)                                                                        \
            skip();                                                                                \
    } while (0)

#endif
