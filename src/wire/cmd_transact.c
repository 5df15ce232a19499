/* SPDX-License-Identifier: Apache-2.0 */
/* ashlarTransact, as the comment below tells it: operations are read once, and run as often as the
 * store asks, each time into answers of their own. */
#include "wire/cmd.h"

#include "base/budget.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "store/parts.h"
#include "wire/dispatch.h"

#include <limits.h>
#include <string.h>

/* Transactions for clients that know this command, without anything open between two requests.
 *
 *   {ashlarTransact: 1, operations: [COMMAND, …], results: [INT64, …], now: DATE?, seed: OBJECTID,
 *    commit: BOOL?, session: UUID?, number: INT64?}
 *
 * The client sends every operation of its transaction so far, oldest first, each a command as it
 * would send it alone, with its own $db.  They run in order in one transaction of the store, which
 * then is undone, and the last one's answer is the result:
 *
 *   {result: DOCUMENT, hash: INT64, now: DATE, ok: 1}
 *
 * results holds the hashes of the answers that the client had to the operations before.  When one
 * of them answers otherwise now, somebody changed what the transaction builds on: WriteConflict
 * (112) with the label TransientTransactionError, and the client begins anew.  With commit: true
 * there is a hash for each operation, and what they did stays, when all answers are the same: so
 * all that the transaction saw is still so at the moment of its commit.  The pair of session and
 * number is the commit's identity: sent again, it is not done twice, also after a restart; a
 * session's numbers grow.
 *
 * An operation that fails has an answer like any other, {ok: 0, code, …}, and left no trace.  now
 * is given back as the first answer told it, so that $$NOW is the same each time; seed, from the
 * client, decides the _id of documents that upserts make.
 *
 * Lists that only read run on a snapshot.  The others hold the writer, for ASH_BUDGET_TURN_MS at
 * most: past that it is MaxTimeMSExpired (50). */

enum { MAX_OPERATIONS = 1000 };

typedef struct transact {
    ash_command *outer;
    ash_command *inner; /* count of them */
    int64_t *results;   /* result_count hashes that the client has */
    size_t count, result_count;
    bool commit;
    bool only_reads;
    int64_t now_ms;
    bson_oid_t seed;
    /* The last run's. */
    bool looked;       /* it went well, and was undone on purpose */
    bool conflict;     /* an answer has changed */
    ash_buffer answer; /* of the last operation */
    int64_t hash;
} transact;

int ash__refuse_in_transaction(const char *what, ash_error *err)
{
    return ash__fail_server(err, ASH_EUNSUPPORTED, ASH_MONGO_OPERATION_NOT_SUPPORTED_IN_TRANSACTION,
                            "%s is not possible in a transaction", what);
}

/* ---- what is asked ---- */

static int wrong_type(const char *name, const char *wanted, ash_error *err)
{
    return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_TYPE_MISMATCH,
                            "BSON field 'ashlarTransact.%s' must be %s", name, wanted);
}

static int read_results(transact *t, ash_error *err)
{
    ash_value list = ash__arg(t->outer, "results");
    size_t wanted = t->commit ? t->count : t->count - 1;
    size_t given = 0;
    t->results = ash__alloc_array(t->count, sizeof *t->results);
    ash_doc_iter it =
        ash__doc_iter(list.type == BSON_TYPE_ARRAY ? ash__value_doc(list) : ash__doc_empty);
    while (ash__doc_iter_next(&it)) {
        if (it.value.type != BSON_TYPE_INT64)
            return wrong_type("results", "an array of 64-bit integers", err);
        /* Counted beyond, so that the complaint below tells of too many as well. */
        if (given++ < wanted)
            t->results[t->result_count++] = ash__value_int64(it.value);
    }
    if (given != wanted)
        return ash__fail_server(err, ASH_EINVAL, ASH_MONGO_INVALID_OPTIONS,
                                "%zu operations need %zu results", t->count, wanted);
    return 0;
}

