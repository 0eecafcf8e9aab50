#include "unit/sandbox/browser/fake_browser.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/text.h"
#include "sandbox/browser/cdp.h"
#include "sandbox/browser/script.h"
#include "sandbox/browser/tabs.h"

enum { CALL_MS = 60000, LOG_BYTES = 1024 * 1024 };

static void send_text(int fd, const char *text, size_t len)
{
    struct error ignored = ERROR_INIT;

    error_ignore(fd_write_all(fd, text, len, &ignored), "the test may have ended");
    error_ignore(fd_write_all(fd, "", 1, &ignored), "as above");
}

static void answer_one(const struct fake_answer *answer, json_int_t id, int out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;

    for (const char *line = answer->events; line != NULL && *line != '\0';) {
        size_t len = strcspn(line, "\n");

        send_text(out, line, len);
        line += len + (line[len] == '\n');
    }
    if (answer->text == NULL)
        return;
    strbuf_appendf(&text, "{\"id\":%lld,%s}", (long long)id, answer->text);
    send_text(out, text.text, text.len);
}

struct script_name {
    const char *script;
    const char *name;
};

static const struct script_name scripts[] = {
    {SCRIPT_ELEMENTS, "ELEMENTS"}, {SCRIPT_READY, "READY"},       {SCRIPT_PRESS, "PRESS"},
    {SCRIPT_FOCUS, "FOCUS"},       {SCRIPT_SET_VALUE, "SET"},     {SCRIPT_CHOOSE, "CHOOSE"},
    {SCRIPT_SCROLL, "SCROLL"},     {SCRIPT_STORAGE, "STORAGE"},   {SCRIPT_STORE, "STORE"},
    {SCRIPT_MARKDOWN, "MARKDOWN"}, {SCRIPT_MEASURES, "MEASURES"},
};

/* Replaces our script in a parameter by its name. */
static void name_script(json_t *params, const char *member)
{
    const char *text = json_string_value(json_object_get(params, member));

    for (size_t i = 0; text != NULL && i < ARRAY_SIZE(scripts); i++) {
        CLEANUP(strbuf_done) struct strbuf named = STRBUF_INIT;
        const char *at = strstr(text, scripts[i].script);

        if (at == NULL)
            continue;
        strbuf_append_bytes(&named, text, (size_t)(at - text));
        strbuf_append(&named, scripts[i].name);
        strbuf_append(&named, at + strlen(scripts[i].script));
        json_put_text(params, member, named.text);
        return;
    }
}

static void note_command(int log, const json_t *message)
{
    CLEANUP(strbuf_done) struct strbuf line = STRBUF_INIT;
    struct error ignored = ERROR_INIT;
    json_t *named = json_object_get(message, "params");
    char *params = NULL;

    name_script(named, "expression");
    name_script(named, "functionDeclaration");
    params = json_dumps(named, JSON_COMPACT | JSON_SORT_KEYS);
    strbuf_appendf(&line, "%s %s %s\n", json_text_or(message, "sessionId", "-"),
                   json_text_or(message, "method", ""), params);
    error_ignore(fd_write_all(log, line.text, line.len, &ignored), "the test then finds less");
    free(params);
}

static void take_command(const struct fake_answer *answers, bool used[], int log, int out,
                         const char *text)
{
    static const struct fake_answer nothing = {"", NULL, "\"result\":{}"};
    json_auto_t *message = json_loads(text, 0, NULL);
    const struct fake_answer *found = &nothing;

    note_command(log, message);
    for (size_t i = 0; answers[i].method != NULL; i++) {
        if (!used[i] && text_equal(answers[i].method, json_text_or(message, "method", ""))) {
            used[i] = true;
            found = &answers[i];
            break;
        }
    }
    answer_one(found, json_int_or(message, "id", 0), out);
}

