/*
 * Shared by the handlers of the agent API: loading the conversation of the path, and route
 * tables.
 */
#ifndef DEFT_FCGI_AGENT_AGENT_API_H
#define DEFT_FCGI_AGENT_AGENT_API_H

#include <jansson.h>

#include "base/attr.h"
#include "fcgi/core/request.h"
#include "fcgi/core/router.h"
#include "model/conversation/conversation.h"

struct object_schema;

/* The version of the contract that this server implements; clients compare it. */
#define CONTRACT_VERSION "1.58.0"

extern const struct route health_routes[];
extern const struct route conversation_create_routes[];
extern const struct route conversation_read_routes[];
extern const struct route conversation_change_routes[];
extern const struct route conversation_run_routes[];
extern const struct route conversation_branch_routes[];
extern const struct route conversation_ask_routes[];
extern const struct route conversation_goal_routes[];
extern const struct route conversation_children_routes[];
extern const struct route conversation_switch_routes[];
extern const struct route final_response_routes[];
extern const struct route event_routes[];
extern const struct route confirmation_routes[];
extern const struct route bash_routes[];
extern const struct route file_routes[];
extern const struct route git_routes[];
extern const struct route repository_routes[];
extern const struct route execute_routes[];
extern const struct route tool_routes[];
extern const struct route skill_routes[];
extern const struct route plugin_routes[];
extern const struct route plugin_fetch_routes[];
extern const struct route install_routes[];
extern const struct route installed_routes[];
extern const struct route hook_routes[];
extern const struct route extension_routes[];
extern const struct route vscode_routes[];
extern const struct route trajectory_routes[];
extern const struct route workspace_routes[];
extern const struct route mcp_routes[];
extern const struct route server_consent_routes[];
extern const struct route knowledge_reload_routes[];
extern const struct route openai_routes[];
extern const struct route preview_list_routes[];
extern const struct route runtime_routes[];
extern const struct route init_routes[];
/* The body of POST /api/skills. */
extern const struct object_schema init_request_schema;
extern const struct object_schema skills_request_schema;
extern const struct object_schema project_server_consent_schema;
extern const struct object_schema project_server_withdrawal_schema;

/* Wording of the 404 for an unknown conversation. */
enum unknown_words {
    UNKNOWN_PLAIN, /* Not Found */
    UNKNOWN_NAMED, /* Conversation not found: <id> */
};

/* {conversation_id} of the path. ERROR_INVALID, noted as uuid_parsing. */
int agent_conversation_id(const struct request *request, struct uuid *id_out,
                          struct error *err) NONNULL MUST_CHECK;
/* The conversation of the path, if the caller may see it; ERROR_NOT_FOUND otherwise. */
int agent_load_conversation(const struct request *request, enum unknown_words words,
                            struct conversation *conversation_out,
                            struct error *err) NONNULL MUST_CHECK;
/* As above, for routes of a conversation's sandbox, {runtime_conversation_id}. */
int agent_load_runtime_conversation(const struct request *request,
                                    struct conversation *conversation_out,
                                    struct error *err) NONNULL MUST_CHECK;
/* Replaces a store's "not found" with the contract's wording; leaves other errors. Returns -1. */
int agent_unknown(enum unknown_words words, const struct uuid *id,
                  struct error *err) NONNULL MUST_CHECK;

/*
 * Starts a conversation as POST /api/conversations does, with a body built by the server. *id_out
 * stays unset when the reply already holds the refusal. Errors: those of start_prepare(), and
 * ERROR_RATE_LIMITED.
 */
int conversation_begin(const struct request *request, json_t *body, struct reply *reply,
                       struct uuid *id_out, struct error *err) NONNULL MUST_CHECK;
/*
 * Interrupts a conversation of the caller's as POST …/interrupt does, without waiting until its
 * worker has stopped.
 */
int conversation_interrupt_now(const struct request *request, const struct uuid *id,
                               struct error *err) NONNULL MUST_CHECK;
/* Appends the agent's last answer; nothing when there is none. */
int final_response_read(const struct request *request, const struct uuid *id,
                        struct strbuf *text_out, struct error *err) NONNULL MUST_CHECK;

/*
 * ERROR_RATE_LIMITED when no other run may be requested. A conversation that the caller does not
 * have passes: later steps report it as unknown.
 */
int agent_check_room(const struct request *request, const struct uuid *id,
                     struct error *err) NONNULL MUST_CHECK;

#endif
