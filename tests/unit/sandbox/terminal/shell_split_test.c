#include "sandbox/terminal/shell_split.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strbuf.h"
#include "unit/sandbox/sandbox_test.h"

struct split_case {
    const char *text;
    size_t n;
};

static const struct split_case cases[] = {
    {"", 0},
    {"\n \n", 0},
    {"ls", 1},
    {"ls\n", 1},
    {"a\nb", 2},
    {"a\n\n\nb\n", 2},
    {"a; b && c || d | e &", 1},
    {"a;\nb", 2},
    {"a &\nb", 2},
    {"a &&\nb", 1},
    {"a ||\n\nb", 1},
    {"a |\nb", 1},
    {"a |&\nb", 1},
    {"a \\\n b", 1},
    {"echo 'x\ny'", 1},
    {"echo \"x\ny\"", 1},
    {"echo $'x\\'\ny'", 1},
    {"echo \"$(a\nb)\"", 1},
    {"echo $(a\nb)\nc", 2},
    {"echo `a\nb`", 1},
    {"echo ${x:-a\nb}", 1},
    {"echo $((1 +\n2))", 1},
    {"((x = 1))\ny", 2},
    {"cat <<E\na\nb\nE", 1},
    {"cat <<E\na\nE\nb", 2},
    {"cat <<-'E' | x\n\ta\n\tE\nb", 2},
    {"cat <<E\na\n\tE\nb\nE\nc", 2},
    {"cat <<A <<B\n1\nA\n2\nB", 1},
    {"cat <<<word\nb", 2},
    {"if a; then\nb\nfi", 1},
    {"if a\nthen b\nelse\nc\nfi\nd", 2},
    {"for i in 1 2\ndo\nx\ndone", 1},
    {"for ((i=0; i<3; i++)); do\nx\ndone", 1},
    {"while a; do\nb; done < f\nc", 2},
    {"until a\ndo b\ndone", 1},
    {"case x in\na) b;;\n(c) d;;\n*)\ne\n;;\nesac", 1},
    {"case x in a) b ;; esac\nc", 2},
    {"f() {\na\nb\n}", 1},
    {"f()\n{\na\n}\nf", 2},
    {"function f {\na\n}\nf", 2},
    {"function f() {\na\n}", 1},
    {"(a\nb)", 1},
    {"{ a\nb\n}\nc", 2},
    {"a=(1\n2)\nb", 2},
    {"a=()\nb", 2},
    {"# only a comment", 0},
    {"# comment\na", 1},
    {"a # comment\n# more", 1},
    {"echo a#b\nc", 2},
    {"echo if\necho then", 2},
    {"echo {\necho }", 2},
    {"find . -exec x {} \\;\nb", 2},
    {"[[ a && b ]]\nc", 2},
    {"! a\nb", 2},
    {"time a\nb", 2},
    {"x=$(cat <<E\nhi\nE\n)", 1},
    {"a\nb 'x", 1},
    {"a\nb $'x", 1},
    {"a\nb \"x", 1},
    {"a\nb `c", 1},
    {"a\nb ${c", 1},
    {"a\nb $((1", 1},
    {"a\nb $(c", 1},
    {"a\n}", 1},
    {"a\ndone", 1},
    {"a\nesac", 1},
    {"a\nb)", 1},
    {"\\\nif a\nthen b\nfi", 1},
    {"a\\\nb\nc", 2},
    {"if'x'\nb", 2},
    {"'if'\nb", 2},
    {"a\r\nb\r\n", 2},
    {"echo $x\nb", 2},
    {"echo \"$\"\nb", 2},
    {"echo $\"a\nb\"\nc", 2},
    {"echo \"a\\\"\nb\"\nc", 2},
    {"echo \"`a\nb`\"\nc", 2},
    {"echo `a; (b\nc)`\nd", 2},
    {"echo \"${x:-$(a\nb)}\"\nc", 2},
    {"x=$((\n1))\nb", 2},
    {"echo $(((1)))\nb", 2},
    {"echo $((1 << 2))\nb", 2},
    {"((x = 1 << 2))\nb", 2},
    {"cat <<\"E\"\na\nE\nb", 2},
    {"cat <<\\E\na\nE\nb", 2},
    {"cat << E\na\nE\nb", 2},
    {"cat <<-E\n\ta\n\tE\nb", 2},
    {"cat <<E\n$(a '\nE\nb", 2},
    {"cat <<E; b\na\nE\nc", 2},
    {"cat <<E &&\na\nE\nb\nc", 2},
    {"(cat <<E\na\nE\n)\nb", 2},
    {"cat <<E\na", 1},
    {"cat <<E\na\nEE\nE\nb", 2},
    {"cat <<A <<-B\n1\nA\n2\n\tB\nb", 2},
    {"if a; then b; elif c\nthen d\nfi\ne", 2},
    {"if a; then\nif b; then\nc\nfi\nfi\nd", 2},
    {"a & # c '\nb", 2},
    {"a #'\nb", 2},
    {"a '#'\nb", 2},
    {"a;# '\nb", 2},
    {"(a # )\n)\nb", 2},
    {"a &&\n# c\nb\nc", 2},
    {"a |\n\n\nb\nc", 2},
    {"a > f\nb", 2},
    {"a 2>&1\nb", 2},
    {"a &> f\nb", 2},
    {"a <> f\nb", 2},
    {"a <(b\nc)\nd", 2},
    {"a >(b\nc)\nd", 2},
    {"[[ a &&\nb ]]\nc", 2},
    {"[[ a < b ]]\nc", 2},
    {"f () a\nb", 2},
    {"f ()\n\n{\na\n}\nb", 2},
    {"function f\n{\na\n}\nb", 2},
    {"x=(a b)\nc", 2},
    {"x+=(a\nb)\nc", 2},
    {"case x in\na|b)\nc;;\nesac\nd", 2},
    {"case x in\n(a)\nb;&\nc) d;;&\nesac\ne", 2},
    {"case $(a\nb) in c) d;; esac\ne", 2},
    {"while a; do case x in b) c;; esac; done\nd", 2},
    {"for i in if then fi\ndo\nx\ndone\nb", 2},
    {"for i\ndo\nx\ndone\nb", 2},
    {"select i in a\ndo\nx\ndone\nb", 2},
    {"! { a\nb\n}\nc", 2},
    {"time (a\nb)\nc", 2},
    {"{ a; }; b\nc", 2},
    {"a; if b\nthen c\nfi\nd", 2},
    {"a && {\nb\n}\nc", 2},
    {"a | while b\ndo c\ndone\nd", 2},
    {"if a; then b; fi & c\nd", 2},
    /* what no shell takes is left to the shell */
    {"echo 'x\nb", 1},
    {"echo )\nb", 1},
    {"fi\nb", 1},
    {"(a\nb", 1},
};

