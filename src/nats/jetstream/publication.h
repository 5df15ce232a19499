/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_PUBLICATION_H
#define ASH_NATS_JETSTREAM_PUBLICATION_H

/* A message that is published into a store: what its headers ask for, and how it is acknowledged or
 * refused. */

#include "nats/jetstream/answer.h"
#include "nats/jetstream/puts.h"

typedef struct ash_jsd_publication {
    ash_jsd_client *client;
    const ash_nats_message *message;
    char *store;
    char *name; /* the NUID, or the object's name */
    char id[ASH_JSD_HEADER_BYTES], expected_id[ASH_JSD_HEADER_BYTES];
    uint64_t id_sum; /* of a meta message's, by which it is known again; 0: it has none */
    bool expects_sequence;
    uint64_t expected;
    int64_t ttl_ms;          /* from when it came */
    ash_jsd_put *put;        /* of a chunk, taken */
    bool busy;               /* somebody else has it */
    ash_object_store *bound; /* or NULL, as long as that put is enough */
    ash_error err;
    int failed; /* the number of the error that it was refused by; 0: none */
} ash_jsd_publication;

void ash__jsd_acknowledge(ash_jsd_publication *p, uint64_t sequence, bool duplicate);
/* text: in place of the error's own; NULL: that. */
void ash__jsd_refuse(ash_jsd_publication *p, ash_jsd_error error, const char *text);
/* last: the sequence that the subject has. */
void ash__jsd_refuse_sequence(ash_jsd_publication *p, uint64_t last);
/* By what a call returned, and p->err. */
void ash__jsd_refuse_rc(ash_jsd_publication *p, int rc);

/* Everything that a header asks for is known, or the message is refused: false. */
bool ash__jsd_publication_read(ash_jsd_publication *p, bool is_chunk);

/* A meta message that came before, by its id: it is acknowledged as it was then.  Also true when
 * that cannot be found out: then it was refused. */
bool ash__jsd_was_told(ash_jsd_publication *p);
void ash__jsd_note_told(ash_jsd_publication *p, uint64_t sequence);

#endif
