#include "model/masking/mask_omission.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "model/masking/mask_forms.h"

/* A longer notice is not the sandbox's. */
enum { WORDS_MAX_BYTES = 1024 };

/* A match of this many bytes of a long value is no coincidence. */
enum { SURE_BYTES = 64 };

const char *mask_omission_find(const char *text, size_t len)
{
    return memmem(text, len, CLIPPED_MARK, strlen(CLIPPED_MARK));
}

const char *mask_omission_end(const char *omission, size_t len)
{
    const char *end = memmem(omission, len < WORDS_MAX_BYTES ? len : WORDS_MAX_BYTES, CLIPPED_END,
                             strlen(CLIPPED_END));

    return end != NULL ? end + strlen(CLIPPED_END) : omission + strlen(CLIPPED_MARK);
}

/* A longer run of white space is not a wrap within a form. */
enum { SPACES_MAX = 32 };

static bool wraps(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && n <= SPACES_MAX && strchr(" \n\r\t", text[n]) != NULL && text[n] != '\0')
        n++;
    return n > 0 && n <= SPACES_MAX && n < len;
}

/* Returns how far the text matches these bytes, white space skipped; *n_followed of them match. */
static size_t follow(const char *bytes, size_t n_bytes, const char *text, size_t len,
                     size_t *n_followed)
{
    size_t end = 0;
    size_t at = 0;

    for (size_t i = 0; i < len && at < n_bytes; i++) {
        if (text[i] == bytes[at]) {
            at++;
            end = i + 1;
        } else if (!wraps(text + i, len - i)) {
            break;
        }
    }
    *n_followed = at;
    return end;
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Longest match of the rest of a form after the node, including the tail of a long form. */
static size_t ended_from(const struct mask_forms *forms, uint32_t node, const char *text,
                         size_t len)
{
    size_t longest = 0;

    for (size_t i = 0; i < len; i++) {
        uint32_t child = mask_forms_child(forms, node, (unsigned char)text[i]);

        if (child == 0 && wraps(text + i, len - i))
            continue;
        if (child == 0)
            break;
        node = child;
        if (mask_forms_is_end(forms, node))
            longest = i + 1;
        for (uint32_t at = forms->nodes[node].tails; at != 0; at = forms->tails[at - 1].next) {
            const struct secret *tail = &forms->tails[at - 1].bytes;
            size_t n = 0;

            longest = larger(
                longest,
                i + 1 + follow(secret_reveal(tail), tail->len, text + i + 1, len - i - 1, &n));
        }
    }
    return longest;
}

/* As above, for a text that starts within the tail of a long form. */
static size_t ended_in_tail(const struct secret *tail, const char *text, size_t len)
{
    const char *bytes = secret_reveal(tail);

    for (size_t at = 0; at < tail->len; at++) {
        size_t n_left = tail->len - at;
        size_t n_needed = n_left < SURE_BYTES ? n_left : SURE_BYTES;
        size_t n = 0;

        (void)follow(bytes + at, n_needed, text, len, &n);
        if (n == n_needed)
            return follow(bytes + at, n_left, text, len, &n);
    }
    return 0;
}

size_t mask_omission_tail_bytes(const struct mask_forms *forms, const char *text, size_t len)
{
    size_t longest = 0;

    for (uint32_t node = 1; node < forms->n_nodes; node++)
        longest = larger(longest, ended_from(forms, node, text, len));
    for (size_t i = 0; i < forms->n_tails; i++)
        longest = larger(longest, ended_in_tail(&forms->tails[i].bytes, text, len));
    return longest < MASK_PART_MIN_BYTES ? 0 : longest;
}
