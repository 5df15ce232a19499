/* SPDX-License-Identifier: Apache-2.0 */
/* Good clients alone, and beside somebody who tries passwords as fast as the server lets them.
 *
 * usage: ashlar-bench-logins PORT USER PASSWORD CLIENTS ATTEMPTS      (make bench: logins.sh)
 *
 * CLIENTS connections have signed in and find a document by its _id every 20 ms each, for ten
 * seconds; and again while ATTEMPTS bad ones begin, from many addresses, for as many users, at most
 * 800 at once; who gets no answer in half a second hangs up and tries anew.  Lines of
 * `figure,peer,value,unit`. */
#include <mongoc/mongoc.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    AT_ONCE = 800,
    PATIENCE_MS = 500,
    PAUSE_MS = 20,
    LOOK_MS = 5,
    ALONE_MS = 10000,
    MAX_SAMPLES = 1000000
};

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

/* ---- good clients ---- */

typedef struct good {
    mongoc_client_pool_t *pool;
    _Atomic bool over;
    _Atomic int64_t failures;
    _Atomic size_t count;
    _Atomic int clients;
    int64_t samples[MAX_SAMPLES]; /* microseconds */
} good;

static bool find_one(mongoc_collection_t *c)
{
    bson_t *filter = BCON_NEW("_id", BCON_INT32(1));
    const bson_t *doc;
    mongoc_cursor_t *cursor = mongoc_collection_find_with_opts(c, filter, NULL, NULL);
    bool found = mongoc_cursor_next(cursor, &doc);
    mongoc_cursor_destroy(cursor);
    bson_destroy(filter);
    return found;
}

static void *be_good(void *arg)
{
    good *g = arg;
    unsigned seed = (unsigned)atomic_fetch_add(&g->clients, 1);
    mongoc_client_t *client = mongoc_client_pool_pop(g->pool);
    mongoc_collection_t *c = mongoc_client_get_collection(client, "bench", "c");
    /* Signs in. */
    if (!find_one(c))
        atomic_fetch_add(&g->failures, 1);
    while (!atomic_load(&g->over)) {
        int64_t began = now_us();
        if (!find_one(c))
            atomic_fetch_add(&g->failures, 1);
        size_t at = atomic_fetch_add(&g->count, 1);
        if (at < MAX_SAMPLES)
            g->samples[at] = now_us() - began;
        /* Not in step: what once makes all wait would keep them together for ever. */
        usleep((useconds_t)(rand_r(&seed) % (2 * PAUSE_MS * 1000)));
    }
    mongoc_collection_destroy(c);
    mongoc_client_pool_push(g->pool, client);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* What came since the last report. */
static int64_t report(good *g, const char *peer)
{
    size_t count = atomic_load(&g->count);
    count = count < MAX_SAMPLES ? count : MAX_SAMPLES;
    if (count == 0)
        return 0;
    qsort(g->samples, count, sizeof g->samples[0], by_size);
    int64_t p99 = g->samples[count * 99 / 100];
    printf("logins_p50,%s,%lld,us\n", peer, (long long)g->samples[count / 2]);
    printf("logins_p99,%s,%lld,us\n", peer, (long long)p99);
    printf("logins_finds,%s,%zu,finds\n", peer, count);
    printf("logins_failures,%s,%lld,finds\n", peer, (long long)atomic_load(&g->failures));
    atomic_store(&g->count, 0);
    return p99;
}

/* ---- bad ones ---- */

typedef struct bad {
    int fd; /* -1: none */
    int step;
    int64_t since_us;
    uint8_t in[1024];
    size_t have;
} bad;

static int port;
static int64_t begun, judged;

static void hang_up(bad *b)
{
    if (b->fd >= 0)
        close(b->fd);
    b->fd = -1;
}

/* From one of sixteen thousand addresses. */
static void begin(bad *b)
{
    struct sockaddr_in from = {.sin_family = AF_INET}, to = {.sin_family = AF_INET};
    from.sin_addr.s_addr = htonl(0x7f010000u | (uint32_t)(begun % 16384));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)port);
    b->fd = socket(AF_INET, SOCK_STREAM, 0);
    b->step = 0;
    b->have = 0;
    b->since_us = now_us();
    if (b->fd < 0)
        return;
    fcntl(b->fd, F_SETFL, O_NONBLOCK);
    if (bind(b->fd, (struct sockaddr *)&from, sizeof from) != 0 ||
        (connect(b->fd, (struct sockaddr *)&to, sizeof to) != 0 && errno != EINPROGRESS))
        hang_up(b);
    else
        begun++;
}

