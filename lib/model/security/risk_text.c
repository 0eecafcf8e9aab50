#include "model/security/risk_text.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/strbuf.h"

/* As in Markdown. */
enum { CODE_INDENT = 4, FENCE_MIN = 3 };

#define QUOTE_MARK "> "
#define VERDICT_PREFIX "RISK: "

/* Length of the line break at p; 0: there is none. Those of Unicode are two or three bytes long. */
static size_t break_length(const char *p)
{
    static const char *const breaks[] = {"\r\n", "\n",       "\r",           "\v",
                                         "\f",   "\xc2\x85", "\xe2\x80\xa8", "\xe2\x80\xa9"};

    for (size_t i = 0; i < ARRAY_SIZE(breaks); i++) {
        size_t len = strlen(breaks[i]);

        if (strncmp(p, breaks[i], len) == 0)
            return len;
    }
    return 0;
}

void risk_text_quote(struct strbuf *out, const char *text)
{
    const char *p = text;

    strbuf_append(out, QUOTE_MARK);
    while (*p != '\0') {
        size_t len = break_length(p);

        if (len > 0)
            strbuf_append(out, "\n" QUOTE_MARK);
        else
            strbuf_append_char(out, *p);
        p += len > 0 ? len : 1;
    }
}

/* --- the verdict --- */

/* State while an answer is read. */
struct answer_reading {
    char fence;       /* of the open code block; 0: none is open */
    size_t fence_len; /* of its opening line */
    bool in_quotation;
    enum policy_risk risk;
};

/* A line without its indentation and the blanks at its end. Not NUL-terminated. */
struct answer_line {
    const char *text;
    size_t len;
    size_t indent; /* columns */
};

static struct answer_line cut_line(const char *start, size_t len)
{
    struct answer_line line = {start, len, 0};

    while (line.len > 0 && (line.text[0] == ' ' || line.text[0] == '\t')) {
        line.indent += line.text[0] == '\t' ? CODE_INDENT : 1;
        line.text++;
        line.len--;
    }
    while (line.len > 0 && strchr(" \t\r", line.text[line.len - 1]) != NULL)
        line.len--;
    return line;
}

/* Length of the run of backticks or tildes that the line begins with. */
static size_t fence_length(const struct answer_line *line)
{
    size_t n = 0;

    if (line->len == 0 || (line->text[0] != '`' && line->text[0] != '~'))
        return 0;
    while (n < line->len && line->text[n] == line->text[0])
        n++;
    return n;
}

/* True if the line belongs to a code block with fences. */
static bool take_fence(struct answer_reading *reading, const struct answer_line *line)
{
    size_t n = line->indent < CODE_INDENT ? fence_length(line) : 0;

    if (reading->fence == '\0') {
        if (n < FENCE_MIN)
            return false;
        reading->fence = line->text[0];
        reading->fence_len = n;
        return true;
    }
    if (n >= reading->fence_len && n == line->len && line->text[0] == reading->fence)
        reading->fence = '\0';
    return true;
}

static void follow_quotation(struct answer_reading *reading, const struct answer_line *line)
{
    for (size_t i = 0; i < line->len; i++) {
        if (line->text[i] == '"')
            reading->in_quotation = !reading->in_quotation;
        else if (i + 3 <= line->len && memcmp(line->text + i, "\xe2\x80\x9c", 3) == 0)
            reading->in_quotation = true;
        else if (i + 3 <= line->len && memcmp(line->text + i, "\xe2\x80\x9d", 3) == 0)
            reading->in_quotation = false;
    }
}

static enum policy_risk risk_of_line(const struct answer_line *line)
{
    static const enum policy_risk risks[] = {POLICY_RISK_LOW, POLICY_RISK_MEDIUM, POLICY_RISK_HIGH};
    const size_t n_prefix = strlen(VERDICT_PREFIX);
    struct answer_line bare = *line;

    for (; bare.len > 0 && bare.text[0] == '*'; bare.len--)
        bare.text++;
    while (bare.len > 0 && bare.text[bare.len - 1] == '*')
        bare.len--;
    if (bare.len < n_prefix || memcmp(bare.text, VERDICT_PREFIX, n_prefix) != 0)
        return POLICY_RISK_UNKNOWN;
    for (size_t i = 0; i < ARRAY_SIZE(risks); i++) {
        const char *name = policy_risk_to_string(risks[i]);

        if (bare.len - n_prefix == strlen(name) &&
            memcmp(bare.text + n_prefix, name, strlen(name)) == 0)
            return risks[i];
    }
    return POLICY_RISK_UNKNOWN;
}

static void take_line(struct answer_reading *reading, const struct answer_line *line)
{
    enum policy_risk risk = POLICY_RISK_UNKNOWN;

    if (take_fence(reading, line) || (line->len > 0 && line->text[0] == '>'))
        return;
    if (!reading->in_quotation && line->indent < CODE_INDENT)
        risk = risk_of_line(line);
    if (risk > reading->risk)
        reading->risk = risk;
    follow_quotation(reading, line);
}

enum policy_risk risk_text_verdict(const char *answer)
{
    struct answer_reading reading = {.risk = POLICY_RISK_UNKNOWN};
    const char *p = answer;

    while (*p != '\0') {
        size_t len = strcspn(p, "\n");
        struct answer_line line = cut_line(p, len);

        take_line(&reading, &line);
        p += len + (p[len] == '\n');
    }
    return reading.risk;
}
