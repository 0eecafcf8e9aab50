#include "model/security/shell_words.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

static const char *const programs[] = {"sh",  "bash", "dash", "zsh", "ksh", "ash",
                                       "csh", "tcsh", "fish", "su",  NULL};
static const char *const interpreters[] = {"python", "perl", "ruby", "node", "php", "lua", NULL};
static const char *const keywords[] = {"if",    "then", "else", "elif", "do",     "while",
                                       "until", "!",    "{",    "}",    "coproc", NULL};
static const char *const fetchers[] = {"curl", "wget", NULL};
static const char *const *const lists[SHELL_N_WORD_LISTS] = {
    [SHELL_PROGRAMS] = programs,
    [SHELL_INTERPRETERS] = interpreters,
    [SHELL_KEYWORDS] = keywords,
    [SHELL_FETCHERS] = fetchers,
};

static const struct shell_wrapper wrappers[] = {
    {"sudo", "ugpChrtTUDR", 0}, {"doas", "uC", 0},        {"env", "uC", 0},   {"nohup", "", 0},
    {"command", "", 0},         {"exec", "a", 0},         {"builtin", "", 0}, {"time", "fo", 0},
    {"nice", "n", 0},           {"ionice", "cnp", 0},     {"setsid", "", 0},  {"stdbuf", "ioe", 0},
    {"timeout", "ks", 1},       {"xargs", "nPILdsaE", 0}, {"busybox", "", 0}, {"chroot", "", 1},
};

static bool word_is(const char *word, size_t len, const char *text)
{
    return strlen(text) == len && memcmp(text, word, len) == 0;
}

bool shell_words_has(enum shell_word_list list, const char *word, size_t len)
{
    while (list == SHELL_INTERPRETERS && len > 0 &&
           (isdigit((unsigned char)word[len - 1]) || word[len - 1] == '.'))
        len--;
    for (const char *const *at = lists[list]; *at != NULL; at++) {
        if (word_is(word, len, *at))
            return true;
    }
    return false;
}

const struct shell_wrapper *shell_wrapper_find(const char *word, size_t len)
{
    for (size_t i = 0; i < ARRAY_SIZE(wrappers); i++) {
        if (word_is(word, len, wrappers[i].name))
            return &wrappers[i];
    }
    return NULL;
}

const char *shell_program_name(const char *word, size_t *len_inout)
{
    size_t start = *len_inout;

    while (start > 0 && word[start - 1] != '/')
        start--;
    *len_inout -= start;
    return word + start;
}

bool shell_option_has(const char *option, size_t len, char letter, const char *long_name)
{
    if (len < 2 || option[0] != '-')
        return false;
    if (option[1] == '-')
        return len > 2 && len <= strlen(long_name) && strncasecmp(option, long_name, len) == 0;
    for (size_t i = 1; i < len; i++) {
        if (tolower((unsigned char)option[i]) == letter)
            return true;
    }
    return false;
}
