/* SPDX-License-Identifier: Apache-2.0 */
/* libmongoc's everyday operations against a server.  usage: libmongoc_crud URI all|mark|resume FILE
 * (see crud.sh; FILE keeps a resume token between two runs) */
#include <mongoc/mongoc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JSON(...) bson_new_from_json((const uint8_t *)#__VA_ARGS__, -1, NULL)

static void check(bool good, const char *what, const bson_error_t *error)
{
    if (good)
        return;
    fprintf(stderr, "%s: %s\n", what, error != NULL ? error->message : "wrong");
    exit(1);
}

/* The text of the documents of a cursor, which it frees. */
static void expect_documents(mongoc_cursor_t *cursor, const char *expected)
{
    const bson_t *doc;
    bson_error_t error;
    char got[4000] = "";
    size_t at = 0;
    while (mongoc_cursor_next(cursor, &doc)) {
        char *text = bson_as_relaxed_extended_json(doc, NULL);
        at += (size_t)snprintf(got + at, sizeof got - at, "%s", text);
        check(at < sizeof got, "too many documents", NULL);
        bson_free(text);
    }
    check(!mongoc_cursor_error(cursor, &error), "cursor", &error);
    if (strcmp(got, expected) != 0) {
        fprintf(stderr, "got %s\nexpected %s\n", got, expected);
        exit(1);
    }
    mongoc_cursor_destroy(cursor);
}

static void expect_number(const bson_t *reply, const char *path, int64_t expected)
{
    bson_iter_t it, found;
    check(bson_iter_init(&it, reply) && bson_iter_find_descendant(&it, path, &found) &&
              bson_iter_as_int64(&found) == expected,
          path, NULL);
}

static void insert(mongoc_collection_t *c, bson_t *doc)
{
    bson_error_t error;
    check(mongoc_collection_insert_one(c, doc, NULL, NULL, &error), "insert", &error);
    bson_destroy(doc);
}

static void everyday(mongoc_collection_t *c)
{
    bson_error_t error;
    bson_t reply;
    bson_t *filter = JSON({"n" : {"$gte" : 2}}), *update = JSON({"$inc" : {"n" : 10}}),
           *empty = bson_new();
    bson_t *opts = JSON({"sort" : {"n" : -1}, "limit" : 2}), *one = JSON({"_id" : 1}),
           *upsert = JSON({"upsert" : true});
    bson_t *pipeline = JSON([ {"$group" : {"_id" : null, "n" : {"$sum" : "$n"}}} ]);
    mongoc_collection_drop(c, NULL);
    insert(c, JSON({"_id" : 1, "n" : 1}));
    insert(c, JSON({"_id" : 2, "n" : 2}));
    insert(c, JSON({"_id" : 3, "n" : 3}));
    check(!mongoc_collection_insert_one(c, one, NULL, NULL, &error) && error.code == 11000,
          "duplicate", &error);
    check(mongoc_collection_update_many(c, filter, update, NULL, &reply, &error), "update", &error);
    expect_number(&reply, "modifiedCount", 2);
    bson_destroy(&reply);
    expect_documents(mongoc_collection_find_with_opts(c, empty, opts, NULL),
                     "{ \"_id\" : 3, \"n\" : 13 }{ \"_id\" : 2, \"n\" : 12 }");
    expect_documents(mongoc_collection_aggregate(c, MONGOC_QUERY_NONE, pipeline, NULL, NULL),
                     "{ \"_id\" : null, \"n\" : 26 }");
    bson_t *four = JSON({"_id" : 4});
    check(mongoc_collection_update_one(c, four, update, upsert, &reply, &error), "upsert", &error);
    expect_number(&reply, "upsertedId", 4);
    bson_destroy(&reply);
    check(mongoc_collection_count_documents(c, filter, NULL, NULL, NULL, &error) == 3, "count",
          &error);
    check(mongoc_collection_delete_many(c, filter, NULL, &reply, &error), "delete", &error);
    expect_number(&reply, "deletedCount", 3);
    bson_destroy(&reply);
    mongoc_find_and_modify_opts_t *fam = mongoc_find_and_modify_opts_new();
    mongoc_find_and_modify_opts_set_update(fam, update);
    mongoc_find_and_modify_opts_set_flags(fam, MONGOC_FIND_AND_MODIFY_RETURN_NEW);
    check(mongoc_collection_find_and_modify_with_opts(c, one, fam, &reply, &error),
          "find and modify", &error);
    expect_number(&reply, "value.n", 11);
    bson_destroy(&reply);
    mongoc_find_and_modify_opts_destroy(fam);
    bson_t *all[] = {filter, update, empty, opts, one, upsert, pipeline, four};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        bson_destroy(all[i]);
}

