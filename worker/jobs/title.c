/*
 * A title for an unnamed conversation: from the model, or the user's first words if no model can be
 * called.
 *
 * With {"answer": true} a client waits for a title, even if the conversation has one.
 */
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "base/strbuf.h"
#include "base/text.h"
#include "llm/llm.h"
#include "model/catalogue/catalogue.h"
#include "model/event/event.h"
#include "model/event/title.h"
#include "store/conversation/event_store.h"
#include "store/conversation/job_store.h"
#include "store/user/profile_store.h"
#include "worker/agent/core/history.h"
#include "worker/agent/core/messages.h"
#include "worker/agent/core/model.h"
#include "worker/agent/query/llm_query.h"
#include "worker/context.h"
#include "worker/jobs/job.h"
#include "worker/jobs/job_conversation.h"

/* Counted as the agent's usage, the only one that pages show. */
#define USAGE_ID "agent"
#define WORDS_MAX_CHARS 1000
#define WORDS_CUT_NOTE " … (cut off)"

/* The text of the user's first message; "" if it had none. */
static void append_first_words(const struct history *history, struct strbuf *out)
{
    const struct stored_event *first = history_first_user_message(history);
    const json_t *content = NULL;

    if (first == NULL)
        return;
    content = json_object_get(json_object_get(stored_event_json(first), "llm_message"), "content");
    for (size_t i = 0; i < json_array_size(content); i++)
        strbuf_append(out, json_text_or(json_array_get(content, i), "text", ""));
}

static void append_cut(struct strbuf *out, const struct strbuf *words)
{
    size_t end = utf8_offset(words->text, words->len, WORDS_MAX_CHARS);

    strbuf_append_bytes(out, words->text, end);
    if (end < words->len)
        strbuf_append(out, WORDS_CUT_NOTE);
}

/* A creator's request has placeholders of its own; the user's text is not expanded again. */
static void append_own_request(const char *request, const char *words, struct strbuf *out)
{
    static const char content[] = "{conversation_content}";
    static const char length[] = "{max_length}";
    const char *at = request;

    while (*at != '\0') {
        if (text_starts_with(at, content)) {
            strbuf_append(out, words);
            at += strlen(content);
        } else if (text_starts_with(at, length)) {
            strbuf_appendf(out, "%d", TITLE_AUTO_MAX_CHARS);
            at += strlen(length);
        } else {
            strbuf_append_char(out, *at++);
        }
    }
}

static void append_request(const struct catalogue *catalogue, const char *words, struct strbuf *out)
{
    CLEANUP(strbuf_done) struct strbuf length = STRBUF_INIT;

    strbuf_appendf(&length, "%d", TITLE_AUTO_MAX_CHARS);
    catalogue_append(
        catalogue, TEXT_TITLE, "request",
        (const struct text_value[]){{"max_length", length.text}, {"conversation_content", words}},
        2, out);
}

static json_t *messages_for(const struct agent *agent, const struct strbuf *words)
{
    const struct catalogue *catalogue = agent->context->catalogue;
    const char *own = json_text_or(agent->conversation.spec, "prompt", NULL);
    CLEANUP(strbuf_done) struct strbuf request = STRBUF_INIT;
    CLEANUP(strbuf_done) struct strbuf cut = STRBUF_INIT;
    json_t *messages = json_array();

    append_cut(&cut, words);
    if (own != NULL)
        append_own_request(own, cut.text, &request);
    else
        append_request(catalogue, cut.text, &request);
    json_push(messages, messages_system(catalogue_text(catalogue, TEXT_TITLE)));
    messages_append_user(messages, request.text);
    return messages;
}

/* The outcome for a title. */
struct finding {
    char *title; /* NULL: none can be made */
    struct llm_reply reply;
    bool has_reply;
};

/* clang-format off */
#define FINDING_INIT {.reply = LLM_REPLY_INIT}
/* clang-format on */

static void finding_done(struct finding *finding)
{
    mem_free(finding->title);
    llm_reply_done(&finding->reply);
}

/* A model without a key is not called for a title, and a scripted one only plays its own part. */
static bool may_ask(const struct model_choice *choice)
{
    return choice->key != NULL && !llm_model_is_scripted(json_text_or(choice->spec, "model", ""));
}

