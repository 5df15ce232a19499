/* SPDX-License-Identifier: Apache-2.0 */
#include "lock/programs.h"

#include "base/mem.h"

#include <string.h>

/* Stages are written as extended JSON with ' for ".  Names in `_t` live only inside a transition:
 *
 *   named   readers that Ashlar granted, as the document stands
 *   owner   the write lock was granted by Ashlar
 *   late    `expires` is so long ago that no foreign holder can still count on it
 *   anon    readers that somebody else granted
 *   held    the write lock is held and must be respected
 *   readers all readers that must be respected
 *   turn    readers go first now
 *   pass    readers go first from now on
 *
 * `next` in the document is a hint for those who watch: who may go now, so that the others need not
 * try.  It is set by what frees the lock and cleared by what takes it.
 *   go      granted */

/* Fields that are missing get their defaults; entries of earlier writers' days and waiters that
 * died go. */
static const char tidy[] =
    "{'$set': {"
    " 'expires': {'$ifNull': ['$expires', '$$NOW']},"
    " 'read_locks': {'$ifNull': ['$read_locks', 0]},"
    " 'write_lock': {'$ifNull': ['$write_lock', false]},"
    " 'write_req': {'$ifNull': ['$write_req', false]},"
    " 'reads': {'$ifNull': ['$reads', 0]},"
    " 'writes': {'$ifNull': ['$writes', 0]},"
    " 'meta': {'$ifNull': ['$meta', null]},"
    " 'holders': {'$filter': {'input': {'$ifNull': ['$holders', []]}, 'as': 'x', 'cond': {'$and': ["
    "   {'$eq': ['$$x.w', '$writes']},"
    "   {'$eq': [{'$eq': ['$$x.mode', 'write']}, '$write_lock']}]}}},"
    " 'waiters': {'$filter': {'input': {'$ifNull': ['$waiters', []]}, 'as': 'x',"
    "   'cond': {'$gte': ['$$x.exp', '$$NOW']}}},"
    " 'own_req': {'$ifNull': ['$own_req', false]},"
    " 'turn': {'$ifNull': ['$turn', null]},"
    " 'readers_wait': {'$ifNull': ['$readers_wait', null]},"
    " 'req_since': {'$ifNull': ['$req_since', null]},"
    " 'last': {'$ifNull': ['$last', null]},"
    " 'next': {'$ifNull': ['$next', null]}"
    "}},";

/* A flag that Ashlar's waiters raised falls with the last of them. */
static const char count[] =
    "{'$set': {"
    " 'write_req': {'$and': ['$write_req',"
    "   {'$not': [{'$and': ['$own_req', {'$eq': [{'$size': '$waiters'}, 0]}]}]}]},"
    " 'own_req': {'$and': ['$own_req', {'$gt': [{'$size': '$waiters'}, 0]}]},"
    " '_t': {"
    "  'named': {'$cond': ['$write_lock', 0, {'$sum': '$holders.n'}]},"
    "  'owner': {'$and': ['$write_lock', {'$gt': [{'$size': '$holders'}, 0]}]},"
    "  'late': {'$lt': ['$expires', {'$subtract': ['$$NOW', '$_q.grace']}]},"
    "  'turn': {'$gt': ['$turn', '$$NOW']}"
    " }}},"
    "{'$set': {"
    " '_t.anon': {'$cond': [{'$or': ['$write_lock', '$_t.late']}, 0,"
    "   {'$max': [0, {'$subtract': ['$read_locks', '$_t.named']}]}]},"
    " '_t.held': {'$and': ['$write_lock', {'$cond': ['$_t.owner',"
    "   {'$gte': [{'$max': '$holders.exp'}, '$$NOW']}, {'$not': ['$_t.late']}]}]},"
    " 'holders': {'$filter': {'input': '$holders', 'as': 'x',"
    "   'cond': {'$gte': ['$$x.exp', '$$NOW']}}}"
    "}},"
    "{'$set': {'_t.readers': {'$cond': ['$write_lock', 0,"
    "  {'$add': ['$_t.anon', {'$sum': '$holders.n'}]}]}}},";

