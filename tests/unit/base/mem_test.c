#include "base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/base/base_test.h"

static bool is_zero(const char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static void allocated_memory_is_zero(void **state)
{
    CLEANUP(mem_freep) char *dirty = mem_alloc(100);
    CLEANUP(mem_freep) char *bytes = NULL;
    CLEANUP(mem_freep) char *array = NULL;
    CLEANUP(mem_freep) char *empty = mem_alloc(0);
    CLEANUP(mem_freep) char *none = mem_alloc_array(0, 8);

    (void)state;
    memset(dirty, 'x', 100);
    mem_freep(&dirty);
    assert_null(dirty);
    bytes = mem_alloc(100);
    array = mem_alloc_array(10, 7);
    assert_true(is_zero(bytes, 100));
    assert_true(is_zero(array, 70));
    assert_non_null(empty);
    assert_non_null(none);
}

static void resized_memory_keeps_its_beginning(void **state)
{
    char *bytes = mem_resize(NULL, 4);

    (void)state;
    memset(bytes, 'a', 4);
    bytes = mem_resize(bytes, 4000);
    assert_memory_equal(bytes, "aaaa", 4);
    memset(bytes + 4, 'x', 3996);
    bytes = mem_resize(bytes, 0);
    assert_non_null(bytes);
    mem_free(bytes);
    mem_free(NULL);
}

static void copies_end_in_a_nul(void **state)
{
    CLEANUP(mem_freep) char *text = mem_dup_text("abc");
    CLEANUP(mem_freep) char *bytes = mem_dup_bytes("a\0bc", 3);
    CLEANUP(mem_freep) char *nothing = mem_dup_bytes(NULL, 0);

    (void)state;
    assert_string_equal(text, "abc");
    assert_memory_equal(bytes, "a\0b", 4);
    assert_string_equal(nothing, "");
}

/* A size that no memory has, told before the process ends. */
static void memory_that_runs_out_ends_the_process(void **state)
{
    char text[128] = "";
    int ends[2] = {-1, -1};
    int status = 0;
    pid_t child = 0;

    (void)state;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)dup2(ends[1], STDERR_FILENO);
        mem_free(mem_alloc_array(SIZE_MAX / 2, 3));
        _exit(0);
    }
    assert_int_equal(close(ends[1]), 0);
    assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
    assert_int_equal(close(ends[0]), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_string_equal(text, "{\"level\":\"error\",\"event\":\"memory.exhausted\"}\n");
}

int mem_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocated_memory_is_zero),
        cmocka_unit_test(resized_memory_keeps_its_beginning),
        cmocka_unit_test(copies_end_in_a_nul),
        cmocka_unit_test(memory_that_runs_out_ends_the_process),
    };

    return cmocka_run_group_tests_name("base/mem", tests, NULL, NULL);
}
