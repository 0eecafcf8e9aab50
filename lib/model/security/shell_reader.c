#include "model/security/shell_reader.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "model/security/shell_command.h"
#include "model/security/shell_text.h"

enum { MAX_DEPTH = 8, MAX_HEREDOCS = 16, MAX_DELIMITER = 64 };

/* What the next word is. */
enum word_use { USE_ARGUMENT, USE_FILE, USE_INPUT, USE_DELIMITER };

struct shell_heredoc {
    char delimiter[MAX_DELIMITER];
    size_t len;
    bool strips_tabs;
};

struct shell_reader {
    struct shell_texts texts;
    struct shell_text now; /* the text that is read */
    const char *at;
    const char *end;
    const char *last_double; /* the last one in the text opens nothing */
    struct strbuf word;
    bool has_word;
    bool is_expanded; /* the word has an expansion */
    enum word_use use;
    struct shell_command command;
    size_t first_inner; /* texts from here on are the command's */
    bool is_list;       /* within the brackets of an assignment */
    bool is_arithmetic;
    bool has_fetched; /* a command of the pipeline, or of the brackets */
    bool is_piped;    /* the command reads what was fetched */
    size_t n_open;    /* brackets around the command */
    bool runs_heredocs;
    struct shell_heredoc heredocs[MAX_HEREDOCS];
    size_t n_heredocs;
    struct shell_findings *findings;
};

static void append_char(struct shell_reader *reader, char c)
{
    strbuf_append_char(&reader->word, c);
    reader->has_word = true;
}

static void add_inner(struct shell_reader *reader, struct shell_text inner)
{
    inner.depth = reader->now.depth + 1;
    inner.is_run = inner.is_run || reader->now.is_run;
    if (inner.depth > MAX_DEPTH) {
        reader->findings->has_unknown = true;
        mem_free(inner.owned);
        return;
    }
    shell_texts_add(&reader->texts, &inner);
}

/* Adds a copy of words that are commands. */
static void add_words(struct shell_reader *reader, const struct strbuf *words)
{
    char *copy = mem_dup_text(words->text);

    add_inner(reader, (struct shell_text){.text = copy, .len = strlen(copy), .owned = copy});
}

/* --- words --- */

static void take_delimiter(struct shell_reader *reader)
{
    struct shell_heredoc *heredoc = &reader->heredocs[reader->n_heredocs];

    if (reader->n_heredocs == MAX_HEREDOCS || reader->word.len > MAX_DELIMITER)
        return;
    memcpy(heredoc->delimiter, reader->word.text, reader->word.len);
    heredoc->len = reader->word.len;
    reader->n_heredocs++;
}

static void take_argument(struct shell_reader *reader)
{
    bool is_first = reader->command.role == SHELL_ROLE_NONE;

    if (reader->is_list)
        return;
    if (is_first && text_equal(reader->word.text, "{"))
        reader->n_open++;
    if (is_first && text_equal(reader->word.text, "}") && reader->n_open > 0)
        reader->n_open--;
    shell_command_take(&reader->command, &reader->word, reader->is_expanded);
}

static void end_word(struct shell_reader *reader)
{
    if (!reader->has_word)
        return;
    if (reader->use == USE_ARGUMENT)
        take_argument(reader);
    else if (reader->use == USE_DELIMITER)
        take_delimiter(reader);
    else if (reader->use == USE_INPUT && reader->command.role == SHELL_ROLE_SHELL)
        shell_command_take_input(&reader->command, &reader->word);
    reader->use = USE_ARGUMENT;
    reader->has_word = false;
    reader->is_expanded = false;
    strbuf_reset(&reader->word);
}

/* --- commands --- */