/* First come, first served: a writer goes when nobody waits in front of it. */
static const char decide_write[] =
    "{'$set': {'_t.go': {'$and': ["
    "  {'$not': ['$_t.held']},"
    "  {'$eq': ['$_t.readers', 0]},"
    "  {'$not': ['$_t.turn']},"
    "  {'$eq': [{'$ifNull': [{'$arrayElemAt': ['$waiters.h', 0]}, '$_q.h']}, '$_q.h']}]}}},";

static const char apply_write[] =
    "{'$set': {"
    " 'expires': {'$cond': ['$_t.go', {'$add': ['$$NOW', '$_q.life']}, '$expires']},"
    " 'read_locks': {'$cond': ['$_t.go', 0, '$_t.readers']},"
    " 'write_lock': {'$or': ['$_t.go', '$_t.held']},"
    " 'write_req': {'$cond': ['$_t.go', false,"
    "   {'$or': ['$write_req', {'$and': ['$_q.wait', {'$not': ['$_t.turn']}]}]}]},"
    " 'own_req': {'$cond': ['$_t.go', false, {'$or': ['$own_req',"
    "   {'$and': ['$_q.wait', {'$not': ['$_t.turn']}, {'$not': ['$write_req']}]}]}]},"
    " 'writes': {'$cond': ['$_t.go', {'$add': ['$writes', 1]}, '$writes']},"
    " 'meta': {'$cond': ['$_t.go', '$_q.meta', '$meta']},"
    " 'holders': {'$cond': ['$_t.go', [{'h': '$_q.h', 'mode': 'write', 'n': {'$literal': 1},"
    "   'w': {'$add': ['$writes', 1]}, 'since': '$$NOW',"
    "   'exp': {'$add': ['$$NOW', '$_q.life']}, 'host': '$_q.host', 'pid': '$_q.pid'}],"
    "   '$holders']},"
    " 'waiters': {'$concatArrays': [{'$cond': ['$_t.go',"
    "   {'$filter': {'input': '$waiters', 'as': 'x', 'cond': {'$ne': ['$$x.h', '$_q.h']}}},"
    "   {'$cond': [{'$not': ['$_q.wait']}, '$waiters',"
    "   {'$cond': [{'$in': ['$_q.h', '$waiters.h']},"
    "     {'$map': {'input': '$waiters', 'as': 'x', 'in': {'$cond': [{'$and': ["
    "       {'$eq': ['$$x.h', '$_q.h']}, {'$lt': ['$$x.exp', {'$add': ['$$NOW', '$_q.fresh']}]}]},"
    "       {'$mergeObjects': ['$$x', {'exp': {'$add': ['$$NOW', '$_q.ttl']}}]}, '$$x']}}},"
    "     {'$concatArrays': ['$waiters', [{'h': '$_q.h', 'since': '$$NOW',"
    "       'exp': {'$add': ['$$NOW', '$_q.ttl']}, 'host': '$_q.host', 'pid': '$_q.pid'}]]}]}]}]},"
    "   {'$map': {'input': {'$ifNull': ['$_q.others', []]}, 'as': 'x', 'in': {'h': '$$x',"
    "     'since': '$$NOW', 'exp': {'$add': ['$$NOW', '$_q.ttl']}, 'host': '$_q.host',"
    "     'pid': '$_q.pid'}}}]},"
    " 'req_since': {'$cond': ['$_t.go', null, '$req_since']},"
    " 'next': {'$cond': ['$_t.go', null, '$next']},"
    " 'last': {'$cond': ['$_t.go', {'h': '$_q.h', 'mode': 'write', 'at': '$$NOW'}, '$last']}"
    "}},";

