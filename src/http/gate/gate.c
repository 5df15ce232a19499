/* SPDX-License-Identifier: Apache-2.0 */
/* Everything is refused that nothing allows.  The order of the questions is: does anybody look; who
 * is it; do the privileges cover it. */
#include "http/gate/gate.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "http/gate/visitor.h"
#include "user/origin.h"

#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

/* ---- making ---- */

int ash__gate_new(ash_store *store, const ash_gate_options *opts, ash_gate **out, ash_error *err)
{
    ash_gate *g = ash__new(ash_gate);
    int rc = ash__users_init(&g->users, store, err);
    if (rc != 0) {
        ash__free(g);
        return rc;
    }
    g->always = opts->always;
    if (opts->attempts == NULL)
        g->own_attempts = ash__attempts_new();
    g->attempts = opts->attempts != NULL ? opts->attempts : g->own_attempts;
    g->audit = opts->audit;
    if (opts->usage == NULL)
        g->own_usage = ash__usage_table_new();
    g->usage = opts->usage != NULL ? opts->usage : g->own_usage;
    g->last = &g->first;
    ash__random(g->secret, sizeof g->secret);
    ash__mutex_init(&g->lock, ASH_RANK_KEPT);
    *out = g;
    return 0;
}

void ash__gate_free(ash_gate *g)
{
    if (g == NULL)
        return;
    ash_assert(g->first == NULL && g->checks == 0);
    for (size_t i = 0; i < ASH_GATE_REMEMBERED; i++)
        ash__visitor_release(g->entries[i].visitor);
    for (size_t i = 0; i < ASH_SESSIONS; i++)
        ash__visitor_release(g->sessions[i].visitor);
    ash__users_release(&g->users);
    ash__attempts_free(g->own_attempts);
    ash__usage_table_free(g->own_usage);
    OPENSSL_cleanse(g->secret, sizeof g->secret);
    ash__mutex_release(&g->lock);
    ash__free(g);
}

bool ash__gate_asks(ash_gate *g)
{
    ash_error err = ASH_ERROR_INIT;
    uint64_t now = ash__users_changes();
    bool any = true;
    if (g->always || atomic_load(&g->looked_at) == now)
        return g->always || atomic_load(&g->has_users);
    if (ash__users_any(&g->users, &any, &err) != 0) {
        ash__log(ASH_LOG_ERROR, "whether there are users cannot be told: %s", err.text);
        return true;
    }
    atomic_store(&g->has_users, any);
    atomic_store(&g->looked_at, now);
    return any;
}

/* ---- answers ---- */

static const ash_coming *coming_of(const ash_exchange *x)
{
    return x->visitor;
}

/* A script of the page shows a form of its own; for a browser's box it would be too late, and a
 * password that was typed there could not be forgotten again. */
static bool is_script(const ash_exchange *x)
{
    const char *to = ash__head_field(x->head, "Sec-Fetch-Dest");
    return (to != NULL && strcmp(to, "empty") == 0) ||
           ash__head_field(x->head, "X-Requested-With") != NULL;
}

static void challenge(ash_exchange *x, const char *text)
{
    if (x->is_private && !is_script(x))
        ash__answer_field(x, "WWW-Authenticate", "Basic realm=\"ashlar\", charset=\"UTF-8\"");
    else
        ash__answer_field(x, "WWW-Authenticate", "Bearer realm=\"ashlar\"");
    ash__answer_field(x, "Cache-Control", "no-store");
    ash__answer_text(x, 401, "%s", text);
}

const char *ash__gate_why_not(const ash_exchange *x)
{
    const ash_coming *c = coming_of(x);
    bool by_token = c != NULL && c->reads_only && !ash__method_is_safe(x->method);
    return by_token ? "this token is for reading alone" : "your roles do not allow that";
}

void ash__gate_refuse(ash_exchange *x)
{
    if (ash__gate_is_stranger(x))
        challenge(x, "this server asks who you are");
    else
        ash__answer_text(x, 403, "%s", ash__gate_why_not(x));
}

