/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASH_NATS_JETSTREAM_ANSWER_H
#define ASH_NATS_JETSTREAM_ANSWER_H

/* Requests to the API, and what is answered: JSON of a type, or an error of JetStream's own. */

#include "nats/jetstream/door.h"
#include "object/jetstream/format/json.h"

/* JetStream's errors that are given here: name, code, err_code, text. */
#define ASH_JSD_ERRORS(X)                                                                          \
    X(ACCOUNT_RESOURCES, 400, 10002, "resource limits exceeded for account")                       \
    X(BAD_REQUEST, 400, 10003, "bad request")                                                      \
    X(CONSUMER_CREATE, 500, 10012, "consumer cannot be created")                                   \
    X(CONSUMER_NOT_FOUND, 404, 10014, "consumer not found")                                        \
    X(INSUFFICIENT_RESOURCES, 503, 10023, "insufficient resources")                                \
    X(INVALID_JSON, 400, 10025, "invalid JSON")                                                    \
    X(TOO_MANY_CONSUMERS, 400, 10026, "maximum consumers limit reached")                           \
    X(MEMORY_EXCEEDED, 500, 10028, "insufficient memory resources available")                      \
    X(NO_MESSAGE, 404, 10037, "no message found")                                                  \
    X(SEQUENCE_NOT_FOUND, 400, 10043, "sequence not found")                                        \
    X(STREAM_GENERAL, 500, 10051, "general stream failure")                                        \
    X(STREAM_CONFIG, 500, 10052, "stream configuration is not valid")                              \
    X(STREAM_MISMATCH, 400, 10056, "stream name in subject does not match request")                \
    X(DELETE_FAILED, 500, 10057, "message cannot be deleted")                                      \
    X(STREAM_NAME_IN_USE, 400, 10058, "stream name already in use with a different configuration") \
    X(STREAM_NOT_FOUND, 404, 10059, "stream not found")                                            \
    X(STREAM_NOT_MATCH, 400, 10060, "expected stream does not match")                              \
    X(WRONG_LAST_ID, 400, 10070, "wrong last msg ID")                                              \
    X(WRONG_LAST_SEQUENCE, 400, 10071, "wrong last sequence")                                      \
    X(REPLICAS, 500, 10074, "replicas > 1 not supported in non-clustered mode")                    \
    X(STORE_FAILED, 503, 10077, "message cannot be stored")                                        \
    X(CONSUMER_CONFIG_REQUIRED, 400, 10078, "consumer config required")                            \
    X(DELIVER_WILDCARDS, 400, 10079, "consumer deliver subject has wildcards")                     \
    X(SMALL_HEARTBEAT, 400, 10083, "consumer idle heartbeat needs to be >= 100ms")                 \
    X(HEARTBEAT_OF_PULL, 400, 10088, "consumer idle heartbeat requires a push based consumer")     \
    X(FLOW_OF_PULL, 400, 10089, "consumer flow control requires a push based consumer")            \
    X(FILTER, 400, 10093,                                                                          \
      "consumer filter subject is not a valid subset of the interest subjects")                    \
    X(FLOW_WITHOUT_HEARTBEAT, 400, 10108, "consumer with flow control also needs heartbeats")      \
    X(SEALED, 400, 10109, "invalid operation on sealed stream")                                    \
    X(DELIVER_SUBJECT, 400, 10112, "invalid push consumer deliver subject")                        \
    X(FILTER_MISMATCH, 400, 10131,                                                                 \
      "Consumer create request did not match filtered subject from create subject")                \
    X(TTL_INVALID, 400, 10165, "invalid per-message TTL")                                          \
    X(TOO_MANY_REQUESTS, 429, 10167, "too many requests")                                          \
    X(NO_COUNTERS, 400, 10168, "message counters is disabled")                                     \
    X(NO_BATCHES, 400, 10174, "atomic publish is disabled")                                        \
    X(API_LEVEL, 412, 10185, "JetStream minimum api level required")                               \
    X(NO_SCHEDULES, 400, 10188, "message schedules is disabled")                                   \
    X(SEQUENCE_OF_SUBJECT, 400, 10193, "missing sequence for expected last sequence per subject")

