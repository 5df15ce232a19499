/* SPDX-License-Identifier: Apache-2.0 */
/* The command: starting the process, opening and closing the store included. */
#include "layer.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int start(const char *const argv[], int *out)
{
    posix_spawn_file_actions_t actions;
    int ends[2], pid;
    bench_check(pipe(ends) == 0, "pipe");
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
    posix_spawn_file_actions_addclose(&actions, ends[0]);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
    bench_check(
        posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ) == 0,
        "start the command");
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    *out = ends[0];
    return pid;
}

/* Run the command; its standard output goes nowhere but is counted. */
static uint64_t run(const char *const argv[])
{
    uint64_t total = 0;
    ssize_t got;
    int out, status, pid = start(argv, &out);
    char *buffer = malloc(LAYER_BUFFER);
    while ((got = read(out, buffer, LAYER_BUFFER)) > 0)
        total += (uint64_t)got;
    free(buffer);
    close(out);
    bench_check(waitpid(pid, &status, 0) == pid && status == 0, "command");
    return total;
}

void bench_serve(struct server *s, const char *command, const char *folder)
{
    const char *argv[] = {command, "-s", folder, "serve", "--mongo", "127.0.0.1:0", NULL};
    int out;
    s->pid = start(argv, &out);
    FILE *f = fdopen(out, "r");
    bench_check(f != NULL && fgets(s->uri, sizeof s->uri, f) != NULL, "start the server");
    /* The first line says where it listens, and comes when it does. */
    s->uri[strcspn(s->uri, "\n")] = 0;
    fclose(f);
}

void bench_stop(struct server *s)
{
    int status;
    kill(s->pid, SIGTERM);
    bench_check(waitpid(s->pid, &status, 0) == s->pid, "stop the server");
}

static void *command_open(const struct places *p)
{
    struct places *l = malloc(sizeof *l);
    *l = *p;
    return l;
}

static void command_put(void *layer)
{
    struct places *l = layer;
    const char *argv[] = {l->command, "-q", "-s", l->folder, "put", l->source, "source", NULL};
    run(argv);
}

static uint64_t command_get(void *layer)
{
    struct places *l = layer;
    const char *argv[] = {l->command, "-q", "-s", l->folder, "get", "source", "-", NULL};
    return run(argv);
}

static void command_put_small(void *layer)
{
    struct places *l = layer;
    const char *argv[] = {l->command, "-q", "-s", l->folder, "put", "-r", l->small, NULL};
    run(argv);
}

const bench_layer layer_command = {
    "command",    "a process a call; get writes into a pipe; put -r of the folder",
    command_open, command_put,
    command_get,  command_put_small,
    free};
