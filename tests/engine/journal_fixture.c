/* SPDX-License-Identifier: Apache-2.0 */
#include "journal_fixture.h"

#include "base/file.h"
#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

int journal_setup(void **state)
{
    fixture_setup(state);
    fixture *f = *state;
    fixture_close(f);
    f->opts.journal_after = 1;
    f->opts.journal_always = true;
    f->opts.interval_ms = 600000;
    fixture_open(f);
    fixture_create(f, "c", NULL);
    fixture_index(f, "c", "{\"v\":2,\"key\":{\"n\":1},\"name\":\"n_1\",\"unique\":true}");
    assert_ok(ash__engine_flush(f->engine, 0, &f->err),
              &f->err); /* from here on it has a journal */
    return 0;
}

size_t journal_size_of(int32_t id)
{
    return id % 4 == 3 ? 30000 : 200;
}

void journal_put(fixture *f, int32_t id, uint64_t *rid)
{
    bson_t *doc = fixture_chunk(id, id, journal_size_of(id));
    assert_ok(fixture_insert(f, "c", doc, ASH_ACK_DURABLE, rid), &f->err);
    bson_destroy(doc);
}

void journal_put_all(fixture *f, int32_t from, int32_t to)
{
    for (int32_t id = from; id < to; id++)
        journal_put(f, id, NULL);
}

static void copy_file(const char *from, const char *to)
{
    ash_error err = ASH_ERROR_INIT;
    uint8_t *data = NULL;
    size_t len = 0;
    int fd;
    assert_ok(ash__file_load(from, 1 << 30, &data, &len, &err), &err);
    assert_ok(ash__file_open(to, O_WRONLY | O_CREAT | O_TRUNC, &fd, &err), &err);
    assert_ok(ash__file_write(fd, data, len, 0, &err), &err);
    ash__file_close(fd);
    ash__free(data);
}

static void copy_folder(const char *from, const char *to)
{
    DIR *dir = opendir(from);
    assert_non_null(dir);
    mkdir(to, 0700);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat st;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char *source = ash__path_join(from, entry->d_name);
        char *target = ash__path_join(to, entry->d_name);
        assert_int_equal(stat(source, &st), 0);
        if (S_ISDIR(st.st_mode))
            copy_folder(source, target);
        else
            copy_file(source, target);
        ash__free(target);
        ash__free(source);
    }
    closedir(dir);
}

/* The store as a process that ends now would leave it. */
void journal_crash(fixture *f, fixture *after)
{
    *after = *f;
    strcat(after->folder, ".crash");
    copy_folder(f->folder, after->folder);
    after->engine = NULL;
}

void journal_end_crash(fixture *after)
{
    fixture_close(after);
    fixture_remove(after->folder);
}

bool journal_has(fixture *f, int32_t id)
{
    ash_record record;
    ash_value_box box;
    bool found;
    ash_snapshot *snap = fixture_snapshot(f);
    assert_ok(ash__record_find_id(snap, fixture_coll(f, snap, "c"), ash__box_int32(&box, id),
                                  &record, &found, &f->err),
              &f->err);
    if (found)
        assert_true(fixture_chunk_is(record.doc, id, id, journal_size_of(id)));
    ash__snapshot_close(snap);
    return found;
}

/* Exactly the ids from 1 to last are there, and everything is sound. */
void journal_expect_up_to(fixture *f, int32_t last)
{
    assert_int_equal(fixture_count(f, "c"), (uint64_t)last);
    for (int32_t id = 1; id <= last; id++)
        assert_true(journal_has(f, id));
    fixture_check(f);
}
