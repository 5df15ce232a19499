/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: whatever is shown lets nobody in but the one token that there is; and whatever somebody else
 * has written into their collection is looked through, and lets nobody in either.
 *
 * An input is a document of that collection where it is one, and else what is shown, and what is changed
 * of the good token: a place, and the byte that stands there then. */
#include "fuzz.h"

#include "base/mem.h"
#include "remove_folder.h"
#include "user/tokens.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *folder;
static ash_store *store;
static ash_users users;
static char good[ASH_TOKEN_TEXT_BYTES];

static void remove_all(void)
{
    ash__users_release(&users);
    ash_store_close(store);
    remove_folder(folder);
    ash__free(folder);
}

static void make_token(void)
{
    ash_error err = ASH_ERROR_INIT;
    const ash_user_id ann = {&ash__user_kind, "ann", "admin"};
    const ash_user_change change = {.password = "pencil"};
    ash_token t = {.user = ash__strdup("ann"), .db = ash__strdup("admin")};
    ash_assert(ash__user_create(&users, &ann, &change, &err) == 0);
    ash_assert(ash__token_create(&users, &t, good, &err) == 0);
    ash__token_release(&t);
}

static void open_once(void)
{
    ash_store_options so = ASH_STORE_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    const char *tmp = getenv("TMPDIR");
    if (folder != NULL)
        return;
    folder = ash__sprintf("%s/ashlar-fuzz-XXXXXX", tmp != NULL ? tmp : "/tmp");
    ash_assert(mkdtemp(folder) != NULL);
    so.durability = ASH_DURABILITY_INTERVAL;
    so.no_server = true;
    ash_assert(ash_store_open(folder, &so, &store, &err) == 0);
    ash_assert(ash__users_init(&users, store, &err) == 0);
    make_token();
    atexit(remove_all);
}

static void show(const char *text)
{
    ash_error err = ASH_ERROR_INIT;
    ash_token t = {.user = NULL};
    int rc = ash__token_find(&users, text, &t, &err);
    ash_assert(rc == (strcmp(text, good) == 0 ? 0 : ASH_ENOTFOUND));
    if (rc == 0)
        ash__token_release(&t);
    else
        ash_assert(strcmp(err.text, "there is no such token, or it is over") == 0);
}

static void show_changed(const uint8_t *data, size_t size)
{
    char near[ASH_TOKEN_TEXT_BYTES];
    memcpy(near, good, sizeof near);
    for (size_t i = 0; i + 1 < size; i += 2)
        near[data[i] % (sizeof near - 1)] = (char)data[i + 1];
    show(near);
}

static int look(void *ctx, const ash_token *t, ash_error *err)
{
    (void)err;
    ash_assert(t->user != NULL && t->db != NULL && strlen(t->id) == ASH_TOKEN_ID_BYTES - 1);
    (*(int *)ctx)++;
    return 0;
}

/* One without an id would get one, and stay. */
static void look_through(ash_doc doc)
{
    ash_error err = ASH_ERROR_INIT;
    ash_collection *c = NULL;
    bson_t own, filter = BSON_INITIALIZER;
    bson_iter_t id;
    int count = 0;
    ash_assert(ash_collection_new(store, "admin", "system.tokens", &c, &err) == 0);
    ash_assert(bson_init_static(&own, doc.data, doc.len));
    int rc = bson_iter_init_find(&id, &own, "_id") ? ash_collection_insert_one(c, &own, NULL, &err)
                                                   : ASH_EINVAL;
    (void)ash__token_each(&users, NULL, NULL, look, &count, &err);
    (void)ash__token_lasts(&users, ash__doc_utf8(doc, "_id", ""));
    show(good);
    if (rc == 0) {
        BSON_APPEND_VALUE(&filter, "_id", bson_iter_value(&id));
        (void)ash_collection_remove(c, &filter, NULL, NULL, &err);
    }
    ash_collection_free(c);
    bson_destroy(&filter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    ash_doc doc;
    open_once();
    uint8_t *exact = fuzz_document(data, size, &doc);
    if (exact != NULL) {
        look_through(doc);
        ash__free(exact);
        return 0;
    }
    char *text = ash__alloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    show(text);
    show_changed(data, size);
    ash__free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
    ash_doc doc;
    uint8_t *exact = fuzz_document(data, size, &doc);
    ash__free(exact);
    return exact != NULL ? mutate_bson(data, size, max_size, seed)
                         : mutate_bytes(data, size, max_size, seed);
}
