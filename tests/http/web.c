/* SPDX-License-Identifier: Apache-2.0 */
#include "web.h"

#include "check.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct visit {
    ash_buffer body;
    int64_t count, left;
    int piece;
} visit;

static atomic_int released;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards later, news */
static ash_exchange *later;
static bool news;

static void release(ash_exchange *x)
{
    visit *v = x->state;
    pthread_mutex_lock(&lock);
    if (later == x)
        later = NULL;
    pthread_mutex_unlock(&lock);
    ash__buffer_release(&v->body);
    ash__free(v);
    atomic_fetch_add(&released, 1);
}

static void take(ash_exchange *x, const void *data, size_t len)
{
    visit *v = x->state;
    v->count += (int64_t)len;
    if (strcmp(x->target.path, "/echo") == 0)
        ash__buffer_append(&v->body, data, len);
}

static bool admits_nobody(ash_exchange *x)
{
    ash__answer_text(x, 403, "not any more");
    return false;
}

static void finish(ash_exchange *x)
{
    visit *v = x->state;
    if (strcmp(x->target.path, "/echo") == 0)
        ash__answer_body(x, 200, "text/plain", v->body.data, v->body.len);
    else
        ash__answer_text(x, 200, "%lld", (long long)v->count);
}

static int more_bytes(ash_exchange *x, ash_buffer *out)
{
    visit *v = x->state;
    size_t n = v->left < ASH_PIECE_BYTES ? (size_t)v->left : ASH_PIECE_BYTES;
    ash__buffer_reserve(out, n);
    memset(out->data + out->len, 'b', n);
    out->len += n;
    v->left -= (int64_t)n;
    return v->left > 0 ? ASH_MORE_TO_COME : ASH_MORE_LAST;
}

static int more_cut(ash_exchange *x, ash_buffer *out)
{
    visit *v = x->state;
    ash__buffer_append_text(out, "some");
    return v->piece++ == 0 ? ASH_MORE_TO_COME : ASH_EIO;
}

static int more_short(ash_exchange *x, ash_buffer *out)
{
    (void)x;
    ash__buffer_append_text(out, "short");
    return ASH_MORE_LAST;
}

static int more_later(ash_exchange *x, ash_buffer *out)
{
    visit *v = x->state;
    pthread_mutex_lock(&lock);
    bool has_news = news;
    if (v->piece == 0) {
        later = x;
        news = false;
    }
    pthread_mutex_unlock(&lock);
    if (v->piece++ == 0) {
        ash__buffer_append_text(out, "one");
        return ASH_MORE_TO_COME;
    }
    if (!has_news)
        return ASH_MORE_LATER;
    ash__buffer_append_text(out, "two");
    return ASH_MORE_LAST;
}

static void stream(ash_exchange *x, int (*more)(ash_exchange *, ash_buffer *), int64_t length)
{
    x->more = more;
    ash__answer_stream(x, 200, "text/plain", length);
}

static void begin(ash_exchange *x)
{
    visit *v = ash__new(visit);
    char *n = NULL;
    const char *path = x->target.path != NULL ? x->target.path : "*";
    x->state = v;
    x->release = release;
    if (ash__http_target_query(&x->target, "n", &n))
        v->left = strtoll(n, NULL, 10);
    ash__free(n);
    if (strcmp(path, "/hello") == 0)
        ash__answer_text(x, 200, "hello");
    else if (strcmp(path, "/bytes") == 0)
        stream(x, more_bytes, v->left);
    else if (strcmp(path, "/chunks") == 0)
        stream(x, more_bytes, -1);
    else if (strcmp(path, "/cut") == 0)
        stream(x, more_cut, -1);
    else if (strcmp(path, "/short") == 0)
        stream(x, more_short, 100);
    else if (strcmp(path, "/later") == 0)
        stream(x, more_later, -1);
    else if (strcmp(path, "/none") == 0)
        ash__answer_empty(x, 204);
    else if (strcmp(path, "/refuse") == 0)
        ash__answer_text(x, 409, "no");
    else if (strcmp(path, "/break") == 0) {
        ash__answer_field(x, "X-Test", "a\r\nSet-Cookie: b");
        ash__answer_empty(x, 204);
    } else if (strcmp(path, "/echo") == 0 || strcmp(path, "/count") == 0 ||
               strcmp(path, "/unwelcome") == 0) {
        x->admits = strcmp(path, "/unwelcome") == 0 ? admits_nobody : NULL;
        x->take = take;
        x->finish = finish;
    } else
        ash__answer_text(x, 404, "nothing is called %s here", path);
}

static const ash_http_service service = {begin};

void web_start(web *w, const ash_http_options *opts)
{
    static const char *const listen[] = {"127.0.0.1:0"};
    ash_http_options o = ASH_HTTP_OPTIONS_INIT;
    ash_error err = ASH_ERROR_INIT;
    size_t count;
    if (opts != NULL)
        o = *opts;
    o.listen = listen;
    o.listen_count = 1;
    atomic_store(&released, 0);
    news = false;
    assert_ok(ash__http_server_start(&service, NULL, &o, &w->server, &err), &err);
    const char *address = ash__http_server_addresses(w->server, &count)[0];
    w->port = (uint16_t)atoi(strrchr(address, ':') + 1);
}

void web_stop(web *w)
{
    ash__http_server_stop(w->server);
}

void web_wake(void)
{
    pthread_mutex_lock(&lock);
    news = true;
    if (later != NULL)
        ash__exchange_wake(later);
    pthread_mutex_unlock(&lock);
}

int web_released(void)
{
    return atomic_load(&released);
}

int web_connect(const web *w)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(w->port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    return fd;
}

void web_send(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, len, MSG_NOSIGNAL);
        if (n <= 0)
            return;
        data += n;
        len -= (size_t)n;
    }
}

char *web_read(int fd, int timeout_ms, size_t *len)
{
    ash_buffer all = ASH_BUFFER_INIT;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char data[65536];
    while (poll(&p, 1, timeout_ms) > 0) {
        ssize_t n = recv(fd, data, sizeof data, 0);
        if (n <= 0)
            break;
        ash__buffer_append(&all, data, (size_t)n);
    }
    if (len != NULL)
        *len = all.len;
    ash__buffer_append_byte(&all, 0);
    return (char *)ash__buffer_detach(&all);
}

char *web_read_until(int fd, const char *text)
{
    ash_buffer all = ASH_BUFFER_INIT;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    char data[4096];
    while (strstr(ash__buffer_text(&all), text) == NULL && poll(&p, 1, 30000) > 0) {
        ssize_t n = recv(fd, data, sizeof data, 0);
        if (n <= 0)
            break;
        ash__buffer_append(&all, data, (size_t)n);
    }
    ash__buffer_append_byte(&all, 0);
    return (char *)ash__buffer_detach(&all);
}

char *web_ask(const web *w, const char *text)
{
    int fd = web_connect(w);
    web_send(fd, text, strlen(text));
    char *answer = web_read(fd, 30000, NULL);
    close(fd);
    return answer;
}
