#include "unit/linear/linear.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <malloc.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/strbuf.h"

enum { SHORT_BYTES = 100000, TIMES_LONGER = 10, RATIO_MAX = 12, ROUNDS_MAX = 8 };

/*
 * A function this fast on the longer input is not quadratic, since that would take a second or
 * more; the ratio of such short times depends on the caches more than on the function.
 */
#define PLAIN_NS_PER_BYTE 500

/* Nothing that is linear takes so long for the shorter input; the longer one is not tried. */
#define SLOW_NS 200000000

const char *const linear_any_text[] = {
    "|a|",      "|\n|",       "| |",     "|a b |",   "|[|",     "|{\"a\":|", "|\"|",   "|\\|",
    "|'|",      "|,|",        "|;|",     "|\r\n|",   "|%|",     "|%41|",     "|\xff|", "|\xc3\xa9|",
    "|tokenn|", "|passwor |", "|---\n|", "|a: b\n|", "|<<E\n|", "|$(|",      "|`|",    "|(|",
    "|&|",      "|\\u0061|",  "|sk-|",   "|```\n|",  "|#|",     "|\t|",      "|**|",   NULL,
};

static int64_t thread_ns(void)
{
    struct timespec now;

    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void make_input(const char *pattern, size_t len, struct strbuf *out)
{
    const char *unit = strchr(pattern, '|');
    const char *tail = NULL;

    assert_non_null(unit);
    tail = strchr(unit + 1, '|');
    assert_non_null(tail);
    assert_true(tail > unit + 1);
    strbuf_append_bytes(out, pattern, (size_t)(unit - pattern));
    while (out->len < len)
        strbuf_append_bytes(out, unit + 1, (size_t)(tail - unit - 1));
    strbuf_append(out, tail + 1);
}

static int64_t measure(const struct linear_function *function, const struct strbuf *input,
                       int64_t best_ns)
{
    int64_t begin_ns = thread_ns();
    int64_t took_ns = 0;

    function->run(input->text, input->len);
    took_ns = thread_ns() - begin_ns;
    return took_ns < best_ns ? took_ns : best_ns;
}

static void check_input(const struct linear_function *function, const char *pattern, int *n_failed)
{
    CLEANUP(strbuf_done) struct strbuf one = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf ten = STRBUF_INIT;
    int64_t one_ns = INT64_MAX;
    int64_t ten_ns = INT64_MAX;
    int64_t plain_ns =
        function->plain_ns_per_byte > 0 ? function->plain_ns_per_byte : PLAIN_NS_PER_BYTE;
    size_t short_bytes = function->short_bytes > 0 ? function->short_bytes : SHORT_BYTES;

    plain_ns *= (int64_t)(short_bytes * TIMES_LONGER);
    make_input(pattern, short_bytes, &one);
    make_input(pattern, short_bytes * TIMES_LONGER, &ten);
    for (int round = 0; round < ROUNDS_MAX; round++) {
        one_ns = measure(function, &one, one_ns);
        if (one_ns > SLOW_NS)
            break;
        ten_ns = measure(function, &ten, ten_ns);
        /* No shorter input may take so long that this is fine; more rounds would take minutes. */
        if (ten_ns > (int64_t)RATIO_MAX * SLOW_NS)
            break;
        if (ten_ns < plain_ns || (round > 0 && ten_ns <= RATIO_MAX * one_ns))
            return;
    }
    print_error("%s: \"%.40s\" takes %lld us, ten times that %lld us\n", function->name, pattern,
                (long long)(one_ns / 1000), ten_ns == INT64_MAX ? -1 : (long long)(ten_ns / 1000));
    *n_failed += 1;
}

void linear_setup(void)
{
    json_setup();
    /* Pages that the allocator gives back and takes again are the kernel's work, not ours. */
    (void)mallopt(M_MMAP_THRESHOLD, 1 << 30);
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

void linear_check(const struct linear_function *functions, size_t n)
{
    int n_failed = 0;

    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; functions[i].inputs[k] != NULL; k++)
            check_input(&functions[i], functions[i].inputs[k], &n_failed);
    }
    assert_int_equal(n_failed, 0);
}
