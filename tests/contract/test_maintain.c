/* SPDX-License-Identifier: Apache-2.0 */
#include "contract.h"
#include "remove_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maintenance is for who names a folder, be it served or not: elsewhere each call is refused with
 * `refusal`, and everything that needs more than that is left out. */

enum { DOCS = 6, DOC_BYTES = 100000, ROOM = 256, POISON = 0xa5 };

static int refusal(const contract *t)
{
    const char *uri = getenv("ASH_TEST_STORE");
    if (strcmp(t->can.backend, "mongodb") == 0)
        return ASH_EUNSUPPORTED;
    return uri != NULL && strncmp(uri, "mongodb://", 10) == 0 ? ASH_EACCES : 0;
}

static const char *store_folder(const contract *t)
{
    return t->folder[0] != '\0' ? t->folder : getenv("ASH_TEST_STORE");
}

/* A place that only document number n of this test has. */
static void mark(const contract *t, int32_t n, char *out, size_t size)
{
    snprintf(out, size, "<%s, document %d>", t->db, (int)n);
}

static void fill(contract *t)
{
    static char text[DOC_BYTES];
    memset(text, 'x', sizeof text - 1);
    for (int32_t n = 0; n < DOCS; n++) {
        char place[80];
        mark(t, n, place, sizeof place);
        memcpy(text, place, strlen(place));
        bson_t *doc = BCON_NEW("_id", BCON_INT32(n), "text", BCON_UTF8(text));
        assert_ok(ash_collection_insert_one(t->c, doc, NULL, &t->err), &t->err);
        bson_destroy(doc);
    }
    assert_ok(ash_store_flush(t->store, NULL, &t->err), &t->err);
}

/* ---- damage ---- */

static char *find(char *all, size_t size, const char *place)
{
    size_t len = strlen(place);
    for (size_t i = 0; i + len <= size; i++)
        if (memcmp(all + i, place, len) == 0)
            return all + i;
    return NULL;
}

static bool flip_in(const char *path, const char *place)
{
    struct stat st;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    char *all = malloc((size_t)st.st_size + 1);
    assert_true(pread(fd, all, (size_t)st.st_size, 0) == st.st_size);
    char *at = find(all, (size_t)st.st_size, place);
    if (at != NULL) {
        char byte = (char)(*at ^ 0x10);
        assert_true(pwrite(fd, &byte, 1, at - all) == 1);
    }
    free(all);
    close(fd);
    return at != NULL;
}

/* Behind the store's back, in a segment.  place: as it stands there. */
static void flip(const contract *t, const char *place)
{
    char path[700];
    bool found = false;
    struct dirent *entry;
    snprintf(path, sizeof path, "%s/segments", store_folder(t));
    DIR *segments = opendir(path);
    assert_non_null(segments);
    while (!found && (entry = readdir(segments)) != NULL) {
        snprintf(path, sizeof path, "%s/segments/%s", store_folder(t), entry->d_name);
        found = strstr(entry->d_name, ".seg") != NULL && flip_in(path, place);
    }
    closedir(segments);
    assert_true(found);
}

/* Mends what the first call breaks. */
static void flip_document(const contract *t, int32_t n, bool back)
{
    char place[80];
    mark(t, n, place, sizeof place);
    place[0] = (char)(back ? place[0] ^ 0x10 : place[0]);
    flip(t, place);
}

/* ---- what is told ---- */

typedef struct told {
    const contract *t;
    int findings;
    int calls; /* of progress */
} told;

static void note(void *ctx, const char *text, const bson_t *facts)
{
    told *seen = ctx;
    bson_iter_t it;
    assert_non_null(strstr(text, " in segment "));
    assert_true(bson_iter_init_find(&it, facts, "text"));
    assert_string_equal(bson_iter_utf8(&it, NULL), text);
    assert_true(bson_iter_init_find(&it, facts, "db"));
    assert_string_equal(bson_iter_utf8(&it, NULL), seen->t->db);
    assert_true(bson_iter_init_find(&it, facts, "collection"));
    assert_string_equal(bson_iter_utf8(&it, NULL), "things");
    assert_true(bson_iter_init_find(&it, facts, "kind"));
    assert_string_equal(bson_iter_utf8(&it, NULL), "payload");
    seen->findings++;
}

