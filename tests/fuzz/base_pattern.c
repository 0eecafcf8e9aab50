/*
 * Any pattern is one or is refused in words, and whatever it is matched with, the match ends.
 * Input: the pattern, a line break, the text.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/pattern.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(mem_freep) char *input = mem_dup_bytes(data, size);
    CLEANUP(pattern_freep) struct pattern *pattern = NULL;
    struct error err = ERROR_INIT;
    char *text = strchr(input, '\n');

    if (text == NULL)
        return 0;
    *text++ = '\0';
    if (pattern_new(input, &pattern, &err) < 0)
        assert(err.message[0] != '\0');
    else
        assert(pattern_matches(pattern, text) == pattern_matches(pattern, text));
    return 0;
}
