/* SPDX-License-Identifier: Apache-2.0 */
#include "runner.h"

#include <stdio.h>
#include <string.h>

/* spec-runner STORE FILE…: TAP on standard output; 1 when a test failed, 77 when none was run. */
int main(int argc, char **argv)
{
    ash_error err = ASH_ERROR_INIT;
    ash_store *store = NULL;
    tally t = {0, 0, 0};
    if (argc < 3) {
        fprintf(stderr, "usage: spec-runner STORE FILE...\n");
        return 2;
    }
    if (ash_store_open(argv[1], NULL, &store, &err) != 0) {
        printf("Bail out! cannot open %s: %s\n", argv[1], err.text);
        return 1;
    }
    printf("TAP version 13\n");
    for (int i = 2; i < argc; i++)
        spec_run_file(store, argv[i], &t);
    ash_store_close(store);
    printf("1..%d\n", t.run);
    printf("# %d passed, %d failed, %d skipped\n", t.run - t.failed - t.skipped, t.failed,
           t.skipped);
    return t.failed > 0 ? 1 : 0;
}
