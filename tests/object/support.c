/* SPDX-License-Identifier: Apache-2.0 */
#include "support.h"

#include "base/hash.h"
#include "remove_folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void support_open(fixture *f, ash_object_manager **out)
{
    ash_object_manager_options o = ASH_OBJECT_MANAGER_OPTIONS_INIT;
    const char *uri = getenv("ASH_OBJECT_STORE");
    o.db = f->db;
    assert_ok(ash_object_manager_open(uri != NULL ? uri : f->folder, &o, out, &f->err), &f->err);
}

int support_setup(void **state)
{
    fixture *f = ash__new(fixture);
    const char *tmp = getenv("TMPDIR");
    uint8_t random[6];
    f->folder = ash__sprintf("%s/ashlar-object-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(f->folder) == NULL)
        return -1;
    ash__random(random, sizeof random);
    f->base[0] = 't';
    ash__hex(random, sizeof random, f->base + 1);
    snprintf(f->db, sizeof f->db, "object_%s", f->base);
    support_open(f, &f->manager);
    f->can.size = sizeof f->can;
    assert_ok(ash_object_manager_capabilities(f->manager, &f->can, &f->err), &f->err);
    f->store = support_store(f, "", NULL);
    *state = f;
    return 0;
}

static void delete_all(fixture *f)
{
    ash_object_status_listing *l = NULL;
    const ash_object_status *st = NULL;
    assert_ok(ash_object_manager_list(f->manager, NULL, &l, &f->err), &f->err);
    while (ash_object_status_listing_next(l, &st, &f->err) == 0 && st != NULL)
        if (strncmp(ash_object_status_name(st), f->base, strlen(f->base)) == 0)
            (void)ash_object_manager_delete(f->manager, ash_object_status_name(st), NULL, NULL);
    ash_object_status_listing_free(l);
}

int support_teardown(void **state)
{
    fixture *f = *state;
    ash_object_store_close(f->store);
    delete_all(f);
    ash_object_manager_close(f->manager);
    remove_folder(f->folder);
    ash__free(f->folder);
    ash__free(f);
    return 0;
}

void support_reopen(fixture *f)
{
    char *name = ash__strdup(ash_object_store_name(f->store));
    ash_object_store_close(f->store);
    ash_object_manager_close(f->manager);
    support_open(f, &f->manager);
    assert_ok(ash_object_manager_bind(f->manager, name, NULL, &f->store, &f->err), &f->err);
    ash__free(name);
}

const char *support_name(fixture *f, const char *suffix)
{
    snprintf(f->name, sizeof f->name, "%s%s%s", f->base, suffix[0] != '\0' ? "-" : "", suffix);
    return f->name;
}

ash_object_store *support_store(fixture *f, const char *suffix, ash_object_config *config)
{
    ash_object_config own = ASH_OBJECT_CONFIG_INIT;
    ash_object_store *s = NULL;
    config = config != NULL ? config : &own;
    config->name = support_name(f, suffix);
    assert_ok(ash_object_manager_create(f->manager, config, NULL, &s, &f->err), &f->err);
    return s;
}

void support_configure(fixture *f, ash_object_config *config)
{
    ash_object_store_close(f->store);
    assert_ok(ash_object_manager_delete(f->manager, support_name(f, ""), NULL, &f->err), &f->err);
    f->store = support_store(f, "", config);
}

uint8_t *support_bytes(size_t len, uint32_t seed)
{
    uint8_t *data = ash__alloc(len + 1);
    uint32_t x = seed * 2654435761u + 1;
    for (size_t i = 0; i < len; i++) {
        x = x * 1664525u + 1013904223u;
        data[i] = (uint8_t)(x >> 24);
    }
    return data;
}

/* ---- putting and getting ---- */

int support_try_put(fixture *f, ash_object_store *s, const char *name, const void *data, size_t len,
                    ash_object **out)
{
    ash_object_meta meta = ASH_OBJECT_META_INIT;
    meta.name = name;
    return ash_object_store_put_bytes(s, &meta, data, len, NULL, NULL, out, &f->err);
}

void support_put(fixture *f, ash_object_store *s, const char *name, const char *text)
{
    support_put_bytes(f, s, name, text, strlen(text));
}

void support_put_bytes(fixture *f, ash_object_store *s, const char *name, const void *data,
                       size_t len)
{
    assert_ok(support_try_put(f, s, name, data, len, NULL), &f->err);
}

ash_object *support_info(fixture *f, ash_object_store *s, const char *name)
{
    ash_object *o = NULL;
    assert_ok(ash_object_store_info(s, name, NULL, NULL, &o, &f->err), &f->err);
    return o;
}

void support_delete(fixture *f, ash_object_store *s, const char *name)
{
    assert_ok(ash_object_store_delete(s, name, NULL, NULL, NULL, &f->err), &f->err);
}

int support_read(fixture *f, ash_object_store *s, const char *name, char *text, size_t room)
{
    uint8_t *data = NULL;
    size_t len = 0;
    int rc = ash_object_store_get_bytes(s, name, NULL, NULL, &data, &len, &f->err);
    if (rc != 0)
        return rc;
    assert_true(len < room);
    memcpy(text, data, len);
    text[len] = '\0';
    ash_object_bytes_free(data);
    return 0;
}

void support_expect(fixture *f, ash_object_store *s, const char *name, const char *text)
{
    char got[4096];
    assert_ok(support_read(f, s, name, got, sizeof got), &f->err);
    assert_string_equal(got, text);
}

void support_expect_bytes(fixture *f, ash_object_store *s, const char *name, const void *data,
                          size_t len)
{
    uint8_t *got = NULL;
    size_t got_len = 0;
    assert_ok(ash_object_store_get_bytes(s, name, NULL, NULL, &got, &got_len, &f->err), &f->err);
    assert_int_equal(got_len, len);
    assert_true(len == 0 || memcmp(got, data, len) == 0);
    ash_object_bytes_free(got);
}

void support_expect_missing(fixture *f, ash_object_store *s, const char *name)
{
    ash_object *o = NULL;
    uint8_t *data = NULL;
    size_t len = 0;
    assert_int_equal(ash_object_store_info(s, name, NULL, NULL, &o, &f->err), ASH_ENOTFOUND);
    assert_null(o);
    assert_int_equal(ash_object_store_get_bytes(s, name, NULL, NULL, &data, &len, &f->err),
                     ASH_ENOTFOUND);
    assert_null(data);
}

/* ---- many ---- */

void support_expect_listing(fixture *f, ash_object_listing *l, const char *names)
{
    char got[4096] = "";
    const ash_object *o = NULL;
    for (;;) {
        assert_ok(ash_object_listing_next(l, &o, &f->err), &f->err);
        if (o == NULL)
            break;
        size_t at = strlen(got);
        snprintf(got + at, sizeof got - at, "%s%s%s", at > 0 ? " " : "", ash_object_name(o),
                 ash_object_is_deleted(o) ? "!" : "");
    }
    ash_object_listing_free(l);
    assert_string_equal(got, names);
}

void support_expect_list(fixture *f, ash_object_store *s, const ash_object_list_options *opts,
                         const char *names)
{
    ash_object_listing *l = NULL;
    assert_ok(ash_object_store_list(s, opts, NULL, &l, &f->err), &f->err);
    support_expect_listing(f, l, names);
}

ash_object_status *support_status(fixture *f, ash_object_store *s)
{
    ash_object_status *st = NULL;
    assert_ok(ash_object_store_status(s, NULL, &st, &f->err), &f->err);
    return st;
}

static int64_t count_live(fixture *f, ash_object_store *s)
{
    ash_object_listing *l = NULL;
    const ash_object *o = NULL;
    int64_t n = 0;
    assert_ok(ash_object_store_list(s, NULL, NULL, &l, &f->err), &f->err);
    while (ash_object_listing_next(l, &o, &f->err) == 0 && o != NULL)
        n++;
    ash_object_listing_free(l);
    return n;
}

void support_expect_sound(fixture *f, ash_object_store *s)
{
    ash_object_sweep_options o = ASH_OBJECT_SWEEP_OPTIONS_INIT;
    ash_object_sweep_report r = ASH_OBJECT_SWEEP_REPORT_INIT;
    o.dry_run = true;
    o.min_age_s = -1;
    assert_ok(ash_object_store_sweep(s, &o, NULL, &r, &f->err), &f->err);
    assert_int_equal(r.orphans, 0);
    ash_object_status *st = support_status(f, s);
    if (ash_object_status_objects(st) >= 0 && r.expired == 0)
        assert_int_equal(ash_object_status_objects(st), count_live(f, s));
    ash_object_status_free(st);
}
