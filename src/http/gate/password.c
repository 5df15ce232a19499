/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords: what fitted before, and the work of finding out, of which there is only so much at
 * once. */
#include "http/gate/visitor.h"
#include "user/origin.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

/* ---- the queue ---- */

/* Whoever is first has the place that became free, before anybody who comes now. */
static void pass_place(ash_gate *g)
{
    ash__mutex_assert_held(&g->lock);
    ash_coming *next = g->first;
    if (next == NULL) {
        g->checks--;
        return;
    }
    g->first = next->next;
    if (g->first == NULL)
        g->last = &g->first;
    next->waits = false;
    next->has_place = true;
    ash__exchange_wake(next->x);
}

static bool take_place(ash_gate *g, ash_coming *c)
{
    ash__mutex_lock(&g->lock);
    if (!c->has_place && !c->waits && g->checks < ASH_GATE_CHECKS) {
        g->checks++;
        c->has_place = true;
    } else if (!c->has_place && !c->waits) {
        c->waits = true;
        c->next = NULL;
        *g->last = c;
        g->last = &c->next;
    }
    bool has_place = c->has_place;
    ash__mutex_unlock(&g->lock);
    return has_place;
}

void ash__gate_leave_queue(ash_gate *g, ash_coming *c)
{
    ash__mutex_lock(&g->lock);
    if (c->has_place)
        pass_place(g);
    for (ash_coming **at = &g->first; c->waits && *at != NULL; at = &(*at)->next)
        if (*at == c) {
            *at = c->next;
            if (c->next == NULL)
                g->last = at;
            break;
        }
    c->waits = c->has_place = false;
    ash__mutex_unlock(&g->lock);
}

/* ---- what fitted before ---- */

/* A password is known at the address where it fitted: elsewhere one that fits takes its time, too. */
static void make_mark(const ash_gate *g, const char *remote, const char *name, const char *password,
                      uint8_t out[ASH_GATE_MARK_BYTES])
{
    char address[128];
    unsigned len = 0;
    /* No name has a colon. */
    ash__attempts_address(remote, address, sizeof address);
    char *text = ash__sprintf("%s %s:%s", address, name, password);
    size_t text_len = strlen(text);
    ash_assert(HMAC(EVP_sha256(), g->secret, sizeof g->secret, (const uint8_t *)text, text_len, out,
                    &len) != NULL);
    OPENSSL_cleanse(text, text_len);
    ash__free(text);
}

static ash_gate_entry *place_of(ash_gate *g, const uint8_t mark[ASH_GATE_MARK_BYTES])
{
    ash__mutex_assert_held(&g->lock);
    return &g->entries[(mark[0] | (size_t)mark[1] << 8) % ASH_GATE_REMEMBERED];
}

/* Held for the caller; NULL: none. */
static ash_visitor *recall(ash_gate *g, const uint8_t mark[ASH_GATE_MARK_BYTES])
{
    ash__mutex_lock(&g->lock);
    ash_gate_entry *e = place_of(g, mark);
    bool fits = e->visitor != NULL && CRYPTO_memcmp(e->mark, mark, ASH_GATE_MARK_BYTES) == 0;
    ash_visitor *v = fits ? ash__visitor_hold(e->visitor) : NULL;
    ash__mutex_unlock(&g->lock);
    return v;
}

/* v NULL: forget. */
static void remember(ash_gate *g, const uint8_t mark[ASH_GATE_MARK_BYTES], ash_visitor *v)
{
    ash__mutex_lock(&g->lock);
    ash_gate_entry *e = place_of(g, mark);
    ash_visitor *before = e->visitor;
    memcpy(e->mark, mark, ASH_GATE_MARK_BYTES);
    e->visitor = v != NULL ? ash__visitor_hold(v) : NULL;
    ash__mutex_unlock(&g->lock);
    ash__visitor_release(before);
}

/* One whose password fitted before, and is still the same: 0.  ASH_ENOTFOUND: there is none. */
static int find_known(ash_gate *g, const uint8_t mark[ASH_GATE_MARK_BYTES], ash_visitor **out,
                      ash_error *err)
{
    ash_error what = ASH_ERROR_INIT;
    ash_visitor *v = recall(g, mark);
    if (v == NULL)
        return ASH_ENOTFOUND;
    if (v->known_at == ash__users_changes()) {
        *out = v;
        return 0;
    }
    int rc = ash__visitor_renew(&g->users, v, out, &what);
    if (rc == 0 || rc == ASH_ENOTFOUND)
        remember(g, mark, rc == 0 ? *out : NULL);
    else
        *err = what;
    ash__visitor_release(v);
    return rc;
}

/* ---- the work ---- */

/* NAME is admin's; where admin has none, and NAME is DB.NAME, it may be that database's.  name is
 * cut into two. */
static int find_user(ash_gate *g, char *name, const char **user, const char **db, ash_error *err)
{
    ash_error what = ASH_ERROR_INIT;
    char *dot = strchr(name, '.');
    bson_t doc;
    *user = name;
    *db = "admin";
    if (dot == NULL || dot == name || dot[1] == '\0')
        return 0;
    ash_user_id id = {&ash__user_kind, name, "admin"};
    int rc = ash__user_find(&g->users, &id, &doc, &what);
    if (rc == 0) {
        bson_destroy(&doc);
    } else if (rc == ASH_ENOTFOUND) {
        *dot = '\0';
        *user = dot + 1;
        *db = name;
    }
    return ash__unless(ASH_ENOTFOUND, rc, &what, err);
}