static bool go_on(void *ctx, const char *what, int64_t done, int64_t total)
{
    told *seen = ctx;
    assert_non_null(what);
    assert_true(done >= 0 && total >= 0);
    seen->calls++;
    return true;
}

static bool stop(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)what, (void)done, (void)total;
    ++*(int *)ctx;
    return false;
}

/* ---- check ---- */

static void test_contract_maintain__check_of_a_sound_store(void **state)
{
    contract *t = *state;
    told seen = {.t = t};
    ash_store_check_options opts = ASH_STORE_CHECK_OPTIONS_INIT;
    ash_store_check_report r = ASH_STORE_CHECK_REPORT_INIT;
    opts.finding = note;
    opts.progress = go_on;
    opts.finding_ctx = opts.progress_ctx = &seen;
    fill(t);
    if (refusal(t) != 0)
        return;
    assert_ok(ash_store_check(t->store, &opts, &r, &t->err), &t->err);
    assert_true(r.size == sizeof r && r.clean);
    assert_true(r.collections >= 1 && r.records >= DOCS && r.index_keys >= DOCS);
    assert_true(r.payload_bytes >= (int64_t)DOCS * DOC_BYTES);
    assert_true(r.findings == 0 && r.told == 0 && seen.findings == 0);
    assert_true(seen.calls > 0);
    opts.without_payloads = true;
    assert_ok(ash_store_check(t->store, &opts, &r, &t->err), &t->err);
    assert_true(r.clean && r.records >= DOCS && r.payload_bytes == 0);
    assert_ok(ash_store_check(t->store, NULL, NULL, &t->err), &t->err);
}

static void test_contract_maintain__check_finds_damage(void **state)
{
    contract *t = *state;
    told seen = {.t = t};
    ash_store_check_options opts = ASH_STORE_CHECK_OPTIONS_INIT;
    ash_store_check_report r = ASH_STORE_CHECK_REPORT_INIT;
    fill(t);
    if (refusal(t) != 0)
        return;
    flip_document(t, 1, false);
    flip_document(t, 4, false);
    opts.finding = note;
    opts.finding_ctx = &seen;
    assert_int_equal(ash_store_check(t->store, &opts, &r, &t->err), ASH_ECORRUPT);
    assert_non_null(strstr(t->err.text, "2 findings"));
    assert_true(!r.clean && r.findings == 2 && r.told == 2 && seen.findings == 2);
    assert_true(r.records >= DOCS);
    /* Nobody is told, and nothing is lost. */
    opts.finding = NULL;
    assert_int_equal(ash_store_check(t->store, &opts, &r, &t->err), ASH_ECORRUPT);
    assert_true(r.findings == 2 && r.told == 0);
    assert_int_equal(ash_store_check(t->store, NULL, NULL, NULL), ASH_ECORRUPT);
    /* It is in the contents alone. */
    opts.without_payloads = true;
    assert_ok(ash_store_check(t->store, &opts, &r, &t->err), &t->err);
    flip_document(t, 1, true);
    flip_document(t, 4, true);
    assert_ok(ash_store_check(t->store, NULL, &r, &t->err), &t->err);
    assert_true(r.clean && r.findings == 0);
}

/* ---- backup ---- */

/* A folder that the test is in, and that its backups lie in. */
typedef struct place {
    char folder[64];
    int before;
} place;

