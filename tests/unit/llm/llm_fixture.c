#include "llm/llm_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/strbuf.h"
#include "client/http.h"
#include "llm/llm_prompt.h"
#include "support/json_path.h"
#include "support/test_catalogue.h"

struct fixture {
    struct llm *llm; /* first: the tests see only this */
    struct http *http;
};

int llm_fixture_set_up(void **state)
{
    struct fixture *fixture = NEW(struct fixture);
    struct error err = ERROR_INIT;
    struct llm_options options = {.catalogue = test_catalogue(),
                                  .scripted_dir = DEFT_TOP_SRCDIR "/tests/data/scripted"};

    json_setup();
    if (http_open(&fixture->http, &err) < 0)
        return -1;
    options.http = fixture->http;
    fixture->llm = llm_new(&options);
    *state = fixture;
    return 0;
}

int llm_fixture_tear_down(void **state)
{
    struct fixture *fixture = *state;

    llm_free(fixture->llm);
    http_free(fixture->http);
    mem_free(fixture);
    return 0;
}

json_t *parsed(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    if (json_parse(text, strlen(text), &json, &err) < 0)
        fail_msg("%s: %s", err.message, text);
    return json;
}

void asked_init(struct asked *asked, struct llm *llm, const char *model, const char *base_url,
                const char *spec_more)
{
    json_auto_t *more = parsed(spec_more);

    *asked = (struct asked){.key = SECRET_INIT,
                            .reply = LLM_REPLY_INIT,
                            .failure = LLM_FAILURE_INIT,
                            .err = ERROR_INIT};
    asked->spec =
        parsed("{\"retry_min_wait\":0,\"retry_max_wait\":0,\"num_retries\":3,\"timeout\":60}");
    json_put_text(asked->spec, "model", model);
    json_put_text(asked->spec, "base_url", base_url);
    (void)json_object_update(asked->spec, more);
    asked->messages =
        parsed("[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"S\"}]},"
               "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Hi\"}]}]");
    secret_set(&asked->key, "sk-unit-test");
    asked->call = llm_call_new(llm);
}

void asked_done(struct asked *asked)
{
    json_decref(asked->spec);
    json_decref(asked->messages);
    json_decref(asked->tools);
    secret_done(&asked->key);
    llm_call_free(asked->call);
    llm_reply_done(&asked->reply);
}

int asked_run(struct asked *asked)
{
    CLEANUP(llm_prompt_done) struct llm_prompt prompt = LLM_PROMPT_INIT;
    struct llm_request request = {.spec = asked->spec,
                                  .prompt = &prompt,
                                  .address_of = ADDRESS_OF_ADMINISTRATOR,
                                  .api_key = &asked->key,
                                  .usage_id = "agent",
                                  .conversation_id = "c-1",
                                  .listener = asked->listener,
                                  .is_single_attempt = asked->is_single_attempt,
                                  .releases_stack = asked->releases_stack};

    llm_prompt_begin(&prompt, test_catalogue(), asked->spec);
    if (asked->tools != NULL)
        llm_prompt_set_tools(&prompt, asked->tools);
    for (size_t i = 0; i < json_array_size(asked->messages); i++)
        llm_prompt_add(&prompt, json_array_get(asked->messages, i));
    return llm_call_run(asked->call, &request, &asked->reply, &asked->failure, &asked->err);
}

int ask_server(struct asked *asked, struct llm *llm, struct test_server *server,
               const char *spec_more)
{
    asked_init(asked, llm, "openai/test", test_server_url(server, "/v1"), spec_more);
    return asked_run(asked);
}

json_t *sent_body(struct test_server *server, size_t i)
{
    const char *body = strstr(test_server_request(server, i), "\r\n\r\n");

    assert_non_null(body);
    return parsed(body + strlen("\r\n\r\n"));
}

void assert_json(const json_t *json, const char *expected)
{
    json_auto_t *wanted = parsed(expected);
    CLEANUP(mem_freep) char *text = json != NULL ? json_to_text(json) : mem_dup_text("nothing");

    if (!json_equal(json, wanted))
        fail_msg("%s\nis not\n%s", text, expected);
}

void assert_looks(const struct llm_reply *reply, const char *model, const char *redacted,
                  const char *first_call_id)
{
    CLEANUP(strbuf_done) struct strbuf thinking = STRBUF_INIT;

    strbuf_appendf(&thinking,
                   "[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"sig\",\"model\":"
                   "\"%s\"},{\"type\":\"redacted_thinking\",\"data\":\"%s\",\"model\":\"%s\"}]",
                   model, redacted, model);
    assert_string_equal(reply->text, "I look.");
    assert_string_equal(reply->reasoning, "hm");
    assert_string_equal(reply->finish_reason, "tool_calls");
    assert_json(reply->thinking, thinking.text);
    assert_int_equal(reply->n_calls, 2);
    assert_string_equal(reply->calls[0].id, first_call_id);
    assert_string_equal(reply->calls[0].name, "terminal");
    assert_string_equal(reply->calls[0].arguments, "{\"command\":\"ls\"}");
    assert_string_equal(reply->calls[1].arguments, "{}");
}

void assert_finish_reason(struct llm *llm, const char *model, const char *bytes,
                          const char *expected)
{
    const struct test_reply reply = {.bytes = bytes, .ending = TEST_CLOSE};
    struct test_server *server = test_server_start(&reply, 1, NULL);
    struct asked asked;

    asked_init(&asked, llm, model, test_server_url(server, ""), "{}");
    assert_int_equal(asked_run(&asked), 0);
    assert_string_equal(asked.reply.finish_reason, expected);
    asked_done(&asked);
    test_server_stop(server);
}

void collect_piece(void *owner, const struct llm_piece *piece)
{
    struct strbuf *into = owner;

    strbuf_appendf(into, "%s%s|", piece->is_reasoning ? "~" : "", piece->text);
}

void ignore_failure(void *owner, const struct llm_attempt *attempt)
{
    (void)owner;
    (void)attempt;
}

char *json_of_quotes(const char *text)
{
    char *json = mem_dup_text(text);

    for (char *at = strchr(json, '\''); at != NULL; at = strchr(at, '\''))
        *at = '"';
    return json;
}

json_t *parsed_quotes(const char *text)
{
    CLEANUP(mem_freep) char *json = json_of_quotes(text);

    return parsed(json);
}

void assert_quotes_at_line(const char *text, const char *path, const char *expected,
                           const char *file, int line)
{
    CLEANUP(mem_freep) char *json = expected != NULL ? json_of_quotes(expected) : NULL;

    assert_json_at_line(text, path, json, file, line);
}
