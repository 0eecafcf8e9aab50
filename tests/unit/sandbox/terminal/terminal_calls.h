/*
 * Calls of the terminal tool by its route, in one conversation.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_TERMINAL_CALLS_H
#define DEFT_TESTS_UNIT_SANDBOX_TERMINAL_CALLS_H

#include "unit/sandbox/action_bench.h"

#define CALLS_CONVERSATION "11111111-2222-4333-8444-555555555555"
#define CALLS_HEADERS "X-Deft-Conversation: " CALLS_CONVERSATION "\r\nX-Deft-Fence: 1\r\n"

/* Starts a call whose args are a JSON object; more: further members of the body, or "". */
static inline int call_begin(struct action_bench *bench, const char *args, const char *more)
{
    return bench_send(bench, bench_text(bench, "PUT /actions/call-%zu", bench->n_texts),
                      CALLS_HEADERS,
                      bench_text(bench, "{\"tool\":\"terminal\",\"args\":%s%s}", args, more));
}

static inline struct bench_reply call_terminal(struct action_bench *bench, const char *args,
                                               const char *more)
{
    return bench_receive(bench, call_begin(bench, args, more));
}

/* Runs a command and asserts a member of its observation. */
#define assert_terminal(bench, args, path, expected)                                               \
    do {                                                                                           \
        CLEANUP(bench_reply_done) struct bench_reply seen_ = call_terminal((bench), (args), "");   \
                                                                                                   \
        assert_reply(seen_, 200, "observation." path, (expected));                                 \
    } while (0)

#define TEXT "content[0].text"
#define SUFFIX "metadata.suffix"

#endif
