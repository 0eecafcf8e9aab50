/*
 * Events: what happened in a conversation, in the exact shapes of the wire. Builders add to a list;
 * the store stamps id and time when it appends.
 *
 * Ownership: a list owns its events; builders take copies of text and their own references of
 * json_t arguments. Null members are left out. No parent_id.
 * Threading: a list belongs to one thread.
 * Decision: docs/decisions/0032-times-of-events.md
 */
#ifndef DEFT_MODEL_EVENT_EVENT_H
#define DEFT_MODEL_EVENT_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/uuid.h"
#include "model/event/status.h"

struct error;
struct json_path;
struct strbuf;

struct event {
    struct uuid id;
    const char *kind;      /* static string */
    const char *source;    /* static string */
    int64_t timestamp_us;  /* 0 until appended */
    struct uuid result_of; /* the ActionEvent whose result this is; else unset */
    json_t *json;          /* the body without id and timestamp */
    char *text;            /* what event_write_text() wrote, owned; or NULL */
    size_t text_len;
};

struct event_list {
    struct event *items;
    size_t n;
    size_t size;
};

/* clang-format off */
#define EVENT_LIST_INIT {NULL, 0, 0}
/* clang-format on */

void event_list_done(struct event_list *list);
/* Appends the event's exact wire text, with id and naive timestamp. */
void event_append_body(const struct event *event, struct strbuf *out) NONNULL;
/* Keeps that text with the event; replaces an earlier one. */
void event_write_text(struct event *event) NONNULL;

/* A model's tool call, as needed for an ActionEvent. */
struct action_parts {
    const char *tool_name;
    const char *tool_call_id;
    const char *responses_item_id; /* of OpenAI's Responses; NULL: another format */
    const char *arguments;         /* raw JSON text from the model */
    const char *llm_response_id;
    const char *security_risk; /* UNKNOWN, LOW, MEDIUM, HIGH */
    const char *summary;       /* NULL if the arguments were invalid */
    json_t *action;            /* with kind; NULL if the call cannot be executed */
    const char *thought;       /* text sent with the first call of a response, else NULL */
    const char *reasoning;     /* reasoning_content of the first call, else NULL */
};

/* The call that a result refers to. */
struct call_ref {
    struct uuid action_id;
    const char *tool_name;
    const char *tool_call_id;
};

/* tools: array of ToolDefinition; dynamic_context may be NULL. */
void event_add_system_prompt(struct event_list *list, const char *prompt, json_t *tools,
                             const char *dynamic_context) __attribute__((nonnull(1, 2, 3)));
/* content: array of TextContent and ImageContent, already checked. Returns the event's id. */
struct uuid event_add_user_message(struct event_list *list, json_t *content) NONNULL;
/* As event_add_user_message(), with the names of the skills it activates and the texts they add for
 * the model; both are arrays. */
struct uuid event_add_user_message_with(struct event_list *list, json_t *content,
                                        json_t *activated_skills, json_t *extended_content) NONNULL;
/* Sets the sender of the user messages in the list; NULL: no change. */
void event_list_set_sender(struct event_list *list, const char *sender) __attribute__((nonnull(1)));
/* Text from deft to the model: source environment, role user. */
struct uuid event_add_environment_message(struct event_list *list, const char *text) NONNULL;
/* Sets the thinking blocks of the last event, an agent's message or a call: an array. */
void event_list_set_thinking(struct event_list *list, json_t *blocks) NONNULL;
/* As event_list_set_thinking(): the reasoning item of an answer of OpenAI's Responses, an object.
 */
void event_list_set_reasoning_item(struct event_list *list, json_t *item) NONNULL;
/* The agent's response without a tool call; reasoning may be NULL, and so may llm_response_id: then
 * no model said it. */
struct uuid event_add_agent_message(struct event_list *list, const char *text,
                                    const char *reasoning, const char *llm_response_id)
    __attribute__((nonnull(1, 2)));
/* Sets the id of the event added last to one announced earlier. */
void event_list_name_last(struct event_list *list, const struct uuid *id) NONNULL;
struct uuid event_add_action(struct event_list *list, const struct action_parts *parts) NONNULL;
/* observation: object with kind, content, is_error. */
void event_add_observation(struct event_list *list, const struct call_ref *call,
                           json_t *observation) NONNULL;