/* A foreign request for writing without a waiter that could be seen is believed for one grace. */
static const char decide_read[] =
    "{'$set': {"
    " '_t.asked': {'$gt': [{'$size': '$waiters'}, 0]},"
    " '_t.seen': {'$eq': ['$req_since.n', {'$add': ['$reads', '$writes']}]}}},"
    "{'$set': {'_t.stale': {'$and': ['$_t.seen',"
    "  {'$lt': ['$req_since.at', {'$subtract': ['$$NOW', '$_q.grace']}]}]}}},"
    "{'$set': {'_t.go': {'$and': [{'$not': ['$_t.held']}, {'$or': ['$_t.turn', {'$not': [{'$or': ["
    "  '$_t.asked', {'$and': ['$write_req', {'$not': ['$_t.stale']}]}]}]}]}]}}},";

/* Readers of one process share an entry and count in it, as long as it stands; `n` of them come at
 * once. */
static const char apply_read[] =
    "{'$set': {"
    " 'expires': {'$cond': ['$_t.go', {'$cond': [{'$eq': ['$_t.readers', 0]},"
    "   {'$add': ['$$NOW', '$_q.life']},"
    "   {'$max': ['$expires', {'$add': ['$$NOW', '$_q.life']}]}]}, '$expires']},"
    " 'read_locks': {'$cond': ['$_t.go', {'$add': ['$_t.readers', '$_q.n']}, '$_t.readers']},"
    " 'write_lock': '$_t.held',"
    " 'write_req': {'$and': ['$write_req', {'$or': [{'$not': ['$_t.go']}, '$_t.asked']}]},"
    " 'own_req': {'$and': ['$own_req', '$_t.asked']},"
    " 'reads': {'$cond': ['$_t.go', {'$add': ['$reads', '$_q.n']}, '$reads']},"
    " 'meta': {'$cond': ['$_t.go', '$_q.meta', '$meta']},"
    " 'holders': {'$cond': [{'$not': ['$_t.go']}, '$holders',"
    "   {'$cond': [{'$in': ['$_q.join', '$holders.h']},"
    "     {'$map': {'input': '$holders', 'as': 'x', 'in': {'$cond': ["
    "       {'$eq': ['$$x.h', '$_q.join']},"
    "       {'$mergeObjects': ['$$x', {'n': {'$add': ['$$x.n', '$_q.n']},"
    "         'exp': {'$max': ['$$x.exp', {'$add': ['$$NOW', '$_q.life']}]}}]}, '$$x']}}},"
    "     {'$concatArrays': [{'$cond': ['$write_lock', [], '$holders']},"
    "       [{'h': '$_q.h', 'mode': 'read', 'n': '$_q.n', 'w': '$writes',"
    "       'since': '$$NOW', 'exp': {'$add': ['$$NOW', '$_q.life']}, 'host': '$_q.host',"
    "       'pid': '$_q.pid'}]]}]}]},"
    " 'req_since': {'$cond': [{'$or': ['$_t.go', '$_t.asked', {'$not': ['$write_req']}]}, null,"
    "   {'$cond': ['$_t.seen', '$req_since',"
    "     {'at': '$$NOW', 'n': {'$add': ['$reads', '$writes']}}]}]},"
    " 'readers_wait': {'$cond': [{'$and': ['$_q.wait', {'$not': ['$_t.go']},"
    "     {'$lt': ['$readers_wait', {'$add': ['$$NOW', '$_q.fresh']}]}]},"
    "   {'$add': ['$$NOW', '$_q.ttl']}, '$readers_wait']},"
    " 'next': {'$cond': ['$_t.go', null, '$next']},"
    " 'last': {'$cond': ['$_t.go', {'h': '$_q.h', 'mode': 'read', 'at': '$$NOW'}, '$last']}"
    "}},";

