#include "model/schema/regex.h"

#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/error.h"
#include "base/mem.h"

#define PATTERN_MAX_BYTES 4096
#define COMPILED_MAX_BYTES (256UL * 1024)
#define MATCH_MAX_STEPS 200000
#define MATCH_MAX_KIB 4096
#define WHY_BYTES 160

struct regex {
    pcre2_code *code;
};

static int refuse(int code, PCRE2_SIZE at, struct error *err)
{
    PCRE2_UCHAR why[WHY_BYTES] = "";

    (void)pcre2_get_error_message(code, why, sizeof(why));
    return error_set(err, ERROR_INVALID, "%s at position %zu", (const char *)why, at);
}

static int check_size(const pcre2_code *code, struct error *err)
{
    size_t n_bytes = 0;

    (void)pcre2_pattern_info(code, PCRE2_INFO_SIZE, &n_bytes);
    return n_bytes > COMPILED_MAX_BYTES ? error_set(err, ERROR_INVALID, "the pattern is too large")
                                        : 0;
}

int regex_new(const char *text, struct regex **regex_out, struct error *err)
{
    CLEANUP(regex_freep) struct regex *pattern = NEW(struct regex);
    PCRE2_SIZE at = 0;
    int code = 0;

    if (strlen(text) > PATTERN_MAX_BYTES)
        return error_set(err, ERROR_INVALID, "the pattern is too large");
    pattern->code = pcre2_compile((PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED,
                                  PCRE2_ANCHORED | PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C,
                                  &code, &at, NULL);
    if (pattern->code == NULL)
        return refuse(code, at, err);
    if (check_size(pattern->code, err) < 0)
        return -1;
    *regex_out = pattern;
    pattern = NULL;
    return 0;
}

void regex_free(struct regex *pattern)
{
    if (pattern == NULL)
        return;
    pcre2_code_free(pattern->code);
    mem_free(pattern);
}

void regex_freep(struct regex **pattern)
{
    regex_free(*pattern);
    *pattern = NULL;
}

bool regex_matches(const struct regex *pattern, const char *text)
{
    pcre2_match_context *limits = pcre2_match_context_create(NULL);
    pcre2_match_data *match = pcre2_match_data_create(1, NULL);
    int rc = PCRE2_ERROR_NOMEMORY;

    if (limits != NULL && match != NULL) {
        (void)pcre2_set_match_limit(limits, MATCH_MAX_STEPS);
        (void)pcre2_set_heap_limit(limits, MATCH_MAX_KIB);
        rc = pcre2_match(pattern->code, (PCRE2_SPTR)text, PCRE2_ZERO_TERMINATED, 0, 0, match,
                         limits);
    }
    pcre2_match_data_free(match);
    pcre2_match_context_free(limits);
    return rc >= 0;
}
