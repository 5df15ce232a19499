/* SPDX-License-Identifier: Apache-2.0 */
#include "http/gate/session.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/mem.h"
#include "http/gate/visitor.h"

#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

enum { SECRET_BYTES = 32, TEXT_BYTES = 2 * SECRET_BYTES + 1, WAYS = 8, MAX_COOKIES = 8 };

static const char plain_name[] = "ashlar", host_name[] = "__Host-ashlar";

/* ---- cookies ---- */

static bool is_secure(const ash_exchange *x)
{
    const char *proto = ash__head_field(x->head, "X-Forwarded-Proto");
    return x->is_secure || (proto != NULL && strcasecmp(proto, "https") == 0);
}

static const char *cookie_name(const ash_exchange *x)
{
    return is_secure(x) ? host_name : plain_name;
}

/* All cookies of that name that could be ours, as there may be others': what else is served under
 * this host's name sets some, and the browser shows both. */
static int read_cookies(const ash_exchange *x, char texts[MAX_COOKIES][TEXT_BYTES])
{
    const char *name = cookie_name(x);
    size_t len = strlen(name);
    char *all = ash__head_join(x->head, "Cookie");
    int count = 0;
    for (const char *at = all; at != NULL && count < MAX_COOKIES; at = strpbrk(at, ";,")) {
        at += strspn(at, ";, ");
        if (strncmp(at, name, len) != 0 || at[len] != '=')
            continue;
        size_t digits = strspn(at + len + 1, "0123456789abcdef");
        if (digits != TEXT_BYTES - 1 || strchr("; ,", at[len + 1 + digits]) == NULL)
            continue;
        memcpy(texts[count], at + len + 1, digits);
        texts[count++][digits] = '\0';
    }
    ash__free(all);
    return count;
}

static void set_cookie(ash_exchange *x, const char *value, bool gone)
{
    ash__answer_field(x, "Set-Cookie", "%s=%s; Path=/; HttpOnly; SameSite=Strict%s%s",
                      cookie_name(x), value, is_secure(x) ? "; Secure" : "",
                      gone ? "; Max-Age=0" : "");
}

/* ---- the table ---- */

static void digest_of(const char *text, uint8_t out[ASH_DIGEST_MAX_BYTES])
{
    ash_digest *d = ash__digest_new(ASH_DIGEST_SHA256);
    ash_assert(d != NULL);
    ash__digest_add(d, text, strlen(text));
    ash__digest_finish(d, out);
    ash__digest_free(d);
}

static ash_session *ways_of(ash_gate *g, const uint8_t *digest)
{
    ash__mutex_assert_held(&g->lock);
    return &g->sessions[(digest[0] | (size_t)digest[1] << 8) % (ASH_SESSIONS / WAYS) * WAYS];
}

static bool is_over(const ash_session *s, int64_t now)
{
    return now - s->seen_ms >= ASH_SESSION_IDLE_MS || now - s->begun_ms >= ASH_SESSION_MAX_MS;
}

/* It may be over. */
static ash_session *find_any(ash_gate *g, const uint8_t *digest)
{
    ash_session *ways = ways_of(g, digest);
    for (int i = 0; i < WAYS; i++)
        if (ways[i].visitor != NULL &&
            CRYPTO_memcmp(ways[i].digest, digest, sizeof ways[i].digest) == 0)
            return &ways[i];
    return NULL;
}

/* NULL: there is none, or it is over. */
static ash_session *find(ash_gate *g, const uint8_t *digest, int64_t now)
{
    ash_session *s = find_any(g, digest);
    return s != NULL && !is_over(s, now) ? s : NULL;
}

/* In the place of one that is over, or was not used for longest; v is held. */
static void keep(ash_gate *g, const uint8_t *digest, ash_visitor *v)
{
    int64_t now = ash__clock_ms();
    ash__mutex_lock(&g->lock);
    ash_session *ways = ways_of(g, digest), *to = ways;
    for (int i = 0; i < WAYS && to->visitor != NULL; i++)
        if (ways[i].visitor == NULL || ways[i].seen_ms < to->seen_ms)
            to = &ways[i];
    ash_visitor *before = to->visitor;
    memcpy(to->digest, digest, sizeof to->digest);
    to->visitor = ash__visitor_hold(v);
    to->begun_ms = to->seen_ms = now;
    ash__mutex_unlock(&g->lock);
    ash__visitor_release(before);
}

/* v NULL: the session is over. */
static void replace(ash_gate *g, const uint8_t *digest, ash_visitor *v)
{
    ash_visitor *before = NULL;
    ash__mutex_lock(&g->lock);
    ash_session *s = find(g, digest, ash__clock_ms());
    if (s != NULL) {
        before = s->visitor;
        s->visitor = v != NULL ? ash__visitor_hold(v) : NULL;
    }
    ash__mutex_unlock(&g->lock);
    ash__visitor_release(before);
}

/* ---- requests ---- */

bool ash__gate_has_cookie(const ash_exchange *x)
{
    char texts[MAX_COOKIES][TEXT_BYTES];
    return read_cookies(x, texts) > 0;
}