/* The filter has seen to it that the entry is there. */
static const char leave_read[] =
    "{'$set': {'holders': {'$filter': {'as': 'x', 'cond': {'$gt': ['$$x.n', 0]}, 'input':"
    "   {'$map': {'input': '$holders', 'as': 'x', 'in': {'$cond': [{'$eq': ['$$x.h', '$_q.h']},"
    "     {'$mergeObjects': ['$$x', {'n': {'$subtract': ['$$x.n', 1]}}]}, '$$x']}}}}},"
    " 'meta': null}},"
    "{'$set': {'read_locks': {'$add': ['$_t.anon', {'$sum': '$holders.n'}]}}},"
    "{'$set': {'expires': {'$cond': [{'$eq': ['$read_locks', 0]}, '$$NOW', '$expires']},"
    " 'next': {'$cond': [{'$eq': ['$read_locks', 0]},"
    "   {'$ifNull': [{'$arrayElemAt': ['$waiters.h', 0]}, null]}, '$next']}}},";

/* When writers wait as well as readers, these go first for a short while; then the writers have
 * theirs, which `turn`, the end of the readers' last one, tells (null is earlier than any date). */
static const char leave_write[] =
    "{'$set': {'_t.pass': {'$and': [{'$ne': [{'$ifNull': ['$waiters', []]}, []]},"
    "  {'$gt': ['$readers_wait', '$$NOW']},"
    "  {'$lte': [{'$add': ['$turn', '$_q.rest']}, '$$NOW']}]}}},"
    "{'$set': {'write_lock': false, 'write_req': false, 'own_req': false, 'read_locks': 0,"
    " 'meta': null, 'expires': '$$NOW', 'holders': [],"
    " 'next': {'$cond': [{'$lt': [{'$arrayElemAt': ['$waiters.exp', 0]}, '$$NOW']},"
    "   {'$ifNull': [{'$let': {'vars': {'x': {'$arrayElemAt': [{'$filter': {'input': '$waiters',"
    "     'as': 'x', 'cond': {'$gte': ['$$x.exp', '$$NOW']}}}, 0]}}, 'in': '$$x.h'}}, null]},"
    "   {'$ifNull': [{'$arrayElemAt': ['$waiters.h', 0]}, null]}]},"
    " 'turn': {'$cond': ['$_t.pass', {'$add': ['$$NOW', '$_q.turn']}, '$turn']},"
    " 'readers_wait': {'$cond': ['$_t.pass', null, '$readers_wait']}}},";

static const char extend_read[] =
    "{'$set': {'holders': {'$map': {'input': '$holders', 'as': 'x', 'in': {'$cond': ["
    "   {'$eq': ['$$x.h', '$_q.h']},"
    "   {'$mergeObjects': ['$$x', {'exp': {'$max': ['$$x.exp', {'$add': ['$$NOW', "
    "     '$_q.life']}]}}]}, '$$x']}}},"
    " 'expires': {'$max': ['$expires', {'$add': ['$$NOW', '$_q.life']}]}}},";

static const char extend_write[] =
    "{'$set': {'holders': {'$map': {'input': '$holders', 'as': 'x', 'in':"
    "   {'$mergeObjects': ['$$x', {'exp': {'$add': ['$$NOW', '$_q.life']}}]}}},"
    " 'expires': {'$add': ['$$NOW', '$_q.life']}}},";

static const char withdraw[] =
    "{'$set': {'waiters': {'$filter': {'input': '$waiters', 'as': 'x',"
    "  'cond': {'$ne': ['$$x.h', '$_q.h']}}}}},"
    "{'$set': {"
    " 'write_req': {'$and': ['$write_req',"
    "   {'$not': [{'$and': ['$own_req', {'$eq': [{'$size': '$waiters'}, 0]}]}]}]},"
    " 'own_req': {'$and': ['$own_req', {'$gt': [{'$size': '$waiters'}, 0]}]},"
    " 'next': {'$cond': [{'$eq': ['$next', '$_q.h']},"
    "   {'$ifNull': [{'$arrayElemAt': ['$waiters.h', 0]}, null]}, '$next']}}},";

static const char break_it[] =
    "{'$set': {'write_lock': false, 'write_req': false, 'own_req': false, 'read_locks': 0,"
    " 'meta': null, 'expires': '$$NOW', 'holders': [], 'turn': null, 'next': null,"
    " 'broken': {'reason': '$_q.reason', 'at': '$$NOW', 'holders': '$holders',"
    "   'host': '$_q.host', 'pid': '$_q.pid'}}},";