/* ---- entering ---- */

static const char wrong[] = "no user has this name and password, or this token";

static void dismiss(ash_exchange *x)
{
    ash_coming *c = x->visitor;
    x->user = x->user_db = NULL;
    ash__gate_leave_queue(c->gate, c);
    ash__gate_pace_end(c);
    /* Who hangs up while it has to wait did not want to know whether it was right: or it tries
     * another one. */
    if (c->is_attempt && c->had_to_wait)
        ash__attempts_end(c->gate->attempts, &c->attempt, false, ash__clock_ms(), NULL);
    else if (c->is_attempt)
        ash__attempts_drop(c->gate->attempts, &c->attempt);
    ash__visitor_release(c->visitor);
    ash__free(c->within);
    ash__free(c);
    x->visitor = NULL;
}

/* From where it may not come, the right password is a wrong one. */
static bool come_in(ash_exchange *x, ash_coming *c, ash_visitor *v)
{
    if (v->user != NULL &&
        !ash__origins_admit(ash__doc_from_bson(&v->origins), x->remote, x->local)) {
        ash__visitor_release(v);
        challenge(x, wrong);
        return false;
    }
    c->visitor = v;
    x->op = &v->op;
    x->user = v->user;
    x->user_db = v->db;
    x->decided = ash__gate_decided;
    return ash__gate_pace(c);
}

void ash__gate_decided(ash_exchange *x)
{
    ash__gate_tell_request(x);
    ash__gate_pace_answer(x);
}

/* What came of looking at a password or token.  What did not fit is nobody's to see, nor is whether
 * there is such a user. */
static bool decide(ash_exchange *x, ash_coming *c, int rc, ash_visitor *v, const ash_error *err)
{
    x->is_put_off = rc == ASH_EBUSY;
    if (rc == 0)
        return come_in(x, c, v);
    if (rc == ASH_EACCES)
        challenge(x, wrong);
    else if (rc != ASH_EBUSY)
        ash__answer_error(x, err);
    return false;
}

static bool enter_with_password(ash_gate *g, ash_exchange *x, ash_coming *c, char *pair)
{
    ash_error err = ASH_ERROR_INIT;
    ash_visitor *v = NULL;
    char *colon = strchr(pair, ':');
    if (colon == NULL || colon - pair >= ASH_USER_NAME_BYTES ||
        strlen(colon + 1) > ASH_GATE_PASSWORD_BYTES) {
        ash__answer_text(x, 400, "Basic has NAME:PASSWORD in UTF-8 and base64");
        return false;
    }
    *colon = '\0';
    /* Clients that know nothing but Basic show a token as the password. */
    bool is_token = strncmp(colon + 1, ASH_TOKEN_PREFIX, strlen(ASH_TOKEN_PREFIX)) == 0;
    int rc = is_token ? ash__gate_check_token(g, c, pair, colon + 1, &v, &err)
                      : ash__gate_check_password(g, c, pair, colon + 1, &v, &err);
    return decide(x, c, rc, v, &err);
}

static bool enter_by_basic(ash_gate *g, ash_exchange *x, ash_coming *c, const char *text)
{
    uint8_t *bytes = NULL;
    size_t len = 0;
    if (!ash__base64_read(text, strlen(text), &bytes, &len) || memchr(bytes, '\0', len) != NULL ||
        ash__text_good((const char *)bytes, len) != len) {
        ash__free(bytes);
        ash__answer_text(x, 400, "Basic has NAME:PASSWORD in UTF-8 and base64");
        return false;
    }
    bool in = enter_with_password(g, x, c, (char *)bytes);
    OPENSSL_cleanse(bytes, len);
    ash__free(bytes);
    return in;
}

/* What stands behind the scheme; NULL: it is another one. */
static const char *credentials_of(const char *field, const char *scheme)
{
    size_t len = strlen(scheme);
    if (strncasecmp(field, scheme, len) != 0 || field[len] != ' ')
        return NULL;
    return field + len + strspn(field + len, " ");
}

