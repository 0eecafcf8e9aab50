/*
 * Limits of what deft-action accepts and keeps: every size has a cap.
 */
#ifndef DEFT_SANDBOX_CORE_ACTION_LIMITS_H
#define DEFT_SANDBOX_CORE_ACTION_LIMITS_H

enum {
    MAX_CONNECTIONS = 512, /* per listening socket */
    MAX_HEADER_BYTES = 16 * 1024,
    MAX_ACTION_BODY_BYTES = 32 * 1024 * 1024, /* file_text of 10 MB, escaped */
    MAX_INIT_BODY_BYTES = 1200 * 1024,        /* room for the environment of a start */
    MAX_SMALL_BODY_BYTES = 2 * 1024 * 1024,
    MAX_CHUNKED_BYTES = 64 * 1024 * 1024, /* for a body without Content-Length */
    MAX_CONVERSATIONS = 256,
    MAX_QUEUED_ACTIONS = 64, /* per conversation, waiting for its shell */
    MAX_FILE_TASKS = 8,      /* forks of file tools at once, per conversation */
    MAX_HOOK_TASKS = 8,      /* and of hooks */
    MAX_WAITERS = 64,        /* requests waiting for one action */
    MAX_COMMAND_BYTES = 4 * 1024 * 1024,
    MAX_BROWSER_ARGS_BYTES = 1024 * 1024,
    MAX_ENV_NAMES = 256,
    MAX_ACTION_ID_BYTES = 128,
    ACTION_HASH_BYTES = 17, /* 64 bits as hex */
    MAX_OUTPUT_CHARS = 30000,
    MAX_EDIT_FILE_BYTES = 10 * 1024 * 1024,
    MAX_VIEW_CHARS = 16000,
    MAX_UNDO_VERSIONS = 10,
    MAX_UNDO_BYTES = 32 * 1024 * 1024, /* per conversation */
    MAX_JOURNAL_ENTRIES = 4096,
    MAX_JOURNAL_BYTES = 48 * 1024 * 1024, /* kept results; the volume has 64 MiB */
    MAX_BASH_COMMANDS = 64,               /* running at once */
    MAX_BASH_EVENTS = 20000,
    MAX_BASH_WAITS = 64, /* searches waiting for an event */
    MAX_BASH_EVENT_BYTES = 64 * 1024 * 1024,
    MAX_FORK_REQUESTS = 16, /* git and the like, running at once */
    BASH_CHUNK_CHARS = 1024 * 1024,
};

#define MAX_UPLOAD_BYTES (INT64_C(1) << 30)

#endif