static const char finish[] = "{'$unset': ['_q', '_t']}";

#define MAX_PARTS 6
static const char *const parts[ASH_LOCK_PROGRAM_COUNT][MAX_PARTS] = {
    [ASH_LOCK_OBTAIN_READ] = {tidy, count, decide_read, apply_read, finish},
    [ASH_LOCK_OBTAIN_WRITE] = {tidy, count, decide_write, apply_write, finish},
    [ASH_LOCK_RELEASE_READ] = {tidy, count, leave_read, finish},
    /* Its document was tidied at the grant; waiters that died since are the next one's business. */
    [ASH_LOCK_RELEASE_WRITE] = {leave_write, finish},
    [ASH_LOCK_RENEW_READ] = {tidy, extend_read, finish},
    [ASH_LOCK_RENEW_WRITE] = {tidy, extend_write, finish},
    [ASH_LOCK_WITHDRAW] = {tidy, withdraw, finish},
    [ASH_LOCK_BREAK] = {tidy, break_it, finish},
};

int ash__lock_parse(const char *text, bson_t *out, ash_error *err)
{
    bson_error_t why;
    char *json = ash__strdup(text);
    for (char *at = strchr(json, '\''); at != NULL; at = strchr(at, '\''))
        *at = '"';
    bool good = bson_init_from_json(out, json, -1, &why);
    ash__free(json);
    if (!good)
        return ash__fail(err, ASH_EINTERNAL, "lock program does not parse: %s", why.message);
    return 0;
}

static int parse_program(enum ash_lock_program which, bson_t *out, ash_error *err)
{
    char *text = ash__strdup("{'stages': [");
    for (int i = 0; i < MAX_PARTS && parts[which][i] != NULL; i++) {
        char *longer = ash__sprintf("%s%s", text, parts[which][i]);
        ash__free(text);
        text = longer;
    }
    char *whole = ash__sprintf("%s]}", text);
    int rc = ash__lock_parse(whole, out, err);
    ash__free(text);
    ash__free(whole);
    return rc;
}

int ash__lock_programs_init(ash_lock_programs *p, ash_error *err)
{
    /* All of them before any can fail: the release destroys all. */
    for (int i = 0; i < ASH_LOCK_PROGRAM_COUNT; i++)
        bson_init(&p->stages[i]);
    for (int i = 0; i < ASH_LOCK_PROGRAM_COUNT; i++) {
        bson_t parsed;
        int rc = parse_program((enum ash_lock_program)i, &parsed, err);
        if (rc != 0)
            return rc;
        bson_destroy(&p->stages[i]);
        bson_copy_to(&parsed, &p->stages[i]);
        bson_destroy(&parsed);
    }
    return 0;
}

void ash__lock_programs_release(ash_lock_programs *p)
{
    for (int i = 0; i < ASH_LOCK_PROGRAM_COUNT; i++)
        bson_destroy(&p->stages[i]);
}

void ash__lock_program_with(const ash_lock_programs *p, enum ash_lock_program which,
                            const bson_t *parameters, bson_t *out)
{
    bson_iter_t iter, stages;
    char name[16];
    uint32_t n = 1;
    bson_init(out);
    BCON_APPEND(out, "0", "{", "$set", "{", "_q", "{", "$literal", BCON_DOCUMENT(parameters), "}",
                "}", "}");
    /* Bytes that were parsed when the collection was opened, so that a move parses nothing. */
    if (!bson_iter_init_find(&iter, &p->stages[which], "stages") ||
        !bson_iter_recurse(&iter, &stages))
        return;
    while (bson_iter_next(&stages)) {
        const char *key;
        size_t len = bson_uint32_to_string(n++, &key, name, sizeof name);
        bson_append_iter(out, key, (int)len, &stages);
    }
}
