/* SPDX-License-Identifier: Apache-2.0 */
/* Print docs/COMPATIBILITY.md from the tables that the code itself runs on, so that it cannot
 * drift. */
#include "query/expr/accumulate.h"
#include "query/expr/expr.h"
#include "query/match/match.h"
#include "query/pipeline/pipeline.h"
#include "query/project/project.h"
#include "query/update/update.h"
#include "wire/command.h"

#include <stdio.h>
#include <string.h>

static const char head[] =
    "# What of MongoDB works\n"
    "\n"
    "Written by `tools/compatibility.c` from the tables in the code; `make test` compares. "
    "\"full\" means: as MongoDB 7.0 documents it.\n"
    "What is refused answers with MongoDB's own error code and names itself. What is not listed is "
    "unknown: commands answer 59, arguments of\n"
    "commands 40415, stages 40324, expressions 168 (31325 in $project), query operators 2, update "
    "operators 9.\n"
    "\n"
    "Where all writers wait, one document may take 5 s to evaluate, without maxTimeMS too: in the "
    "filters, updates and\n"
    "validators of writes and the filters of partial indexes.  Then the write ends with 50, "
    "MaxTimeMSExpired.\n"
    "\n"
    "Wherever a collation can be given: strengths 1 and 2, and the locale \"simple\"; strengths 3 "
    "(the "
    "default), 4 and 5, the locales tr, az\n"
    "and lt, variants of a locale (\"de@collation=phonebook\"), numericOrdering, caseLevel and "
    "alternate \"shifted\" answer 238.\n"
    "\n"
    "Field names: as in MongoDB from 5.0 on, names of documents may hold dots and begin with '$'. "
    "An "
    "_id must not, at any depth, but for references\n"
    "($ref, $id, $db): 52. In updates names within other fields may begin with '$' ('p.$each'); a "
    "document's own may in an inserting upsert alone: 52.\n"
    "Older drivers and GridFS texts (up to MongoDB 4.4) call such names invalid; what they refuse "
    "to "
    "send, others may have stored.\n"
    "\n"
    "Names of databases, collections and indexes are UTF-8: nothing is made with another name (73, "
    "of "
    "an index 67).  What has one, from an\n"
    "earlier version, can be read, renamed and dropped.  Strings in documents are not looked at, "
    "as "
    "in MongoDB, nor is the filename that a\n"
    "driver gives a file; `ashlar` and the library keep no file under a name that is not UTF-8.\n"
    "\n"
    "The server presents wire version 21 and itself as a replica set of one, named `ashlar` "
    "(`--replica-set NAME` for\n"
    "another name, `--standalone` for the rest). Not there yet:\n"
    "transactions by drivers, text and geographic search, time series, "
    "sharding.\n"
    "\n"
    "maxTimeMS that ends while a write that was made waits for the disk answers ok: 1 and a "
    "writeConcernError (50). Answers leave\n"
    "in the order of the changes. Sessions never run out: the longest unused of the connection "
    "with the most makes place.\n"
    "\n"
    "What readConcern `snapshot` reads is kept for a minute after its last use, for five minutes "
    "at "
    "most, and until 1 GiB of\n"
    "metadata (small documents and indexes too) was freed that it still sees; then 239, "
    "SnapshotTooOld.\n";

static void print_row(const char *name, const char *support, const char *note)
{
    printf("| `%s` | %s | %s |\n", name, support, note != NULL ? note : "");
}

static void print_features(const char *title, const ash_feature *table)
{
    printf("\n## %s\n\n| name | support | what differs |\n|---|---|---|\n", title);
    for (; table->name != NULL; table++)
        print_row(table->name, table->support, table->note);
}

static const char *support_of(const ash_wire_command_info *command)
{
    if ((command->flags & ASH_COMMAND_REFUSED) != 0)
        return "refused";
    return command->note == NULL ? "full" : "partly";
}

static void print_commands(void)
{
    size_t count;
    const ash_wire_command_info *table = ash__wire_commands(&count);
    printf("\n## Commands\n\n| name | support | what differs |\n|---|---|---|\n");
    for (size_t i = 0; i < count; i++)
        print_row(table[i].name, support_of(&table[i]), table[i].note);
}

int main(void)
{
    fputs(head, stdout);
    print_commands();
    print_features("Query operators", ash__match_features());
    print_features("Projections", ash__projection_features());
    print_features("Update operators", ash__update_features());
    print_features("Aggregation stages", ash__pipeline_features());
    print_features("Accumulators of $group", ash__acc_features());
    print_features("Expressions", ash__expr_features());
    return 0;
}
