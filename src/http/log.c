/* SPDX-License-Identifier: Apache-2.0 */
#include "http/log.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "http/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct ash_http_log {
    char *path;
    ash_http_log_format format;
    ash_mutex lock; /* guards what follows; lines are written under it, so that they stay whole */
    int fd;
    int64_t looked_ms;
    bool told; /* that it cannot be written */
};

/* ---- lines ---- */

/* Secrets have 32 digits and more, ids of documents 24: what has lost some digits on its way is still
 * nearly all of a secret. */
enum { SECRET_DIGITS = 25, SHOWN_DIGITS = 6 };

/* One character of a URL, and how many bytes of it that is: a letter or digit that is written as
 * %63 is itself (RFC 3986 §2.3), so that no other spelling of a secret gets by. */
static char char_at(const char *text, size_t *len)
{
    int high = text[0] == '%' ? ash__hex_digit(text[1]) : -1;
    int low = high >= 0 ? ash__hex_digit(text[2]) : -1;
    char c = (char)(16 * high + low);
    bool plain =
        low >= 0 && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
    *len = plain ? 3 : 1;
    return plain ? c : text[0];
}

/* What stands behind these is a secret, also one that was mistyped. */
static bool is_before_secret(const ash_buffer *out)
{
    static const char *const parts[] = {"ashlar/share/", "ashlar/uploads/"};
    for (size_t i = 0; i < ASH_ARRAY_LEN(parts); i++) {
        size_t len = strlen(parts[i]);
        if (out->len >= len && memcmp(out->data + out->len - len, parts[i], len) == 0)
            return true;
    }
    return false;
}

static void shorten(ash_buffer *out, size_t shown_end)
{
    out->len = shown_end;
    ash__buffer_append_text(out, "...");
}

char *ash__http_without_secrets(const char *text)
{
    ash_buffer out = ASH_BUFFER_INIT;
    size_t digits = 0, len, secret = 0; /* secret: where one begins, or 0 */
    for (;; text += len) {
        char c = char_at(text, &len);
        bool is_digit = c != '\0' && ash__hex_digit(c) >= 0;
        if (secret > 0 && strchr("/?#& \"", c) != NULL) {
            if (out.len > secret + SHOWN_DIGITS)
                shorten(&out, secret + SHOWN_DIGITS);
            secret = 0;
        } else if (!is_digit && digits >= SECRET_DIGITS && secret == 0) {
            shorten(&out, out.len - digits + SHOWN_DIGITS);
        }
        if (c == '\0')
            break;
        digits = is_digit ? digits + 1 : 0;
        ash__buffer_append_byte(&out, (uint8_t)c);
        if (c == '/' && is_before_secret(&out))
            secret = out.len;
    }
    char *shown = ash__strdup(ash__buffer_text(&out));
    ash__buffer_release(&out);
    return shown;
}

/* Whatever a client sent, it stays in its place: no quotes, no line breaks, nothing for terminals. */
static void add_quoted(ash_buffer *out, const char *text)
{
    for (; text != NULL && *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
            ash__buffer_printf(out, "\\x%02x", c);
        else
            ash__buffer_append_byte(out, c);
    }
}

/* "ann", "ann@files" of another database than admin; nothing that would be two words. */
static void add_user(ash_buffer *out, const ash_http_record *r)
{
    if (r->user == NULL || r->user[0] == '\0') {
        ash__buffer_append_byte(out, '-');
        return;
    }
    for (const char *at = r->user; *at != '\0'; at++) {
        unsigned char c = (unsigned char)*at;
        if (c <= 0x20 || c >= 0x7f || c == '"' || c == '\\')
            ash__buffer_printf(out, "\\x%02x", c);
        else
            ash__buffer_append_byte(out, c);
    }
    if (strcmp(r->db, "admin") != 0)
        ash__buffer_printf(out, "@%s", r->db);
}

/* "127.0.0.1:40000" without its port. */
static void add_host(ash_buffer *out, const char *remote)
{
    const char *colon = strrchr(remote, ':');
    if (colon == NULL)
        ash__buffer_append_byte(out, '-');
    else if (remote[0] == '[')
        ash__buffer_append(out, remote + 1, (size_t)(colon - remote) - 2);
    else
        ash__buffer_append(out, remote, (size_t)(colon - remote));
}

