/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens: looked up for each request, so that one that was taken back is refused by the next. */
#include "http/gate/visitor.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

#include <string.h>

/* Who shows it, as it is now. */
static int find_visitor(ash_gate *g, ash_coming *c, const ash_token *t, ash_visitor **out,
                        ash_error *err)
{
    ash_error what = ASH_ERROR_INIT;
    ash_visitor *v = NULL;
    int rc = ash__visitor_find(&g->users, t->user, t->db, &v, &what);
    /* Another user of the same name has not made it. */
    if (rc == 0 && memcmp(v->user_id, t->user_id, sizeof v->user_id) != 0)
        rc = ASH_ENOTFOUND;
    if (rc != 0) {
        ash__visitor_release(v);
        return rc == ASH_ENOTFOUND ? ash__fail(err, rc, "the user of the token is gone")
                                   : (*err = what, rc);
    }
    c->is_token = true;
    memcpy(c->token_id, t->id, sizeof c->token_id);
    c->reads_only = t->read_only;
    c->within = t->path != NULL ? ash__strdup(t->path) : NULL;
    *out = v;
    return 0;
}

/* "NAME", or "DB.NAME"; "" is whoever's the token is. */
static bool is_name_of(const ash_token *t, const char *name)
{
    size_t len = strlen(t->db);
    if (name[0] == '\0')
        return true;
    if (strcmp(t->db, "admin") == 0 && strcmp(name, t->user) == 0)
        return true;
    return strncmp(name, t->db, len) == 0 && name[len] == '.' &&
           strcmp(name + len + 1, t->user) == 0;
}

/* The wait of who shows wrong ones often; nobody's name is known.  true: it is over. */
static bool has_waited(ash_gate *g, ash_coming *c)
{
    const ash_attempt_name nobody = {NULL, NULL};
    int64_t now = ash__clock_ms();
    if (!c->is_attempt) {
        c->due_ms = now + ash__attempts_begin(g->attempts, c->x->remote, &nobody, now, &c->attempt);
        c->is_attempt = true;
    }
    c->x->due_ms = c->due_ms > now ? c->due_ms : 0;
    return c->x->due_ms == 0;
}

static int refuse(ash_gate *g, ash_coming *c, ash_error *err)
{
    int64_t skipped = 0;
    if (!has_waited(g, c))
        return ASH_EBUSY;
    c->is_attempt = false;
    if (ash__attempts_end(g->attempts, &c->attempt, false, ash__clock_ms(), &skipped)) {
        ash__log(ASH_LOG_WARN, "%s showed a token that is none, or none any more, %lld times",
                 c->x->remote, (long long)skipped + 1);
        ash__gate_tell(g, c->x, &(ash_attempt_name){"", ""}, "token", true, skipped);
    }
    return ash__fail(err, ASH_EACCES, "there is no such token, or it is over");
}

int ash__gate_check_token(ash_gate *g, ash_coming *c, const char *name, const char *text,
                          ash_visitor **out, ash_error *err)
{
    ash_token t;
    ash_error what = ASH_ERROR_INIT;
    int rc = ash__token_find(&g->users, text, &t, &what);
    if (rc == 0) {
        rc = is_name_of(&t, name) ? find_visitor(g, c, &t, out, &what) : ASH_ENOTFOUND;
        if (rc == 0 && ash__token_use(&g->users, &t, &what) != 0)
            ash__log(ASH_LOG_WARN, "when a token was used could not be kept: %s", what.text);
        ash__token_release(&t);
    }
    if (rc == ASH_ENOTFOUND)
        return refuse(g, c, err);
    if (rc != 0)
        *err = what;
    return rc;
}
