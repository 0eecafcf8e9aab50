#include "model/event/observation_text.h"

#include <string.h>

#include "base/json.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/limits.h"

/* Appends all text parts. */
static void append_content(const json_t *observation, struct strbuf *out)
{
    json_t *part = NULL;
    size_t i = 0;

    json_array_foreach (json_object_get(observation, "content"), i, part)
        strbuf_append(out, json_text_or(part, "text", ""));
}

static void append_line(struct strbuf *out, const char *label, const char *value)
{
    if (value != NULL && value[0] != '\0')
        strbuf_appendf(out, "\n[%s: %s]", label, value);
}

/* Appends a text, keeping only head and tail if it is too long for the model. */
static void append_cut(struct strbuf *out, const struct strbuf *text)
{
    size_t n_chars = utf8_length(text->text, text->len);
    size_t half = TOOL_TEXT_MAX_CHARS / 2;
    size_t head = 0;
    size_t tail = 0;

    if (n_chars <= TOOL_TEXT_MAX_CHARS) {
        strbuf_append_bytes(out, text->text, text->len);
        return;
    }
    head = utf8_offset(text->text, text->len, half);
    tail = utf8_offset(text->text, text->len, n_chars - half);
    strbuf_append_bytes(out, text->text, head);
    strbuf_appendf(out, "\n[... %zu characters left out ...]\n", n_chars - 2 * half);
    strbuf_append_bytes(out, text->text + tail, text->len - tail);
}

/* Appends the shell's working directory and the command's exit status. */
static void append_terminal(const json_t *observation, struct strbuf *out)
{
    const json_t *metadata = json_object_get(observation, "metadata");
    json_int_t exit_code = json_int_or(metadata, "exit_code", -1);
    CLEANUP(strbuf_done) struct strbuf content = STRBUF_INIT;

    strbuf_append(out, json_text_or(metadata, "prefix", ""));
    /* Cut separately: a text that just fits has a note in its middle saying where the rest is. */
    append_content(observation, &content);
    append_cut(out, &content);
    strbuf_append(out, json_text_or(metadata, "suffix", ""));
    append_line(out, "Current working directory", json_text_or(metadata, "working_dir", NULL));
    append_line(out, "Python interpreter", json_text_or(metadata, "py_interpreter_path", NULL));
    if (exit_code != -1)
        strbuf_appendf(out, "\n[Command finished with exit code %lld]", (long long)exit_code);
}

/* With the task's name the model can give the sub-agent more work. */
static void append_task(const json_t *observation, struct strbuf *out)
{
    strbuf_appendf(
        out, "[Task: %s, sub-agent: %s, status: %s]\n", json_text_or(observation, "task_id", ""),
        json_text_or(observation, "subagent", ""), json_text_or(observation, "status", ""));
    append_content(observation, out);
}

void observation_append_text(json_t *observation, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf text = STRBUF_INIT;
    const char *kind = json_text_or(observation, "kind", "");

    if (text_equal(kind, "TerminalObservation")) {
        append_terminal(observation, out);
        return;
    }
    /* Browser tools cut their own text: a state must stay JSON, a page is read in windows. */
    if (text_equal(kind, "BrowserObservation")) {
        append_content(observation, out);
        return;
    }
    if (text_equal(kind, "TaskObservation"))
        append_task(observation, &text);
    else
        append_content(observation, &text);
    append_cut(out, &text);
}