static void take_command(struct shell_reader *reader)
{
    const struct shell_command *command = &reader->command;

    shell_command_report(command, reader->findings);
    if (command->role == SHELL_ROLE_FETCH) {
        reader->has_fetched = true;
        reader->findings->has_fetched_code |= reader->now.is_run;
    }
    if (reader->is_piped && shell_command_runs_input(command))
        reader->findings->has_fetched_code = true;
    if (command->role == SHELL_ROLE_UNKNOWN && !reader->now.is_quiet && !reader->is_arithmetic)
        reader->findings->has_unknown = true;
    if (shell_command_runs_arguments(command)) {
        shell_texts_set_run(&reader->texts, reader->first_inner);
        reader->runs_heredocs = true;
    }
    if (command->text.len > 0)
        add_words(reader, &command->text);
}

static void end_command(struct shell_reader *reader)
{
    end_word(reader);
    if (reader->command.role != SHELL_ROLE_NONE) {
        take_command(reader);
        reader->is_arithmetic = false;
    }
    shell_command_reset(&reader->command);
    reader->first_inner = reader->texts.n;
}

static void end_pipeline(struct shell_reader *reader)
{
    if (reader->n_open > 0)
        return;
    reader->has_fetched = false;
    reader->is_piped = false;
}

/* --- expansions --- */

/* A substitution stands for a word that only the shell knows. */
static void take_inner(struct shell_reader *reader, size_t head, size_t len)
{
    const char *inner = reader->at + head;

    add_inner(reader, (struct shell_text){.text = inner,
                                          .len = len,
                                          .is_quiet = len > 0 && inner[0] == '(' && head == 2});
    strbuf_append(&reader->word, "$()");
    reader->has_word = true;
    reader->at = inner + len < reader->end ? inner + len + 1 : reader->end;
}

static void take_backtick(struct shell_reader *reader)
{
    const char *at = reader->at + 1;

    while (at < reader->end && *at != '`')
        at += *at == '\\' && at + 1 < reader->end ? 2 : 1;
    reader->is_expanded = true;
    take_inner(reader, 1, (size_t)(at - reader->at) - 1);
}

/* $'…': escapes are not decoded, so a word with one is unknown. */
static void take_escaped_quotes(struct shell_reader *reader)
{
    reader->at += 2;
    reader->has_word = true;
    while (reader->at < reader->end && *reader->at != '\'') {
        if (*reader->at == '\\') {
            reader->is_expanded = true;
            append_char(reader, *reader->at++);
        }
        if (reader->at < reader->end)
            append_char(reader, *reader->at++);
    }
    reader->at += reader->at < reader->end;
}

static char next_char(const struct shell_reader *reader)
{
    if (reader->at + 1 >= reader->end)
        return '\0';
    return reader->at[1];
}

/* In quotes or not; "$'" and "$\"" are quotes only outside. */
static void take_dollar(struct shell_reader *reader)
{
    char next = next_char(reader);

    if (next == '(') {
        reader->is_expanded = true;
        take_inner(reader, 2, shell_substitution_length(reader->at + 2, reader->end));
        return;
    }
    if (next == '{' || next == '_' || isalnum((unsigned char)next) ||
        (next != '\0' && strchr("@*#?$!-", next) != NULL))
        reader->is_expanded = true;
    append_char(reader, *reader->at++);
}

/* --- quotes --- */

static void take_backslash(struct shell_reader *reader)
{
    char next = next_char(reader);

    if (next != '\0' && next != '\n')
        append_char(reader, next);
    reader->at += next == '\0' ? 1 : 2;
}

static void take_single_quotes(struct shell_reader *reader)
{
    const char *end = memchr(reader->at + 1, '\'', (size_t)(reader->end - reader->at) - 1);

    if (end == NULL) {
        append_char(reader, *reader->at++);
        return;
    }
    strbuf_append_bytes(&reader->word, reader->at + 1, (size_t)(end - reader->at) - 1);
    reader->has_word = true;
    reader->at = end + 1;
}