static bool is_same_user(const ash_visitor *a, const ash_visitor *b)
{
    return strcmp(a->user, b->user) == 0 && strcmp(a->db, b->db) == 0 &&
           memcmp(a->user_id, b->user_id, sizeof a->user_id) == 0;
}

/* The session of one of the cookies.  Of two users' none counts: one was put there by somebody else,
 * to have this one work in another's name. */
static ash_visitor *find_session(ash_gate *g, const ash_exchange *x, bool in_use,
                                 uint8_t digest[ASH_DIGEST_MAX_BYTES])
{
    char texts[MAX_COOKIES][TEXT_BYTES];
    uint8_t one[ASH_DIGEST_MAX_BYTES];
    ash_visitor *v = NULL;
    bool two = false;
    int count = read_cookies(x, texts);
    int64_t now = ash__clock_ms();
    for (int i = 0; i < count; i++) {
        digest_of(texts[i], one);
        ash__mutex_lock(&g->lock);
        ash_session *s = find(g, one, now);
        if (s != NULL && v == NULL) {
            v = ash__visitor_hold(s->visitor);
            s->seen_ms = in_use ? now : s->seen_ms;
            memcpy(digest, one, sizeof one);
        } else if (s != NULL) {
            two = two || !is_same_user(v, s->visitor);
        }
        ash__mutex_unlock(&g->lock);
    }
    if (two) {
        ash__visitor_release(v);
        v = NULL;
    }
    return v;
}

int ash__gate_check_session(ash_gate *g, ash_coming *c, bool in_use, ash_visitor **out,
                            ash_error *err)
{
    uint8_t digest[ASH_DIGEST_MAX_BYTES];
    ash_error what = ASH_ERROR_INIT;
    ash_visitor *v = find_session(g, c->x, in_use, digest);
    if (v == NULL)
        return ASH_ENOTFOUND;
    int rc = 0;
    *out = v;
    if (v->known_at != ash__users_changes()) {
        rc = ash__visitor_renew(&g->users, v, out, &what);
        if (rc == 0 || rc == ASH_ENOTFOUND)
            replace(g, digest, rc == 0 ? *out : NULL);
        else
            *err = what;
        ash__visitor_release(v);
    }
    c->is_session = rc == 0;
    memcpy(c->session, digest, sizeof c->session);
    return rc;
}

bool ash__gate_session_lasts(ash_gate *g, const ash_coming *c, bool in_use)
{
    int64_t now = ash__clock_ms();
    ash__mutex_lock(&g->lock);
    ash_session *s = find_any(g, c->session);
    if (s != NULL && in_use && now - s->begun_ms < ASH_SESSION_MAX_MS)
        s->seen_ms = now;
    bool lasts = s != NULL && !is_over(s, now);
    ash__mutex_unlock(&g->lock);
    return lasts;
}

/* Of all cookies that came along. */
static void end_sessions(ash_gate *g, const ash_exchange *x)
{
    char texts[MAX_COOKIES][TEXT_BYTES];
    uint8_t digest[ASH_DIGEST_MAX_BYTES];
    int count = read_cookies(x, texts);
    for (int i = 0; i < count; i++) {
        digest_of(texts[i], digest);
        replace(g, digest, NULL);
    }
}

int ash__gate_sign_in(ash_gate *g, ash_exchange *x, const char *name, const char *password,
                      ash_error *err)
{
    uint8_t random[SECRET_BYTES], digest[ASH_DIGEST_MAX_BYTES];
    char text[TEXT_BYTES];
    ash_coming *c = x->visitor;
    ash_visitor *v = NULL;
    if (!x->is_private)
        return ash__fail(err, ASH_EINVAL, "passwords are taken over TLS and on this machine alone");
    if (c == NULL || strlen(name) >= ASH_USER_NAME_BYTES ||
        strlen(password) > ASH_GATE_PASSWORD_BYTES)
        return ash__fail(err, ASH_EACCES, "nobody signs in like that");
    int rc = ash__gate_check_password(g, c, name, password, &v, err);
    x->is_put_off = rc == ASH_EBUSY;
    if (rc != 0)
        return rc;
    ash__random(random, sizeof random);
    ash__hex(random, sizeof random, text);
    digest_of(text, digest);
    /* Whose it was knows it no more, and could not end it. */
    end_sessions(g, x);
    keep(g, digest, v);
    set_cookie(x, text, false);
    OPENSSL_cleanse(random, sizeof random);
    OPENSSL_cleanse(text, sizeof text);
    ash__visitor_release(v);
    return 0;
}

void ash__gate_sign_out(ash_gate *g, ash_exchange *x)
{
    if (g != NULL) {
        ash__gate_tell_sign_out(g, x);
        end_sessions(g, x);
    }
    set_cookie(x, "", true);
}

const char *ash__gate_session_of(const ash_exchange *x)
{
    const ash_coming *c = x->visitor;
    return c != NULL && c->is_session && c->visitor != NULL ? c->visitor->user : NULL;
}
