/*
 * Requests of OpenAI-compatible clients: the profile that is to run, and its input. Both APIs (chat
 * completions, responses) are reduced to one system text and one user message.
 *
 * Ownership: struct openai_request owns its members until openai_request_done(), except `profile`.
 * Threading: pure.
 * Source:    https://platform.openai.com/docs/api-reference/chat, …/responses
 */
#ifndef DEFT_MODEL_OPENAI_OPENAI_REQUEST_H
#define DEFT_MODEL_OPENAI_OPENAI_REQUEST_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct json_path;
struct object_schema;

/* A profile's model name is this prefix and the profile's name. */
#define OPENAI_MODEL_PREFIX "openhands_"

/* Which messages are taken. */
enum openai_turns {
    OPENAI_ALL_TURNS, /* for a new conversation */
    OPENAI_NEW_TURNS, /* for an existing one: those after the assistant's last */
};

struct openai_request {
    const char *profile;  /* borrowed from the values; NULL: not a model of deft's */
    const char *refusal;  /* why the request is refused, a static string; NULL: it is not */
    struct strbuf system; /* "" if there is none */
    json_t *content;      /* a list of text and image parts */
    bool is_streamed;
};

/* clang-format off */
#define OPENAI_REQUEST_INIT {.system = STRBUF_INIT}
/* clang-format on */

void openai_request_done(struct openai_request *ask);

extern const struct object_schema openai_chat_schema;
extern const struct object_schema openai_response_schema;

/*
 * Reads the values of a body that was read by its schema above. Malformed members are appended to
 * problems; well-formed requests that are not supported or are empty set ask->refusal.
 */
void openai_request_read_chat(json_t *values, enum openai_turns turns, struct openai_request *ask,
                              json_t *problems) NONNULL;
void openai_request_read_response(json_t *values, struct openai_request *ask,
                                  json_t *problems) NONNULL;

#endif