static void say(bad *b, bson_t *command)
{
    uint8_t message[1024] = {0};
    uint32_t len = 16 + 5 + command->len;
    message[0] = (uint8_t)len;
    message[1] = (uint8_t)(len >> 8);
    message[4] = 1;
    message[12] = 2013 & 0xff;
    message[13] = 2013 >> 8;
    memcpy(message + 21, bson_get_data(command), command->len);
    if (send(b->fd, message, len, MSG_NOSIGNAL) != (ssize_t)len)
        hang_up(b);
    b->since_us = now_us();
    b->step++;
    b->have = 0;
    bson_destroy(command);
}

static void say_first(bad *b)
{
    char text[128];
    snprintf(text, sizeof text, "n,,n=user%lld,r=abcdefghijkl", (long long)(begun % 5000));
    say(b, BCON_NEW("saslStart", BCON_INT32(1), "mechanism", "SCRAM-SHA-256", "payload",
                    BCON_BIN(BSON_SUBTYPE_BINARY, (uint8_t *)text, (uint32_t)strlen(text)), "$db",
                    "admin"));
}

static void say_final(bad *b)
{
    char text[512];
    const char *nonce = memmem(b->in, b->have, "r=", 2);
    const char *end =
        nonce != NULL ? memchr(nonce, ',', (size_t)((char *)b->in + b->have - nonce)) : NULL;
    if (end == NULL) {
        hang_up(b);
        return;
    }
    snprintf(text, sizeof text, "c=biws,%.*s,p=%.43s=", (int)(end - nonce), nonce,
             "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
    say(b, BCON_NEW("saslContinue", BCON_INT32(1), "conversationId", BCON_INT32(1), "payload",
                    BCON_BIN(BSON_SUBTYPE_BINARY, (uint8_t *)text, (uint32_t)strlen(text)), "$db",
                    "admin"));
}

static void hear(bad *b)
{
    ssize_t n = recv(b->fd, b->in + b->have, sizeof b->in - b->have, 0);
    if (n <= 0) {
        hang_up(b);
        return;
    }
    b->have += (size_t)n;
    if (b->have < 4 || b->have < (size_t)(b->in[0] | b->in[1] << 8))
        return;
    if (b->step == 1) {
        say_final(b);
    } else {
        judged++;
        hang_up(b);
    }
}

/* What one asks for next: to have connected, or an answer. */
static void listen_for(int set, bad *b, int how, uint32_t what)
{
    struct epoll_event e = {.events = what, .data.ptr = b};
    if (b->fd >= 0 && epoll_ctl(set, how, b->fd, &e) != 0)
        hang_up(b);
}

/* Who has waited for long enough hangs up, and comes again, as who was refused does. */
static void come_again(int set, bad *all, int count)
{
    int64_t now = now_us();
    for (int i = 0; i < count; i++) {
        if (all[i].fd >= 0 && now - all[i].since_us > PATIENCE_MS * 1000)
            hang_up(&all[i]);
        if (all[i].fd >= 0)
            continue;
        begin(&all[i]);
        listen_for(set, &all[i], EPOLL_CTL_ADD, EPOLLOUT);
    }
}

/* One after the other at first: in step they would all hang up and come again at one moment. */
static int how_many(int64_t passed_us)
{
    int64_t some = passed_us * AT_ONCE / (PATIENCE_MS * 1000);
    return some < AT_ONCE ? (int)some : AT_ONCE;
}

/* As light as it can be, since it would be elsewhere. */
static void be_bad(int64_t attempts)
{
    static bad all[AT_ONCE];
    struct epoll_event ready[64];
    int64_t start_us = now_us(), looked_us = 0;
    int set = epoll_create1(0);
    for (int i = 0; i < AT_ONCE; i++)
        all[i].fd = -1;
    while (begun < attempts) {
        if (now_us() - looked_us >= LOOK_MS * 1000) {
            looked_us = now_us();
            come_again(set, all, how_many(looked_us - start_us));
        }
        int n = epoll_wait(set, ready, 64, LOOK_MS);
        for (int i = 0; i < n; i++) {
            bad *b = ready[i].data.ptr;
            if (b->step > 0) {
                hear(b);
            } else {
                say_first(b);
                listen_for(set, b, EPOLL_CTL_MOD, EPOLLIN);
            }
        }
    }
    for (int i = 0; i < AT_ONCE; i++)
        hang_up(&all[i]);
    close(set);
}

/* They would come from other machines: what they cost here is not to be the good ones' loss.  On
 * Linux it is this thread's alone, and runs while no other wants to. */
static bool run_last(void)
{
#ifdef SCHED_IDLE
    struct sched_param none = {0};
    return sched_setscheduler(0, SCHED_IDLE, &none) == 0;
#else
    return setpriority(PRIO_PROCESS, 0, 19) == 0;
#endif
}

/* ---- both ---- */

static mongoc_client_pool_t *open_pool(char **argv, int clients)
{
    char text[512];
    snprintf(text, sizeof text,
             "mongodb://%s:%s@127.0.0.1:%d/?authSource=admin&maxPoolSize=%d&directConnection=true",
             argv[2], argv[3], port, clients + 1);
    mongoc_uri_t *uri = mongoc_uri_new(text);
    mongoc_client_pool_t *pool = uri != NULL ? mongoc_client_pool_new(uri) : NULL;
    mongoc_uri_destroy(uri);
    return pool;
}

static bool fill(mongoc_client_pool_t *pool)
{
    bson_error_t err;
    bson_t *doc = BCON_NEW("_id", BCON_INT32(1), "text", "something to find");
    mongoc_client_t *client = mongoc_client_pool_pop(pool);
    mongoc_collection_t *c = mongoc_client_get_collection(client, "bench", "c");
    bool kept = mongoc_collection_insert_one(c, doc, NULL, NULL, &err);
    if (!kept)
        fprintf(stderr, "logins: %s\n", err.message);
    mongoc_collection_destroy(c);
    mongoc_client_pool_push(pool, client);
    bson_destroy(doc);
    return kept;
}

int main(int argc, char **argv)
{
    static good g;
    if (argc != 6)
        return 2;
    port = atoi(argv[1]);
    int clients = atoi(argv[4]);
    pthread_t *threads = calloc((size_t)clients, sizeof *threads);
    mongoc_init();
    g.pool = open_pool(argv, clients);
    if (g.pool == NULL || threads == NULL || !fill(g.pool))
        return 1;
    for (int i = 0; i < clients; i++)
        if (pthread_create(&threads[i], NULL, be_good, &g) != 0)
            return 1;
    /* Until all have signed in. */
    usleep(3000000);
    atomic_store(&g.count, 0);
    usleep(ALONE_MS * 1000);
    int64_t alone = report(&g, "alone");
    if (!run_last())
        return 1;
    int64_t began = now_us();
    be_bad(atoll(argv[5]));
    double seconds = (double)(now_us() - began) / 1e6;
    int64_t beside = report(&g, "beside");
    atomic_store(&g.over, true);
    for (int i = 0; i < clients; i++)
        pthread_join(threads[i], NULL);
    printf("logins_begun,bad,%lld,attempts\nlogins_judged,bad,%lld,attempts\n", (long long)begun,
           (long long)judged);
    printf("logins_rate,bad,%.0f,attempts/s\n", (double)begun / seconds);
    printf("logins_ratio,beside,%.2f,times\n", alone > 0 ? (double)beside / (double)alone : 0);
    mongoc_client_pool_destroy(g.pool);
    mongoc_cleanup();
    free(threads);
    return atomic_load(&g.failures) > 0;
}
