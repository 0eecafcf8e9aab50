/*
 * A conversation: its specification (what the creator said, with defaults), its state, and the JSON
 * that clients see of both.
 *
 * Ownership: conversation_done() releases everything.
 * Threading: one thread at a time.
 */
#ifndef DEFT_MODEL_CONVERSATION_CONVERSATION_H
#define DEFT_MODEL_CONVERSATION_CONVERSATION_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/attr.h"
#include "base/secret.h"
#include "base/uuid.h"
#include "model/agent/conversation_defaults.h"
#include "model/event/status.h"

struct error;
struct event_list;
struct strbuf;

/* Members of agent_state that clients are not shown: the task list, the sandbox that ran calls, the
 * sub-agents that it called. */
#define AGENT_STATE_TASK_LIST "task_list"
#define AGENT_STATE_SANDBOX "runtime_id"
#define AGENT_STATE_TASKS "tasks" /* see model/conversation/task.h */

struct conversation {
    struct uuid id;
    struct uuid user_id;
    struct uuid parent_id; /* unset when it has none */
    enum runtime_kind runtime_kind;
    char *runtime_session; /* session_id of its sandbox at the Runtime API */
    char *title;           /* NULL when it has none */
    json_t *spec;          /* see conversation_from_request(); holds no secret */
    char *secrets;         /* sealed JSON; NULL when there is none */
    enum execution_status status;
    json_t *stats;       /* {"usage_to_metrics": {…}} */
    json_t *agent_state; /* the tools' and the worker's own, see AGENT_STATE_… */
    struct uuid last_user_message_id;
    struct uuid leaf_event_id; /* newest event that is no state update; unset when none */
    bool is_begun;             /* its agent's prompt stands on the path to that event */
    bool is_branched;          /* somebody navigated in it: not all events count any more */
    char *children;            /* ids of conversations that it started, "id,id"; NULL: none */
    int64_t snapshot_version;
    bool is_sub_agent;     /* a call of its parent's made it: it goes with that */
    struct uuid waits_for; /* the sub-agent whose run's end its own waits for, or has waited for */
    bool is_wanted;        /* a run is asked for and not over */
    bool is_leased;        /* a worker has it now */
    int64_t created_at_us;
    int64_t updated_at_us;
    char version[16];   /* of the row as it was read; "" when it was not */
    int64_t stats_hash; /* of the row's stats as they were read, where they were */
    bool has_stats_hash;
    /* where its log ends, as read together with the row */
    int64_t last_seq;
    int64_t last_timestamp_us;
};

/* clang-format off */
#define CONVERSATION_INIT {.status = STATUS_IDLE}
/* clang-format on */

void conversation_done(struct conversation *conversation);

/*
 * What a conversation's specification is: {agent, workspace, max_iterations, stuck_detection,
 * stuck_detection_thresholds, confirmation_policy, security_analyzer, secret_registry, hook_config,
 * tags, client_tools, tool_module_qualnames, autotitle, prompt, container, …} in the wire's own
 * shapes, all defaults filled in. Where a secret was given stands "**********"; the secrets
 * themselves are
 * {"llm_api_key": text, "secrets": {NAME: text}, "members": {"agent/llm/extra_headers/x": text, …}}
 * (conversation_spec_with_secrets() puts members back). llm_api_key is absent when none was given.
 */

/*
 * Reads a StartConversationRequest into a new conversation: id (given or random), spec with all
 * defaults filled in and every secret taken out, and *secrets_out = JSON of those secrets
 * ({"llm_api_key":…, "secrets":{…}}), for the caller to seal. initial_message content, or NULL, in
 * *initial_content_out (new reference).
 * ERROR_INVALID with *problems_out = array of validation entries {type, loc, msg, input} (new
 * reference) when the request is refused; the wire form is the 422 body of the contract.
 */
int conversation_from_request(json_t *request, const struct conversation_defaults *defaults,
                              struct conversation *conversation_out, struct secret *secrets_out,
                              json_t **initial_content_out, json_t **problems_out,
                              struct error *err) NONNULL MUST_CHECK;

/* ConversationInfo with all members, nulls included (GET, POST). A new reference. */
json_t *conversation_info(const struct conversation *conversation) NONNULL MUST_CHECK;
/* The same with the agent's skills left out, which may be large. A new reference. */
json_t *conversation_info_brief(const struct conversation *conversation) NONNULL MUST_CHECK;
/*
 * A brief ConversationInfo in two parts, so that the larger one is kept as text and not made anew
 * for each reply: what the specification says of it, an object; mem_free() it. Who changes what is
 * in it sets the column spec_info to NULL by a change of the schema.
 */
char *conversation_spec_info(const json_t *spec) NONNULL MUST_CHECK;
/* The other part, as the row has it. All is borrowed; NULL where there is none. */
struct conversation_texts {
    struct uuid id;
    const char *parent_id;
    const char *status;
    const char *title;
    const char *stats;
    const char *agent_state;
    const char *last_user_message_id;
    const char *leaf_event_id;
    const char *children; /* "id,id" */
    const char *spec_info;
    int64_t created_at_us;
    int64_t updated_at_us;
};
/*
 * Appends the brief ConversationInfo without runtime_info and without its closing brace. Errors:
 * those of json_parse_own(), and part of it is appended.
 */
