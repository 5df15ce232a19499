/* SPDX-License-Identifier: Apache-2.0 */
/* For scripts: NATS servers until standard input ends.
 * usage: nats-servers [COUNT]     says their address, nats://…, on a line of its own */
#include "object/jetstream/servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char byte;
    int count = argc > 1 ? atoi(argv[1]) : 1;
    if (!servers_are_there() || count < 1 || count > MAX_SERVERS)
        return 2;
    servers *s = servers_start(count, NULL);
    printf("%s\n", servers_uri(s));
    fflush(stdout);
    while (read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    servers_stop(s);
    return 0;
}