static void enter(place *p)
{
    strcpy(p->folder, "/tmp/ashlar-maintain-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    p->before = open(".", O_RDONLY | O_DIRECTORY);
    assert_true(p->before >= 0);
    assert_int_equal(chdir(p->folder), 0);
}

static void leave(place *p)
{
    assert_int_equal(fchdir(p->before), 0);
    close(p->before);
    remove_folder(p->folder);
}

static int64_t count_in_copy(const contract *t, const char *folder)
{
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    ash_store *store = NULL;
    ash_collection *c = NULL;
    ash_error err = ASH_ERROR_INIT;
    int64_t n = -1;
    opts.must_exist = opts.read_only = true;
    assert_ok(ash_store_open(folder, &opts, &store, &err), &err);
    assert_ok(ash_collection_new(store, t->db, "things", &c, &err), &err);
    assert_ok(ash_collection_count(c, NULL, NULL, &n, &err), &err);
    ash_collection_free(c);
    ash_store_close(store);
    return n;
}

/* The second one with the whole path. */
static void test_contract_maintain__backup(void **state)
{
    contract *t = *state;
    told seen = {.t = t};
    place p;
    char path[80];
    ash_store_backup_options opts = ASH_STORE_BACKUP_OPTIONS_INIT;
    ash_store_backup_report r = ASH_STORE_BACKUP_REPORT_INIT;
    fill(t);
    if (refusal(t) != 0)
        return;
    enter(&p);
    snprintf(path, sizeof path, "%s/copy", p.folder);
    opts.progress = go_on;
    opts.progress_ctx = &seen;
    opts.verify = true;
    assert_ok(ash_store_backup(t->store, "./copy", &opts, &r, &t->err), &t->err);
    assert_true(r.size == sizeof r && r.clean && r.damaged == 0 && r.findings == 0 && r.told == 0);
    assert_true(r.records >= DOCS && r.copied_records >= DOCS && r.segments >= 1);
    assert_true(r.copied_bytes >= (int64_t)DOCS * DOC_BYTES);
    assert_true(r.meta_bytes > 0 && r.copied_meta_bytes == r.meta_bytes);
    assert_true(seen.calls > 0);
    assert_int_equal(count_in_copy(t, "./copy"), DOCS);
    assert_ok(ash_store_backup(t->store, path, NULL, &r, &t->err), &t->err);
    assert_true(r.copied_records == 0 && r.copied_bytes == 0);
    assert_true(r.copied_meta_bytes < r.meta_bytes);
    leave(&p);
}

static void test_contract_maintain__backup_into_wrong_folders(void **state)
{
    contract *t = *state;
    place p;
    ash_store_backup_report r = ASH_STORE_BACKUP_REPORT_INIT;
    if (refusal(t) != 0)
        return;
    enter(&p);
    assert_int_equal(ash_store_backup(t->store, "", NULL, &r, &t->err), ASH_EINVAL);
    assert_int_equal(mkdir("full", 0700), 0);
    assert_int_equal(mkdir("full/of", 0700), 0);
    r.records = 77;
    assert_int_equal(ash_store_backup(t->store, "full", NULL, &r, &t->err), ASH_EEXISTS);
    assert_int_equal(r.records, 77);
    assert_int_equal(access("full/ashlar.store", F_OK), -1);
    leave(&p);
}

static void change_copy(const contract *t, const char *folder)
{
    ash_store *store = NULL;
    ash_collection *c = NULL;
    ash_error err = ASH_ERROR_INIT;
    bson_t doc = BSON_INITIALIZER;
    assert_ok(ash_store_open(folder, NULL, &store, &err), &err);
    assert_ok(ash_collection_new(store, t->db, "things", &c, &err), &err);
    assert_ok(ash_collection_insert_one(c, &doc, NULL, &err), &err);
    ash_collection_free(c);
    ash_store_close(store);
}

static void test_contract_maintain__backup_that_was_changed(void **state)
{
    contract *t = *state;
    place p;
    ash_store_backup_options opts = ASH_STORE_BACKUP_OPTIONS_INIT;
    fill(t);
    if (refusal(t) != 0)
        return;
    enter(&p);
    assert_ok(ash_store_backup(t->store, "copy", NULL, NULL, &t->err), &t->err);
    change_copy(t, "./copy");
    assert_int_equal(ash_store_backup(t->store, "copy", &opts, NULL, &t->err), ASH_EEXISTS);
    assert_int_equal(count_in_copy(t, "./copy"), DOCS + 1);
    opts.replace = true;
    assert_ok(ash_store_backup(t->store, "copy", &opts, NULL, &t->err), &t->err);
    assert_int_equal(count_in_copy(t, "./copy"), DOCS);
    leave(&p);
}

static void test_contract_maintain__backup_of_damage(void **state)
{
    contract *t = *state;
    told seen = {.t = t};
    place p;
    ash_store_backup_options opts = ASH_STORE_BACKUP_OPTIONS_INIT;
    ash_store_backup_report r = ASH_STORE_BACKUP_REPORT_INIT;
    fill(t);
    if (refusal(t) != 0)
        return;
    enter(&p);
    flip_document(t, 2, false);
    opts.finding = note;
    opts.finding_ctx = &seen;
    opts.verify = true;
    assert_int_equal(ash_store_backup(t->store, "copy", &opts, &r, &t->err), ASH_ECORRUPT);
    flip_document(t, 2, true);
    assert_true(!r.clean && r.damaged == 1 && r.meta_bytes > 0);
    assert_true(r.findings >= 1 && r.told == r.findings && seen.findings == r.told);
    assert_int_equal(count_in_copy(t, "./copy"), DOCS);
    assert_ok(ash_store_backup(t->store, "copy", &opts, &r, &t->err), &t->err);
    assert_true(r.clean && r.copied_records == 1);
    leave(&p);
}

/* ---- compact ---- */

static void test_contract_maintain__compact(void **state)
{
    contract *t = *state;
    told seen = {.t = t};
    ash_store_compact_options opts = ASH_STORE_COMPACT_OPTIONS_INIT;
    ash_store_compact_report r = ASH_STORE_COMPACT_REPORT_INIT;
    opts.progress = go_on;
    opts.progress_ctx = &seen;
    fill(t);
    if (refusal(t) != 0)
        return;
    assert_ok(ash_collection_drop(t->c, NULL, &t->err), &t->err);
    assert_ok(ash_store_compact(t->store, &opts, &r, &t->err), &t->err);
    assert_true(r.size == sizeof r && r.bytes_freed >= (int64_t)DOCS * DOC_BYTES);
    assert_true(seen.calls > 0);
    assert_ok(ash_store_compact(t->store, NULL, NULL, &t->err), &t->err);
}

/* ---- what is refused ---- */

static void reopen(contract *t, bool read_only)
{
    ash_store_options opts = ASH_STORE_OPTIONS_INIT;
    const char *uri = getenv("ASH_TEST_STORE");
    opts.read_only = read_only;
    ash_collection_free(t->c);
    ash_store_close(t->store);
    assert_ok(ash_store_open(uri != NULL ? uri : t->folder, &opts, &t->store, &t->err), &t->err);
    assert_ok(ash_collection_new(t->store, t->db, "things", &t->c, &t->err), &t->err);
}

static void test_contract_maintain__a_store_for_reading(void **state)
{
    contract *t = *state;
    fill(t);
    reopen(t, true);
    assert_int_equal(ash_store_compact(t->store, NULL, NULL, &t->err), ASH_EREADONLY);
    assert_int_equal(ash_store_check(t->store, NULL, NULL, &t->err), refusal(t));
    reopen(t, false);
}

static void test_contract_maintain__elsewhere(void **state)
{
    contract *t = *state;
    ash_store_check_report check = ASH_STORE_CHECK_REPORT_INIT;
    ash_store_backup_report backup = ASH_STORE_BACKUP_REPORT_INIT;
    ash_store_compact_report compact = ASH_STORE_COMPACT_REPORT_INIT;
    int code = refusal(t);
    const char *why = code == ASH_EACCES ? "folder" : "MongoDB deployment";
    if (code == 0)
        return;
    check.records = backup.records = compact.bytes_freed = 77;
    assert_int_equal(ash_store_check(t->store, NULL, &check, &t->err), code);
    assert_non_null(strstr(t->err.text, why));
    assert_int_equal(ash_store_backup(t->store, "/tmp/none", NULL, &backup, &t->err), code);
    assert_non_null(strstr(t->err.text, why));
    assert_int_equal(ash_store_compact(t->store, NULL, &compact, &t->err), code);
    assert_non_null(strstr(t->err.text, why));
    assert_true(check.records == 77 && backup.records == 77 && compact.bytes_freed == 77);
}

static void test_contract_maintain__progress_stops_it(void **state)
{
    contract *t = *state;
    place p;
    int calls = 0;
    ash_store_check_options check = ASH_STORE_CHECK_OPTIONS_INIT;
    ash_store_backup_options backup = ASH_STORE_BACKUP_OPTIONS_INIT;
    ash_store_compact_options compact = ASH_STORE_COMPACT_OPTIONS_INIT;
    check.progress = backup.progress = compact.progress = stop;
    check.progress_ctx = backup.progress_ctx = compact.progress_ctx = &calls;
    fill(t);
    if (refusal(t) != 0)
        return;
    enter(&p);
    assert_int_equal(ash_store_check(t->store, &check, NULL, &t->err), ASH_EINTERRUPTED);
    assert_int_equal(calls, 1);
    assert_int_equal(ash_store_backup(t->store, "copy", &backup, NULL, &t->err), ASH_EINTERRUPTED);
    assert_int_equal(calls, 2);
    assert_int_equal(access("copy/ashlar.store", F_OK), -1);
    assert_int_equal(ash_store_compact(t->store, &compact, NULL, &t->err), ASH_EINTERRUPTED);
    assert_int_equal(calls, 3);
    leave(&p);
}

static int maintain_inside(ash_transaction *transaction, void *ctx, ash_error *err)
{
    contract *t = ctx;
    (void)transaction, (void)err;
    assert_int_equal(ash_store_check(t->store, NULL, NULL, &t->err), ASH_ESTATE);
    assert_int_equal(ash_store_backup(t->store, "/tmp/none", NULL, NULL, &t->err), ASH_ESTATE);
    assert_int_equal(ash_store_compact(t->store, NULL, NULL, &t->err), ASH_ESTATE);
    return 0;
}

static void test_contract_maintain__not_inside_a_transaction(void **state)
{
    contract *t = *state;
    if (!t->can.transactions)
        return;
    assert_ok(ash_store_transact(t->store, maintain_inside, t, NULL, &t->err), &t->err);
}

/* ---- sizes ---- */

static void test_contract_maintain__options_of_a_newer_program(void **state)
{
    contract *t = *state;
    struct {
        ash_store_check_options o;
        uint64_t more;
    } check = {.o = {.size = sizeof check}};
    struct {
        ash_store_backup_options o;
        uint64_t more;
    } backup = {.o = {.size = sizeof backup}, .more = 1};
    struct {
        ash_store_compact_options o;
        uint64_t more;
    } compact = {.o = {.size = sizeof compact}};
    assert_int_equal(ash_store_check(t->store, &check.o, NULL, &t->err), refusal(t));
    assert_int_equal(ash_store_compact(t->store, &compact.o, NULL, &t->err), refusal(t));
    check.more = compact.more = 1;
    assert_int_equal(ash_store_check(t->store, &check.o, NULL, &t->err), ASH_EINVAL);
    assert_int_equal(ash_store_backup(t->store, "/tmp/none", &backup.o, NULL, &t->err), ASH_EINVAL);
    assert_int_equal(ash_store_compact(t->store, &compact.o, NULL, &t->err), ASH_EINVAL);
    check.o.size = 0;
    assert_int_equal(ash_store_check(t->store, &check.o, NULL, &t->err), ASH_EINVAL);
}

/* Before anything is begun: one that failed when all was done would be of no use. */
static void test_contract_maintain__reports_that_were_not_initialised(void **state)
{
    contract *t = *state;
    int calls = 0;
    ash_store_backup_options opts = ASH_STORE_BACKUP_OPTIONS_INIT;
    ash_store_check_report check = {0};
    ash_store_backup_report backup = {0};
    ash_store_compact_report compact = {0};
    opts.progress = stop;
    opts.progress_ctx = &calls;
    assert_int_equal(ash_store_check(t->store, NULL, &check, &t->err), ASH_EINVAL);
    assert_int_equal(ash_store_backup(t->store, "/tmp/none", &opts, &backup, &t->err), ASH_EINVAL);
    assert_int_equal(ash_store_compact(t->store, NULL, &compact, &t->err), ASH_EINVAL);
    assert_int_equal(calls, 0);
}

typedef union room {
    size_t size;
    ash_store_check_report check;
    ash_store_backup_report backup;
    ash_store_compact_report compact;
    uint8_t bytes[ROOM];
} room;

static void *ends_at(room *r, size_t size)
{
    memset(r->bytes, POISON, sizeof r->bytes);
    r->size = size;
    return r->bytes;
}

static void expect_end(const room *r, size_t size)
{
    assert_int_equal(r->size, size);
    for (size_t i = size; i < sizeof r->bytes; i++)
        assert_int_equal(r->bytes[i], POISON);
}

/* An older program's end where ours have a later field, a newer program's go on. */
static void test_contract_maintain__reports_of_other_versions(void **state)
{
    static const size_t ends[] = {sizeof(size_t), offsetof(ash_store_check_report, index_keys),
                                  offsetof(ash_store_check_report, told), ROOM - 8};
    contract *t = *state;
    place p;
    fill(t);
    if (refusal(t) != 0)
        return;
    enter(&p);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        room r;
        assert_ok(ash_store_check(t->store, NULL, ends_at(&r, ends[i]), &t->err), &t->err);
        expect_end(&r, ends[i]);
        assert_true(i == 0 || (r.check.clean && r.check.records >= DOCS));
        assert_ok(ash_store_backup(t->store, "copy", NULL, ends_at(&r, ends[i]), &t->err), &t->err);
        expect_end(&r, ends[i]);
        assert_true(i == 0 || (r.backup.clean && r.backup.records >= DOCS));
        assert_ok(ash_store_compact(t->store, NULL, ends_at(&r, ends[i]), &t->err), &t->err);
        expect_end(&r, ends[i]);
        /* What a newer program would read there has its default. */
        for (size_t k = sizeof(ash_store_compact_report); k < ends[i]; k++)
            assert_int_equal(r.bytes[k], 0);
    }
    leave(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        CONTRACT(test_contract_maintain__check_of_a_sound_store),
        CONTRACT(test_contract_maintain__check_finds_damage),
        CONTRACT(test_contract_maintain__backup),
        CONTRACT(test_contract_maintain__backup_into_wrong_folders),
        CONTRACT(test_contract_maintain__backup_that_was_changed),
        CONTRACT(test_contract_maintain__backup_of_damage),
        CONTRACT(test_contract_maintain__compact),
        CONTRACT(test_contract_maintain__a_store_for_reading),
        CONTRACT(test_contract_maintain__elsewhere),
        CONTRACT(test_contract_maintain__progress_stops_it),
        CONTRACT(test_contract_maintain__not_inside_a_transaction),
        CONTRACT(test_contract_maintain__options_of_a_newer_program),
        CONTRACT(test_contract_maintain__reports_that_were_not_initialised),
        CONTRACT(test_contract_maintain__reports_of_other_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
