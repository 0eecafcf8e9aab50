#include "model/security/text_patterns.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "model/security/shell_words.h"

/* Bytes of other scripts separate words, so that no letter next to a word hides it. */
static bool is_word_char(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n';
}

static const char *skip_spaces(const char *at)
{
    return at + strspn(at, " \n");
}

static size_t word_length(const char *at)
{
    size_t len = 0;

    while (is_word_char(at[len]))
        len++;
    return len;
}

static bool word_is(const char *at, size_t len, const char *word)
{
    return strlen(word) == len && strncasecmp(at, word, len) == 0;
}

/* --- code --- */

struct code_scan {
    const char *text;
    const char *at;
    bool is_fetching; /* after curl or wget, in its command line */
    bool is_copying;  /* after dd */
    enum policy_risk risk;
};

static void raise_to(enum policy_risk *risk, enum policy_risk least)
{
    if (*risk < least)
        *risk = least;
}

static bool is_option_char(char c)
{
    return isalnum((unsigned char)c) || c == '-';
}

/*
 * The options right after `rm`. No option has a character before which `rm` is a word, so no part
 * of a text is read for two of them.
 */
static void take_rm(struct code_scan *scan)
{
    const char *at = scan->at;
    bool is_recursive = false;
    bool is_forced = false;

    while (is_space(*at)) {
        const char *option = skip_spaces(at);
        size_t len = 0;

        while (is_option_char(option[len]))
            len++;
        if (*option != '-' || word_is(option, len, "--"))
            break;
        is_recursive = is_recursive || shell_option_has(option, len, 'r', "--recursive");
        is_forced = is_forced || shell_option_has(option, len, 'f', "--force");
        at = option + len;
    }
    if (is_recursive && is_forced)
        scan->risk = POLICY_RISK_HIGH;
}

static void take_sudo(struct code_scan *scan)
{
    const char *next = skip_spaces(scan->at);

    if (next != scan->at && word_is(next, word_length(next), "rm"))
        scan->risk = POLICY_RISK_HIGH;
}

static void take_mkfs(struct code_scan *scan)
{
    if (scan->at[0] == '.' && is_word_char(scan->at[1]))
        scan->risk = POLICY_RISK_HIGH;
}

static void take_dd(struct code_scan *scan)
{
    scan->is_copying = scan->is_copying || is_space(*scan->at);
}

static void take_of(struct code_scan *scan)
{
    if (scan->is_copying && text_starts_with(scan->at, "=/dev/"))
        scan->risk = POLICY_RISK_HIGH;
}

/* eval(, exec( */
static void take_call(struct code_scan *scan)
{
    if (*skip_spaces(scan->at) == '(')
        scan->risk = POLICY_RISK_HIGH;
}

/* The word after a dot, which a bracket follows. */
static size_t member_length(const char *at)
{
    size_t len = 0;

    if (*at != '.')
        return 0;
    len = word_length(at + 1);
    return *skip_spaces(at + 1 + len) == '(' ? len : 0;
}

static void take_os(struct code_scan *scan)
{
    if (word_is(scan->at + 1, member_length(scan->at), "system"))
        scan->risk = POLICY_RISK_HIGH;
}

static void take_subprocess(struct code_scan *scan)
{
    size_t len = member_length(scan->at);
    const char *member = scan->at + 1;

    if (len == 0)
        return;
    if (word_is(member, len, "call") || word_is(member, len, "run") ||
        word_is(member, len, "popen") || strncasecmp(member, "check_", strlen("check_")) == 0)
        scan->risk = POLICY_RISK_HIGH;
}

static void take_fetch(struct code_scan *scan)
{
    scan->is_fetching = true;
}

static void take_scheme(struct code_scan *scan)
{
    if (scan->is_fetching && text_starts_with(scan->at, "://"))
        raise_to(&scan->risk, POLICY_RISK_MEDIUM);
}

static const struct {
    const char *word;
    void (*take)(struct code_scan *scan); /* scan->at is after the word */
} code_words[] = {
    {"curl", take_fetch}, {"dd", take_dd},       {"eval", take_call},
    {"exec", take_call},  {"http", take_scheme}, {"https", take_scheme},
    {"mkfs", take_mkfs},  {"of", take_of},       {"os", take_os},
    {"rm", take_rm},      {"sudo", take_sudo},   {"subprocess", take_subprocess},
    {"wget", take_fetch},
};

/* A word after a dash is part of an option. */
static void take_code_word(struct code_scan *scan)
{
    const char *word = scan->at;
    size_t len = word_length(word);
    bool is_option = word > scan->text && word[-1] == '-';

    scan->at += len;
    for (size_t i = 0; i < ARRAY_SIZE(code_words) && !is_option; i++) {
        if (word_is(word, len, code_words[i].word))
            code_words[i].take(scan);
    }
}

/* After a pipe: the command, without its folder, what runs it, and the options of that. */
static bool is_piped_to_shell(const char *at)
{
    at += *at == '&';
    for (;;) {
        const char *word = NULL;
        size_t len = 0;

        at = skip_spaces(at);
        len = strcspn(at, " \n|;&<>(){}\"'`");
        word = shell_program_name(at, &len);
        at = word + len;
        if (shell_words_has(SHELL_PROGRAMS, word, len))
            return true;
        if (len == 0 || (*word != '-' && shell_wrapper_find(word, len) == NULL))
            return false;
    }
}