/* One step in double quotes, or in a here-document. */
static void take_quoted(struct shell_reader *reader)
{
    char c = *reader->at;

    if (c == '$')
        take_dollar(reader);
    else if (c == '`')
        take_backtick(reader);
    else if (c == '\\' && strchr("$`\"\\\n", next_char(reader)) != NULL)
        take_backslash(reader);
    else
        append_char(reader, *reader->at++);
}

static void take_double_quotes(struct shell_reader *reader)
{
    if (reader->at >= reader->last_double) {
        append_char(reader, *reader->at++);
        return;
    }
    reader->at++;
    reader->has_word = true;
    while (reader->at < reader->end && *reader->at != '"')
        take_quoted(reader);
    reader->at += reader->at < reader->end;
}

/* --- operators --- */

static bool is_number(const struct strbuf *word)
{
    return word->len > 0 && strspn(word->text, "0123456789") == word->len;
}

static void take_redirection(struct shell_reader *reader)
{
    size_t len = 0;

    if (next_char(reader) == '(') {
        take_inner(reader, 2, shell_substitution_length(reader->at + 2, reader->end));
        return;
    }
    if (is_number(&reader->word)) {
        reader->has_word = false;
        strbuf_reset(&reader->word);
    }
    end_word(reader);
    while (reader->at + len < reader->end && len < 3 && strchr("<>&|", reader->at[len]) != NULL &&
           (len == 0 || reader->at[len - 1] != '&'))
        len++;
    reader->use = USE_FILE;
    if (len == 3 && strncmp(reader->at, "<<<", len) == 0)
        reader->use = USE_INPUT;
    else if (len == 2 && strncmp(reader->at, "<<", len) == 0 && !reader->is_arithmetic)
        reader->use = USE_DELIMITER;
    reader->at += len;
    if (reader->use == USE_DELIMITER && reader->n_heredocs < MAX_HEREDOCS) {
        bool strips_tabs = reader->at < reader->end && *reader->at == '-';

        reader->heredocs[reader->n_heredocs].strips_tabs = strips_tabs;
        reader->at += strips_tabs;
    }
}

/* name=(…) is a list of words; other brackets hold commands. */
static void open_bracket(struct shell_reader *reader)
{
    bool is_list = text_ends_with(reader->word.text, "=");

    end_word(reader);
    if (is_list && reader->command.role == SHELL_ROLE_NONE) {
        reader->is_list = true;
        return;
    }
    end_command(reader);
    if (reader->at < reader->end && *reader->at == '(')
        reader->is_arithmetic = true;
    reader->n_open++;
}

static void close_bracket(struct shell_reader *reader)
{
    end_word(reader);
    if (reader->is_list) {
        reader->is_list = false;
        return;
    }
    end_command(reader);
    if (reader->n_open > 0)
        reader->n_open--;
}

/* The operators && and || end a pipeline, | and |& go on with it. */
static void take_operator(struct shell_reader *reader)
{
    char c = *reader->at++;
    bool is_doubled = reader->at < reader->end && *reader->at == c;

    if (c == '(') {
        open_bracket(reader);
        return;
    }
    if (c == ')') {
        close_bracket(reader);
        return;
    }
    end_command(reader);
    if (c == '|' && !is_doubled) {
        reader->is_piped = reader->has_fetched;
        reader->at += reader->at < reader->end && *reader->at == '&';
        return;
    }
    reader->at += is_doubled;
    end_pipeline(reader);
}

/* --- here-documents --- */

/* A tab is a space by now. */
static bool line_ends(const char *line, size_t len, const struct shell_heredoc *heredoc)
{
    while (heredoc->strips_tabs && len > 0 && *line == ' ') {
        line++;
        len--;
    }
    return len == heredoc->len && memcmp(line, heredoc->delimiter, len) == 0;
}

