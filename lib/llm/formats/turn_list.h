/*
 * Internal to lib/llm: messages in which user and assistant take turns, each message a list of
 * blocks. These are the rules that Anthropic's Messages and Bedrock's Converse share; what a block
 * looks like is the format's own.
 *
 * The last message of a prompt stays open, without the "]}" of its content: results of calls and
 * what the user says after them are one message.
 */
#ifndef DEFT_LLM_FORMATS_TURN_LIST_H
#define DEFT_LLM_FORMATS_TURN_LIST_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "base/attr.h"

struct llm_prompt;
struct strbuf;

/* A message of the user's, where the format requires one: in between or at the end, and first. */
#define TURN_GO_ON_TEXT "Go on."
#define TURN_OPENING_TEXT "(The conversation begins with a message of the assistant.)"
#define TURN_NO_IMAGE_TEXT "[an image in a form that this model does not take]"

/* What is told of a call besides its result. Content of one that failed is text, and not empty. */
enum turn_outcome { TURN_OUTCOME_UNTOLD, TURN_OUTCOME_FAILED };

/* The blocks of a format. Functions return new references. */
struct turn_blocks {
    json_t *(*text)(const char *text, size_t len);
    /* url: data: or https:. NULL: the format does not take such an image. */
    json_t *(*image)(const char *url);
    /* id: of the call, of letters, digits, _ and -. Consumes the parts, which may be none. */
    json_t *(*result)(const char *id, json_t *parts, enum turn_outcome outcome);
    /* Consumes a block as in llm_reply.thinking, without its member "model". */
    json_t *(*thinking)(json_t *block);
    /* input: an object as JSON text, to be sent byte for byte. */
    void (*append_call)(struct strbuf *out, const char *id, const char *name, const char *input);
    bool has_mark_blocks; /* a cache mark is a block, and not the last member of one */
};

/* Results of calls and words of the user in one message, or in two with one of the assistant. */
enum turn_results { TURN_RESULTS_WITH_WORDS, TURN_RESULTS_APART };

/* Adds a message of the user, the assistant or a tool (llm/llm_prompt.h). */
void turn_list_add(struct llm_prompt *prompt, const struct turn_blocks *blocks,
                   enum turn_results results, const json_t *message) NONNULL;
/*
 * Appends the messages as a JSON array, with the cache mark, if there is a place for one. The last
 * message is the user's.
 */
void turn_list_append(const struct llm_prompt *prompt, const struct turn_blocks *blocks,
                      const char *mark, struct strbuf *out) NONNULL;
/*
 * The arguments of a call as they are sent: as the model wrote them, byte for byte. Those that are
 * no object were answered with an error, which tells what they were; they become "{}". Borrowed.
 */
const char *turn_call_arguments(const char *arguments) NONNULL MUST_CHECK;
/* "image/png" and such, if the image is embedded in the URL and models take its type; else NULL.
 * *data_out: base64, within the URL. Static storage. */
const char *turn_image_type(const char *url, const char **data_out) NONNULL MUST_CHECK;

#endif