/*
 * A failure is only logged: the run calls the same model and reports its failure, and a second
 * event would report it twice.
 */
static int request_title(struct job_conversation *target, const struct model_choice *choice,
                         const struct strbuf *words, struct finding *finding, struct error *err)
{
    json_auto_t *messages = messages_for(&target->agent, words);
    const struct llm_query question = {choice, messages, NULL, USAGE_ID, NULL};
    struct llm_failure failure = LLM_FAILURE_INIT;

    if (llm_query_run(&target->agent, &question, &finding->reply, &failure, err) == 0) {
        finding->has_reply = true;
        finding->title = title_from_answer(finding->reply.text);
        return 0;
    }
    if (err->code == ERROR_CANCELLED)
        return -1;
    log_info("title.failed", LOG_STR("code", llm_failure_code(&failure)), LOG_ERROR(err));
    return 0;
}

/*
 * The profile that the creator named for titles, with its key in *key_out. NULL if none is named or
 * it does not exist: then the agent's own model is used.
 */
static json_t *profile_for(const struct job_conversation *target, struct secret *key_out)
{
    const struct conversation *conversation = &target->agent.conversation;
    const struct worker_context *context = target->agent.context;
    const struct document_scope scope = {context->db, &context->keyring, conversation->user_id};
    const char *name = json_text_or(conversation->spec, "title_llm_profile", "");
    struct error err = ERROR_INIT;
    json_t *llm = NULL;

    if (name[0] == '\0')
        return NULL;
    if (profile_store_load_llm(&scope, name, &llm, &err) < 0) {
        log_info("title.profile_unavailable", LOG_ERROR(&err));
        return NULL;
    }
    secret_set(key_out, json_text_or(llm, "api_key", ""));
    return llm;
}

static int find_title(struct job_conversation *target, struct finding *finding, struct error *err)
{
    CLEANUP(model_choice_done) struct model_choice choice = MODEL_CHOICE_INIT;
    CLEANUP(secret_done) struct secret profile_key = SECRET_INIT;
    json_auto_t *profile = profile_for(target, &profile_key);
    CLEANUP(strbuf_done) struct strbuf words = STRBUF_INIT;
    const struct agent *agent = &target->agent;

    append_first_words(&agent->history, &words);
    model_choose(agent->context, &agent->conversation, profile != NULL ? profile : agent->llm_spec,
                 profile != NULL ? &profile_key : &agent->llm_key, &choice);
    if (may_ask(&choice) && !text_is_blank(words.text) &&
        request_title(target, &choice, &words, finding, err) < 0)
        return -1;
    if (finding->title == NULL)
        finding->title = title_from_text(words.text);
    return 0;
}

static void plan_title(struct conversation *now, const void *what, struct event_list *events,
                       struct conversation_write *change)
{
    const struct finding *finding = what;

    (void)now;
    (void)events;
    change->first_title = finding->title;
}

/* For a waiting client the title is returned, not stored. */
static int answer(struct job_conversation *target, const struct finding *finding,
                  json_t **result_out, struct error *err)
{
    const struct job_note note = {.reply = &finding->reply, .tells_cost = true};

    if (finding->has_reply && job_conversation_write(target, &note, err) < 0)
        return -1;
    *result_out = json_object();
    json_put_text(*result_out, "title", finding->title != NULL ? finding->title : "");
    return 0;
}

int job_title(struct job_conversation *target, const struct job *job, json_t **result_out,
              struct error *err)
{
    CLEANUP(finding_done) struct finding finding = FINDING_INIT;
    bool is_waited_for = json_bool_or(job->payload, "answer", 0) != 0;

    if (!is_waited_for && target->agent.conversation.title != NULL)
        return 0;
    if (find_title(target, &finding, err) < 0)
        return -1;
    if (is_waited_for)
        return answer(target, &finding, result_out, err);
    return job_conversation_write(
        target,
        &(struct job_note){.reply = finding.has_reply ? &finding.reply : NULL,
                           .tells_cost = true,
                           .plan = plan_title,
                           .what = &finding},
        err);
}
