/* SPDX-License-Identifier: Apache-2.0 */
#include "object/jetstream/servers.h"

#include "remove_folder.h"

#include "base/clock.h"
#include "base/mem.h"
#include "object/jetstream/connection.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { READY_MS = 60000, URI_BYTES = 128 };

struct servers {
    int count;
    char *folder;
    const char *more;
    int ports[MAX_SERVERS], routes[MAX_SERVERS];
    pid_t pids[MAX_SERVERS];
    char uri[URI_BYTES], addresses[MAX_SERVERS][32];
};

static const char *program(void)
{
    const char *own = getenv("ASH_NATS_SERVER");
    return own != NULL && *own != '\0' ? own : "nats-server";
}

static void say_nothing(void)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
}

bool servers_are_there(void)
{
    int status = 1;
    pid_t pid = fork();
    if (pid == 0) {
        say_nothing();
        execlp(program(), program(), "--version", (char *)NULL);
        _exit(127);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void fail(const char *what)
{
    fprintf(stderr, "# NATS servers: %s\n", what);
    abort();
}

/* The socket stays open until all ports are chosen, so that they differ. */
static int free_port(int *socket_out)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &len) != 0)
        fail("no free port");
    *socket_out = fd;
    return ntohs(at.sin_port);
}

static void choose_ports(servers *s)
{
    int sockets[2 * MAX_SERVERS];
    for (int i = 0; i < s->count; i++) {
        s->ports[i] = free_port(&sockets[2 * i]);
        s->routes[i] = free_port(&sockets[2 * i + 1]);
        snprintf(s->addresses[i], sizeof s->addresses[i], "127.0.0.1:%d", s->ports[i]);
    }
    for (int i = 0; i < 2 * s->count; i++)
        close(sockets[i]);
}

static void write_configuration(const servers *s, int index)
{
    char *path = ash__sprintf("%s/n%d.conf", s->folder, index);
    FILE *file = fopen(path, "we");
    if (file == NULL)
        fail("no configuration");
    fprintf(file, "server_name: n%d\nlisten: 127.0.0.1:%d\n", index, s->ports[index]);
    fprintf(file, "jetstream { store_dir: \"%s/n%d\" }\n", s->folder, index);
    if (s->count > 1) {
        fprintf(file, "cluster { name: tests, listen: 127.0.0.1:%d, routes: [", s->routes[index]);
        for (int i = 0; i < s->count; i++)
            fprintf(file, "%snats://127.0.0.1:%d", i > 0 ? ", " : "", s->routes[i]);
        fprintf(file, "] }\n");
    }
    if (s->more != NULL)
        fprintf(file, "%s\n", s->more);
    if (fclose(file) != 0)
        fail("no configuration");
    ash__free(path);
}

static void start_one(servers *s, int index)
{
    char *configuration = ash__sprintf("%s/n%d.conf", s->folder, index);
    char *log = ash__sprintf("%s/n%d.log", s->folder, index);
    pid_t pid = fork();
    if (pid == 0) {
        say_nothing();
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that dies leaves nobody behind */
        execlp(program(), program(), "-c", configuration, "-l", log, (char *)NULL);
        _exit(127);
    }
    s->pids[index] = pid;
    ash__free(configuration);
    ash__free(log);
}

static ash_js *try_connect(const servers *s)
{
    ash_nats_address address;
    ash_js *js = NULL;
    char *uri = ash__sprintf("%s", s->uri);
    if (ash__nats_address_parse(uri, &address, NULL) == 0 &&
        ash__js_connect(&address, 2000, &js, NULL) != 0)
        js = NULL;
    ash__nats_address_release(&address);
    ash__free(uri);
    return js;
}

/* A stream with a copy on each can be made: then all of them know each other. */
static bool try_stream(const servers *s, ash_js *js)
{
    ash_buffer body = ASH_BUFFER_INIT;
    ash_op op = ASH_OPTIONS_INIT(ash_op);
    op.deadline_ms = ash__clock_deadline(3000);
    ash__buffer_printf(&body,
                       "{\"name\":\"PROBE\",\"subjects\":[\"probe\"],\"num_replicas\":%d,"
                       "\"storage\":\"memory\",\"retention\":\"limits\"}",
                       s->count);
    int rc = ash__js_request(js, "STREAM.CREATE.PROBE", &body, &op, NULL, NULL);
    ash__buffer_release(&body);
    op.deadline_ms = ash__clock_deadline(3000);
    return rc == 0 && ash__js_request(js, "STREAM.DELETE.PROBE", NULL, &op, NULL, NULL) == 0;
}

static void wait_until_ready(const servers *s)
{
    int64_t until = ash__clock_ms() + READY_MS;
    bool ready = false;
    while (!ready && ash__clock_ms() < until) {
        /* With users of its own nobody but the test can ask. */
        ash_js *js = try_connect(s);
        ready = js != NULL && try_stream(s, js);
        ash__js_close(js);
        if (!ready)
            ash__clock_sleep_ms(50);
    }
    if (!ready)
        fail("they do not answer");
}

static void wait_for_ports(const servers *s)
{
    int64_t until = ash__clock_ms() + READY_MS;
    for (int i = 0; i < s->count;) {
        struct sockaddr_in at = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                 .sin_port = htons((uint16_t)s->ports[i])};
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
            i++;
        else if (ash__clock_ms() > until)
            fail("they do not listen");
        else
            ash__clock_sleep_ms(20);
        close(fd);
    }
}

servers *servers_start(int count, const char *more)
{
    const char *tmp = getenv("TMPDIR");
    servers *s = ash__new(servers);
    s->count = count;
    s->more = more;
    s->folder = ash__sprintf("%s/ashlar-nats-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(s->folder) == NULL)
        fail("no folder");
    choose_ports(s);
    strcpy(s->uri, "nats://");
    for (int i = 0; i < count; i++) {
        size_t len = strlen(s->uri);
        snprintf(s->uri + len, sizeof s->uri - len, "%s%s", i > 0 ? "," : "", s->addresses[i]);
    }
    for (int i = 0; i < count; i++) {
        write_configuration(s, i);
        start_one(s, i);
    }
    wait_for_ports(s);
    if (more == NULL)
        wait_until_ready(s);
    return s;
}

const char *servers_uri(const servers *s)
{
    return s->uri;
}

const char *servers_address(const servers *s, int index)
{
    return s->addresses[index];
}

int servers_leader_of(const servers *s, const char *stream)
{
    ash_js *js = try_connect(s);
    ash_json *info = NULL;
    int leader = -1;
    char *verb = ash__sprintf("STREAM.INFO.%s", stream);
    if (js != NULL && ash__js_request(js, verb, NULL, NULL, &info, NULL) == 0) {
        const char *name = ash__json_text(ash__json_get(info, "cluster"), "leader", "");
        leader = name[0] == 'n' && name[1] >= '0' && name[1] < '0' + s->count ? name[1] - '0' : -1;
    }
    ash__json_free(info);
    ash__js_close(js);
    ash__free(verb);
    return leader;
}

void servers_kill(servers *s, int index)
{
    if (s->pids[index] <= 0)
        return;
    kill(s->pids[index], SIGKILL);
    waitpid(s->pids[index], NULL, 0);
    s->pids[index] = 0;
}

void servers_start_again(servers *s, int index)
{
    start_one(s, index);
}

void servers_stop(servers *s)
{
    if (s == NULL)
        return;
    for (int i = 0; i < s->count; i++)
        servers_kill(s, i);
    remove_folder(s->folder);
    ash__free(s->folder);
    ash__free(s);
}
