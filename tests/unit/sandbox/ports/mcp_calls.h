/*
 * A small MCP server in sh, and calls of it by the mcp tool, in one conversation.
 */
#ifndef DEFT_TESTS_UNIT_SANDBOX_PORTS_MCP_CALLS_H
#define DEFT_TESTS_UNIT_SANDBOX_PORTS_MCP_CALLS_H

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/error.h"
#include "unit/sandbox/terminal/terminal_calls.h"

#define OTHER_HEADERS                                                                              \
    "X-Deft-Conversation: 22222222-2222-4333-8444-555555555555\r\nX-Deft-Fence: 1\r\n"
#define NEWER_HEADERS "X-Deft-Conversation: " CALLS_CONVERSATION "\r\nX-Deft-Fence: 2\r\n"
#define PART "observation.content[1].text"

/* Holds the write end of ./pipe open, as its children do: a test sees their end by it. */
static const char mcp_server_script[] =
    "#!/bin/sh\n"
    "[ -p pipe ] && exec 9>pipe\n"
    "say() { echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$1,\\\"result\\\":$2}\"; }\n"
    "text() { say $1 \"{\\\"content\\\":[{\\\"type\\\":\\\"text\\\",\\\"text\\\":\\\"$2\\\"}]}\"; "
    "}\n"
    "report() { echo "
    "\"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"method\\\":\\\"notifications/progress\\\",\\\"params\\\""
    ":{\\\"progressToken\\\":$1,\\\"progress\\\":$((n+=1)),\\\"total\\\":9,\\\"message\\\":\\\"of "
    "$1\\\"}}\"; }\n"
    "echo a banner\n"
    "n=0\n"
    "while read -r line; do\n"
    " id=${line##*'\"id\":'}; id=${id%%[!0-9]*}\n"
    " case $line in\n"
    " *'\"method\":\"initialize\"'*) echo greeted >>greetings; say $id '{\"capabilities\":{}}';;\n"
    " *'\"method\":\"notifications/cancelled\"'*) echo \"$line\" >>told;;\n"
    " *'\"cursor\":\"p2\"'*) say $id '{\"tools\":[{\"name\":\"b\"}]}';;\n"
    " *'\"cursor\":\"more\"'*) say $id '{\"tools\":[{\"name\":\"m\"}],\"nextCursor\":\"more\"}';;\n"
    " *'\"method\":\"tools/list\"'*) [ -n \"$LATE\" ] && held=\"$id $held\" ||\n"
    "  say $id "
    "\"{\\\"tools\\\":[{\\\"name\\\":\\\"a\\\"}],\\\"nextCursor\\\":\\\"${PAGES:-p2}\\\"}\";;\n"
    " *'\"name\":\"count\"'*) n=$((n+1)); text $id \"$n by $$ with $KEY\";;\n"
    " *'\"name\":\"where\"'*) text $id \"$PWD\";;\n"
    " *'\"name\":\"hold\"'*) held=\"$id $held\";;\n"
    " *'\"name\":\"release\"'*) for i in $held; do text $i \"held $i\"; done; text $id free;;\n"
    " *'\"name\":\"report\"'*) for i in $held; do report $i; done; text $id reported;;\n"
    " *'\"name\":\"finish\"'*) report $id; text $id finished;;\n"
    " *'\"name\":\"die\"'*) echo first words >&2; echo last words >&2; exit 3;;\n"
    " *'\"name\":\"die later\"'*) text $id dying; exit 0;;\n"
    " *'\"name\":\"flood\"'*) yes '{\"method\":\"notifications/progress\"}';;\n"
    " *'\"name\":\"questions\"'*) yes \"{\\\"id\\\":\\\"$(printf '%01000d' "
    "0)\\\",\\\"method\\\":\\\"ping\\\"}\";;\n"
    " *'\"name\":\"long\"'*) head -c 5000000 /dev/zero | tr '\\0' x; sleep 1000;;\n"
    " *'\"name\":\"many\"'*) echo \"{\\\"id\\\":$id,\\\"result\\\":{\\\"content\\\":[0$(yes ,0 | "
    "head -n 100000 | tr -d '\\n')]}}\";;\n"
    " *'\"name\":\"deaf\"'*) sleep 1000; sleep 1000;;\n"
    " *'\"name\":\"close\"'*) exec 0<&-; text $id closed; exec sleep 1000;;\n"
    " *'\"name\":\"child\"'*) sleep 1000 & text $id born;;\n"
    " *'\"name\":\"stay\"'*) trap '' TERM; text $id staying; sleep 1000; sleep 1000;;\n"
    " *'\"name\":\"change\"'*) text $id changed;\n"
    "  echo '{\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}';;\n"
    " *'\"name\":\"ask\"'*) asked=$id; echo "
    "'{\"jsonrpc\":\"2.0\",\"id\":\"q1\",\"method\":\"ping\"}';\n"
    "  echo '{\"jsonrpc\":\"2.0\",\"id\":\"q2\",\"method\":\"roots/list\"}';;\n"
    " *'\"id\":\"q1\"'*) echo \"$line\" >>told;;\n"
    " *'\"id\":\"q2\"'*) echo \"$line\" >>told; text $asked asked;;\n"
    " *'\"name\":\"refuse\"'*) echo \"{\\\"id\\\":$id,\\\"error\\\":{\\\"message\\\":\\\"not "
    "now\\\"}}\";;\n"
    " esac\n"
    "done\n"
    "[ -n \"$FAREWELL\" ] && echo bye >farewell\n";

