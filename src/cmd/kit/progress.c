/* SPDX-License-Identifier: Apache-2.0 */
/* The line is wiped before anything else is said, so that it stands on the terminal only while
 * nothing else does. */
#include "cmd/kit/cmd.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/thread.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define REDRAW_MS      100
#define NAME_MAX_BYTES 256

struct ash_progress {
    const ash_cmd *cmd;
    ash_mutex lock; /* guards everything below */
    bool shown;     /* draw at all */
    bool drawn;     /* a line stands on the terminal */
    int64_t started_ms, drawn_ms;
    int64_t done_bytes, total_bytes, done_items, total_items;
    char name[NAME_MAX_BYTES];
    char stage[NAME_MAX_BYTES]; /* of maintenance, as told with -v */
};

ash_progress *ash__progress_new(const ash_cmd *cmd, int64_t total_bytes, int64_t total_items)
{
    ash_progress *p = ash__new(ash_progress);
    p->cmd = cmd;
    /* The last rank: progress is told from anywhere, also under other locks. */
    ash__mutex_init(&p->lock, ASH_RANK_LOG);
    p->shown =
        cmd->progress == ASH_PROGRESS_ON ||
        (cmd->progress == ASH_PROGRESS_AUTO && !cmd->quiet && !cmd->json && isatty(STDERR_FILENO));
    p->started_ms = ash__clock_ms();
    p->total_bytes = total_bytes;
    p->total_items = total_items;
    return p;
}

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20)
        return size.ws_col;
    return 80;
}

static void print_time(char *buf, size_t size, int64_t seconds)
{
    if (seconds >= 3600)
        snprintf(buf, size, "%" PRId64 ":%02d:%02d", seconds / 3600, (int)(seconds / 60 % 60),
                 (int)(seconds % 60));
    else
        snprintf(buf, size, "%d:%02d", (int)(seconds / 60), (int)(seconds % 60));
}

/* "[#####     ]  50%  " when the total is known. */
static size_t print_bar(char *buf, size_t size, int64_t done, int64_t total)
{
    enum { CELLS = 20 };
    char cells[CELLS + 1];
    if (total <= 0)
        return 0;
    double part = done >= total ? 1 : (double)done / (double)total;
    memset(cells, ' ', CELLS);
    memset(cells, '#', (size_t)(part * CELLS));
    cells[CELLS] = 0;
    return (size_t)snprintf(buf, size, "[%s] %3d%%  ", cells, (int)(part * 100));
}

/* Most characters take a column, and none takes more columns than bytes. */
static void cut(char *line, size_t columns)
{
    if (strlen(line) > columns)
        line[columns] = 0;
    ash__text_trim(line);
}

static void draw(ash_progress *p, int64_t now)
{
    ash__mutex_assert_held(&p->lock);
    char line[512], done[32], rate[32], left[32] = "";
    double seconds = (double)(now - p->started_ms) / 1000;
    double speed = seconds > 0 ? (double)p->done_bytes / seconds : 0;
    size_t used = print_bar(line, sizeof line, p->total_bytes > 0 ? p->done_bytes : p->done_items,
                            p->total_bytes > 0 ? p->total_bytes : p->total_items);
    ash__cmd_print_size(done, sizeof done, p->done_bytes);
    ash__cmd_print_size(rate, sizeof rate, (int64_t)speed);
    /* An estimate from nothing would be years. */
    if (p->total_bytes > p->done_bytes && speed > 1)
        print_time(left, sizeof left,
                   (int64_t)((double)(p->total_bytes - p->done_bytes) / speed + 0.5));
    if (p->total_bytes > 0 || p->done_bytes > 0 || p->total_items <= 0)
        used += (size_t)snprintf(line + used, sizeof line - used, "%s  %s/s", done, rate);
    if (left[0] != 0)
        used += (size_t)snprintf(line + used, sizeof line - used, "  %s left", left);
    if (p->total_items > 1)
        used += (size_t)snprintf(line + used, sizeof line - used, "  %" PRId64 "/%" PRId64,
                                 p->done_items, p->total_items);
    snprintf(line + used, sizeof line - used, "  %s", p->name);
    /* The last column is left free: a line that fills it wraps, and is not wiped as one. */
    cut(line, (size_t)terminal_columns() - 1);
    fprintf(stderr, "\r\033[K%s", line);
    fflush(stderr);
    p->drawn = true;
    p->drawn_ms = now;
}

void ash__progress_set_total(ash_progress *p, int64_t total_bytes, int64_t total_items)
{
    ash__mutex_lock(&p->lock);
    p->total_bytes = total_bytes;
    p->total_items = total_items;
    ash__mutex_unlock(&p->lock);
}

void ash__progress_add_total(ash_progress *p, int64_t bytes)
{
    ash__mutex_lock(&p->lock);
    p->total_bytes += bytes;
    ash__mutex_unlock(&p->lock);
}

static void set_name(ash_progress *p, const char *name)
{
    ash__mutex_assert_held(&p->lock);
    char *shown = ash__cmd_printable(name);
    snprintf(p->name, sizeof p->name, "%s", shown);
    ash__text_trim(p->name);
    ash__free(shown);
}

void ash__progress_add(ash_progress *p, int64_t bytes, int64_t items, const char *name)
{
    ash__mutex_lock(&p->lock);
    p->done_bytes += bytes;
    p->done_items += items;
    if (p->shown && name != NULL)
        set_name(p, name);
    int64_t now = ash__clock_ms();
    if (p->shown && now - p->drawn_ms >= REDRAW_MS)
        draw(p, now);
    ash__mutex_unlock(&p->lock);
}

static void wipe(ash_progress *p)
{
    ash__mutex_assert_held(&p->lock);
    if (p->drawn) {
        fputs("\r\033[K", stderr);
        fflush(stderr);
    }
    p->drawn = false;
}

void ash__progress_clear(ash_progress *p)
{
    ash__mutex_lock(&p->lock);
    wipe(p);
    ash__mutex_unlock(&p->lock);
}

void ash__progress_free(ash_progress *p)
{
    if (p == NULL)
        return;
    ash__progress_clear(p);
    ash__mutex_release(&p->lock);
    ash__free(p);
}

bool ash__progress_maintain(void *ctx, const char *what, int64_t done, int64_t total)
{
    ash_progress *p = ctx;
    ash__mutex_lock(&p->lock);
    bool records = what != NULL && strcmp(what, "bytes") == 0;
    bool bytes = records || (what != NULL && strcmp(what, "metadata") == 0);
    what = records ? "records" : what;
    p->done_bytes = bytes ? done : 0;
    p->total_bytes = bytes ? total : 0;
    p->done_items = bytes ? 0 : done;
    p->total_items = bytes ? 0 : total;
    if (p->shown && what != NULL)
        set_name(p, what);
    if (p->cmd->verbose > 0 && what != NULL && strcmp(what, p->stage) != 0) {
        snprintf(p->stage, sizeof p->stage, "%s", what);
        wipe(p);
        ash__cmd_trace(p->cmd, 1, "%s", p->stage);
    }
    int64_t now = ash__clock_ms();
    if (p->shown && now - p->drawn_ms >= REDRAW_MS)
        draw(p, now);
    ash__mutex_unlock(&p->lock);
    return !ash__cmd_is_interrupted();
}