/* Sets the texts that are added for the model to the last event, an observation: an array. */
void event_list_set_extended(struct event_list *list, json_t *parts) NONNULL;
/* Text of the AgentErrorEvent for a call that was open when its run was interrupted. */
#define EVENT_INTERRUPTED_TEXT                                                                     \
    "This call was interrupted before it was complete, and the conversation was paused."
/* The result of a call that gave none, through the call itself: the agent may try again. */
void event_add_agent_error(struct event_list *list, const struct call_ref *call,
                           const char *text) NONNULL;
/* As event_add_agent_error(), through a fault of what should have run the call. */
void event_add_internal_error(struct event_list *list, const struct call_ref *call,
                              const char *text) NONNULL;
void event_add_rejection(struct event_list *list, const struct call_ref *call,
                         const char *reason) NONNULL;
/* As event_add_rejection(), by a hook instead of the user. */
void event_add_hook_rejection(struct event_list *list, const struct call_ref *call,
                              const char *reason) NONNULL;

/* One execution of a hook. */
struct hook_parts {
    const char *event_type; /* PreToolUse, … */
    const char *command;
    const char *tool_name; /* NULL: about no call */
    const char *out;
    const char *err;
    const char *reason;             /* NULL: none */
    const char *additional_context; /* NULL: none */
    const char *error;              /* why it could not run; NULL: it ran */
    const char *action_id;          /* NULL: about no call */
    const char *message_id;         /* NULL: about no message */
    json_t *input;                  /* NULL: left out */
    int64_t exit_code;
    bool is_success;
    bool is_blocked;
};
void event_add_hook_execution(struct event_list *list, const struct hook_parts *parts) NONNULL;
/* Appends the events of another list, with their ids; that list keeps its references. */
void event_list_append(struct event_list *list, const struct event_list *more) NONNULL;
/* code: exception class name of the wire contract, such as LLMAuthenticationError; code and detail
 * decide what the event says of what a client may do about it. */
void event_add_conversation_error(struct event_list *list, const char *code,
                                  const char *detail) NONNULL;
void event_add_pause(struct event_list *list) NONNULL;
void event_add_interrupt(struct event_list *list) NONNULL;
void event_add_condensation_request(struct event_list *list) NONNULL;

/* The events removed from the model's view, and the summary that replaces them. */
struct condensation_parts {
    json_t *forgotten; /* array of event ids */
    const char *summary;
    int64_t offset; /* of the summary, in the remaining view */
    const char *llm_response_id;
};
void event_add_condensation(struct event_list *list,
                            const struct condensation_parts *parts) NONNULL;

/* An analyzer's assessment of a batch of calls. */
struct analysis_parts {
    const char *analyzer; /* kind */
    const char *policy;   /* kind */
    json_t *risks;        /* {ActionEvent's id: risk} */
    json_t *details;      /* {ActionEvent's id: what is known besides}; NULL: nothing */
};
void event_add_security_analysis(struct event_list *list,
                                 const struct analysis_parts *parts) NONNULL;
/* A ConversationStateUpdateEvent; the list takes its own reference of value. */
void event_add_state(struct event_list *list, const char *key, json_t *value) NONNULL;
void event_add_status(struct event_list *list, enum execution_status status) NONNULL;

/* {"type":"text","text":…,"cache_prompt":false}; bad UTF-8 is repaired. A new reference. */
json_t *text_content(const char *text) NONNULL MUST_CHECK;
/*
 * Checks and normalizes a message's content from a socket or a tool: a list of text and image
 * parts, or one string. ERROR_INVALID names the member. A new reference in *content_out.
 */
int content_read(json_t *input, json_t **content_out, struct error *err) NONNULL MUST_CHECK;
/* As content_read(), for a place in a request's body, where only a list is allowed; errors are
 * appended to problems (the entries of a 422 body). A new reference. */
json_t *content_read_at(json_t *input, const struct json_path *path,
                        json_t *problems) NONNULL MUST_CHECK;

/* Adds the null members that events are stored and sent without, in all parts of known shape. */
void event_fill_nulls(json_t *event) NONNULL;

/* Returns a kind's short name, given its Python path or its short name; NULL if unknown. */
const char *event_kind_from_filter(const char *filter) NONNULL MUST_CHECK;

#endif