int conversation_append_info(const struct conversation_texts *texts, struct strbuf *out,
                             struct error *err) NONNULL MUST_CHECK;
/* The value of a full_state snapshot: nulls left out, secrets as **********. A new reference. */
json_t *conversation_full_state(const struct conversation *conversation) NONNULL MUST_CHECK;
/* A whole full_state event with a fresh id, as text for a socket; not for the store. */
void conversation_append_snapshot(const struct conversation *conversation, int64_t now_us,
                                  struct strbuf *out) NONNULL;

/*
 * A copy of the spec with the secrets of `members` in their places: what an LLM call, an MCP server
 * or a LookupSecret needs. secrets: the opened JSON, or NULL. A new reference; never stored.
 */
json_t *conversation_spec_with_secrets(const struct conversation *conversation,
                                       const json_t *secrets)
    __attribute__((nonnull(1))) MUST_CHECK;
/*
 * POST …/secrets: takes over a map of name → text or SecretSource, those that a launched profile
 * does not allow left out. conversation->spec and secrets
 * (the opened JSON, an object) are changed; the caller seals and stores both. ERROR_INVALID with
 * *problems_out (a new reference) when the map is refused; then nothing has changed.
 */
int conversation_update_secrets(struct conversation *conversation, json_t *secrets, json_t *update,
                                json_t **problems_out, struct error *err) NONNULL MUST_CHECK;

/* How the sessions of sandboxes begin that are one conversation's own, or a user's shared one. */
#define CONVERSATION_SESSION_PREFIX "c-"
#define SHARED_SESSION_PREFIX "u-"

/* The session of a user's conversation's own sandbox: "c-" and a digest of both. mem_free() it. */
char *conversation_own_session(const struct uuid *user_id,
                               const struct uuid *id) NONNULL MUST_CHECK;

/*
 * True when the holder of a sandbox's key began it, not its user: it runs in a sandbox that a
 * tenant of the Runtime API or a user asked for, where all conversations are of that kind.
 */
bool conversation_is_sandbox_clients(const struct conversation *conversation) NONNULL MUST_CHECK;

/* Says in the spec that its first n_events are another's, up to event_id (NULL: all there were). */
void conversation_note_origin(struct conversation *conversation, const struct uuid *source_id,
                              const char *event_id, int64_t n_events)
    __attribute__((nonnull(1, 2)));
/* How many events it began with as a copy of another's; 0 for others. */
int64_t conversation_n_copied(const struct conversation *conversation) NONNULL MUST_CHECK;

/* Parts of the spec. Borrowed. */
json_t *conversation_agent(const struct conversation *conversation) NONNULL MUST_CHECK;
/* The condenser that takes requests: the one given, or the first such of a pipeline. NULL: none. */
json_t *conversation_find_condenser(json_t *condenser) MUST_CHECK;
/* True when a security analyzer is set: then, and only then, SecurityAnalysisEvents are due. */
bool conversation_has_analyzer(const struct conversation *conversation) NONNULL MUST_CHECK;
const char *conversation_working_dir(const struct conversation *conversation) NONNULL MUST_CHECK;
json_t *conversation_llm(const struct conversation *conversation) NONNULL MUST_CHECK;
json_int_t conversation_max_iterations(const struct conversation *conversation) NONNULL MUST_CHECK;
/* Whether its sandbox has a browser, and the conversation is to use it. */
bool conversation_has_browser(const struct conversation *conversation) NONNULL MUST_CHECK;

/*
 * The events that a client's wish adds to a conversation as it is now, and the row's new state.
 * Pure: the caller writes them at conversation->last_seq + 1, and on CONFLICT loads and asks again.
 */
struct conversation_change {
    enum execution_status status;     /* after the change */
    bool wants_run;                   /* set wanted_at */
    struct uuid last_user_message_id; /* unset: unchanged */
    bool wants_title;                 /* a model is to be asked for one */
    char *first_title;                /* else this, where there is none; NULL: none */
    char *stats;                      /* JSON text; NULL: unchanged */
};

/* clang-format off */
#define CONVERSATION_CHANGE_INIT {.last_user_message_id = UUID_INIT}
/* clang-format on */

void conversation_change_done(struct conversation_change *change);

/* The SystemPromptEvent that a first message would bring. */
void conversation_add_system_prompt(const struct conversation *conversation,
                                    struct event_list *events) NONNULL;
/* A message of the user; run: also start. Adds SystemPromptEvent first when there is none yet. */
int conversation_plan_message(const struct conversation *conversation, json_t *content, bool run,
                              struct event_list *events, struct conversation_change *change_out,
                              struct error *err) NONNULL MUST_CHECK;
/*
 * Remembers in conversation->spec which skills the planned messages called for, so that each is
 * added once. True when spec has changed and is to be written with the events.
 */
bool conversation_note_skills(struct conversation *conversation,
                              const struct event_list *events) NONNULL MUST_CHECK;
/* A run request without a message. */
void conversation_plan_run(const struct conversation *conversation, struct event_list *events,
                           struct conversation_change *change_out) NONNULL;

#endif
