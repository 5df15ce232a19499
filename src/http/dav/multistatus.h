/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_HTTP_DAV_MULTISTATUS_H
#define ASH_HTTP_DAV_MULTISTATUS_H

/* Answers in XML. */

#include "http/dav/resource.h"

#define ASH_DAV_XML_TYPE  "application/xml; charset=utf-8"
#define ASH_DAV_XML_BEGIN "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
#define ASH_DAV_MULTISTATUS_BEGIN                                                                  \
    ASH_DAV_XML_BEGIN "<D:multistatus xmlns:D=\"DAV:\" xmlns:O=\"http://owncloud.org/ns\">"
#define ASH_DAV_MULTISTATUS_END "</D:multistatus>\n"

/* <D:error> with a precondition of RFC 4918 §16; href: of what is in the way, or NULL. */
void ash__dav_error_body(ash_buffer *out, const char *condition, const char *href);
void ash__dav_answer_condition(ash_exchange *x, int status, const char *condition,
                               const char *href);

/* <D:status>HTTP/1.1 404 Not Found</D:status> */
void ash__dav_status(ash_buffer *out, int status);
/* An empty element of any namespace, or its beginning. */
void ash__dav_element(ash_buffer *out, const char *space, const char *name, bool empty);

#endif
