#include "llm/route.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "llm/llm_error.h"
#include "llm/llm_fixture.h"
#include "support/test_catalogue.h"

#define GOOGLE "https://generativelanguage.googleapis.com"
#define METHOD ":generateContent"

static const struct {
    const char *model;
    const char *base_url;
    const char *sent_model;
    const char *url;
} routes[] = {
    {"openai/gpt-4o", NULL, "gpt-4o", "https://api.openai.com/v1/chat/completions"},
    {"openai/gpt-4o", "https://api.openai.com", "gpt-4o",
     "https://api.openai.com/v1/chat/completions"},
    {"openai/x", "http://h:1/v1/", "x", "http://h:1/v1/chat/completions"},
    {"openai/x", "http://h/v1/chat/completions", "x", "http://h/v1/chat/completions"},
    {"openai/x", "", "x", "https://api.openai.com/v1/chat/completions"},
    {"gpt-4o", NULL, "gpt-4o", "https://api.openai.com/v1/chat/completions"},
    {"o3-mini", NULL, "o3-mini", "https://api.openai.com/v1/chat/completions"},
    {"litellm_proxy/claude-sonnet-4-5", "http://p:4000", "claude-sonnet-4-5",
     "http://p:4000/chat/completions"},
    {"litellm_proxy/prod/m", "http://p:4000", "prod/m", "http://p:4000/chat/completions"},
    {"openhands/gpt-5.6", NULL, "gpt-5.6", "https://llm-proxy.app.all-hands.dev/chat/completions"},
    {"openrouter/anthropic/claude-3", NULL, "anthropic/claude-3",
     "https://openrouter.ai/api/v1/chat/completions"},
    {"ollama/qwen3", NULL, "qwen3", "http://localhost:11434/v1/chat/completions"},
    {"ollama_chat/qwen3", "http://gpu:11434", "qwen3", "http://gpu:11434/v1/chat/completions"},
    {"hosted_vllm/q", "http://v/v1", "q", "http://v/v1/chat/completions"},
    {"meta-llama/Llama-3", "http://v/v1", "meta-llama/Llama-3", "http://v/v1/chat/completions"},
    {"local-model", "http://v/v1", "local-model", "http://v/v1/chat/completions"},
    {"gemini-2.5-pro", NULL, "gemini-2.5-pro", GOOGLE "/v1beta/models/gemini-2.5-pro" METHOD},
    {"gemini/m", GOOGLE, "m", GOOGLE "/v1beta/models/m" METHOD},
    {"gemini/m", GOOGLE "/v1beta/", "m", GOOGLE "/v1beta/models/m" METHOD},
    {"gemini/m", GOOGLE "/v1", "m", GOOGLE "/v1/models/m" METHOD},
    {"gemini/m", GOOGLE "/v1alpha", "m", GOOGLE "/v1alpha/models/m" METHOD},
    {"gemini/m", "http://h", "m", "http://h/v1beta/models/m" METHOD},
    {"gemini/m", "http://h/gate", "m", "http://h/gate/v1beta/models/m" METHOD},
    {"gemini/tunedModels/my m", NULL, "tunedModels/my m",
     GOOGLE "/v1beta/tunedModels/my%20m" METHOD},
    {"gemini/a?b#c/d e/f", NULL, "a?b#c/d e/f", GOOGLE "/v1beta/a%3Fb%23c/d%20e/f" METHOD},
    {"gemini/a?b:c", NULL, "a?b:c", GOOGLE "/v1beta/models/a%3Fb%3Ac" METHOD},
    {"gemini/m", GOOGLE "/v1beta/openai", "m", GOOGLE "/v1beta/openai/chat/completions"},
    {"gemini/m", GOOGLE "/v1beta/openai/", "m", GOOGLE "/v1beta/openai/chat/completions"},
    {"gemini/m", GOOGLE "/v1beta/openai/chat/completions", "m",
     GOOGLE "/v1beta/openai/chat/completions"},
    {"gemini/m", "http://h/v1", "m", "http://h/v1/chat/completions"},
    {"gemini/m", "http://h/openai", "m", "http://h/openai/chat/completions"},
    {"ollama/qwen3", "http://gpu/v1/chat/completions", "qwen3", "http://gpu/v1/chat/completions"},
    {"anthropic/claude-sonnet-4-5", NULL, "claude-sonnet-4-5",
     "https://api.anthropic.com/v1/messages"},
    {"claude-sonnet-4-5", NULL, "claude-sonnet-4-5", "https://api.anthropic.com/v1/messages"},
    {"anthropic/m", "http://h/", "m", "http://h/v1/messages"},
    {"anthropic/m", "http://h/v1", "m", "http://h/v1/messages"},
    {"anthropic/m", "http://h/v1/messages", "m", "http://h/v1/messages"},
    {"azure/my gpt", "https://r.openai.azure.com/", "my gpt",
     "https://r.openai.azure.com/openai/deployments/my%20gpt/chat/completions"
     "?api-version=2024-12-01-preview"},
    {"azure/d", "https://r.openai.azure.com/openai", "d",
     "https://r.openai.azure.com/openai/deployments/d/chat/completions"
     "?api-version=2024-12-01-preview"},
    {"azure/d", "https://r.openai.azure.com/openai/v1", "d",
     "https://r.openai.azure.com/openai/v1/chat/completions"},
    {"vertex_ai/gemini-2.5-pro", "https://v/endpoints/openapi", "google/gemini-2.5-pro",
     "https://v/endpoints/openapi/chat/completions"},
    {"vertex_ai/meta/llama", "https://v/endpoints/openapi", "meta/llama",
     "https://v/endpoints/openapi/chat/completions"},
    {"scripted/hello", NULL, "hello", NULL},
    {"scripted/hello", "http://h", "hello", NULL},
    {"o1", NULL, "o1", "https://api.openai.com/v1/chat/completions"},
    {"o4-mini", NULL, "o4-mini", "https://api.openai.com/v1/chat/completions"},
    {"chatgpt-4o", NULL, "chatgpt-4o", "https://api.openai.com/v1/chat/completions"},
    {"openai/m", " ", "m", "https://api.openai.com/v1/chat/completions"},
    {"openai/m", "https://api.openai.com//", "m", "https://api.openai.com/v1/chat/completions"},
    {"openai/m", "http://h", "m", "http://h/chat/completions"},
    {"openai/m", "/", "m", "/chat/completions"},
    {"ollama/m", "http://h/v1//", "m", "http://h/v1/chat/completions"},
    {"mistral/m", NULL, "m", "https://api.mistral.ai/v1/chat/completions"},
    {"deepseek/m", NULL, "m", "https://api.deepseek.com/chat/completions"},
    {"groq/m", NULL, "m", "https://api.groq.com/openai/v1/chat/completions"},
    {"xai/m", NULL, "m", "https://api.x.ai/v1/chat/completions"},
    {"moonshot/m", NULL, "m", "https://api.moonshot.ai/v1/chat/completions"},
    {"minimax/m", NULL, "m", "https://api.minimax.io/v1/chat/completions"},
    {"zai/m", NULL, "m", "https://api.z.ai/api/paas/v4/chat/completions"},
    {"together_ai/m", NULL, "m", "https://api.together.xyz/v1/chat/completions"},
    {"fireworks_ai/m", NULL, "m", "https://api.fireworks.ai/inference/v1/chat/completions"},
    {"nvidia_nim/m", NULL, "m", "https://integrate.api.nvidia.com/v1/chat/completions"},
    {"cerebras/m", NULL, "m", "https://api.cerebras.ai/v1/chat/completions"},
    {"perplexity/m", NULL, "m", "https://api.perplexity.ai/chat/completions"},
    {"sambanova/m", NULL, "m", "https://api.sambanova.ai/v1/chat/completions"},
    {"lm_studio/m", "http://h/v1", "m", "http://h/v1/chat/completions"},
    {"ollama_chat/m", NULL, "m", "http://localhost:11434/v1/chat/completions"},
    {"gemini/m", NULL, "m", GOOGLE "/v1beta/models/m" METHOD},
};

