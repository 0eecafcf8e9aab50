#include "sandbox/terminal/shell_split.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

enum { MAX_NESTING = 256, MAX_HEREDOCS = 16, MAX_WORD = 64 };

/* Open constructs; FRAME_QUOTE and below take words literally. */
enum syntax_frame {
    FRAME_PAREN,      /* ( or $( : commands inside */
    FRAME_BRACE,      /* { as a word */
    FRAME_COMPOUND,   /* if, for, while, until, select: up to fi or done */
    FRAME_CASE,       /* case: patterns end with a lone ) */
    FRAME_BACKTICK,   /* ` : commands inside */
    FRAME_QUOTE,      /* " */
    FRAME_PARAMETER,  /* ${ */
    FRAME_ARITHMETIC, /* $(( or (( */
};

struct heredoc {
    char word[MAX_WORD];
    bool strips_tabs;
};

struct scanner {
    const char *at;
    enum syntax_frame frames[MAX_NESTING];
    size_t depth;
    struct heredoc heredocs[MAX_HEREDOCS];
    size_t n_heredocs;
    bool at_command; /* the next word is a command or a reserved word */
    bool continues;  /* the line ends with an operator that needs more */
    bool broken;
};

static void push(struct scanner *scan, enum syntax_frame frame)
{
    if (scan->depth == MAX_NESTING)
        scan->broken = true;
    else
        scan->frames[scan->depth++] = frame;
}

static void pop(struct scanner *scan, enum syntax_frame frame)
{
    if (scan->depth == 0 || scan->frames[scan->depth - 1] != frame)
        scan->broken = true;
    else
        scan->depth--;
}

static bool is_inside(const struct scanner *scan, enum syntax_frame frame)
{
    return scan->depth > 0 && scan->frames[scan->depth - 1] == frame;
}

/* After '…' or $'…'; a missing end makes the text broken. escape: '\\' in $'…', else NUL. */
static void skip_single_quotes(struct scanner *scan, char escape)
{
    scan->at++;
    while (*scan->at != '\0' && *scan->at != '\'') {
        if (scan->at[0] == escape && scan->at[1] != '\0')
            scan->at++;
        scan->at++;
    }
    if (*scan->at == '\0')
        scan->broken = true;
    else
        scan->at++;
}

static bool begins_arithmetic(const char *at)
{
    return at[0] == '(' && at[1] == '(';
}

/* $'…', $"…", ${…}, $((…)), $(…), or a plain dollar. */
static void take_dollar(struct scanner *scan)
{
    char next = scan->at[1];

    scan->at++;
    if (next == '\'' && !is_inside(scan, FRAME_QUOTE)) {
        skip_single_quotes(scan, '\\');
    } else if (next == '{') {
        scan->at++;
        push(scan, FRAME_PARAMETER);
    } else if (begins_arithmetic(scan->at)) {
        scan->at += 2;
        push(scan, FRAME_ARITHMETIC);
    } else if (next == '(') {
        scan->at++;
        push(scan, FRAME_PAREN);
        scan->at_command = true;
    }
}

static void take_backtick(struct scanner *scan)
{
    scan->at++;
    if (is_inside(scan, FRAME_BACKTICK)) {
        pop(scan, FRAME_BACKTICK);
        return;
    }
    push(scan, FRAME_BACKTICK);
    scan->at_command = true;
}

static void skip_escaped(struct scanner *scan)
{
    scan->at += scan->at[1] != '\0' ? 2 : 1;
}

static void take_in_arithmetic(struct scanner *scan)
{
    if (scan->at[0] == ')' && scan->at[1] == ')') {
        scan->at += 2;
        pop(scan, FRAME_ARITHMETIC);
    } else if (scan->at[0] == '(') {
        scan->at++;
        push(scan, FRAME_PARAMETER); /* any frame that a single bracket closes */
    } else {
        scan->at++;
    }
}

