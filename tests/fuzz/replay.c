/*
 * Runs a fuzz target without libFuzzer: over every file of its corpus, and over variants of each
 * made by a fixed sequence of changes. So `make check` runs each target a little, with any
 * compiler.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attr.h"
#include "base/error.h"
#include "base/file.h"
#include "base/strbuf.h"

enum { FILE_MAX_BYTES = 1 << 20, CHANGES_MAX = 8, VARIANTS = 400 };

/* Optional, as with libFuzzer. */
__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* xorshift64: the same sequence in every run. */
static uint64_t next_number(uint64_t *state)
{
    *state ^= *state << 13U;
    *state ^= *state >> 7U;
    *state ^= *state << 17U;
    return *state;
}

/* Overwrites, removes, repeats or inserts a few bytes. */
static void change(struct strbuf *text, uint64_t *state)
{
    static const char special[] = "\"\\{}[],:0-9\n\x01\x7f\xff\xc3'%";
    size_t at = next_number(state) % (text->len + 1);
    size_t len = next_number(state) % 16;
    CLEANUP(strbuf_done) struct strbuf tail = STRBUF_INIT;

    if (len > text->len - at)
        len = text->len - at;
    strbuf_append_bytes(&tail, text->text + at, text->len - at);
    strbuf_truncate(text, at);
    switch (next_number(state) % 4) {
    case 0:
        strbuf_append_bytes(text, tail.text + len, tail.len - len);
        return;
    case 1:
        strbuf_append_bytes(text, tail.text, len);
        break;
    case 2:
        strbuf_append_char(text, special[next_number(state) % (sizeof(special) - 1)]);
        break;
    default:
        strbuf_append_char(text, special[next_number(state) % (sizeof(special) - 1)]);
        strbuf_append_bytes(text, tail.text + (tail.len > 0), tail.len - (tail.len > 0));
        return;
    }
    strbuf_append_bytes(text, tail.text, tail.len);
}

static void run(const struct strbuf *input)
{
    (void)LLVMFuzzerTestOneInput((const uint8_t *)input->text, input->len);
}

static void run_variants(const struct strbuf *input, size_t n_variants)
{
    uint64_t state = 0x9e3779b97f4a7c15U;

    for (size_t i = 0; i < n_variants; i++) {
        CLEANUP(strbuf_done) struct strbuf variant = STRBUF_INIT;
        size_t n_changes = 1 + next_number(&state) % CHANGES_MAX;

        strbuf_append_bytes(&variant, input->text, input->len);
        for (size_t k = 0; k < n_changes; k++)
            change(&variant, &state);
        run(&variant);
    }
}

/* -1 when the file cannot be read. */
static int replay_file(const char *name, size_t n_variants)
{
    CLEANUP(strbuf_done) struct strbuf path = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf input = STRBUF_INIT;
    struct error err = ERROR_INIT;

    strbuf_appendf(&path, "%s/%s", FUZZ_CORPUS, name);
    if (file_read(path.text, FILE_MAX_BYTES, &input, &err) < 0)
        return -1;
    run(&input);
    run_variants(&input, n_variants);
    return 0;
}

int main(int argc, char **argv)
{
    size_t n_variants = argc > 1 ? strtoul(argv[1], NULL, 10) : VARIANTS;
    struct dirent **files = NULL;
    int n_files = scandir(FUZZ_CORPUS, &files, NULL, alphasort);
    int n_failed = n_files > 2 ? 0 : 1;

    if (LLVMFuzzerInitialize != NULL)
        (void)LLVMFuzzerInitialize(&argc, &argv);
    for (int i = 0; i < n_files; i++) {
        if (files[i]->d_name[0] != '.' && replay_file(files[i]->d_name, n_variants) < 0)
            n_failed++;
        free(files[i]);
    }
    free(files);
    return n_failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
