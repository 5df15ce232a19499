/* SPDX-License-Identifier: Apache-2.0 */
/* How folders of a tree grow: for each count, a folder of so many files, all of one content.
 *
 * usage: ashlar-bench-trees-scale FOLDER ASHLAR COUNT...     ASHLAR: the command
 *
 * What a caller does with one page or one entry is measured side by side, the folders taking turns;
 * then what goes through all of it, by the command: its CPU time, and the most memory that is no
 * file's.  Prints figure,peer,value,unit; the peers are the counts, and "ratio" the last to the
 * first. */
#include "peer.h"

#include <ashlar/ashlar.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 100, PROBES = 201, FILLED_AT_ONCE = 1000, SUBJECTS_MAX = 4, CONTENT_BYTES = 400 };

typedef struct subject {
    uint64_t count;
    char peer[40], folder[512];
    ash_store *store;
    ash_tree *tree;
    int64_t then_ms;     /* when all was filled */
    uint64_t added;      /* files put by a figure */
    bool moved;          /* the folder is at the other of its two paths */
    double fill_seconds; /* with all that a later reader needs on the disk */
} subject;

static subject subjects[SUBJECTS_MAX];
static int subject_count;
static ash_error err = ASH_ERROR_INIT;

static void must(int result)
{
    if (result != 0)
        bench_die("trees-scale", err.text);
}

static const char *folder_of(const subject *s)
{
    return s->moved ? "moved" : "big";
}

static void path_of(const subject *s, uint64_t file, char path[64])
{
    snprintf(path, 64, "%s/file %09" PRIu64, folder_of(s), file);
}

/* ---- filling ---- */

static void put(subject *s, const char *path, uint64_t seed)
{
    ash_tree_writer *w = NULL;
    uint8_t data[CONTENT_BYTES];
    bench_fill(data, sizeof data, seed);
    must(ash_tree_open_writer(s->tree, path, NULL, NULL, &w, &err));
    must(ash_tree_writer_write(w, data, sizeof data, &err));
    must(ash_tree_writer_finish(w, NULL, NULL, &err));
    ash_tree_writer_free(w);
}

typedef struct filling {
    subject *s;
    uint64_t from, to;
} filling;

static int copy_some(ash_transaction *t, void *ctx, ash_error *e)
{
    const filling *f = ctx;
    ash_op op = ASH_OP_INIT;
    char path[64];
    int rc = 0;
    op.transaction = t;
    for (uint64_t i = f->from; rc == 0 && i < f->to; i++) {
        path_of(f->s, i, path);
        rc = ash_tree_copy(f->s->tree, "first", NULL, path, NULL, &op, NULL, e);
    }
    return rc;
}

