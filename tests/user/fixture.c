/* SPDX-License-Identifier: Apache-2.0 */
#include "fixture.h"

#include "remove_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int fixture_setup(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    ash_store_options o = ASH_STORE_OPTIONS_INIT;
    const char *base = getenv("TMPDIR");
    snprintf(f->folder, sizeof f->folder, "%s/ashlar-users-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    o.no_server = true;
    assert_ok(ash_store_open(f->folder, &o, &f->store, &f->err), &f->err);
    assert_ok(ash__users_init(&f->users, f->store, &f->err), &f->err);
    *state = f;
    return 0;
}

int fixture_teardown(void **state)
{
    fixture *f = *state;
    ash__users_release(&f->users);
    ash_store_close(f->store);
    remove_folder(f->folder);
    free(f);
    return 0;
}

bson_t *fixture_json(const char *text)
{
    bson_error_t error;
    bson_t *b = bson_new_from_json((const uint8_t *)text, -1, &error);
    if (b == NULL)
        fail_msg("bad JSON in the test: %s: %s", text, error.message);
    return b;
}

static const ash_doc *part(ash_doc doc, const char *name, ash_doc *holder)
{
    ash_value v = ash__doc_get(doc, name);
    if (v.type == 0)
        return NULL;
    *holder = ash__value_doc(v);
    return holder;
}

typedef int (*change_fn)(ash_users *u, const ash_user_id *id, const ash_user_change *change,
                         ash_error *err);

static int change(fixture *f, change_fn fn, const ash_user_kind *kind, const char *where,
                  const char *json)
{
    char name[300];
    ash_doc roles, privileges, custom, mechanisms;
    bson_t *b = fixture_json(json);
    ash_doc doc = ash__doc_from_bson(b);
    const char *at = strchr(where, '@');
    ash_user_change what = {.password = ash__doc_utf8(doc, "pwd", NULL),
                            .roles = part(doc, "roles", &roles),
                            .privileges = part(doc, "privileges", &privileges),
                            .custom_data = part(doc, "customData", &custom),
                            .mechanisms = part(doc, "mechanisms", &mechanisms)};
    snprintf(name, sizeof name, "%.*s", (int)(at - where), where);
    int rc = fn(&f->users, &(ash_user_id){kind, name, at + 1}, &what, &f->err);
    bson_destroy(b);
    return rc;
}

int fixture_create(fixture *f, const ash_user_kind *kind, const char *where, const char *json)
{
    return change(f, ash__user_create, kind, where, json);
}

int fixture_update(fixture *f, const ash_user_kind *kind, const char *where, const char *json)
{
    return change(f, ash__user_update, kind, where, json);
}

void fixture_resolve(fixture *f, const char *name, const char *db, ash_privileges *out)
{
    bson_t doc;
    assert_ok(ash__user_find(&f->users, &(ash_user_id){&ash__user_kind, name, db}, &doc, &f->err),
              &f->err);
    ash_doc roles = ash__value_doc(ash__doc_get(ash__doc_from_bson(&doc), "roles"));
    assert_ok(ash__roles_resolve(&f->users, roles, out, NULL, &f->err), &f->err);
    bson_destroy(&doc);
}