static void take_double_quote(struct scanner *scan)
{
    scan->at++;
    if (is_inside(scan, FRAME_QUOTE))
        pop(scan, FRAME_QUOTE);
    else
        push(scan, FRAME_QUOTE);
}

/* A character other than a quote, escape or expansion. */
static void take_inner(struct scanner *scan)
{
    char c = *scan->at;

    if (is_inside(scan, FRAME_ARITHMETIC)) {
        take_in_arithmetic(scan);
        return;
    }
    if (is_inside(scan, FRAME_PARAMETER) && c == '\'') {
        skip_single_quotes(scan, '\0');
        return;
    }
    if (is_inside(scan, FRAME_PARAMETER) && (c == '}' || c == ')'))
        pop(scan, FRAME_PARAMETER);
    scan->at++;
}

/* One step inside quotes, ${…} or arithmetic, where newlines and words mean nothing. */
static void take_literal(struct scanner *scan)
{
    switch (*scan->at) {
    case '\\':
        skip_escaped(scan);
        break;
    case '$':
        take_dollar(scan);
        break;
    case '`':
        take_backtick(scan);
        break;
    case '"':
        take_double_quote(scan);
        break;
    default:
        take_inner(scan);
        break;
    }
}

/* The word after << or <<-, without its quotes. */
static void take_heredoc(struct scanner *scan)
{
    struct heredoc heredoc = {.word = ""};
    size_t len = 0;
    char quote = '\0';

    scan->at += 2;
    if (*scan->at == '-') {
        heredoc.strips_tabs = true;
        scan->at++;
    }
    scan->at += strspn(scan->at, " \t");
    while (*scan->at != '\0' && *scan->at != '\n' &&
           (quote != '\0' || strchr(" \t;&|<>()", *scan->at) == NULL)) {
        char c = *scan->at++;

        if (quote == '\0' && (c == '\'' || c == '"'))
            quote = c;
        else if (c == quote)
            quote = '\0';
        else if (c != '\\' && len < MAX_WORD - 1)
            heredoc.word[len++] = c;
    }
    if (len == 0 || scan->n_heredocs == MAX_HEREDOCS)
        scan->broken = true;
    else
        scan->heredocs[scan->n_heredocs++] = heredoc;
}

static bool line_ends_heredoc(const char *line, size_t len, const struct heredoc *heredoc)
{
    while (heredoc->strips_tabs && len > 0 && *line == '\t') {
        line++;
        len--;
    }
    return len == strlen(heredoc->word) && memcmp(line, heredoc->word, len) == 0;
}

/* After a newline: skips the bodies of the heredocs that the line announced. */
static void skip_heredocs(struct scanner *scan)
{
    for (size_t i = 0; i < scan->n_heredocs; i++) {
        bool ended = false;

        while (!ended && *scan->at != '\0') {
            size_t len = strcspn(scan->at, "\n");

            ended = line_ends_heredoc(scan->at, len, &scan->heredocs[i]);
            scan->at += len;
            scan->at += *scan->at == '\n';
        }
    }
    scan->n_heredocs = 0;
}

static bool word_is(const char *word, size_t len, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(words[i]) == len && memcmp(word, words[i], len) == 0)
            return true;
    }
    return false;
}

static const char *const openers[] = {"if", "for", "while", "until", "select"};
static const char *const closers[] = {"fi", "done"};
static const char *const connectors[] = {"then", "do", "else", "elif", "!", "time", "coproc"};

