/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_CMD_STORE_CERTIFICATE_H
#define ASH_CMD_STORE_CERTIFICATE_H

/* TLS of a server, as its settings want it: a certificate from files, or one that is made. */

#include "cmd/store/serving.h"
#include "tls/tls.h"

#define ASH_SELF_SIGNED_FILE "self-signed.pem" /* in the store's folder */

typedef struct ash_certificate {
    ash_tls *tls; /* NULL: there is none */
    char *made;   /* where the self-signed one is; or NULL */
    const char *hosts[ASH_SETTINGS_MAX_HOSTS];
    size_t host_count;
    char *host_list;
} ash_certificate;

/* Do the settings go together?  ASH_EXIT_USAGE, told. */
int ash__certificate_check(const ash_choices *c);
/* Is there to be TLS? */
bool ash__certificate_is_wanted(const ash_choices *c);
/* From its files, or (folder not NULL) made in the folder.  Nothing where none is wanted.  Zero-initialise;
 * release in any case. */
int ash__certificate_open(ash_certificate *k, const ash_choices *c, const char *folder,
                          ash_error *err);
/* Reads the files again, or makes another one in time, and says so in the log. */
void ash__certificate_reload(ash_certificate *k);
/* For people: of a self-signed one where it is, and what to compare. */
void ash__certificate_announce(const ash_certificate *k, const ash_cmd *cmd);
void ash__certificate_release(ash_certificate *k);

#endif