static void bulk(mongoc_collection_t *c)
{
    bson_error_t error;
    bson_t reply;
    bson_t *opts = JSON({"ordered" : false}), *one = JSON({"_id" : 1}),
           *set = JSON({"$set" : {"a" : 1}});
    mongoc_collection_drop(c, NULL);
    mongoc_bulk_operation_t *b = mongoc_collection_create_bulk_operation_with_opts(c, opts);
    mongoc_bulk_operation_insert(b, one);
    mongoc_bulk_operation_insert(b, one);
    mongoc_bulk_operation_update_one(b, one, set, false);
    check(mongoc_bulk_operation_execute(b, &reply, &error) == 0 && error.code == 11000, "bulk",
          &error);
    expect_number(&reply, "nInserted", 1);
    expect_number(&reply, "nModified", 1);
    expect_number(&reply, "writeErrors.0.index", 1);
    bson_destroy(&reply);
    mongoc_bulk_operation_destroy(b);
    bson_destroy(opts);
    bson_destroy(one);
    bson_destroy(set);
}

static void sessions(mongoc_client_t *client, mongoc_collection_t *c)
{
    bson_error_t error;
    bson_t opts = BSON_INITIALIZER, empty = BSON_INITIALIZER;
    mongoc_collection_drop(c, NULL);
    mongoc_client_session_t *session = mongoc_client_start_session(client, NULL, &error);
    check(session != NULL && mongoc_client_session_append(session, &opts, &error), "session",
          &error);
    bson_t *doc = JSON({"_id" : 1});
    check(mongoc_collection_insert_one(c, doc, &opts, NULL, &error), "insert in a session", &error);
    check(mongoc_collection_count_documents(c, &empty, &opts, NULL, NULL, &error) == 1,
          "count in a session", &error);
    mongoc_client_session_destroy(session);
    bson_destroy(doc);
    bson_destroy(&opts);
}

static mongoc_change_stream_t *watch(mongoc_collection_t *c, const bson_t *opts)
{
    bson_t empty = BSON_INITIALIZER;
    return mongoc_collection_watch(c, &empty, opts);
}

static void expect_step(mongoc_change_stream_t *stream, const char *step)
{
    const bson_t *event, *details;
    bson_error_t error = {0};
    bson_iter_t it, found;
    bool there = false;
    for (int i = 0; i < 20 && !there; i++) {
        there = mongoc_change_stream_next(stream, &event);
        check(!mongoc_change_stream_error_document(stream, &error, &details), "change stream",
              &error);
    }
    check(there, "no event", NULL);
    check(bson_iter_init(&it, event) &&
              bson_iter_find_descendant(&it, "fullDocument.step", &found) &&
              strcmp(bson_iter_utf8(&found, NULL), step) == 0,
          step, NULL);
}

static void mark(mongoc_collection_t *c, const char *path)
{
    mongoc_change_stream_t *stream = watch(c, NULL);
    const bson_t *event;
    mongoc_change_stream_next(stream, &event);
    insert(c, JSON({"step" : "before"}));
    expect_step(stream, "before");
    char *text =
        bson_as_canonical_extended_json(mongoc_change_stream_get_resume_token(stream), NULL);
    FILE *out = fopen(path, "w");
    check(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0, path, NULL);
    insert(c, JSON({"step" : "missed"}));
    bson_free(text);
    mongoc_change_stream_destroy(stream);
}

static void resume(mongoc_collection_t *c, const char *path)
{
    bson_error_t error;
    bson_t opts = BSON_INITIALIZER, token;
    bson_json_reader_t *reader = bson_json_reader_new_from_file(path, &error);
    check(reader != NULL, path, &error);
    bson_init(&token);
    check(bson_json_reader_read(reader, &token, &error) == 1, path, &error);
    BSON_APPEND_DOCUMENT(&opts, "resumeAfter", &token);
    mongoc_change_stream_t *stream = watch(c, &opts);
    insert(c, JSON({"step" : "after"}));
    expect_step(stream, "missed");
    expect_step(stream, "after");
    mongoc_change_stream_destroy(stream);
    bson_json_reader_destroy(reader);
    bson_destroy(&token);
    bson_destroy(&opts);
}

int main(int argc, char **argv)
{
    check(argc == 4, "usage: libmongoc_crud URI ACTION FILE", NULL);
    mongoc_init();
    mongoc_client_t *client = mongoc_client_new(argv[1]);
    check(client != NULL, argv[1], NULL);
    mongoc_collection_t *c = mongoc_client_get_collection(client, "libmongoc", "followed");
    if (strcmp(argv[2], "mark") == 0) {
        mark(c, argv[3]);
    } else if (strcmp(argv[2], "resume") == 0) {
        resume(c, argv[3]);
    } else {
        everyday(c);
        bulk(c);
        sessions(client, c);
        mongoc_collection_drop(c, NULL);
    }
    mongoc_collection_destroy(c);
    mongoc_client_destroy(client);
    mongoc_cleanup();
    return 0;
}