static void take_reserved(struct scanner *scan, const char *word, size_t len)
{
    scan->at_command = false;
    if (word_is(word, len, openers, ARRAY_SIZE(openers))) {
        push(scan, FRAME_COMPOUND);
        /* `while true` is followed by a command, `for x` by a name. */
        scan->at_command = word[0] == 'i' || word[0] == 'w' || word[0] == 'u';
    } else if (word_is(word, len, closers, ARRAY_SIZE(closers))) {
        pop(scan, FRAME_COMPOUND);
    } else if (len == 4 && memcmp(word, "case", len) == 0) {
        push(scan, FRAME_CASE);
    } else if (len == 4 && memcmp(word, "esac", len) == 0) {
        pop(scan, FRAME_CASE);
    } else if (len == 1 && word[0] == '{') {
        push(scan, FRAME_BRACE);
        scan->at_command = true;
    } else if (len == 1 && word[0] == '}') {
        pop(scan, FRAME_BRACE);
    } else if (len == 8 && memcmp(word, "function", len) == 0) {
        scan->at += strspn(scan->at, " \t");
        scan->at += strcspn(scan->at, " \t\n;(){");
        scan->continues = true;
        scan->at_command = *scan->at != '(' && scan->at[strspn(scan->at, " \t")] != '(';
    } else if (word_is(word, len, connectors, ARRAY_SIZE(connectors))) {
        scan->at_command = true;
    }
}

static bool is_word_char(char c)
{
    return c != '\0' && strchr(" \t\r\n;&|<>()\"'`$\\", c) == NULL;
}

/* Handles words in a for loop, a case and a function's head that look like commands but are not. */
static void take_word(struct scanner *scan)
{
    const char *word = scan->at;
    size_t len = 0;
    bool is_whole = false;

    while (is_word_char(word[len]))
        len++;
    scan->at += len;
    is_whole = strchr(" \t\r\n;&|<>()", *scan->at) != NULL;
    scan->continues = false;
    if (!is_whole) {
        scan->at_command = false;
        return;
    }
    if (len == 2 && memcmp(word, "do", len) == 0 && is_inside(scan, FRAME_COMPOUND))
        scan->at_command = true;
    else if (scan->at_command)
        take_reserved(scan, word, len);
}

/* `f ()`: the function's body follows, on the same line or the next. */
static bool take_function_head(struct scanner *scan)
{
    const char *end = scan->at + 1 + strspn(scan->at + 1, " \t");

    if (scan->at_command || *end != ')' || scan->at[-1] == '=')
        return false;
    scan->at = end + 1;
    scan->at_command = true;
    scan->continues = true;
    return true;
}

static void open_paren(struct scanner *scan)
{
    if (take_function_head(scan))
        return;
    if ((scan->at_command || is_inside(scan, FRAME_COMPOUND)) && begins_arithmetic(scan->at)) {
        scan->at += 2;
        push(scan, FRAME_ARITHMETIC);
        return;
    }
    scan->at++;
    scan->continues = false;
    if (is_inside(scan, FRAME_CASE) && scan->at_command)
        return; /* (pattern) */
    push(scan, FRAME_PAREN);
    scan->at_command = true;
}

static void close_paren(struct scanner *scan)
{
    scan->at++;
    scan->continues = false;
    if (is_inside(scan, FRAME_CASE)) {
        scan->at_command = true;
        return;
    }
    pop(scan, FRAME_PAREN);
    scan->at_command = false;
}

/* ; & && | || |& : a command follows, for && and | also on the next line. */
static void take_operator(struct scanner *scan)
{
    char c = *scan->at;
    bool is_double = scan->at[1] == c;

    scan->at++;
    if (is_double || (c == '|' && *scan->at == '&') || (c == ';' && *scan->at == '&'))
        scan->at++;
    scan->at_command = true;
    scan->continues = (c == '|') || (c == '&' && is_double);
}

static void take_redirection(struct scanner *scan)
{
    scan->continues = false;
    if (scan->at[0] == '<' && scan->at[1] == '<' && scan->at[2] == '<')
        scan->at += 3;
    else if (scan->at[0] == '<' && scan->at[1] == '<')
        take_heredoc(scan);
    else if (scan->at[1] == '&' || scan->at[1] == '>' || scan->at[1] == '|')
        scan->at += 2;
    else
        scan->at++;
}

