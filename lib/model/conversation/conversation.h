/*
 * A conversation: its specification (as the creator gave it, with defaults), its state, and the
 * JSON of both that clients see.
 *
 * Ownership: conversation_done() releases everything.
 * Threading: one thread at a time.
 * Decision: docs/decisions/0050-working-dirs.md
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

/* Members of agent_state that are hidden from clients: the task list, the sandbox that ran calls,
 * the sub-agents called, the rules for files that calls brought in, the hooks that have run, the
 * files to set back. */
#define AGENT_STATE_TASK_LIST "task_list"
#define AGENT_STATE_SANDBOX "runtime_id"
#define AGENT_STATE_WORKTREE "worktree"               /* see model/conversation/worktree.h */
#define AGENT_STATE_TASKS "tasks"                     /* see model/conversation/task.h */
#define AGENT_STATE_DELEGATES "delegates"             /* as above */
#define AGENT_STATE_PATH_RULES "activated_path_rules" /* names, see model/prompt/path_rules.h */
#define AGENT_STATE_SESSION_HOOKS "session_hooks"     /* true once they have run */
#define AGENT_STATE_PROMPT_HOOKS "prompt_hooks"       /* seq of the last message with them */
#define AGENT_STATE_RESTORE "restore_files"           /* see model/conversation/file_restore.h */
#define AGENT_STATE_SERVER_CALLS "server_call"        /* ids of actions sent to MCP servers */
#define AGENT_STATE_SERVER_SESSIONS "server_sessions" /* at MCP servers, sealed */

/* Member of the specification, hidden from clients: skills found in the workspace
 * (model/prompt/project_knowledge.h). They replace the creator's of the same name. */
#define PROJECT_SKILLS "project_skills"
/* Another one: what the agent's MCP servers offer (model/tools/mcp_listing.h). */
#define MCP_LISTING "mcp_listing"
/* Another one: MCP servers that the workspace names (model/tools/project_servers.h). */
#define PROJECT_SERVERS "project_servers"
/* Another one: true if hook_config is the workspace's, not the creator's. */
#define PROJECT_HOOKS "project_hooks"
/* Another one: requests to read the workspace anew (model/prompt/knowledge_request.h). */
#define KNOWLEDGE_REQUESTS "knowledge_requests"

struct conversation {
    struct uuid id;
    struct uuid user_id;
    struct uuid parent_id; /* unset if none */
    enum runtime_kind runtime_kind;
    char *runtime_session; /* session_id of its sandbox in the Runtime API */
    char *title;           /* NULL if none */
    json_t *spec;          /* see conversation_from_request(); holds no secret */
    char *secrets;         /* sealed JSON; NULL if none */
    enum execution_status status;
    json_t *stats;       /* {"usage_to_metrics": {…}} */
    json_t *agent_state; /* private to tools and worker, see AGENT_STATE_… */
    struct uuid last_user_message_id;
    struct uuid leaf_event_id; /* newest event but state updates; unset if none */
    bool is_begun;             /* the path to that event has the agent's prompt */
    bool is_branched;          /* a user navigated back in it: not all events count */
    char *children;            /* ids of conversations it started, "id,id"; NULL: none */
    int64_t snapshot_version;
    bool is_sub_agent; /* created by a call of its parent; deleted with it */
    bool is_wanted;    /* a run was requested and has not ended */
    bool is_leased;    /* a worker holds its lease */
    int64_t created_at_us;
    int64_t updated_at_us;
    char version[16];   /* of the row as read; "" if not read */
    int64_t stats_hash; /* of the row's stats as read, if they were */
    bool has_stats_hash;
    /* end of its log, as read together with the row */
    int64_t last_seq;
    int64_t last_timestamp_us;
};

/* clang-format off */
#define CONVERSATION_INIT {.status = STATUS_IDLE}
/* clang-format on */

void conversation_done(struct conversation *conversation);

/*
 * A conversation's specification is {agent, workspace, max_iterations, stuck_detection,
 * stuck_detection_thresholds, confirmation_policy, security_analyzer, secret_registry, hook_config,
 * tags, client_tools, tool_module_qualnames, autotitle, prompt, container, …} in the wire's shapes,
 * all defaults filled in. Given secrets are replaced by "**********"; the secrets themselves are
 * {"llm_api_key": text, "secrets": {NAME: text}, "members": {"agent/llm/extra_headers/x": text, …}}
 * (conversation_spec_with_secrets() puts members back). llm_api_key is absent if none was given.
 */

/*
 * Reads a StartConversationRequest into a new conversation: id (given or random), spec with all
 * defaults filled in and every secret removed, and *secrets_out = JSON of those secrets
 * ({"llm_api_key":…, "secrets":{…}}), for the caller to seal. initial_message content, or NULL, in
 * *initial_content_out (new reference). ERROR_INVALID with *problems_out = array of validation
 * entries {type, loc, msg, input} (new reference) if the request is refused; the wire form is the
 * 422 body of the contract.
 */
int conversation_from_request(json_t *request, const struct conversation_defaults *defaults,
                              struct conversation *conversation_out, struct secret *secrets_out,
                              json_t **initial_content_out, json_t **problems_out,
                              struct error *err) NONNULL MUST_CHECK;

