/*
 * Internal to lib/llm: the wire formats, one row of functions each. Nothing outside a format's own
 * files knows what its requests and answers look like.
 *
 * Threading: pure.
 * Decision: docs/decisions/0081-formats-of-models.md
 */
#ifndef DEFT_LLM_FORMAT_H
#define DEFT_LLM_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"

enum llm_format_kind {
    LLM_FORMAT_CHAT,      /* OpenAI Chat Completions */
    LLM_FORMAT_RESPONSES, /* OpenAI Responses */
    LLM_FORMAT_ANTHROPIC, /* Anthropic Messages */
    LLM_FORMAT_GEMINI,    /* Gemini's generateContent */
    LLM_FORMAT_BEDROCK,   /* Amazon Bedrock Converse */
    LLM_FORMAT_SCRIPTED,  /* plays back a file */
    LLM_FORMAT_NONE,      /* known, but deft does not support its format yet */
    LLM_N_FORMATS,
};

struct catalogue;
struct llm_error;
struct llm_headers;
struct llm_prompt;
struct llm_request;
struct llm_route;
struct response_builder;

/* Values that a call reads from its specification. */
struct llm_plan {
    int64_t timeout_ms;      /* of one attempt; 0: none */
    int64_t idle_timeout_ms; /* between two pieces of a stream; 0: none */
    bool is_stream;
    bool is_warm; /* always send temperature 1.0 */
};

struct llm_format {
    /* Of the endpoint, after the version; "": the model's name is in it; NULL: not an HTTP server.
     */
    const char *path;
    /* Data of the event after the last of a stream; "": there is none. */
    const char *end_of_stream;

    /* Rendering of a prompt, see llm/llm_prompt.h. The tools are not empty. */
    void (*add_message)(struct llm_prompt *prompt, json_t *message);
    void (*add_tools)(struct llm_prompt *prompt, const json_t *tools);

    /* The headers with the key, and those that belong to the format. */
    void (*add_headers)(const struct llm_request *request, const struct llm_route *route,
                        struct llm_headers *headers);
    /* The request body; the caller frees it with mem_free(). */
    char *(*request_body)(const struct catalogue *catalogue, const struct llm_request *request,
                          const struct llm_route *route, const struct llm_plan *plan);

    /* Reads one event of a stream; *is_last_out says that no further one is needed. */
    int (*read_event)(struct response_builder *builder, const json_t *event, bool *is_last_out,
                      struct llm_error *llm_error);
    /* Reads an answer that is not streamed. */
    int (*read_answer)(struct response_builder *builder, const json_t *answer,
                       struct llm_error *llm_error);
    /* Reads the body of an answer with another status than 2xx. Returns -1. */
    int (*read_error)(struct llm_error *llm_error, long status, const char *body, size_t len);

    /* The rest is NULL for most formats. */

    /*
     * Sets the URL of a route, and corrects its model, where that takes more than `path`. base_url:
     * NULL if none is known; spec: NULL if only names are.
     */
    int (*locate)(const json_t *spec, const char *base_url, struct llm_route *route,
                  struct llm_error *llm_error);
    /* Refuses, with words for the user, what cannot be sent. */
    int (*check)(const struct llm_request *request, const struct llm_route *route,
                 struct llm_error *llm_error);
    /* Signs a request; the headers are complete. */
    void (*sign)(const struct llm_request *request, const struct llm_route *route, const char *body,
                 struct llm_headers *headers);
    const char *id_header;    /* of an answer, with its id */
    const char *error_header; /* of an answer with another status than 2xx: the error's class */
};

/* Static storage. */
const struct llm_format *llm_format_of(enum llm_format_kind format) MUST_CHECK;

#endif
