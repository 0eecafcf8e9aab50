/*
 * Limits that two or more rooms share; each is defined here only.
 */
#ifndef DEFT_MODEL_LIMITS_H
#define DEFT_MODEL_LIMITS_H

enum {
    TITLE_MAX_CHARS = 200,
    TAG_VALUE_MAX_CHARS = 256,
    PERSONA_MAX_CHARS = 65536,
    SUFFIX_MAX_CHARS = 32768,
    TITLE_PROMPT_MAX_CHARS = 2000,
    SENDER_MAX_CHARS = 256, /* of a message */
    PAGE_MAX_ITEMS = 100,   /* limit= of every list */
    BATCH_MAX_IDS = 99,     /* ids= of GET /api/conversations */
    SUBSCRIBERS_MAX = 48,   /* sockets of one conversation */
    ANALYZER_MAX_DEPTH = 4, /* of ensembles in each other; see secrets/secret_paths.h */
    CHILD_DEPTH_MAX = 3,
    CHILDREN_MAX = 100, /* started by one conversation */
    TOOL_TEXT_MAX_CHARS = 30000,
    FILE_VIEW_MAX_CHARS = 16000,
    CHECKPOINT_SKIPPED_MAX = 50, /* files left out of a checkpoint that its row names */
    TOOL_CONCURRENCY_MAX = 16,   /* calls of one answer that run at once */
    LEASE_MS = 4000,
    HEARTBEAT_MS = 1000,
    CLAIMS_MAX = 3, /* claims without progress before a conversation is given up */
    ITERATIONS_DEFAULT = 500,
    ACTION_IDS_MAX = 1000,       /* named by one request; no batch of calls has more */
    SECRET_MASKED_MIN_CHARS = 6, /* a shorter value occurs in too many words */
};

/* A frame above 1 MiB makes the SDK close with 1009, again after each reconnect. */
#define EVENT_MAX_BYTES 1000000
#define REQUEST_MAX_BYTES 16777216           /* 16 MiB */
#define SANDBOX_MEMORY_MIN_BYTES (6LL << 20) /* least that container engines accept */

#endif
