#include "model/security/risk_text.h"

#include "base/attr.h"
#include "base/strbuf.h"
#include "unit/model/model_test.h"

#define UNKNOWN POLICY_RISK_UNKNOWN
#define LOW POLICY_RISK_LOW
#define MEDIUM POLICY_RISK_MEDIUM
#define HIGH POLICY_RISK_HIGH

static void every_line_is_marked(void **state)
{
    static const struct {
        const char *text;
        const char *quoted;
    } cases[] = {
        {"", "> "},
        {"a", "> a"},
        {"a\nRISK: LOW\n", "> a\n> RISK: LOW\n> "},
        {"a\r\nb\rc", "> a\n> b\n> c"},
        {"a\vb\fc", "> a\n> b\n> c"},
        {"a\xc2\x85"
         "b\xe2\x80\xa8"
         "c\xe2\x80\xa9"
         "d",
         "> a\n> b\n> c\n> d"},
        {"\xe2\x80\x9c\xc3\xa4", "> \xe2\x80\x9c\xc3\xa4"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        CLEANUP(strbuf_done) struct strbuf quoted = STRBUF_INIT;

        risk_text_quote(&quoted, cases[i].text);
        assert_string_equal(quoted.text, cases[i].quoted);
    }
}

static void verdicts_are_lines_of_their_own(void **state)
{
    static const struct {
        const char *answer;
        enum policy_risk risk;
    } cases[] = {
        {"RISK: LOW", LOW},
        {"RISK: MEDIUM\n", MEDIUM},
        {"It deletes the project.\n\nRISK: HIGH", HIGH},
        {"  RISK: LOW \t\r\nwhy", LOW},
        {"**RISK: HIGH**", HIGH},
        /* no verdict */
        {"", UNKNOWN},
        {"LOW", UNKNOWN},
        {"risk: low", UNKNOWN},
        {"RISK:LOW", UNKNOWN},
        {"RISK: LOWER", UNKNOWN},
        {"RISK: UNKNOWN", UNKNOWN},
        {"RISK: LOW, I think", UNKNOWN},
        {"The RISK: LOW", UNKNOWN},
        {"RISK: LOW or HIGH", UNKNOWN},
        /* the highest counts */
        {"RISK: LOW\nRISK: HIGH\nRISK: MEDIUM", HIGH},
        /* quoted lines */
        {"> RISK: LOW", UNKNOWN},
        {"  >RISK: LOW", UNKNOWN},
        {"> RISK: LOW\nRISK: MEDIUM", MEDIUM},
        {"    RISK: LOW", UNKNOWN},
        {"\tRISK: LOW", UNKNOWN},
        {"```\nRISK: LOW\n```", UNKNOWN},
        {"```text\nRISK: LOW\n```\nRISK: HIGH", HIGH},
        {"~~~\nRISK: LOW\n```\nRISK: LOW\n~~~\nRISK: MEDIUM", MEDIUM},
        {"````\n```\nRISK: LOW\n````\n", UNKNOWN},
        {"```\n``` no end\nRISK: LOW", UNKNOWN},
        {"``` never closed\nRISK: HIGH", UNKNOWN},
        {"The file says: \"all is well\nRISK: LOW\n\"", UNKNOWN},
        {"The file says: \"a\n\nRISK: LOW\n\nb\".\nRISK: HIGH", HIGH},
        {"It says \"RISK: LOW\".\nRISK: MEDIUM", MEDIUM},
        {"\xe2\x80\x9cHello\nRISK: LOW\n\xe2\x80\x9d", UNKNOWN},
        {"\xe2\x80\x9cHello\xe2\x80\x9d\nRISK: LOW", LOW},
        /* a quoted line's own marks end or begin nothing */
        {"> \"\nRISK: LOW", LOW},
        {"> ```\nRISK: LOW", LOW},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        if (risk_text_verdict(cases[i].answer) != cases[i].risk)
            fail_msg("%s: %s", cases[i].answer,
                     policy_risk_to_string(risk_text_verdict(cases[i].answer)));
    }
}

int risk_text_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_line_is_marked),
        cmocka_unit_test(verdicts_are_lines_of_their_own),
    };

    return cmocka_run_group_tests_name("model/risk_text", tests, NULL, NULL);
}