struct pipe_watch {
    struct event_loop_source source;
    struct action_bench *bench;
    bool has_ended; /* nothing has the write end open any more */
};

static inline void on_pipe(void *owner, uint32_t events)
{
    struct pipe_watch *watch = owner;

    if ((events & EPOLLHUP) == 0)
        return;
    watch->has_ended = true;
    event_loop_remove(watch->bench->server.loop, &watch->source);
}

static inline int begin(struct action_bench *bench)
{
    bench_write(bench, "server", mcp_server_script);
    bench_shell(bench, "chmod +x server; mkfifo pipe");
    return open(bench_path(bench, "pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

/* Runs the server until all that has the pipe open has ended. */
static inline void await_end(struct action_bench *bench, int pipe)
{
    struct pipe_watch watch = {.source = {pipe, on_pipe, &watch}, .bench = bench};
    struct error err = ERROR_INIT;

    assert_int_equal(event_loop_add(bench->server.loop, &watch.source, EPOLLIN, &err), 0);
    bench_run_until(bench, &watch.has_ended);
}

/* more: further members of the body, or "". env: of the program. */
static inline int call_of(struct action_bench *bench, const char *headers, const char *tool,
                          const char *env, const char *more)
{
    return bench_send(bench, bench_text(bench, "PUT /actions/m-%zu", bench->n_texts), headers,
                      bench_text(bench,
                                 "{\"tool\":\"mcp\",\"args\":{\"server\":\"one\",\"method\":"
                                 "\"tools/call\",\"name\":\"%s\"},\"program\":{\"command\":"
                                 "\"%s/server\",\"env\":%s},\"timeout_ms\":60000%s}",
                                 tool, bench->workspace, env, more));
}

static inline int begin_call(struct action_bench *bench, const char *tool)
{
    return call_of(bench, CALLS_HEADERS, tool, "{}", "");
}

#define assert_call(bench, tool, path, expected)                                                   \
    do {                                                                                           \
        CLEANUP(bench_reply_done) struct bench_reply seen_ =                                       \
            bench_receive((bench), begin_call((bench), (tool)));                                   \
                                                                                                   \
        assert_reply(seen_, 200, path, expected);                                                  \
    } while (0)

/* The text of a call of `count`, "n by pid with KEY", with the pid cut out: "n with KEY". */
static inline const char *count(struct action_bench *bench, const char *headers, const char *env,
                                long *pid_out)
{
    CLEANUP(bench_reply_done) struct bench_reply reply =
        bench_receive(bench, call_of(bench, headers, "count", env, ""));
    json_auto_t *body = json_loads(reply.body.text, 0, NULL);
    const char *text = json_string_value(json_object_get(
        json_array_get(json_object_get(json_object_get(body, "observation"), "content"), 1),
        "text"));
    char *end = NULL;

    if (text == NULL)
        fail_msg("%s", reply.body.text);
    *pid_out = strtol(strstr(text, " by ") + 4, &end, 10);
    return bench_text(bench, "%.*s%s", (int)(strstr(text, " by ") - text), text, end);
}

#endif
