/*
 * For targets that parse JSON: sets jansson up before the first input. Included by one file of a
 * program.
 */
#ifndef DEFT_TESTS_FUZZ_JSON_SETUP_H
#define DEFT_TESTS_FUZZ_JSON_SETUP_H

#include "base/json.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    json_setup();
    return 0;
}

#endif
