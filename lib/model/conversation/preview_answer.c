#include "model/conversation/preview_answer.h"

#include <stdbool.h>
#include <string.h>

enum { STATUS_AT = 9, STATUS_LINE_LEAST_BYTES = 13 };
enum { INFORMATIONAL = 100, SWITCHING_PROTOCOLS = 101, FINAL_LEAST = 200, FINAL_MOST = 599 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* In a pattern, d is a digit, and ~ ends the status. */
static bool fits(char pattern, char c)
{
    if (pattern == 'd')
        return is_digit(c);
    if (pattern == '~')
        return c == ' ' || c == '\r' || c == '\n';
    return c == pattern;
}

static bool begins_as_http(const char *bytes, size_t len)
{
    static const char pattern[] = "HTTP/1.d ddd~";
    bool fit = true;

    for (size_t i = 0; fit && i < len && pattern[i] != '\0'; i++)
        fit = fits(pattern[i], bytes[i]);
    return fit;
}

/* Length of the head with its empty line, with or without CR as in nginx; 0 if incomplete. */
static size_t head_length(const char *bytes, size_t len)
{
    const char *end = bytes + len;
    const char *at = memchr(bytes, '\n', len);

    while (at != NULL) {
        const char *next = at + 1;

        next += next < end && *next == '\r' ? 1 : 0;
        if (next < end && *next == '\n')
            return (size_t)(next + 1 - bytes);
        at = memchr(at + 1, '\n', (size_t)(end - at - 1));
    }
    return 0;
}

static enum preview_answer_kind kind_of(int status)
{
    if (status == SWITCHING_PROTOCOLS)
        return PREVIEW_ANSWER_UPGRADE;
    if (status >= INFORMATIONAL && status < FINAL_LEAST)
        return PREVIEW_ANSWER_INFORMATIONAL;
    return status >= FINAL_LEAST && status <= FINAL_MOST ? PREVIEW_ANSWER_FINAL
                                                         : PREVIEW_ANSWER_REFUSED;
}

struct preview_answer preview_answer_read(const char *bytes, size_t len)
{
    struct preview_answer answer = {.kind = PREVIEW_ANSWER_PARTIAL};

    if (!begins_as_http(bytes, len))
        answer.kind = PREVIEW_ANSWER_REFUSED;
    if (answer.kind == PREVIEW_ANSWER_REFUSED || len < STATUS_LINE_LEAST_BYTES)
        return answer;
    for (int i = 0; i < 3; i++)
        answer.status = 10 * answer.status + (bytes[STATUS_AT + i] - '0');
    answer.kind = kind_of(answer.status);
    if (answer.kind == PREVIEW_ANSWER_INFORMATIONAL) {
        answer.n_head_bytes = head_length(bytes, len);
        if (answer.n_head_bytes == 0)
            answer.kind = PREVIEW_ANSWER_PARTIAL;
    }
    return answer;
}