static void texts_split_at_top_level_newlines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct shell_statement statements[SHELL_STATEMENTS_MAX];
        size_t n = shell_split(cases[i].text, statements);

        if (n != cases[i].n)
            fail_msg("%zu statements, not %zu: %s", n, cases[i].n, cases[i].text);
    }
}

static void statements_are_trimmed_and_keep_their_comments(void **state)
{
    struct shell_statement statements[SHELL_STATEMENTS_MAX];

    (void)state;
    assert_int_equal(shell_split("  a b \n# c\n\n d\n", statements), 2);
    assert_int_equal(statements[0].len, strlen("a b \n# c"));
    assert_memory_equal(statements[0].text, "a b \n# c", statements[0].len);
    assert_int_equal(statements[1].len, 1);
    assert_memory_equal(statements[1].text, "d", 1);
}

static void deep_nesting_and_long_lists_are_bounded(void **state)
{
    enum { DEPTH = 5000 };
    struct shell_statement statements[SHELL_STATEMENTS_MAX];
    CLEANUP(mem_freep) char *deep = mem_alloc(DEPTH + 1);
    CLEANUP(strbuf_done) struct strbuf many = STRBUF_INIT;

    (void)state;
    memset(deep, '(', DEPTH);
    assert_int_equal(shell_split(deep, statements), 1);
    for (int i = 0; i < DEPTH; i++)
        strbuf_append(&many, "a\n");
    assert_int_equal(shell_split(many.text, statements), SHELL_STATEMENTS_MAX);
}

/* Whatever comes, it ends and stays within its text. */
static void random_text_does_no_harm(void **state)
{
    static const char *const pieces[] = {
        "'",  "\"", "`", "$(", "${", "$((", ")",  "}",    "\n", "if",   "fi", "<<E",  "E",
        "\\", "#",  " ", ";",  "&&", "{",   "do", "case", "in", "esac", "(",  "done", "f()"};
    unsigned seed = 1;

    (void)state;
    for (int round = 0; round < 20000; round++) {
        char text[160] = "";
        struct shell_statement statements[SHELL_STATEMENTS_MAX];
        size_t n = 0;

        for (int i = 0; i < 30; i++) {
            seed = seed * 1103515245U + 12345U;
            strncat(text, pieces[(seed >> 16U) % ARRAY_SIZE(pieces)], 5);
        }
        n = shell_split(text, statements);
        for (size_t i = 0; i < n; i++)
            assert_true(statements[i].text >= text &&
                        statements[i].text + statements[i].len <= text + strlen(text));
    }
}

int shell_split_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_split_at_top_level_newlines),
        cmocka_unit_test(statements_are_trimmed_and_keep_their_comments),
        cmocka_unit_test(deep_nesting_and_long_lists_are_bounded),
        cmocka_unit_test(random_text_does_no_harm),
    };

    return cmocka_run_group_tests_name("shell_split", tests, NULL, NULL);
}
