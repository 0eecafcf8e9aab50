/*
 * What a client of OpenAI's interfaces asks for: which profile's agent, and what it is told. Both
 * interfaces become one system text and one user's message.
 *
 * Ownership: struct openai_ask owns its texts until openai_ask_done(), `profile` apart.
 * Threading: pure.
 * Source:    https://platform.openai.com/docs/api-reference/chat, …/responses
 */
#ifndef DEFT_MODEL_OPENAI_OPENAI_ASK_H
#define DEFT_MODEL_OPENAI_OPENAI_ASK_H

#include <stdbool.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/strbuf.h"

struct place;
struct shape;

/* What a profile is called there: this, and its name. */
#define OPENAI_MODEL_PREFIX "openhands_"

/* Which messages count. */
enum openai_turns {
    OPENAI_ALL_TURNS, /* a new conversation: it knows nothing yet */
    OPENAI_NEW_TURNS, /* one goes on: those behind the assistant's last */
};

struct openai_ask {
    const char *profile;  /* borrowed from the values; NULL: the model is none of ours */
    const char *refusal;  /* why it cannot be done, in words; lives for ever; NULL: nothing */
    struct strbuf system; /* "" when there is none */
    json_t *content;      /* a list of text and image parts */
};

/* clang-format off */
#define OPENAI_ASK_INIT {.system = STRBUF_INIT}
/* clang-format on */

void openai_ask_done(struct openai_ask *ask);

extern const struct shape openai_chat_shape;
extern const struct shape openai_response_shape;

/*
 * Reads the values of a body by the shape above. What has the wrong form is appended to problems;
 * what has the right one and is not served, or means nothing, is ask->refusal.
 */
void openai_ask_read_chat(json_t *values, enum openai_turns turns, struct openai_ask *ask,
                          json_t *problems) NONNULL;
void openai_ask_read_response(json_t *values, struct openai_ask *ask, json_t *problems) NONNULL;

#endif