/* Does the password fit the credential?  Takes the same time for a user who is not there. */
static bool fits(const char *user, const char *password, const ash_scram_credential *credential)
{
    ash_scram_credential made = *credential;
    ash_error ignored = ASH_ERROR_INIT;
    int rc = ash__scram_credential_make(ASH_SCRAM_SHA_256, user, password, &made, &ignored);
    bool same = rc == 0 && CRYPTO_memcmp(made.stored_key, credential->stored_key,
                                         ash__scram_key_bytes(ASH_SCRAM_SHA_256)) == 0;
    OPENSSL_cleanse(&made, sizeof made);
    return same;
}

/* In a log it stays on its line, whatever it calls itself. */
static void log_failure(const ash_coming *c, const char *name, const char *why, int64_t skipped)
{
    char shown[101], more[80] = "";
    size_t n = 0;
    for (; name[n] != '\0' && n + 1 < sizeof shown; n++)
        shown[n] = name[n] >= ' ' && name[n] != 0x7f ? name[n] : '?';
    shown[n] = '\0';
    if (skipped > 0)
        snprintf(more, sizeof more, "; %lld more from there failed since the last line",
                 (long long)skipped);
    ash__log(ASH_LOG_WARN, "%s could not sign in by HTTP as \"%s\": %s%s", c->x->remote, shown, why,
             more);
}

static int judge(ash_gate *g, const ash_exchange *x, const ash_user_id *id, const char *password,
                 ash_visitor **out, ash_error *err)
{
    ash_scram_credential credential;
    ash_visitor *v = NULL;
    bool known = false;
    int rc = ash__user_credential(&g->users, id, ASH_SCRAM_SHA_256, &credential, &known, err);
    if (rc == 0 && (!fits(id->name, password, &credential) || !known))
        rc = ash__fail(err, ASH_EACCES, "%s",
                       known ? "the password is another one"
                             : "there is no such user, or not with SCRAM-SHA-256");
    if (rc == 0)
        rc = ash__visitor_find(&g->users, id->name, id->db, &v, err);
    if (rc == ASH_ENOTFOUND)
        rc = ash__fail(err, ASH_EACCES, "the user was removed just now");
    if (rc == 0 && !ash__origins_admit(ash__doc_from_bson(&v->origins), x->remote, x->local)) {
        ash__visitor_release(v);
        rc = ash__fail(err, ASH_EACCES, "the user may not sign in from there");
    }
    if (rc == 0) {
        v->credential = credential;
        *out = v;
    }
    OPENSSL_cleanse(&credential, sizeof credential);
    return rc;
}

/* false: it has to wait, or waited already. */
static bool begin_at_once(ash_gate *g, ash_coming *c, const ash_user_id *id)
{
    int64_t now = ash__clock_ms();
    if (c->is_attempt)
        return false;
    ash_attempt_name who = {id->name, id->db};
    c->due_ms = now + ash__attempts_begin(g->attempts, c->x->remote, &who, now, &c->attempt);
    c->is_attempt = true;
    c->had_to_wait = c->due_ms > now;
    return !c->had_to_wait;
}

/* Is it the attempt's turn?  Whoever failed often waits first, and then for a place as all do. */
static bool may_be_judged(ash_gate *g, ash_coming *c)
{
    int64_t now = ash__clock_ms();
    c->x->due_ms = c->due_ms > now ? c->due_ms : 0;
    return c->x->due_ms == 0 && take_place(g, c);
}

static int attempt(ash_gate *g, ash_coming *c, const ash_user_id *id, const char *password,
                   ash_visitor **out, ash_error *err)
{
    int64_t skipped = 0;
    if (!may_be_judged(g, c))
        return ASH_EBUSY;
    int rc = judge(g, c->x, id, password, out, err);
    ash__gate_leave_queue(g, c);
    c->is_attempt = false;
    if (rc != 0 && rc != ASH_EACCES)
        ash__attempts_drop(g->attempts, &c->attempt);
    else if (ash__attempts_end(g->attempts, &c->attempt, rc == 0, ash__clock_ms(), &skipped) &&
             rc != 0) {
        log_failure(c, id->name, err->text, skipped);
        ash__gate_tell(g, c->x, &(ash_attempt_name){id->name, id->db}, "PLAIN", true, skipped);
    }
    if (rc == 0)
        ash__gate_tell(g, c->x, &(ash_attempt_name){id->name, id->db}, "PLAIN", false, 0);
    return rc;
}

int ash__gate_check_password(ash_gate *g, ash_coming *c, const char *name, const char *password,
                             ash_visitor **out, ash_error *err)
{
    uint8_t mark[ASH_GATE_MARK_BYTES];
    ash_user_id id = {.kind = &ash__user_kind};
    make_mark(g, c->x->remote, name, password, mark);
    char *copy = ash__strdup(name);
    int rc = find_user(g, copy, &id.name, &id.db, err);
    /* Who has to wait learns nothing before, not even that it was right. */
    bool known = rc == 0 && begin_at_once(g, c, &id);
    if (known) {
        rc = find_known(g, mark, out, err);
        known = rc != ASH_ENOTFOUND;
        rc = known ? rc : 0;
    }
    if (known) {
        ash__attempts_drop(g->attempts, &c->attempt);
        c->is_attempt = false;
        ash__free(copy);
        return rc;
    }
    if (rc == 0)
        rc = attempt(g, c, &id, password, out, err);
    if (rc == 0)
        remember(g, mark, *out);
    ash__free(copy);
    return rc;
}