static void fill(subject *s)
{
    double start = bench_now();
    must(ash_tree_make_folder(s->tree, "big", NULL, NULL, NULL, &err));
    put(s, "first", 1);
    for (uint64_t i = 0; i < s->count; i += FILLED_AT_ONCE) {
        filling f = {s, i, i + FILLED_AT_ONCE < s->count ? i + FILLED_AT_ONCE : s->count};
        must(ash_store_transact(s->store, copy_some, &f, NULL, &err));
    }
    must(ash_store_flush(s->store, NULL, &err));
    s->fill_seconds = bench_now() - start;
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    must(ash_store_time(s->store, &s->then_ms, NULL, &err));
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static void open_subject(subject *s)
{
    ash_store_options o = ASH_STORE_OPTIONS_INIT;
    o.durability = ASH_DURABILITY_INTERVAL; /* the disk is not what is measured */
    must(ash_store_open(s->folder, &o, &s->store, &err));
    must(ash_tree_open(s->store, "/", NULL, &s->tree, &err));
}

static void close_subject(subject *s)
{
    ash_tree_close(s->tree);
    ash_store_close(s->store);
}

/* ---- one page, one entry ---- */

static uint64_t any_file(const subject *s, int probe)
{
    return ((uint64_t)probe * 2654435761u + 12345) % s->count;
}

static void list_page(subject *s, const char *after, int64_t at_ms)
{
    ash_tree_list_options o = ASH_TREE_LIST_OPTIONS_INIT;
    ash_tree_listing *l = NULL;
    const ash_tree_entry *e = NULL;
    int n = 0;
    o.after = after;
    o.at_ms = at_ms;
    o.limit = PAGE;
    must(ash_tree_list(s->tree, at_ms != 0 ? "big" : folder_of(s), &o, NULL, &l, &err));
    for (; must(ash_tree_listing_next(l, &e, &err)), e != NULL; n++)
        ;
    ash_tree_listing_free(l);
    bench_check(n == PAGE, "a page");
}

static void first_page(subject *s, int probe)
{
    (void)probe;
    list_page(s, NULL, 0);
}

static void middle_page(subject *s, int probe)
{
    char after[64];
    (void)probe;
    snprintf(after, sizeof after, "file %09" PRIu64, s->count / 2);
    list_page(s, after, 0);
}

static void page_then(subject *s, int probe)
{
    (void)probe;
    list_page(s, NULL, s->then_ms);
}

static void look_up(subject *s, int probe)
{
    ash_tree_entry *e = NULL;
    char path[64];
    path_of(s, any_file(s, probe), path);
    must(ash_tree_get(s->tree, path, NULL, NULL, &e, &err));
    ash_tree_entry_free(e);
}

static void look_up_then(subject *s, int probe)
{
    ash_tree_when when = ASH_TREE_WHEN_INIT;
    ash_tree_entry *e = NULL;
    char path[64];
    when.at_ms = s->then_ms;
    snprintf(path, sizeof path, "big/file %09" PRIu64, any_file(s, probe));
    must(ash_tree_get(s->tree, path, &when, NULL, &e, &err));
    bench_check(ash_tree_entry_version(e) == 1, "the version of then");
    ash_tree_entry_free(e);
}

/* One more owner of the content that all have. */
static void put_one_more(subject *s, int probe)
{
    char path[64];
    (void)probe;
    path_of(s, s->count + s->added++, path);
    put(s, path, 1);
}

/* Another content, so that the past has something in it, and one owner less. */
static void change_one(subject *s, int probe)
{
    char path[64];
    path_of(s, any_file(s, probe), path);
    put(s, path, 2 + (uint64_t)probe);
}

static void move_folder(subject *s, int probe)
{
    (void)probe;
    must(ash_tree_move(s->tree, folder_of(s), s->moved ? "big" : "moved", NULL, NULL, NULL, &err));
    s->moved = !s->moved;
}

static void read_one(subject *s, int probe)
{
    ash_tree_reader *r = NULL;
    uint8_t data[2 * CONTENT_BYTES];
    char path[64];
    size_t got;
    path_of(s, any_file(s, probe), path);
    must(ash_tree_open_reader(s->tree, path, NULL, NULL, &r, &err));
    must(ash_tree_reader_read(r, data, sizeof data, &got, &err));
    bench_check(got == CONTENT_BYTES, "its bytes");
    ash_tree_reader_free(r);
}

static const struct {
    const char *name;
    void (*run)(subject *s, int probe);
} figures[] = {
    {"tree_first_page", first_page},     {"tree_middle_page", middle_page},
    {"tree_look_up", look_up},           {"tree_read", read_one},
    {"tree_put_one_more", put_one_more}, {"tree_change_one", change_one},
    {"tree_move_folder", move_folder},   {"tree_page_then", page_then},
    {"tree_look_up_then", look_up_then},
};

static double cpu_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void report(const char *figure, const char *kind, const double values[SUBJECTS_MAX],
                   const char *unit)
{
    char name[80];
    snprintf(name, sizeof name, "%s_%s", figure, kind);
    for (int i = 0; i < subject_count; i++)
        bench_report(name, subjects[i].peer, values[i], unit);
    bench_report(name, "ratio", values[subject_count - 1] / values[0], "x");
}

static void measure_figure(const char *name, void (*run)(subject *s, int probe))
{
    static double wall[SUBJECTS_MAX][PROBES], cpu[SUBJECTS_MAX][PROBES];
    double medians[2][SUBJECTS_MAX];
    for (int probe = 0; probe < PROBES; probe++)
        for (int i = 0; i < subject_count; i++) {
            double start = bench_now(), cpu_start = cpu_now();
            run(&subjects[i], probe);
            cpu[i][probe] = (cpu_now() - cpu_start) * 1e6;
            wall[i][probe] = (bench_now() - start) * 1e6;
        }
    for (int i = 0; i < subject_count; i++) {
        medians[0][i] = bench_percentile(cpu[i], PROBES, 0.5);
        medians[1][i] = bench_percentile(wall[i], PROBES, 0.5);
    }
    report(name, "cpu", medians[0], "us");
    report(name, "wall", medians[1], "us");
}

/* ---- all of it ---- */

static double anonymous_mib(pid_t pid)
{
    char path[64], line[256];
    long kib = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof line, f) != NULL)
        if (sscanf(line, "RssAnon: %ld", &kib) == 1)
            break;
    if (f != NULL)
        fclose(f);
    return (double)kib / 1024;
}

