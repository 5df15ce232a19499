/* SPDX-License-Identifier: Apache-2.0 */
/* Signing in and out by a form, without scripts. */
#include "http/gate/session.h"
#include "http/site/site.h"

#include "base/mem.h"
#include "http/gate/gate.h"
#include "http/json.h"
#include "http/site/state.h"

#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

enum { MAX_FORM_BYTES = 8192 };
static const char form_type[] = "application/x-www-form-urlencoded";

/* ---- where to ---- */

/* A path here, and none that a browser would take for another host. */
static bool is_local(const char *to)
{
    if (to[0] != '/' || to[1] == '/' || to[1] == '\\')
        return false;
    for (const char *at = to; *at != '\0'; at++)
        if ((unsigned char)*at <= ' ' || *at == '\\' || *at == 0x7f)
            return false;
    return true;
}

bool ash__site_lead_to_login(ash_exchange *x)
{
    ash_buffer to = ASH_BUFFER_INIT;
    const char *dest = ash__head_field(x->head, "Sec-Fetch-Dest");
    bool is_page = strcmp(x->method, "GET") == 0 && x->is_private &&
                   ash__head_has_word(x->head, "Accept", "text/html") &&
                   (dest == NULL || strcmp(dest, "document") == 0);
    if (!is_page)
        return false;
    ash__site_query_value(&to, x->head->target);
    ash__answer_field(x, "Location", ASH_SITE_RESERVED "/login?to=%s", ash__buffer_text(&to));
    ash__answer_field(x, "Cache-Control", "no-store");
    ash__answer_empty(x, 303);
    ash__buffer_release(&to);
    return true;
}

/* ---- the form ---- */

static void page_fields(ash_exchange *x)
{
    ash__answer_field(x, "Content-Security-Policy",
                      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; "
                      "base-uri 'none'; frame-ancestors 'none'");
    ash__answer_field(x, "X-Content-Type-Options", "nosniff");
    ash__answer_field(x, "X-Frame-Options", "DENY");
    ash__answer_field(x, "Referrer-Policy", "same-origin");
    ash__answer_field(x, "Cache-Control", "no-store");
}

static void add_head(ash_buffer *out, const char *title)
{
    ash__buffer_printf(
        out,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
        "<meta name=\"color-scheme\" content=\"light dark\"><link rel=\"icon\" href=\"",
        title);
    ash__site_asset_href(out, "icon.svg");
    ash__buffer_append_text(out, "\"><link rel=\"stylesheet\" href=\"");
    ash__site_asset_href(out, "page.css");
    ash__buffer_printf(out, "\"></head><body>\n<main><h1>%s</h1>\n", title);
}

void ash__site_add_sign_out(ash_buffer *out, const char *user)
{
    if (user == NULL)
        return;
    ash__buffer_append_text(out, "<form method=\"post\" action=\"" ASH_SITE_RESERVED
                                 "/logout\"><button>Sign out <bdi>");
    ash__html_text(out, user);
    ash__buffer_append_text(out, "</bdi></button></form>");
}

bool ash__site_refuse_by_page(ash_exchange *x)
{
    ash_buffer out = ASH_BUFFER_INIT;
    const char *user = ash__gate_session_of(x);
    if (user == NULL || strcmp(x->method, "GET") != 0 || !ash__site_wants_page(x))
        return false;
    add_head(&out, "Not allowed");
    ash__buffer_append_text(&out, "<p>Your roles do not allow that. Whoever looks after this "
                                  "server can give you more; or sign in as somebody else.</p>");
    ash__site_add_sign_out(&out, user);
    ash__buffer_append_text(&out, "</main></body></html>\n");
    page_fields(x);
    ash__answer_body(x, 403, "text/html; charset=utf-8", out.data, out.len);
    ash__buffer_release(&out);
    return true;
}

static void answer_form(ash_exchange *x, int status, const char *to, const char *said)
{
    ash_buffer out = ASH_BUFFER_INIT;
    add_head(&out, "Sign in");
    if (said != NULL) {
        ash__buffer_append_text(&out, "<p class=\"bad\" role=\"alert\">");
        ash__html_text(&out, said);
        ash__buffer_append_text(&out, "</p>\n");
    }
    ash__buffer_append_text(
        &out, "<form method=\"post\" action=\"" ASH_SITE_RESERVED
              "/login\"><p><label>Name <input name=\"name\" autocomplete=\"username\" required "
              "autofocus></label></p><p><label>Password <input type=\"password\" name=\"password\" "
              "autocomplete=\"current-password\" required></label></p><input type=\"hidden\" "
              "name=\"to\" value=\"");
    ash__html_text(&out, to);
    ash__buffer_append_text(&out,
                            "\"><p><button>Sign in</button></p></form></main></body></html>\n");
    page_fields(x);
    ash__answer_body(x, status, "text/html; charset=utf-8", out.data, out.len);
    ash__buffer_release(&out);
}

