#include "llm/llm_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
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

static json_t *parse(const char *text)
{
    struct error err = ERROR_INIT;
    json_t *json = NULL;

    if (json_parse(text, strlen(text), &json, &err) < 0)
        abort();
    return json;
}

void asked_init(struct asked *asked, struct llm *llm, const char *model, const char *base_url,
                const char *spec_more)
{
    json_auto_t *more = parse(spec_more);

    *asked = (struct asked){.key = SECRET_INIT,
                            .reply = LLM_REPLY_INIT,
                            .failure = LLM_FAILURE_INIT,
                            .err = ERROR_INIT};
    asked->spec =
        parse("{\"retry_min_wait\":0,\"retry_max_wait\":0,\"num_retries\":3,\"timeout\":60}");
    json_put_text(asked->spec, "model", model);
    json_put_text(asked->spec, "base_url", base_url);
    (void)json_object_update(asked->spec, more);
    asked->messages =
        parse("[{\"role\":\"system\",\"content\":[{\"type\":\"text\",\"text\":\"S\"}]},"
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
                                  .is_single_attempt = asked->is_single_attempt};

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

    return parse(json);
}

void assert_quotes_at_line(const char *text, const char *path, const char *expected,
                           const char *file, int line)
{
    CLEANUP(mem_freep) char *json = expected != NULL ? json_of_quotes(expected) : NULL;

    assert_json_at_line(text, path, json, file, line);
}