static void run_command(const char *ashlar, const subject *s, const char *const *words,
                        double *seconds, double *mib)
{
    const char *args[16] = {ashlar, "-q", "-s", s->folder, "tree"};
    struct rusage used;
    int status = 0;
    for (int i = 0; words[i] != NULL; i++)
        args[5 + i] = words[i];
    pid_t pid = fork();
    if (pid == 0) {
        bench_check(freopen("/dev/null", "w", stdout) != NULL, "/dev/null");
        execv(ashlar, (char *const *)(uintptr_t)args);
        _exit(127);
    }
    *mib = 0;
    while (wait4(pid, &status, WNOHANG, &used) == 0) {
        double now = anonymous_mib(pid);
        *mib = now > *mib ? now : *mib;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
    bench_check(WIFEXITED(status) && WEXITSTATUS(status) == 0, words[0]);
    *seconds = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
               (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static void measure_commands(const char *ashlar)
{
    static const struct {
        const char *figure;
        const char *words[6];
    } commands[] = {
        {"tree_ls", {"ls", "/big"}},
        {"tree_du", {"du"}},
        {"tree_check", {"check"}},
        {"tree_gc", {"gc", "--min-age", "0"}},
        {"tree_rm", {"rm", "-r", "big"}},
        {"tree_trash", {"undelete"}},
        {"tree_undelete", {"undelete", "big"}},
        {"tree_rm_again", {"rm", "-r", "big"}},
        {"tree_prune", {"prune", "--last", "0"}},
        {"tree_gc_after", {"gc", "--min-age", "0"}},
    };
    for (size_t k = 0; k < sizeof commands / sizeof commands[0]; k++) {
        double seconds[SUBJECTS_MAX], mib[SUBJECTS_MAX];
        for (int i = 0; i < subject_count; i++)
            run_command(ashlar, &subjects[i], commands[k].words, &seconds[i], &mib[i]);
        report(commands[k].figure, "cpu", seconds, "s");
        report(commands[k].figure, "anon", mib, "MiB");
    }
}

int main(int argc, char **argv)
{
    double rates[SUBJECTS_MAX];
    if (argc < 4 || argc - 3 > SUBJECTS_MAX) {
        fprintf(stderr, "usage: ashlar-bench-trees-scale FOLDER ASHLAR COUNT...\n");
        return 2;
    }
    bench_empty_folder(argv[1]);
    for (int i = 3; i < argc; i++) {
        subject *s = &subjects[subject_count++];
        s->count = strtoull(argv[i], NULL, 10);
        bench_check(s->count > 2 * PAGE, "counts of more than two pages");
        snprintf(s->peer, sizeof s->peer, "%" PRIu64 " files", s->count);
        snprintf(s->folder, sizeof s->folder, "%s/%" PRIu64, argv[1], s->count);
        open_subject(s);
        fill(s);
        rates[subject_count - 1] = (double)s->count / s->fill_seconds;
    }
    report("tree_fill", "rate", rates, "files/s");
    for (size_t k = 0; k < sizeof figures / sizeof figures[0]; k++)
        measure_figure(figures[k].name, figures[k].run);
    for (int i = 0; i < subject_count; i++) {
        if (subjects[i].moved)
            move_folder(&subjects[i], 0);
        close_subject(&subjects[i]);
    }
    measure_commands(argv[2]);
    bench_empty_folder(argv[1]);
    return 0;
}
