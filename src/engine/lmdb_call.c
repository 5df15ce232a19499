/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/lmdb_call.h"

#include "base/fault.h"

#include <stddef.h>
#include <stdint.h>

/* One call with its arguments, so that a plain function can make it inside ash__fault_try. */

enum {
    TOUCH_BYTES = 4096,
    PAGE_BYTES = 4096,
    KEY_MAX = 511,
    VALUE_MAX = 1 << 27 /* far beyond the largest row there is */
};

typedef struct call {
    void (*make)(struct call *call);
    MDB_env *env;
    MDB_txn *txn, **new_txn;
    MDB_dbi dbi, *new_dbi;
    MDB_cursor *cursor, **new_cursor;
    MDB_val *key, *value;
    MDB_cursor_op op;
    MDB_stat *stat_of;
    MDB_envinfo *info;
    const char *name;
    unsigned flags;
    mdb_mode_t mode;
    int rc;
} call;

static void make(void *ctx)
{
    call *c = ctx;
    c->make(c);
}

static int make_guarded(call *c, int rc_of_fault)
{
    return ash__fault_try(make, c) ? c->rc : rc_of_fault;
}

/* A failed assertion of LMDB's; it would abort the process if this returned. */
static void assertion_failed(MDB_env *env, const char *text)
{
    (void)env, (void)text;
    ash__fault_raise();
}

void ash__lmdb_prepare(MDB_env *env)
{
    mdb_env_set_assert(env, assertion_failed);
}

/* ---- reading ---- */

/* Lengths are taken from the page: here they are tried, so that nobody has to be careful later. */
static bool touch(const MDB_val *v)
{
    const volatile uint8_t *at = v->mv_data;
    /* A damaged length would be walked page by page until the map ends. */
    if (v->mv_size > VALUE_MAX)
        return false;
    for (size_t i = 0; i < v->mv_size; i += TOUCH_BYTES)
        /* Here, inside the try, a page that cannot be read costs only the call. */
        (void)at[i];
    if (v->mv_size > 0)
        (void)at[v->mv_size - 1];
    return true;
}

static void take_row(call *c)
{
    if (c->rc == 0 && (c->key->mv_size > KEY_MAX || !touch(c->key) || !touch(c->value)))
        c->rc = MDB_CORRUPTED;
}

static void make_get(call *c)
{
    c->rc = mdb_get(c->txn, c->dbi, c->key, c->value);
    take_row(c);
}

int ash__lmdb_get(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value)
{
    call c = {.make = make_get, .txn = txn, .dbi = dbi, .key = key, .value = value};
    return make_guarded(&c, MDB_CORRUPTED);
}

static void make_cursor_open(call *c)
{
    c->rc = mdb_cursor_open(c->txn, c->dbi, c->new_cursor);
}

int ash__lmdb_cursor_open(MDB_txn *txn, MDB_dbi dbi, MDB_cursor **out)
{
    /* Into a variable of this frame: the caller's stays as it is when a fault comes amid the call.
     */
    MDB_cursor *cursor = NULL;
    call c = {.make = make_cursor_open, .txn = txn, .dbi = dbi, .new_cursor = &cursor};
    int rc = make_guarded(&c, MDB_CORRUPTED);
    *out = rc == 0 ? cursor : NULL;
    return rc;
}

static void make_cursor_get(call *c)
{
    c->rc = mdb_cursor_get(c->cursor, c->key, c->value, c->op);
    take_row(c);
}

int ash__lmdb_cursor_get(MDB_cursor *cursor, MDB_val *key, MDB_val *value, MDB_cursor_op op)
{
    call c = {.make = make_cursor_get, .cursor = cursor, .key = key, .value = value, .op = op};
    return make_guarded(&c, MDB_CORRUPTED);
}

static void make_stat(call *c)
{
    c->rc = mdb_stat(c->txn, c->dbi, c->stat_of);
}

int ash__lmdb_stat(MDB_txn *txn, MDB_dbi dbi, MDB_stat *out)
{
    call c = {.make = make_stat, .txn = txn, .dbi = dbi, .stat_of = out};
    return make_guarded(&c, MDB_CORRUPTED);
}

/* ---- opening, and beginning ---- */

static void make_env_open(call *c)
{
    c->rc = mdb_env_open(c->env, c->name, c->flags, c->mode);
}

int ash__lmdb_env_open(MDB_env *env, const char *path, unsigned flags, mdb_mode_t mode)
{
    call c = {.make = make_env_open, .env = env, .name = path, .flags = flags, .mode = mode};
    return make_guarded(&c, MDB_CORRUPTED);
}

static void make_dbi_open(call *c)
{
    c->rc = mdb_dbi_open(c->txn, c->name, c->flags, c->new_dbi);
}