static void prefixes_lead_to_providers(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(routes); i++) {
        CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
        struct llm_error llm_error = LLM_ERROR_INIT;

        if (llm_route_find(routes[i].model, routes[i].base_url, &route, &llm_error) < 0)
            fail_msg("%s: %s", routes[i].model, llm_error.detail);
        assert_string_equal(route.model, routes[i].sent_model);
        if (routes[i].url == NULL)
            assert_null(route.url);
        else
            assert_string_equal(route.url, routes[i].url);
    }
}

static const struct {
    const char *model;
    enum llm_cause cause;
    const char *words;
} refused[] = {
    {"bedrock/x", LLM_CAUSE_BAD_REQUEST, "aws_region_name"},
    {"azure/x", LLM_CAUSE_BAD_REQUEST, "base URL"},
    {"vertex_ai/x", LLM_CAUSE_BAD_REQUEST, "base URL"},
    {"litellm_proxy/x", LLM_CAUSE_BAD_REQUEST, "base URL"},
    {"hosted_vllm/x", LLM_CAUSE_BAD_REQUEST, "base URL"},
    {"openai/", LLM_CAUSE_BAD_REQUEST, "missing"},
    {"unheard-of", LLM_CAUSE_BAD_REQUEST, "provider not provided"},
    {"nobody/model", LLM_CAUSE_BAD_REQUEST, "provider not provided"},
    {"", LLM_CAUSE_BAD_REQUEST, "provider not provided"},
    {"lm_studio/x", LLM_CAUSE_BAD_REQUEST, "Models with the prefix lm_studio/ need a base URL."},
    {"huggingface/x", LLM_CAUSE_UNSUPPORTED, "deft does not speak the format of huggingface yet."},
    {"replicate/x", LLM_CAUSE_UNSUPPORTED, "replicate"},
    {"watsonx/x", LLM_CAUSE_UNSUPPORTED, "watsonx"},
    {"sagemaker/x", LLM_CAUSE_UNSUPPORTED, "sagemaker"},
    {"openai/", LLM_CAUSE_BAD_REQUEST, "The model's name is missing after openai/."},
    {"scripted/", LLM_CAUSE_BAD_REQUEST, "The model's name is missing after scripted/."},
    {"/x", LLM_CAUSE_BAD_REQUEST, "provider not provided"},
    {"opena/x", LLM_CAUSE_BAD_REQUEST, "provider not provided"},
    {"openaix/x", LLM_CAUSE_BAD_REQUEST, "provider not provided"},
};