/* A word with quotes or dollars is never a reserved one. */
static bool take_quoted(struct scanner *scan)
{
    char c = *scan->at;

    if (c == '\\')
        skip_escaped(scan);
    else if (c == '\'')
        skip_single_quotes(scan, '\0');
    else if (c == '"') {
        scan->at++;
        push(scan, FRAME_QUOTE);
    } else if (c == '$') {
        scan->at_command = false;
        take_dollar(scan);
        scan->continues = false;
        return true;
    } else if (c == '`') {
        take_backtick(scan);
        return true;
    } else {
        return false;
    }
    scan->at_command = false;
    scan->continues = false;
    return true;
}

static void take_command_char(struct scanner *scan)
{
    char c = *scan->at;

    if (c == '\\' && scan->at[1] == '\n')
        scan->at += 2;
    else if (c == ' ' || c == '\t' || c == '\r')
        scan->at++;
    else if (take_quoted(scan))
        return;
    else if (c == '(')
        open_paren(scan);
    else if (c == ')')
        close_paren(scan);
    else if (c == ';' || c == '&' || c == '|')
        take_operator(scan);
    else if (c == '<' || c == '>')
        take_redirection(scan);
    else
        take_word(scan);
}

static void skip_comment(struct scanner *scan)
{
    scan->at += strcspn(scan->at, "\n");
}

static bool begins_comment(const struct scanner *scan, const char *text)
{
    return *scan->at == '#' && (scan->at == text || strchr(" \t\n;&|(", scan->at[-1]) != NULL);
}

/* Takes one step; true when it was a newline that ends a top-level statement. */
static bool scan_next(struct scanner *scan, const char *text)
{
    bool ends = false;

    if (scan->depth > 0 && scan->frames[scan->depth - 1] >= FRAME_QUOTE) {
        take_literal(scan);
        return false;
    }
    if (begins_comment(scan, text)) {
        skip_comment(scan);
        return false;
    }
    if (*scan->at != '\n') {
        take_command_char(scan);
        return false;
    }
    scan->at++;
    skip_heredocs(scan);
    ends = scan->depth == 0 && !scan->continues;
    scan->at_command = true;
    return ends;
}

static bool is_comment_or_blank(const char *text, size_t len)
{
    size_t at = 0;

    while (at < len) {
        while (at < len && isspace((unsigned char)text[at]))
            at++;
        if (at == len)
            return true;
        if (text[at] != '#')
            return false;
        while (at < len && text[at] != '\n')
            at++;
    }
    return true;
}

static void trim(struct shell_statement *statement)
{
    while (statement->len > 0 && isspace((unsigned char)statement->text[0])) {
        statement->text++;
        statement->len--;
    }
    while (statement->len > 0 && isspace((unsigned char)statement->text[statement->len - 1]))
        statement->len--;
}

/* A comment belongs to the statement before it. */
static size_t add_statement(struct shell_statement *statements, size_t n, const char *text,
                            size_t len)
{
    struct shell_statement found = {text, len};

    if (is_comment_or_blank(text, len)) {
        trim(&found);
        if (n > 0 && found.len > 0)
            statements[n - 1].len = (size_t)(found.text + found.len - statements[n - 1].text);
        return n;
    }
    if (n == SHELL_STATEMENTS_MAX)
        return n;
    trim(&found);
    statements[n] = found;
    return n + 1;
}

size_t shell_split(const char *text, struct shell_statement statements[SHELL_STATEMENTS_MAX])
{
    struct scanner scan = {.at = text, .at_command = true};
    const char *start = text;
    size_t n = 0;

    while (*scan.at != '\0' && !scan.broken) {
        if (!scan_next(&scan, text))
            continue;
        n = add_statement(statements, n, start, (size_t)(scan.at - start));
        start = scan.at;
    }
    if (scan.broken || scan.depth > 0) {
        statements[0] = (struct shell_statement){text, strlen(text)};
        return 1;
    }
    return add_statement(statements, n, start, strlen(start));
}