int ash__lmdb_dbi_open(MDB_txn *txn, const char *name, unsigned flags, MDB_dbi *out)
{
    call c = {.make = make_dbi_open, .txn = txn, .name = name, .flags = flags, .new_dbi = out};
    return make_guarded(&c, MDB_CORRUPTED);
}

static void make_txn_begin(call *c)
{
    c->rc = mdb_txn_begin(c->env, c->txn, c->flags, c->new_txn);
}

int ash__lmdb_txn_begin(MDB_env *env, MDB_txn *parent, unsigned flags, MDB_txn **out)
{
    call c = {.make = make_txn_begin, .env = env, .txn = parent, .flags = flags, .new_txn = out};
    /* A transaction that writes may have begun to change LMDB's state. */
    return make_guarded(&c, (flags & MDB_RDONLY) != 0 ? MDB_CORRUPTED : ASH_LMDB_LOST);
}

static void make_txn_renew(call *c)
{
    c->rc = mdb_txn_renew(c->txn);
}

int ash__lmdb_txn_renew(MDB_txn *txn)
{
    call c = {.make = make_txn_renew, .txn = txn};
    return make_guarded(&c, MDB_CORRUPTED);
}

/* ---- ending, and looking ---- */

static void make_txn_reset(call *c)
{
    mdb_txn_reset(c->txn);
}

void ash__lmdb_txn_reset(MDB_txn *txn)
{
    call c = {.make = make_txn_reset, .txn = txn};
    make_guarded(&c, MDB_CORRUPTED);
}

static void make_txn_abort(call *c)
{
    mdb_txn_abort(c->txn);
}

void ash__lmdb_txn_abort(MDB_txn *txn)
{
    call c = {.make = make_txn_abort, .txn = txn};
    make_guarded(&c, MDB_CORRUPTED);
}

static void make_env_close(call *c)
{
    mdb_env_close(c->env);
}

void ash__lmdb_env_close(MDB_env *env)
{
    call c = {.make = make_env_close, .env = env};
    make_guarded(&c, MDB_CORRUPTED);
}

static void make_env_info(call *c)
{
    c->rc = mdb_env_info(c->env, c->info);
}

int ash__lmdb_env_info(MDB_env *env, MDB_envinfo *out)
{
    call c = {.make = make_env_info, .env = env, .info = out};
    int rc = make_guarded(&c, MDB_CORRUPTED);
    if (rc != 0)
        *out = (MDB_envinfo){0};
    return rc;
}

static void make_env_stat(call *c)
{
    c->rc = mdb_env_stat(c->env, c->stat_of);
}

int ash__lmdb_env_stat(MDB_env *env, MDB_stat *out)
{
    call c = {.make = make_env_stat, .env = env, .stat_of = out};
    int rc = make_guarded(&c, MDB_CORRUPTED);
    if (rc != 0)
        /* Callers divide by it. */
        *out = (MDB_stat){.ms_psize = PAGE_BYTES};
    return rc;
}

/* ---- changing ---- */

static void make_put(call *c)
{
    c->rc = mdb_put(c->txn, c->dbi, c->key, c->value, c->flags);
}

int ash__lmdb_put(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value, unsigned flags)
{
    call c = {.make = make_put, .txn = txn, .dbi = dbi, .key = key, .value = value, .flags = flags};
    return make_guarded(&c, ASH_LMDB_LOST);
}

static void make_del(call *c)
{
    c->rc = mdb_del(c->txn, c->dbi, c->key, c->value);
}

int ash__lmdb_del(MDB_txn *txn, MDB_dbi dbi, MDB_val *key, MDB_val *value)
{
    call c = {.make = make_del, .txn = txn, .dbi = dbi, .key = key, .value = value};
    return make_guarded(&c, ASH_LMDB_LOST);
}

static void make_cursor_del(call *c)
{
    c->rc = mdb_cursor_del(c->cursor, c->flags);
}

int ash__lmdb_cursor_del(MDB_cursor *cursor, unsigned flags)
{
    call c = {.make = make_cursor_del, .cursor = cursor, .flags = flags};
    return make_guarded(&c, ASH_LMDB_LOST);
}

static void make_drop(call *c)
{
    c->rc = mdb_drop(c->txn, c->dbi, 0);
}

int ash__lmdb_drop(MDB_txn *txn, MDB_dbi dbi)
{
    call c = {.make = make_drop, .txn = txn, .dbi = dbi};
    return make_guarded(&c, ASH_LMDB_LOST);
}

static void make_txn_commit(call *c)
{
    c->rc = mdb_txn_commit(c->txn);
}

int ash__lmdb_txn_commit(MDB_txn *txn)
{
    call c = {.make = make_txn_commit, .txn = txn};
    return make_guarded(&c, ASH_LMDB_LOST);
}
