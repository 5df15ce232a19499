/* SPDX-License-Identifier: Apache-2.0 */
#include "work.h"

#include "steps.h"
#include "wrapped_engine.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* usage: workload FOLDER ACKS SEED STEPS REOPENS
 *
 * The process that is recorded: does the steps of a seed to a store in FOLDER and acknowledges each
 * in the file ACKS.  With an odd seed, the engine uses its journal wherever it can; with every
 * other pair of seeds, it gives free space back all the time.
 * ASH_BREAK_RULE=1, 2 or 3 breaks that rule of the engine. */
int main(int argc, char **argv)
{
    ash_error err = ASH_ERROR_INIT;
    if (argc != 6)
        return 2;
    const char *rule = getenv(BREAK_RULE_ENV);
    wrapped_engine_break(rule != NULL ? atoi(rule) : RULE_NONE);
    wrapped_engine_journal_eagerly(atoi(argv[3]) % 2 != 0);
    steps_trim_eagerly(atoi(argv[3]) / 2 % 2 == 0);
    int acks = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (acks < 0)
        return 2;
    work *w = work_new(strtoull(argv[3], NULL, 10));
    work_options opts = {.folder = argv[1],
                         .steps = (uint32_t)atoi(argv[4]),
                         .reopens = (uint32_t)atoi(argv[5]),
                         .acks = acks};
    int result = work_do(w, &opts, &err);
    if (result != 0)
        fprintf(stderr, "# workload: %s\n", err.text);
    work_free(w);
    close(acks);
    return result == 0 ? 0 : 3;
}
