#include "sandbox/terminal/terminal_text.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "base/strbuf.h"
#include "base/text.h"
#include "sandbox/terminal/shell.h"
#include "sandbox/terminal/shell_split.h"

static const char hint[] =
    "You may wait longer by sending an empty command '', send other text to the running program "
    "with is_input=true, send keys such as C-c, C-z or C-d to interrupt or end it, or use the "
    "timeout parameter of the ";

static const char *const tool_names[] = {
    [TERMINAL_TOOL] = "terminal",
    [TERMINAL_RUN] = "execute_bash",
};

static const char *const literal_starts[] = {"[{", "[\"", "['", "{\"", "{'"};

void terminal_text_seconds(struct strbuf *out, double seconds)
{
    if (seconds == floor(seconds) && seconds < 1e15)
        strbuf_appendf(out, "%.1f", seconds);
    else
        strbuf_appendf(out, "%.15g", seconds);
}

void terminal_text_completed(struct strbuf *out, int exit_code, char control_letter)
{
    if (exit_code == SHELL_EXIT_UNKNOWN)
        strbuf_append(out, "\n[The command completed but the exit code could not be determined.");
    else
        strbuf_appendf(out, "\n[The command completed with exit code %d.", exit_code);
    if (control_letter != '\0')
        strbuf_appendf(out, " CTRL+%c was sent.", control_letter);
    strbuf_append_char(out, ']');
}

static void end_with_hint(struct strbuf *out, enum terminal_api face)
{
    strbuf_appendf(out, "%s%s tool for later commands.]", hint, tool_names[face]);
}

void terminal_text_silent(struct strbuf *out, double seconds, enum terminal_api face)
{
    strbuf_appendf(out, "\n[The command has no new output after %.15g seconds. ", seconds);
    end_with_hint(out, face);
}

void terminal_text_timed_out(struct strbuf *out, double seconds, enum terminal_api face)
{
    strbuf_append(out, "\n[The command timed out after ");
    if (face == TERMINAL_TOOL)
        terminal_text_seconds(out, seconds);
    else
        strbuf_appendf(out, "%.15g", seconds);
    strbuf_append(out, " seconds. ");
    end_with_hint(out, face);
}

void terminal_text_not_executed(struct strbuf *out, const char *command, enum terminal_api face)
{
    strbuf_appendf(out,
                   "\n[Your command \"%s\" is NOT executed. The previous command is still running "
                   "- a new one cannot start before it has ended. Text for the running program "
                   "needs is_input=true. ",
                   command);
    end_with_hint(out, face);
}

void terminal_text_shell_exited(struct strbuf *out, int exit_code)
{
    terminal_text_completed(out, exit_code, '\0');
    strbuf_append(out, "\n[The shell itself has ended. The next command runs in a new one; "
                       "variables, functions and the working directory are lost.]");
}

void terminal_text_several(struct strbuf *out, const char *command)
{
    struct shell_statement statements[SHELL_STATEMENTS_MAX];
    size_t n = shell_split(command, statements);

    strbuf_append(out, "Cannot execute multiple commands at once.\nSend them one at a time, or "
                       "join them with && or ; on one line.\nProvided commands:");
    for (size_t i = 0; i < n; i++) {
        strbuf_appendf(out, "\n(%zu) ", i + 1);
        strbuf_append_bytes(out, statements[i].text, statements[i].len);
    }
}

void terminal_text_too_long(struct strbuf *out, double asked_s, double idle_s, double cap_s)
{
    strbuf_append(out, "The command was not executed: its timeout of ");
    terminal_text_seconds(out, asked_s);
    strbuf_append(out, " seconds is too long for this sandbox, which is stopped after ");
    terminal_text_seconds(out, idle_s);
    strbuf_append(out, " seconds without activity. The longest timeout is ");
    terminal_text_seconds(out, cap_s);
    strbuf_append(out, " seconds. Use a shorter one and look again with empty commands, or run the "
                       "work in the background with its output in a file.");
}

bool terminal_text_is_literal(const char *command)
{
    for (size_t i = 0; i < ARRAY_SIZE(literal_starts); i++) {
        if (text_starts_with(command, literal_starts[i]))
            return true;
    }
    return text_starts_with(command, "[[") && command[2] != '\0' &&
           !isspace((unsigned char)command[2]);
}