static void unknown_ways_are_refused_in_words(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
        struct llm_error llm_error = LLM_ERROR_INIT;

        assert_int_equal(llm_route_find(refused[i].model, NULL, &route, &llm_error), -1);
        assert_int_equal(llm_error.cause, refused[i].cause);
        assert_null(route.model);
        assert_null(route.url);
        if (strstr(llm_error.detail, refused[i].words) == NULL)
            fail_msg("%s: %s", refused[i].model, llm_error.detail);
    }
}

/* Of a whole specification, in single quotes; NULL: refused. */
static const struct {
    const char *spec;
    const char *url;
} specs[] = {
    {"{'model':'gemini/m'}", GOOGLE "/v1beta/models/m" METHOD},
    {"{'model':'gemini/m','stream':true}", GOOGLE "/v1beta/models/m:streamGenerateContent?alt=sse"},
    {"{'model':'gemini/m','api_mode':'chat'}", GOOGLE "/v1beta/openai/chat/completions"},
    {"{'model':'gemini/m','api_mode':'chat','base_url':'" GOOGLE "'}",
     GOOGLE "/v1beta/openai/chat/completions"},
    {"{'model':'gemini/m','api_mode':'chat','base_url':'http://h/v1beta'}",
     "http://h/v1beta/openai/chat/completions"},
    {"{'model':'gemini/m','api_mode':'chat','base_url':'http://h:1'}",
     "http://h:1/chat/completions"},
    {"{'model':'gemini/m','base_url':'http://h/v1','stream':true}", "http://h/v1/chat/completions"},
    {"{'model':'gemini/m','api_mode':'responses'}", NULL},
    {"{'model':'gemini/m','api_mode':'responses','base_url':'http://h/v1'}", NULL},
    {"{'model':'anthropic/m','stream':true}", "https://api.anthropic.com/v1/messages"},
};

static void specification_chooses_format_and_method(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
        CLEANUP(llm_route_done) struct llm_route route = LLM_ROUTE_INIT;
        json_auto_t *spec = parsed_quotes(specs[i].spec);
        struct llm_error llm_error = LLM_ERROR_INIT;
        int rc = llm_route_choose(test_catalogue(), spec, &route, &llm_error);

        assert_int_equal(rc, specs[i].url != NULL ? 0 : -1);
        if (rc == 0) {
            assert_string_equal(route.url, specs[i].url);
            continue;
        }
        assert_null(route.model);
        assert_int_equal(llm_error.cause, LLM_CAUSE_BAD_REQUEST);
        assert_string_equal(llm_error.detail,
                            "Gemini models cannot be called by OpenAI's Responses: set api_mode "
                            "to \"auto\" or \"chat\".");
    }
}

static void released_route_is_empty(void **state)
{
    struct llm_route route = LLM_ROUTE_INIT;
    struct llm_error llm_error = LLM_ERROR_INIT;

    (void)state;
    assert_int_equal(llm_route_find("openai/m", NULL, &route, &llm_error), 0);
    llm_route_done(&route);
    assert_null(route.model);
    assert_null(route.url);
    assert_null(route.provider);
    llm_route_done(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prefixes_lead_to_providers),
        cmocka_unit_test(unknown_ways_are_refused_in_words),
        cmocka_unit_test(specification_chooses_format_and_method),
        cmocka_unit_test(released_route_is_empty),
    };

    json_setup();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