NORETURN static void run_fake(const struct fake_answer *answers, int in, int out, int log)
{
    CLEANUP(strbuf_done) struct strbuf bytes = STRBUF_INIT;
    bool used[64] = {false};
    char chunk[4096];
    ssize_t n = 0;

    for (n = read(in, chunk, sizeof(chunk)); n > 0; n = read(in, chunk, sizeof(chunk))) {
        strbuf_append_bytes(&bytes, chunk, (size_t)n);
        while (memchr(bytes.text, '\0', bytes.len) != NULL) {
            take_command(answers, used, log, out, bytes.text);
            strbuf_remove_head(&bytes, strlen(bytes.text) + 1);
        }
    }
    _exit(EXIT_SUCCESS);
}

void fake_browser_begin(struct browser_bench *bench, const struct fake_answer *answers)
{
    static const char first[] = ATTACHED("s1", "target-0001", "http://one/");
    static const char second[] = ATTACHED("s2", "target-0002", "http://two/");
    int to[2] = {-1, -1};
    int from[2] = {-1, -1};
    int stop[2] = {-1, -1};
    struct cdp_ends ends = {.to_fd = -1};
    const struct cdp_listener listener = {&bench->driver, tabs_take_event};
    struct error err = ERROR_INIT;

    memset(bench, 0, sizeof(*bench));
    assert_int_equal(pipe2(to, O_CLOEXEC) + pipe2(from, O_CLOEXEC) + pipe2(stop, O_CLOEXEC), 0);
    bench->log = memfd_create("log", MFD_CLOEXEC);
    bench->pid = fork();
    assert_true(bench->pid >= 0);
    if (bench->pid == 0) {
        (void)alarm(CALL_MS / 1000);
        fd_close(&to[1]);
        run_fake(answers, to[0], from[1], bench->log);
    }
    fd_close(&to[0]);
    bench->to_fd = to[1];
    bench->from_fd = from[0];
    bench->stop_fd = stop[0];
    bench->stop_end = stop[1];
    bench->spec = (struct browser_spec){
        .program = "", .workspace = "/tmp", .wait_ms = CALL_MS, .timeout_ms = CALL_MS};
    bench->reply.text = (struct strbuf)STRBUF_INIT;
    bench->driver.chromium = (struct chromium)CHROMIUM_INIT;
    bench->driver.spec = &bench->spec;
    bench->driver.notes = (struct strbuf)STRBUF_INIT;
    bench->driver.deadline_ms = clock_monotonic_ms() + CALL_MS;
    ends = (struct cdp_ends){.to_fd = to[1], .from_fd = from[0], .stop_fd = stop[0]};
    bench->driver.cdp = cdp_new(&ends, &listener);
    send_text(from[1], first, strlen(first) - 1);
    send_text(from[1], second, strlen(second) - 1);
    fd_close(&from[1]);
    assert_int_equal(cdp_listen(bench->driver.cdp, bench->driver.deadline_ms, &err), 0);
    assert_int_equal(cdp_listen(bench->driver.cdp, bench->driver.deadline_ms, &err), 0);
}

void fake_browser_end(struct browser_bench *bench, const char *commands)
{
    static const char opening[] =
        "s1 Page.enable {}\ns1 Page.setLifecycleEventsEnabled {\"enabled\":true}\n"
        "s1 Runtime.runIfWaitingForDebugger {}\n"
        "s2 Page.enable {}\ns2 Page.setLifecycleEventsEnabled {\"enabled\":true}\n"
        "s2 Runtime.runIfWaitingForDebugger {}\n";
    CLEANUP(mem_freep) char *log = mem_alloc(LOG_BYTES);
    ssize_t n = 0;

    cdp_free(bench->driver.cdp);
    tabs_clear(&bench->driver);
    fd_close(&bench->to_fd);
    assert_int_equal(waitpid(bench->pid, NULL, 0), bench->pid);
    n = pread(bench->log, log, LOG_BYTES - 1, 0);
    log[n > 0 ? n : 0] = '\0';
    fd_close(&bench->log);
    fd_close(&bench->from_fd);
    fd_close(&bench->stop_fd);
    fd_close(&bench->stop_end);
    strbuf_done(&bench->reply.text);
    strbuf_done(&bench->driver.notes);
    json_decref(bench->reply.screenshot);
    assert_int_equal(strncmp(log, opening, strlen(opening)), 0);
    assert_string_equal(log + strlen(opening), commands);
}
