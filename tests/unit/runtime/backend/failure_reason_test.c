#include "runtime/backend/failure_reason.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/text.h"
#include "unit/runtime/runtime_test.h"

struct said {
    const char *text;
    const char *reason;
    const char *word; /* of ours; NULL: it speaks for itself */
};

/* As engines and runc say it. */
static const struct said saids[] = {
    {"OCI runtime create failed: runc create failed: unable to start container process: container "
     "init was OOM-killed (memory limit too low?): unknown",
     "OOMKilled", "too little memory"},
    {"Minimum memory limit allowed is 6MB", "OOMKilled", "less memory"},
    {"the sandbox ran out of memory and was ended", "OOMKilled", NULL},
    {"exec /.deft/deft-action: exec format error", "ExecFormatError", "another processor"},
    {"the image a:1 is for arm64 processors, this host has amd64", "ExecFormatError", NULL},
    {"runc create failed: unable to start container process: exec: \"/x\": stat /x: no such file "
     "or "
     "directory: unknown",
     "CommandNotFound", "does not exist in the sandbox"},
    {"exec: \"/.deft/deft-action\": permission denied: unknown", "NotExecutable",
     "cannot be executed"},
    {"write /var/lib/docker/tmp/x: no space left on device", "DiskFull", "disk is full"},
    {"the host's disk has 5 MB free, and 9 MB are to stay free (DEFT_SANDBOX_FREE_BYTES)",
     "DiskFull", NULL},
    {"the image a:1 is not on this host", "ImageNotFound", NULL},
    {"No such image: a:1", "ImageNotFound", "not on this host"},
    {"the sandbox did not get ready: timeout", "StartTimeout", NULL},
    {"the sandbox was killed (exit code 137)", "Killed", NULL},
    {"the sandbox's container was removed", "ContainerRemoved", NULL},
    {"the sandbox ended when the engine or the host did", "HostRestarted", NULL},
    {"container engine: connection refused", "EngineUnavailable", NULL},
    {"the sandbox ended with exit code 3: words", "Error", NULL},
};

static void what_engines_say_has_a_reason_and_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(saids); i++) {
        const char *words = failure_reason_explain(saids[i].text);

        assert_string_equal(failure_reason_find(saids[i].text), saids[i].reason);
        if (saids[i].word == NULL) {
            assert_null(words);
            continue;
        }
        assert_non_null(words);
        assert_non_null(strstr(words, saids[i].word));
    }
}

/* The stored reason is our words, then the engine's, cut at a maximum length. */
static void our_words_alone_have_the_same_reason(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(saids); i++) {
        const char *words = failure_reason_explain(saids[i].text);

        if (words != NULL)
            assert_string_equal(failure_reason_find(words), saids[i].reason);
    }
}

static void other_words_have_none(void **state)
{
    (void)state;
    assert_null(failure_reason_explain("something else"));
    assert_null(failure_reason_find("something else"));
    assert_null(failure_reason_find(""));
}

int test_failure_reason(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_engines_say_has_a_reason_and_words),
        cmocka_unit_test(our_words_alone_have_the_same_reason),
        cmocka_unit_test(other_words_have_none),
    };

    return cmocka_run_group_tests_name("runtime/failure_reason", tests, NULL, NULL);
}