static void take_heredoc(struct shell_reader *reader, const struct shell_heredoc *heredoc)
{
    const char *body = reader->at;
    const char *body_end = reader->end;

    while (reader->at < reader->end) {
        const char *line = reader->at;
        const char *newline = memchr(line, '\n', (size_t)(reader->end - line));
        const char *line_end = newline == NULL ? reader->end : newline;

        reader->at = newline == NULL ? reader->end : newline + 1;
        if (line_ends(line, (size_t)(line_end - line), heredoc)) {
            body_end = line;
            break;
        }
    }
    add_inner(reader, (struct shell_text){.text = body,
                                          .len = (size_t)(body_end - body),
                                          .is_quoted = !reader->runs_heredocs});
}

static void take_newline(struct shell_reader *reader)
{
    reader->at++;
    end_command(reader);
    for (size_t i = 0; i < reader->n_heredocs; i++)
        take_heredoc(reader, &reader->heredocs[i]);
    reader->n_heredocs = 0;
    reader->runs_heredocs = false;
    reader->first_inner = reader->texts.n;
    end_pipeline(reader);
}

/* --- texts --- */

static void take_comment(struct shell_reader *reader)
{
    const char *newline = memchr(reader->at, '\n', (size_t)(reader->end - reader->at));

    reader->at = newline == NULL ? reader->end : newline;
}

static void take_dollar_or_quotes(struct shell_reader *reader)
{
    char next = next_char(reader);

    if (next == '\'')
        take_escaped_quotes(reader);
    else if (next == '"')
        reader->at++;
    else
        take_dollar(reader);
}

static void take_char(struct shell_reader *reader)
{
    char c = *reader->at;
    char next = next_char(reader);

    if (c == ' ') {
        end_word(reader);
        reader->at++;
    } else if (c == '\n') {
        take_newline(reader);
    } else if (c == '\\') {
        take_backslash(reader);
    } else if (c == '\'') {
        take_single_quotes(reader);
    } else if (c == '"') {
        take_double_quotes(reader);
    } else if (c == '$') {
        take_dollar_or_quotes(reader);
    } else if (c == '`') {
        take_backtick(reader);
    } else if (c == '#' && !reader->has_word) {
        take_comment(reader);
    } else if (c == '<' || c == '>' || (c == '&' && next == '>')) {
        take_redirection(reader);
    } else if (strchr(";&|()", c) != NULL) {
        take_operator(reader);
    } else {
        append_char(reader, c);
        reader->at++;
    }
}

static void begin_text(struct shell_reader *reader, const struct shell_text *text)
{
    reader->now = *text;
    reader->at = text->text;
    reader->end = text->text + text->len;
    reader->last_double = memrchr(text->text, '"', text->len);
    reader->has_fetched = false;
    reader->is_piped = false;
    reader->is_list = false;
    reader->is_arithmetic = false;
    reader->n_open = 0;
    reader->n_heredocs = 0;
    reader->runs_heredocs = false;
    reader->first_inner = reader->texts.n;
}

static void read_text(struct shell_reader *reader)
{
    while (reader->at < reader->end) {
        if (reader->now.is_quoted)
            take_quoted(reader);
        else
            take_char(reader);
    }
    if (reader->now.is_quoted) {
        reader->has_word = false;
        reader->is_expanded = false;
        strbuf_reset(&reader->word);
    }
    end_command(reader);
}

static void reader_done(struct shell_reader *reader)
{
    shell_texts_done(&reader->texts);
    strbuf_done(&reader->word);
    shell_command_reset(&reader->command);
}

void shell_read(const char *text, size_t len, struct shell_findings *findings)
{
    CLEANUP(reader_done) struct shell_reader reader = {
        .word = STRBUF_INIT, .command = SHELL_COMMAND_INIT, .findings = findings};

    shell_texts_add(&reader.texts, &(struct shell_text){.text = text, .len = len});
    for (size_t i = 0; i < reader.texts.n; i++) {
        begin_text(&reader, &reader.texts.items[i]);
        read_text(&reader);
    }
}