static void take_code_mark(struct code_scan *scan)
{
    char mark = *scan->at++;
    bool is_doubled = (mark == '&' || mark == '|') && *scan->at == mark;
    bool is_line_end = mark == '\n' && (scan->at - scan->text < 2 || scan->at[-2] != '\\');

    scan->at += is_doubled;
    if (mark == '|' && !is_doubled && scan->is_fetching && is_piped_to_shell(scan->at))
        scan->risk = POLICY_RISK_HIGH;
    if (mark == ';' || is_doubled || is_line_end) {
        scan->is_fetching = false;
        scan->is_copying = false;
    }
}

enum policy_risk text_patterns_of_code(const char *text)
{
    struct code_scan scan = {.text = text, .at = text, .risk = POLICY_RISK_LOW};

    while (*scan.at != '\0' && scan.risk != POLICY_RISK_HIGH) {
        if (is_word_char(*scan.at))
            take_code_word(&scan);
        else
            take_code_mark(&scan);
    }
    return scan.risk;
}

/* --- prose --- */

/* How many words may come from one word of a phrase to the next. */
enum { NEAR_WORDS = 4, FAR_WORDS = 10 };

/* The number of the last word of each sort. 0: none yet. */
struct prose_scan {
    size_t n_words;
    size_t ignore;
    size_t ignore_previous;
    size_t you;
    size_t you_are;
    size_t you_are_now;
    size_t pretend;
};

enum prose_word {
    PROSE_OTHER,
    PROSE_IGNORE,
    PROSE_PREVIOUS,
    PROSE_INSTRUCTIONS,
    PROSE_YOU,
    PROSE_ARE,
    PROSE_NOW,
    PROSE_MODE,
    PROSE_PRETEND,
    PROSE_DIFFERENT,
};

static const struct {
    const char *text;
    enum prose_word word;
} prose_words[] = {
    {"ignore", PROSE_IGNORE},
    {"ignoring", PROSE_IGNORE},
    {"disregard", PROSE_IGNORE},
    {"disregarding", PROSE_IGNORE},
    {"forget", PROSE_IGNORE},
    {"previous", PROSE_PREVIOUS},
    {"prior", PROSE_PREVIOUS},
    {"above", PROSE_PREVIOUS},
    {"instruction", PROSE_INSTRUCTIONS},
    {"instructions", PROSE_INSTRUCTIONS},
    {"prompt", PROSE_INSTRUCTIONS},
    {"prompts", PROSE_INSTRUCTIONS},
    {"rule", PROSE_INSTRUCTIONS},
    {"rules", PROSE_INSTRUCTIONS},
    {"direction", PROSE_INSTRUCTIONS},
    {"directions", PROSE_INSTRUCTIONS},
    {"directive", PROSE_INSTRUCTIONS},
    {"directives", PROSE_INSTRUCTIONS},
    {"guideline", PROSE_INSTRUCTIONS},
    {"guidelines", PROSE_INSTRUCTIONS},
    {"command", PROSE_INSTRUCTIONS},
    {"commands", PROSE_INSTRUCTIONS},
    {"context", PROSE_INSTRUCTIONS},
    {"you", PROSE_YOU},
    {"are", PROSE_ARE},
    {"now", PROSE_NOW},
    {"mode", PROSE_MODE},
    {"pretend", PROSE_PRETEND},
    {"different", PROSE_DIFFERENT},
};

static enum prose_word prose_word_of(const char *at, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(prose_words); i++) {
        if (word_is(at, len, prose_words[i].text))
            return prose_words[i].word;
    }
    return PROSE_OTHER;
}

static bool is_within(const struct prose_scan *scan, size_t word, size_t n)
{
    return word > 0 && scan->n_words - word <= n;
}

/* Returns the risk of the phrase that the word completes. */
static enum policy_risk take_prose_word(struct prose_scan *scan, enum prose_word word)
{
    size_t now = ++scan->n_words;

    switch (word) {
    case PROSE_IGNORE:
        scan->ignore = now;
        break;
    case PROSE_PREVIOUS:
        if (is_within(scan, scan->ignore, NEAR_WORDS))
            scan->ignore_previous = now;
        break;
    case PROSE_INSTRUCTIONS:
        return is_within(scan, scan->ignore_previous, NEAR_WORDS) ? POLICY_RISK_HIGH
                                                                  : POLICY_RISK_LOW;
    case PROSE_YOU:
        scan->you = now;
        break;
    case PROSE_ARE:
        if (is_within(scan, scan->you, 1))
            scan->you_are = now;
        break;
    case PROSE_NOW:
        if (is_within(scan, scan->you_are, 1))
            scan->you_are_now = now;
        break;
    case PROSE_MODE:
        return is_within(scan, scan->you_are_now, FAR_WORDS) ? POLICY_RISK_MEDIUM : POLICY_RISK_LOW;
    case PROSE_PRETEND:
        scan->pretend = now;
        break;
    case PROSE_DIFFERENT:
        return is_within(scan, scan->pretend, FAR_WORDS) ? POLICY_RISK_MEDIUM : POLICY_RISK_LOW;
    case PROSE_OTHER:
        break;
    }
    return POLICY_RISK_LOW;
}

enum policy_risk text_patterns_of_prose(const char *text)
{
    struct prose_scan scan = {.n_words = 0};
    enum policy_risk risk = POLICY_RISK_LOW;

    while (*text != '\0' && risk != POLICY_RISK_HIGH) {
        size_t len = word_length(text);

        if (len > 0)
            raise_to(&risk, take_prose_word(&scan, prose_word_of(text, len)));
        text += len > 0 ? len : 1;
    }
    return risk;
}