static bool is_given_twice(const ash_head *head, const char *name)
{
    int count = 0;
    for (size_t i = 0; i < head->field_count; i++)
        count += strcasecmp(head->fields[i].name, name) == 0;
    return count > 1;
}

static bool enter_by_field(ash_gate *g, ash_exchange *x, ash_coming *c, const char *field)
{
    const char *basic = credentials_of(field, "Basic"), *token = credentials_of(field, "Bearer");
    ash_error err = ASH_ERROR_INIT;
    ash_visitor *v = NULL;
    /* Which of the two counts is not to be guessed. */
    if (is_given_twice(x->head, "Authorization")) {
        ash__answer_text(x, 400, "Authorization is given twice");
        return false;
    }
    if ((basic != NULL || token != NULL) && !x->is_private) {
        ash__answer_text(x, 403,
                         "passwords and tokens are taken over TLS and on this machine alone");
        return false;
    }
    if (basic != NULL)
        return enter_by_basic(g, x, c, basic);
    if (token != NULL) {
        int rc = ash__gate_check_token(g, c, "", token, &v, &err);
        return decide(x, c, rc, v, &err);
    }
    challenge(x, "this server does not know that scheme");
    return false;
}

/* A browser sends its cookie along with whatever a page makes it send, and says which page; who does
 * not is none that changes something.  A cookie of nobody is no cookie. */
static bool enter_by_cookie(ash_gate *g, ash_exchange *x, ash_coming *c)
{
    ash_error err = ASH_ERROR_INIT;
    ash_visitor *v = NULL;
    if (!ash__method_is_safe(x->method) && ash__head_field(x->head, "Origin") == NULL &&
        ash__head_field(x->head, "Sec-Fetch-Site") == NULL) {
        ash__answer_text(x, 403, "a change by cookie says which page it comes from (Origin)");
        return false;
    }
    int rc = x->is_private ? ash__gate_check_session(g, c, true, &v, &err) : ASH_ENOTFOUND;
    if (rc == ASH_ENOTFOUND)
        return come_in(x, c, ash__visitor_nobody());
    return decide(x, c, rc, v, &err);
}

static ash_coming *new_coming(ash_gate *g, ash_exchange *x)
{
    ash_coming *c = ash__new(ash_coming);
    c->gate = g;
    c->x = x;
    x->visitor = c;
    x->dismiss = dismiss;
    return c;
}

bool ash__gate_recognize(ash_gate *g, ash_exchange *x)
{
    ash_error unused = ASH_ERROR_INIT;
    ash_visitor *v = NULL;
    if (g == NULL || x->visitor != NULL || !x->is_private || !ash__gate_asks(g) ||
        ash__head_field(x->head, "Authorization") != NULL || !ash__gate_has_cookie(x))
        return false;
    ash_coming *c = new_coming(g, x);
    if (ash__gate_check_session(g, c, false, &v, &unused) != 0)
        return false;
    c->visitor = v;
    return true;
}

bool ash__gate_enter(ash_gate *g, ash_exchange *x)
{
    ash_coming *c = x->visitor;
    x->is_put_off = false;
    /* It was let in, and waited for its turn, or was put off by whom it came to. */
    if (c != NULL && c->visitor != NULL)
        return ash__gate_pace(c) && (ash__gate_is_stranger(x) || ash__gate_admits_still(g, x));
    if (g == NULL || !ash__gate_asks(g))
        return true;
    if (c == NULL)
        c = new_coming(g, x);
    const char *field = ash__head_field(x->head, "Authorization");
    if (field != NULL)
        return enter_by_field(g, x, c, field);
    return ash__gate_has_cookie(x) ? enter_by_cookie(g, x, c)
                                   : come_in(x, c, ash__visitor_nobody());
}

/* ---- what is asked ---- */

const char *ash__gate_within(const ash_exchange *x)
{
    const ash_coming *c = coming_of(x);
    return c != NULL ? c->within : NULL;
}

bool ash__gate_owns_tokens(const ash_exchange *x)
{
    const ash_coming *c = coming_of(x);
    return c != NULL && !ash__gate_is_stranger(x) && !c->is_token;
}