static int read_identity(transact *t, ash_error *err)
{
    ash_command *c = t->outer;
    uint8_t subtype = 0;
    uint32_t len = 0;
    ash_value session = ash__arg(c, "session");
    const uint8_t *bytes =
        session.type == BSON_TYPE_BINARY ? ash__value_binary(session, &subtype, &len) : NULL;
    if (!t->commit)
        return 0;
    if (bytes == NULL || subtype != BSON_SUBTYPE_UUID || len != sizeof c->retry.session)
        return wrong_type("session", "a UUID (binary of subtype 4, 16 bytes)", err);
    if (!ash__value_as_int64(ash__arg(c, "number"), &c->retry.txn_number) ||
        c->retry.txn_number < 0)
        return wrong_type("number", "a whole number that is not negative", err);
    ash_session_id own;
    ash__session_of(c, bytes, &own);
    memcpy(c->retry.session, own.bytes, sizeof own.bytes);
    c->op.retry = &c->retry;
    c->retryable = true;
    return 0;
}

static int read_arguments(transact *t, ash_error *err)
{
    ash_value now = ash__arg(t->outer, "now");
    ash_value seed = ash__arg(t->outer, "seed");
    t->commit = ash__arg_bool(t->outer, "commit", false);
    if (now.type != 0 && now.type != BSON_TYPE_DATE_TIME)
        return wrong_type("now", "a date", err);
    if (seed.type != BSON_TYPE_OID)
        return wrong_type("seed", "an ObjectId", err);
    t->now_ms = now.type != 0 ? ash__value_int64(now) : ash__clock_wall_ms();
    bson_oid_copy(ash__value_oid(seed), &t->seed);
    int rc = read_results(t, err);
    return rc == 0 ? read_identity(t, err) : rc;
}

/* Names and types of all are right before anything runs. */
static int read_operations(transact *t, const ash_doc *docs, ash_error *err)
{
    static const ash_request no_request;
    size_t bytes = 0;
    t->only_reads = true;
    t->inner = ash__alloc_array(t->count, sizeof *t->inner);
    for (size_t i = 0; i < t->count; i++) {
        ash_command *c = &t->inner[i];
        memset(c, 0, sizeof *c);
        c->server = t->outer->server;
        c->connection = t->outer->connection;
        ash__command_begin_op(c);
        c->request = &no_request;
        c->body = docs[i];
        c->concern.w = 1;
        c->read_level = "";
        bytes += docs[i].len;
        if (bytes > ASH_DOC_MAX_BYTES)
            return ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_TRANSACTION_TOO_LARGE,
                                    "operations of a transaction have more than %d bytes",
                                    ASH_DOC_MAX_BYTES);
        int rc = ash__command_read_nested(c, err);
        if (rc == 0)
            rc = ash__access_check(c, err);
        if (rc != 0)
            return rc;
        t->only_reads = t->only_reads && (c->info->flags & ASH_COMMAND_READS) != 0;
    }
    return 0;
}

static int read_transact(transact *t, ash_error *err)
{
    ash_doc *docs = NULL;
    int rc = ash__arg_docs(t->outer, "operations", &docs, &t->count, err);
    if (rc == 0 && t->count > MAX_OPERATIONS)
        rc = ash__fail_server(err, ASH_ETOOBIG, ASH_MONGO_TRANSACTION_TOO_LARGE,
                              "a transaction has at most %d operations", MAX_OPERATIONS);
    if (rc == 0)
        rc = read_operations(t, docs, err);
    if (rc == 0)
        rc = read_arguments(t, err);
    ash__free(docs);
    return rc;
}

/* ---- running ---- */

/* The same for the same place in the same transaction, and for no other. */
static void choose_id(const transact *t, size_t index, ash_transaction *tx)
{
    uint8_t place[sizeof t->seed.bytes + 4];
    memcpy(place, t->seed.bytes, sizeof t->seed.bytes);
    ash__put_be32(place + sizeof t->seed.bytes, (uint32_t)index);
    tx->new_id = t->seed;
    ash__put_be64(tx->new_id.bytes + 4, ash__checksum(place, sizeof place));
    tx->has_new_id = true;
    tx->now_ms = t->now_ms;
}

/* The bytes of an answer, from all its pieces. */
static void take_answer(transact *t, ash_reply *reply)
{
    /* Without views: before the batch, the batch, behind it. */
    struct iovec pieces[3];
    ash_assert(reply->splice_count == 0 && reply->cursor == NULL);
    ash__reply_finish(reply);
    size_t count = ash__reply_pieces(reply, pieces);
    ash__buffer_clear(&t->answer);
    for (size_t i = 0; i < count; i++)
        ash__buffer_append(&t->answer, pieces[i].iov_base, pieces[i].iov_len);
    t->hash = (int64_t)ash__checksum(t->answer.data, t->answer.len);
}