static void add_combined(ash_buffer *out, const ash_http_record *r)
{
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t s = (time_t)(r->begun_ms / 1000);
    struct tm tm;
    gmtime_r(&s, &tm);
    add_host(out, r->remote);
    ash__buffer_append_text(out, " - ");
    add_user(out, r);
    ash__buffer_printf(out, " [%02d/%s/%04d:%02d:%02d:%02d +0000] \"", tm.tm_mday,
                       months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec);
    add_quoted(out, r->method);
    ash__buffer_append_byte(out, ' ');
    add_quoted(out, r->target);
    ash__buffer_printf(out, " %s\" %d ", r->protocol, r->status == 0 ? 499 : r->status);
    if (r->sent_bytes > 0)
        ash__buffer_printf(out, "%lld \"", (long long)r->sent_bytes);
    else
        ash__buffer_append_text(out, "- \"");
    add_quoted(out, r->referer != NULL ? r->referer : "-");
    ash__buffer_append_text(out, "\" \"");
    add_quoted(out, r->agent != NULL ? r->agent : "-");
    ash__buffer_append_text(out, "\"\n");
}

static void add_json(ash_buffer *out, const ash_http_record *r)
{
    ash__buffer_append_byte(out, '{');
    ash__json_add_time(out, "time", r->begun_ms);
    ash__json_add_text(out, "id", r->id);
    ash__json_add_text(out, "remote", r->remote);
    if (r->user != NULL) {
        ash__json_add_text(out, "user", r->user);
        ash__json_add_text(out, "db", r->db);
    }
    ash__json_add_text(out, "method", r->method);
    ash__json_add_text(out, "target", r->target);
    ash__json_add_text(out, "protocol", r->protocol);
    ash__json_add_int(out, "status", r->status == 0 ? 499 : r->status);
    ash__json_add_int(out, "received", r->received_bytes);
    ash__json_add_int(out, "sent", r->sent_bytes);
    ash__json_add_int(out, "microseconds", r->took_us);
    if (r->agent != NULL)
        ash__json_add_text(out, "agent", r->agent);
    if (r->referer != NULL)
        ash__json_add_text(out, "referer", r->referer);
    ash__buffer_append_text(out, "}\n");
}

void ash__http_log_line(ash_buffer *out, ash_http_log_format format, const ash_http_record *r)
{
    ash_http_record shown = *r;
    char *target = ash__http_without_secrets(r->target);
    char *referer = r->referer != NULL ? ash__http_without_secrets(r->referer) : NULL;
    char *agent = r->agent != NULL ? ash__http_without_secrets(r->agent) : NULL;
    shown.target = target;
    shown.agent = agent;
    shown.referer = referer;
    if (format == ASH_HTTP_LOG_JSON)
        add_json(out, &shown);
    else
        add_combined(out, &shown);
    ash__free(target);
    ash__free(referer);
    ash__free(agent);
}

/* ---- the file ---- */

static int open_file(const char *path)
{
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
}

int ash__http_log_open(const char *path, ash_http_log_format format, ash_http_log **out,
                       ash_error *err)
{
    bool is_stdout = strcmp(path, "-") == 0;
    int fd = is_stdout ? STDOUT_FILENO : open_file(path);
    if (fd < 0)
        return ash__fail_errno(err, errno, "cannot open the access log %s", path);
    ash_http_log *log = ash__new(ash_http_log);
    log->path = is_stdout ? NULL : ash__strdup(path);
    log->format = format;
    log->fd = fd;
    ash__mutex_init(&log->lock, ASH_RANK_LOG);
    *out = log;
    return 0;
}

void ash__http_log_close(ash_http_log *log)
{
    if (log == NULL)
        return;
    if (log->path != NULL && log->fd >= 0)
        close(log->fd);
    ash__mutex_release(&log->lock);
    ash__free(log->path);
    ash__free(log);
}

/* Somebody moved the file away: what follows goes into a new one. */
static void follow(ash_http_log *log)
{
    struct stat there, ours;
    int64_t now = ash__clock_coarse_ms();
    ash__mutex_assert_held(&log->lock);
    if (log->path == NULL || now - log->looked_ms < 1000)
        return;
    log->looked_ms = now;
    bool same = log->fd >= 0 && fstat(log->fd, &ours) == 0 && stat(log->path, &there) == 0 &&
                there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
    int fd = same ? -1 : open_file(log->path);
    if (fd < 0)
        return;
    if (log->fd >= 0)
        close(log->fd);
    log->fd = fd;
}

void ash__http_log_write(void *ctx, const ash_http_record *record)
{
    ash_http_log *log = ctx;
    ash_buffer line = ASH_BUFFER_INIT;
    ash__http_log_line(&line, log->format, record);
    ash__mutex_lock(&log->lock);
    follow(log);
    ssize_t n = log->fd >= 0 ? write(log->fd, line.data, line.len) : -1;
    bool failed = n != (ssize_t)line.len, news = failed != log->told;
    int why = errno;
    log->told = failed;
    ash__mutex_unlock(&log->lock);
    if (news && failed)
        ash__log(ASH_LOG_ERROR, "the access log cannot be written: %s", strerror(why));
    ash__buffer_release(&line);
}