ash_users *ash__gate_users(ash_gate *g)
{
    return &g->users;
}

/* ---- what has changed since ---- */

typedef enum since { SINCE_SAME, SINCE_MORE, SINCE_LESS, SINCE_GONE } since;

static bool has_role(const bson_t *roles, const bson_iter_t *role)
{
    bson_iter_t at;
    bson_t one, other;
    uint32_t len;
    const uint8_t *data;
    bson_iter_document(role, &len, &data);
    bool good = bson_init_static(&one, data, len) && bson_iter_init(&at, roles);
    while (good && bson_iter_next(&at)) {
        bson_iter_document(&at, &len, &data);
        if (bson_init_static(&other, data, len) && bson_equal(&one, &other))
            return true;
    }
    return false;
}

static bool has_all(const ash_visitor *v, const ash_visitor *less)
{
    bson_iter_t at;
    bool all = ash__privileges_cover(&v->privileges, &less->privileges) &&
               bson_iter_init(&at, &less->roles);
    while (all && bson_iter_next(&at))
        all = has_role(&v->roles, &at);
    return all;
}

/* Who cannot be looked up counts as gone. */
static since look_again(const ash_coming *c, bool in_use)
{
    const ash_visitor *v = c->visitor;
    ash_visitor *now = NULL;
    ash_error err = ASH_ERROR_INIT;
    if (v == NULL || v->user == NULL ||
        (c->is_session && !ash__gate_session_lasts(c->gate, c, in_use)) ||
        (c->is_token && !ash__token_lasts(&c->gate->users, c->token_id)))
        return SINCE_GONE;
    if (v->known_at == ash__users_changes())
        return SINCE_SAME;
    int rc = c->is_token ? ash__visitor_find(&c->gate->users, v->user, v->db, &now, &err)
                         : ash__visitor_renew(&c->gate->users, v, &now, &err);
    since what = SINCE_SAME;
    if (rc != 0 || memcmp(now->user_id, v->user_id, sizeof now->user_id) != 0 ||
        !ash__origins_admit(ash__doc_from_bson(&now->origins), c->x->remote, c->x->local))
        what = SINCE_GONE;
    else if (!has_all(now, v))
        what = SINCE_LESS;
    else if (!has_all(v, now))
        what = SINCE_MORE;
    ash__visitor_release(now);
    return what;
}

bool ash__gate_stays(const ash_exchange *x)
{
    return x->visitor == NULL || look_again(coming_of(x), false) == SINCE_SAME;
}

bool ash__gate_admits_still(ash_gate *g, ash_exchange *x)
{
    since what = SINCE_SAME;
    if (x->visitor != NULL)
        what = look_again(coming_of(x), true);
    else if (g != NULL && ash__gate_asks(g))
        what = SINCE_GONE;
    if (what == SINCE_GONE)
        challenge(x, "this server does not know any more who you are: nothing was done");
    else if (what == SINCE_LESS)
        ash__answer_text(x, 403, "a right was taken from you meanwhile: nothing was done");
    return x->status == 0;
}

/* ---- what it may ---- */

bool ash__gate_is_stranger(const ash_exchange *x)
{
    const ash_coming *c = coming_of(x);
    return c != NULL && (c->visitor == NULL || c->visitor->user == NULL);
}

bool ash__gate_may(const ash_exchange *x, const char *db, const char *coll, ash_actions actions)
{
    const ash_coming *c = coming_of(x);
    if (c != NULL && c->reads_only && (actions & ~ASH_CAN(FIND)) != 0)
        return false;
    return c == NULL || (c->visitor != NULL &&
                         ash__privileges_allow(&c->visitor->privileges, db, coll, actions));
}

bool ash__gate_may_cluster(const ash_exchange *x, ash_actions actions)
{
    const ash_coming *c = coming_of(x);
    return c == NULL ||
           (c->visitor != NULL && ash__privileges_allow_cluster(&c->visitor->privileges, actions));
}