static int run_operation(transact *t, ash_command *c, ash_reply *reply, ash_error *err)
{
    ash_error own = ASH_ERROR_INIT;
    ash__reply_begin(reply);
    reply->has_details = false;
    c->reply = reply;
    int rc = c->info->run(c, &own);
    /* It is this run's. */
    c->reply = NULL;
    if (rc != 0 && ash__error_ends_command(&own)) {
        if (err != NULL)
            *err = own;
        return rc;
    }
    if (rc != 0) {
        ash__reply_begin(reply);
        ash__reply_error(reply, &own);
    } else {
        ash__builder_double(&reply->body, "ok", 1.0);
    }
    take_answer(t, reply);
    return 0;
}

static int fail_changed(transact *t, size_t index, ash_error *err)
{
    t->conflict = true;
    return ash__fail_server(err, ASH_ECONFLICT, ASH_MONGO_WRITE_CONFLICT,
                            "what operation %zu of the transaction (%s) answered is not so any "
                            "more; begin the transaction again",
                            index, t->inner[index].info->name);
}

/* Others wait meanwhile, however long the client would. */
static int64_t turn_deadline(const transact *t)
{
    int64_t turn = ash__clock_ms() + ASH_BUDGET_TURN_MS;
    int64_t wanted = t->outer->op.deadline_ms;
    return wanted != 0 && wanted < turn ? wanted : turn;
}

static int run_all(ash_transaction *tx, void *ctx, ash_error *err)
{
    transact *t = ctx;
    ash_reply reply;
    int rc = 0;
    int64_t deadline = turn_deadline(t);
    /* Each answer is bounded by what an operation may find, and only one is kept. */
    ash__reply_init(&reply, NULL);
    t->looked = t->conflict = false;
    for (size_t i = 0; rc == 0 && i < t->count; i++) {
        ash_command *c = &t->inner[i];
        c->op.transaction = tx;
        c->op.cancel = t->outer->op.cancel;
        c->op.reader = t->outer->op.reader;
        c->op.deadline_ms = deadline;
        choose_id(t, i, tx);
        rc = run_operation(t, c, &reply, err);
        if (rc == 0 && i < t->result_count && t->hash != t->results[i])
            rc = fail_changed(t, i, err);
    }
    ash__reply_release(&reply);
    t->looked = rc == 0 && !t->commit;
    /* Failing is how it is undone. */
    return t->looked && !t->only_reads ? ASH_ECONDITION : rc;
}

static int run_transact(transact *t, ash_error *err)
{
    ash_store *store = t->outer->server->store;
    const ash_op *op = &t->outer->op;
    if (t->only_reads && ash__store_can_look(store))
        return ash__store_look(store, run_all, t, op, err);
    int rc = t->commit ? ash__command_fail_write(t->outer, err) : 0;
    if (rc == 0)
        rc = ash_store_transact(store, run_all, t, op, err);
    if (rc == 0 && t->commit)
        ash__command_wrote(t->outer);
    /* Undone on purpose is what was wanted. */
    return t->looked ? 0 : rc;
}

static void add_conflict_label(ash_command *c)
{
    ash_builder *b = &c->reply->details;
    ash__builder_begin(b);
    ash__builder_begin_array(b, "errorLabels");
    ash__builder_text(b, "0", "TransientTransactionError");
    ash__builder_end(b);
    ash__builder_end(b);
    c->reply->has_details = true;
}

static void reply_result(const transact *t)
{
    ash_builder *b = &t->outer->reply->body;
    ash__builder_doc_value(b, "result", (ash_doc){t->answer.data, t->answer.len});
    ash__builder_int64(b, "hash", t->hash);
    ash__builder_date(b, "now", t->now_ms);
}

int ash__run_ashlar_transact(ash_command *c, ash_error *err)
{
    transact t = {.outer = c};
    if (!c->server->can_transact)
        return ash__run_refuse_transaction(c, err);
    int rc = read_transact(&t, err);
    if (rc == 0)
        rc = run_transact(&t, err);
    if (rc != 0 && t.conflict)
        add_conflict_label(c);
    else if (rc == 0 && !t.commit)
        reply_result(&t);
    ash__buffer_release(&t.answer);
    ash__free(t.inner);
    ash__free(t.results);
    return rc;
}
