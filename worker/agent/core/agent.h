/*
 * State of one conversation's run. The stored history is the only durable state: any worker can
 * continue where another one stopped. Memory holds a copy of it and results about to be stored.
 *
 * Ownership: the agent owns the claim's content, its connections and its sandbox handle; the
 * rest is borrowed. Threading: an agent belongs to its conversation's thread; only its control is
 * shared.
 */
#ifndef DEFT_WORKER_AGENT_CORE_AGENT_H
#define DEFT_WORKER_AGENT_CORE_AGENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/secret.h"
#include "base/strbuf.h"
#include "store/conversation/conversation_store.h"
#include "store/conversation/event_store.h"
#include "worker/agent/core/secret_list.h"
#include "worker/agent/core/token_gauge.h"
#include "worker/agent/core/transcript.h"

struct run_control;
struct side_wait;
struct direct_connections;
struct http_call;
struct sandbox;
struct server_connections;
struct stats;
struct toolset;
struct worker_context;

struct agent {
    struct worker_context *context;
    struct run_control *control;
    struct lease lease;
    struct conversation conversation;
    struct stats *stats; /* moved here from `conversation` for the run */
    struct history history;
    struct transcript transcript;
    struct token_gauge gauge; /* of the conversation's own model */
    struct toolset *tools;    /* of the conversation as it is now */
    struct secret_list secrets;
    json_t *withheld;      /* {id: action} of the last answer's calls whose stored form is masked */
    json_t *llm_spec;      /* of the conversation's own model, with its secrets filled in */
    struct secret llm_key; /* unset when there is none */
    struct direct_connections *direct; /* of this thread's calls */
    const struct side_wait *side;      /* that sandbox_call_wait() also ends for; NULL: none */
    struct sandbox *sandbox;
    struct server_connections *servers; /* MCP servers; NULL: not used yet */
    int64_t n_iterations;               /* model answers in this run */
    struct uuid answer_id;              /* id for the event of the model's next answer */
    int64_t told_attempt; /* attempt of that answer that was streamed to subscribers; 0: none */
    int64_t asked_seq;    /* the model's last request included everything up to here */
    int64_t claimed_seq;  /* end of the log at the claim; calls pending before it are inherited */
    size_t n_open_calls;  /* sent to the sandbox, without a stored result */
    int64_t n_claims;     /* claims of this conversation without progress */
    struct http_call *checkpoint_call; /* taking one, see checkpoint_begin(); NULL: none */
    int64_t checkpoint_call_seq;       /* end of the log when it began */
    int64_t checkpoint_seq;            /* of the newest checkpoint; 0: none. See knows_checkpoint */
    int64_t n_tried_requests;   /* to read the workspace anew, for which it could not be read */
    int64_t tried_request_seq;  /* the same for the newest one of a hook; 0: none */
    int64_t n_model_waits;      /* in the outage of the model that lasts, see llm/outage.h */
    int64_t model_out_since_ms; /* when it began; clock_monotonic_ms() */
    int64_t own_model_rests_until_ms; /* see llm/fallback.h; clock_monotonic_ms() */
    int64_t unlimited_until_ms;       /* the user had no budget: asked again then; as above */
    int64_t n_bad_calls;     /* answers in a row whose call, written as text, could not be read */
    size_t unsummed_until;   /* a view's length up to which its condenser had no summary */
    bool must_condense;      /* the model reported that the view exceeds its context window */
    bool has_foreign_stats;  /* someone else added a cost to the row: `stats` is incomplete */
    bool is_row_stale;       /* a client changed the conversation: reload the row */
    bool is_condensed;       /* a Condensation came to the history: it can be compacted */
    bool has_read_project;   /* or could not: see project_reading.h */
    bool has_new_request;    /* a client asked for another reading: it is in the row */
    bool has_read_servers;   /* the workspace's MCP servers: see server_reading.h */
    bool has_listed_servers; /* asked the MCP servers for their tools */
    bool has_ended_sessions; /* those at MCP servers that are not configured so any more */
    bool knows_checkpoint;   /* checkpoint_seq was read */
    bool is_tidy;            /* the history's beginning has been pruned */
    bool is_over;            /* the run's end is stored, or the lease is lost */
};

#endif