/* ---- what it sent ---- */

typedef struct signing {
    ash_site *site;
    ash_buffer body;
} signing;

static void release(ash_exchange *x)
{
    signing *s = x->state;
    if (s->body.data != NULL)
        OPENSSL_cleanse(s->body.data, s->body.len);
    ash__buffer_release(&s->body);
    ash__free(s);
}

static void take(ash_exchange *x, const void *data, size_t len)
{
    signing *s = x->state;
    if (s->body.len + len > MAX_FORM_BYTES)
        ash__answer_text(x, 413, "the form is longer than 8 KiB");
    else
        ash__buffer_append(&s->body, data, len);
}

static void answer_sign_in(signing *s, ash_exchange *x, const char *name, const char *password,
                           const char *to)
{
    ash_error err = ASH_ERROR_INIT;
    int rc = ash__gate_sign_in(s->site->gate, x, name, password, &err);
    if (rc == 0) {
        ash__answer_field(x, "Location", "%s", to);
        ash__answer_field(x, "Cache-Control", "no-store");
        ash__answer_empty(x, 303);
    } else if (rc == ASH_EACCES) {
        ash__answer_field(x, "WWW-Authenticate", "Bearer realm=\"ashlar\"");
        answer_form(x, 401, to, "No user has this name and password.");
    } else if (rc == ASH_EINVAL) {
        answer_form(x, 403, to, err.text);
    } else if (rc != ASH_EBUSY) {
        ash__answer_error(x, &err);
    }
}

static void finish(ash_exchange *x)
{
    signing *s = x->state;
    ash_http_target form = {.query = (char *)(uintptr_t)ash__buffer_text(&s->body)};
    char *name = NULL, *password = NULL, *to = NULL;
    bool good = ash__http_target_query(&form, "name", &name) &&
                ash__http_target_query(&form, "password", &password);
    if (!ash__http_target_query(&form, "to", &to) || !is_local(to)) {
        ash__free(to);
        to = ash__strdup("/");
    }
    if (good)
        answer_sign_in(s, x, name, password, to);
    else
        answer_form(x, 400, to, "The form has a name and a password.");
    if (password != NULL)
        OPENSSL_cleanse(password, strlen(password));
    ash__free(name);
    ash__free(password);
    ash__free(to);
}

/* Another site's page could sign somebody in as somebody else; what says where it comes from was
 * looked at (origin.c), what does not is no browser's form. */
static bool refuse_form(ash_exchange *x)
{
    const char *type = ash__head_field(x->head, "Content-Type");
    if (type == NULL || strncasecmp(type, form_type, sizeof form_type - 1) != 0)
        ash__answer_text(x, 415, "it is a form, of the type %s", form_type);
    else if (ash__head_field(x->head, "Origin") == NULL &&
             ash__head_field(x->head, "Sec-Fetch-Site") == NULL)
        ash__answer_text(x, 403, "a form says which page it comes from (Origin)");
    return x->status != 0;
}

void ash__site_login(ash_site *s, ash_exchange *x, const char *rest)
{
    char *to = NULL;
    (void)rest;
    if (s->gate == NULL || !ash__gate_asks(s->gate)) {
        ash__answer_field(x, "Location", "/");
        ash__answer_empty(x, 303);
    } else if (strcmp(x->method, "GET") == 0 || x->is_head) {
        bool given = ash__http_target_query(&x->target, "to", &to) && is_local(to);
        answer_form(x, 200, given ? to : "/", NULL);
    } else if (strcmp(x->method, "POST") != 0) {
        ash__answer_field(x, "Allow", "GET, HEAD, POST");
        ash__answer_text(x, 405, "it is a form: GET and POST");
    } else if (!refuse_form(x)) {
        signing *f = ash__new(signing);
        f->site = s;
        x->state = f;
        x->release = release;
        x->take = take;
        x->finish = finish;
    }
    ash__free(to);
}

void ash__site_logout(ash_site *s, ash_exchange *x, const char *rest)
{
    (void)rest;
    if (strcmp(x->method, "POST") != 0) {
        ash__answer_field(x, "Allow", "POST");
        ash__answer_text(x, 405, "signing out is a POST");
        return;
    }
    ash__gate_sign_out(s->gate, x);
    ash__answer_field(x, "Location", ASH_SITE_RESERVED "/login");
    ash__answer_field(x, "Cache-Control", "no-store");
    ash__answer_empty(x, 303);
}
