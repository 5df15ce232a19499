/* SPDX-License-Identifier: Apache-2.0 */
/* One client of object stores among others: what clients/nats/client, nats_js.js and nats_py.py do with
 * theirs, with the same words and the same answers.
 *
 *   create STORE · put STORE NAME FILE DESCRIPTION · get STORE NAME · info STORE NAME · list STORE
 *   delete STORE NAME · rename STORE NAME NEW · link STORE NAME TARGET · seal STORE · watch STORE COUNT
 *
 * put gives headers {"Color": ["red", "blue"]} and metadata {"owner": "me"}.
 * usage: objects-peer URI VERB ARGUMENT… */
#include <ashlar/ashlar.h>
#include <ashlar/object.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 1000 };

static ash_error err = ASH_ERROR_INIT;
static ash_object_manager *manager;
static ash_object_store *store;

static void check(int rc)
{
    if (rc == 0)
        return;
    fprintf(stderr, "%s: %s\n", ash_error_name(rc), err.text);
    exit(1);
}

static int64_t read_file(void *ctx, void *buf, size_t len, ash_error *e)
{
    (void)e;
    return (int64_t)fread(buf, 1, len, ctx);
}

static int write_out(void *ctx, const void *data, size_t len, ash_error *e)
{
    (void)e;
    return fwrite(data, 1, len, ctx) == len ? 0 : ASH_EIO;
}

static void put(const char *name, const char *path, const char *description)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    FILE *file = fopen(path, "re");
    ash_input in = {file, read_file};
    bson_t *headers = BCON_NEW("Color", "[", "red", "blue", "]");
    bson_t *metadata = BCON_NEW("owner", "me");
    if (file == NULL)
        exit(1);
    meta.name = name;
    meta.description = description;
    meta.headers = headers;
    meta.metadata = metadata;
    check(ash_object_store_put(store, &meta, &in, NULL, NULL, NULL, &err));
    bson_destroy(headers);
    bson_destroy(metadata);
    fclose(file);
}

static void print_header(bson_iter_t *header)
{
    bson_iter_t value;
    printf("header %s", bson_iter_key(header));
    for (bool more = bson_iter_recurse(header, &value) && bson_iter_next(&value); more;
         more = bson_iter_next(&value))
        printf(" %s", bson_iter_utf8(&value, NULL));
    printf("\n");
}

static void info(const char *name)
{
    ash_object *o = NULL;
    ash_object_read_options opts = ASH_OBJECT_READ_OPTIONS_INIT;
    bson_t map;
    bson_iter_t it;
    opts.no_follow = true;
    check(ash_object_store_info(store, name, &opts, NULL, &o, &err));
    printf("name %s\nsize %lld\n", ash_object_name(o), (long long)ash_object_size(o));
    if (ash_object_is_link(o)) {
        printf("link %s\n", ash_object_link_name(o) != NULL ? ash_object_link_name(o) : "");
    } else {
        printf("description %s\nchunks %lld\ndigest %s\n", ash_object_description(o),
               (long long)ash_object_chunks(o), ash_object_digest(o));
        if (ash_object_headers(o, &map) && bson_iter_init(&it, &map))
            while (bson_iter_next(&it))
                print_header(&it);
        if (ash_object_metadata(o, &map) && bson_iter_init(&it, &map))
            while (bson_iter_next(&it))
                printf("metadata %s %s\n", bson_iter_key(&it), bson_iter_utf8(&it, NULL));
    }
    ash_object_free(o);
}

static void list(void)
{
    ash_object_listing *listing = NULL;
    ash_object_list_options opts = ASH_OBJECT_LIST_OPTIONS_INIT;
    const ash_object *o = NULL;
    opts.by_name = true;
    check(ash_object_store_list(store, &opts, NULL, &listing, &err));
    for (check(ash_object_listing_next(listing, &o, &err)); o != NULL;
         check(ash_object_listing_next(listing, &o, &err)))
        printf("%s\n", ash_object_name(o));
    ash_object_listing_free(listing);
}

static void watch(int count)
{
    ash_object_watch *w = NULL;
    check(ash_object_store_watch(store, NULL, NULL, &w, &err));
    while (count > 0) {
        ash_object_event event = ASH_OBJECT_EVENT_INIT;
        check(ash_object_watch_next(w, 20000, &event, &err));
        if (event.kind == 0)
            exit(1);
        if (event.kind == ASH_OBJECT_CURRENT)
            continue;
        printf("%s %s\n", event.kind == ASH_OBJECT_DELETED ? "deleted" : "put", event.name);
        fflush(stdout);
        count--;
    }
    ash_object_watch_close(w);
}

static void link_to(const char *name, const char *target)
{
    ash_object *o = NULL;
    check(ash_object_store_info(store, target, NULL, NULL, &o, &err));
    check(ash_object_store_link(store, name, o, NULL, NULL, NULL, &err));
    ash_object_free(o);
}

static void rename_to(const char *name, const char *new_name)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = new_name;
    check(ash_object_store_update_meta(store, name, &meta, NULL, NULL, NULL, &err));
}

static bool run(int count, char **words)
{
    const char *verb = words[0];
    ash_output out = {stdout, write_out};
    if (strcmp(verb, "put") == 0 && count == 5)
        put(words[2], words[3], words[4]);
    else if (strcmp(verb, "get") == 0 && count == 3)
        check(ash_object_store_get(store, words[2], &out, NULL, NULL, NULL, &err));
    else if (strcmp(verb, "info") == 0 && count == 3)
        info(words[2]);
    else if (strcmp(verb, "list") == 0)
        list();
    else if (strcmp(verb, "delete") == 0 && count == 3)
        check(ash_object_store_delete(store, words[2], NULL, NULL, NULL, &err));
    else if (strcmp(verb, "rename") == 0 && count == 4)
        rename_to(words[2], words[3]);
    else if (strcmp(verb, "link") == 0 && count == 4)
        link_to(words[2], words[3]);
    else if (strcmp(verb, "seal") == 0)
        check(ash_object_store_seal(store, NULL, &err));
    else if (strcmp(verb, "watch") == 0 && count == 3)
        watch(atoi(words[2]));
    else
        return strcmp(verb, "create") == 0;
    return true;
}

int main(int argc, char **argv)
{
    ash_object_config config = ASH_OBJECT_CONFIG_INIT;
    if (argc < 4)
        return 2;
    check(ash_object_manager_open(argv[1], NULL, &manager, &err));
    config.name = argv[3];
    if (strcmp(argv[2], "create") == 0)
        check(ash_object_manager_create(manager, &config, NULL, &store, &err));
    else
        check(ash_object_manager_bind(manager, argv[3], NULL, &store, &err));
    bool known = run(argc - 2, argv + 2);
    ash_object_store_close(store);
    ash_object_manager_close(manager);
    return known ? 0 : 2;
}