/* Returns ConversationInfo with all members, including nulls (GET, POST). A new reference. */
json_t *conversation_info(const struct conversation *conversation) NONNULL MUST_CHECK;
/* As above without the agent's skills, which may be large. A new reference. */
json_t *conversation_info_brief(const struct conversation *conversation) NONNULL MUST_CHECK;
/*
 * Returns the part of a brief ConversationInfo that depends on the specification alone, as the text
 * of an object that is stored rather than built for each reply; mem_free() it. A change to its
 * members needs a migration that sets the column spec_info to NULL.
 */
char *conversation_spec_info(const json_t *spec) NONNULL MUST_CHECK;
/* The other part, from the row. All pointers are borrowed; NULL if absent. */
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
 * those of json_parse_own(); part of it may have been appended by then.
 */
int conversation_append_info(const struct conversation_texts *texts, struct strbuf *out,
                             struct error *err) NONNULL MUST_CHECK;
/* Returns the value of a full_state snapshot: no nulls, secrets as **********. A new reference. */
json_t *conversation_full_state(const struct conversation *conversation) NONNULL MUST_CHECK;
/* Appends a complete full_state event with a new id, as text for a socket; it is never stored. */
void conversation_append_snapshot(const struct conversation *conversation, int64_t now_us,
                                  struct strbuf *out) NONNULL;

/*
 * Returns a copy of the spec with the secrets of `members` in place, as LLM calls, MCP servers and
 * LookupSecrets need it. secrets: the opened JSON, or NULL. A new reference; never stored.
 */
json_t *conversation_spec_with_secrets(const struct conversation *conversation,
                                       const json_t *secrets)
    __attribute__((nonnull(1))) MUST_CHECK;
/*
 * POST …/secrets: merges a map of name → text or SecretSource, except names that a launched profile
 * does not allow. Changes conversation->spec and secrets (the opened JSON, an object); the caller
 * seals and stores both. ERROR_INVALID with *problems_out (a new reference) if the map is refused;
 * then nothing has changed.
 */
int conversation_update_secrets(struct conversation *conversation, json_t *secrets, json_t *update,
                                json_t **problems_out, struct error *err) NONNULL MUST_CHECK;

/* Prefixes of sandbox sessions: of a conversation's own sandbox, and of a user's shared one. */
#define CONVERSATION_SESSION_PREFIX "c-"
#define SHARED_SESSION_PREFIX "u-"

/* Session of a conversation's own sandbox: "c-" and a digest of both ids. mem_free() it. */
char *conversation_own_session(const struct uuid *user_id,
                               const struct uuid *id) NONNULL MUST_CHECK;

/*
 * True if the conversation was started with a sandbox's key rather than by its user. It runs in a
 * sandbox that a tenant of the Runtime API or a user requested; all conversations there are of this
 * kind.
 */
bool conversation_is_sandbox_clients(const struct conversation *conversation) NONNULL MUST_CHECK;

/* Notes in the spec that the first n_events are copied from source, up to event_id (NULL: all). */
void conversation_note_origin(struct conversation *conversation, const struct uuid *source_id,
                              const char *event_id, int64_t n_events)
    __attribute__((nonnull(1, 2)));
/* Number of events copied from another conversation at its start; 0 if it is not a copy. */
int64_t conversation_n_copied(const struct conversation *conversation) NONNULL MUST_CHECK;

/* Parts of the spec. Borrowed. */
json_t *conversation_agent(const struct conversation *conversation) NONNULL MUST_CHECK;
/* The condenser that takes requests: condenser itself, or the first such in a pipeline, or NULL. */
json_t *conversation_find_condenser(json_t *condenser) MUST_CHECK;
/* True if a security analyzer is set; only then are SecurityAnalysisEvents added. */
bool conversation_has_analyzer(const struct conversation *conversation) NONNULL MUST_CHECK;
const char *conversation_working_dir(const struct conversation *conversation) NONNULL MUST_CHECK;
json_t *conversation_llm(const struct conversation *conversation) NONNULL MUST_CHECK;
/* True if its agent wants to know of its workspace before its model's first call. */
bool conversation_wants_knowledge(const struct conversation *conversation) NONNULL MUST_CHECK;
/* True if it wants that and has a skill in AgentSkills format, for the agent to open on demand. */
bool conversation_has_skills_to_open(const struct conversation *conversation) NONNULL MUST_CHECK;
/* How many calls of an answer may run at once, from 1 to TOOL_CONCURRENCY_MAX. */
size_t conversation_tool_concurrency(const struct conversation *conversation) NONNULL MUST_CHECK;
json_int_t conversation_max_iterations(const struct conversation *conversation) NONNULL MUST_CHECK;
/* What it may have cost in US dollars for a run to go on; -1: any amount. */
double conversation_budget(const struct conversation *conversation) NONNULL MUST_CHECK;
/* True if its sandbox has a browser and the conversation uses it. */
bool conversation_has_browser(const struct conversation *conversation) NONNULL MUST_CHECK;

/*
 * Records in conversation->spec which skills the planned messages activated, so that each is added
 * once. True if spec has changed and must be written with the events.
 */
bool conversation_note_skills(struct conversation *conversation,
                              const struct event_list *events) NONNULL MUST_CHECK;

#endif