#define ASH_JSD_ENUM(name, code, number, text) ASH_JSD_##name,
typedef enum ash_jsd_error { ASH_JSD_OK, ASH_JSD_ERRORS(ASH_JSD_ENUM) } ash_jsd_error;
#undef ASH_JSD_ENUM

typedef struct ash_jsd_request {
    ash_jsd_client *client;
    const ash_nats_message *message;
    const char *type;        /* of the answer */
    char *stream;            /* its name as the subject has it; NULL: the request is of none */
    const char *store;       /* in it */
    const char *rest;        /* of the subject, behind the stream's name; "" */
    ash_json *body;          /* an object, or NULL: it was empty */
    ash_object_store *bound; /* the store, where the request needs one that is there */
    ash_buffer answer;       /* to which a handler appends members */
    int failed;              /* the number of the error that was answered; 0: none */
} ash_jsd_request;

int ash__jsd_error_number(ash_jsd_error error);
/* Instead of all that was appended.  text: in place of the error's own; NULL: that. */
void ash__jsd_fail(ash_jsd_request *r, ash_jsd_error error, const char *text);
/* What an error of the object stores is to JetStream.  otherwise: where nothing fits better. */
ash_jsd_error ash__jsd_error_of(int rc, ash_jsd_error otherwise);
void ash__jsd_fail_rc(ash_jsd_request *r, int rc, const ash_error *err, ash_jsd_error otherwise);
/* Appends a member "error"; text as above. */
void ash__jsd_put_error(ash_buffer *out, ash_jsd_error error, const char *text);

/* A plain answer, to whoever asked; nothing where nobody did. */
void ash__jsd_reply(ash_jsd_client *c, const ash_nats_message *to, const void *data, size_t len);
/* A message without a payload: "NATS/1.0 <status>" and lines of headers ("" for none). */
void ash__jsd_status(ash_jsd_client *c, const char *to, const char *reply, const char *status,
                     const char *lines);

/* A header, as it stands in the message, its value without blanks around it. */
typedef struct ash_jsd_header {
    const char *name, *value;
    size_t name_len, value_len;
} ash_jsd_header;
/* The next one; *at: NULL at first.  Lines that are no header are passed over. */
bool ash__jsd_header_next(const ash_nats_message *m, const char **at, ash_jsd_header *out);
/* In any case of letters. */
bool ash__jsd_header_is(const ash_jsd_header *h, const char *name);

enum { ASH_JSD_HEADER_BYTES = 256 }; /* a value that is served, and its NUL */
/* The value of the first one of that name; false: there is none, or it is longer. */
bool ash__jsd_header_value(const ash_nats_message *m, const char *name,
                           char out[ASH_JSD_HEADER_BYTES]);

/* Members. */
void ash__jsd_put_time(ash_buffer *out, const char *key, int64_t ms);
void ash__jsd_put_base64(ash_buffer *out, const char *key, const void *data, size_t len);
/* "2026-11-25T09:30:00.123Z" */
void ash__jsd_time_text(int64_t ms, char out[32]);

/* Handlers, by files. */
void ash__jsd_account_info(ash_jsd_request *r);
void ash__jsd_stream_create(ash_jsd_request *r);
void ash__jsd_stream_update(ash_jsd_request *r);
void ash__jsd_stream_info(ash_jsd_request *r);
void ash__jsd_stream_delete(ash_jsd_request *r);
void ash__jsd_stream_purge(ash_jsd_request *r);
void ash__jsd_stream_names(ash_jsd_request *r);
void ash__jsd_stream_list(ash_jsd_request *r);
void ash__jsd_message_get(ash_jsd_request *r);
void ash__jsd_direct_get(ash_jsd_request *r);
void ash__jsd_message_delete(ash_jsd_request *r);
void ash__jsd_consumer_create(ash_jsd_request *r);
void ash__jsd_consumer_info(ash_jsd_request *r);
void ash__jsd_consumer_delete(ash_jsd_request *r);
void ash__jsd_consumer_names(ash_jsd_request *r);
void ash__jsd_consumer_list(ash_jsd_request *r);
void ash__jsd_consumer_next(ash_jsd_request *r);

#endif
