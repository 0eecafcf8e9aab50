#include "worker/hooks/hooks_test.h"

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "store/conversation/event_store.h"
#include "support/pg.h"

void hooks_event(struct run_fixture *fixture, const struct uuid *id, const char *kind, size_t n,
                 struct strbuf *out)
{
    CLEANUP(history_done) struct history history = HISTORY_INIT;
    struct error err = ERROR_INIT;
    size_t n_found = 0;

    if (event_store_load_after(fixture->context.db, id, &history, &err) < 0)
        fail_msg("%s", err.message);
    strbuf_reset(out);
    for (size_t i = 0; i < history.n; i++) {
        if (text_equal(history.items[i].kind, kind) && n_found++ == n)
            json_append_text(out, stored_event_json(&history.items[i]));
    }
}

void assert_event_at(struct run_fixture *fixture, const struct uuid *id, const char *kind, size_t n,
                     const char *path, const char *expected)
{
    CLEANUP(strbuf_done) struct strbuf event = STRBUF_INIT;

    hooks_event(fixture, id, kind, n, &event);
    assert_json_at(event.text, path, expected);
}

void hooks_begin(struct background_run *run, struct run_fixture *fixture, const char *script,
                 const char *more)
{
    size_t n_hooks = stub_n_hooks(fixture->stub) + 1;
    struct uuid id = run_new_conversation(fixture, script, more);

    background_run_start(run, fixture, &id);
    assert_true(stub_wait_for_hooks(fixture->stub, n_hooks));
}

int main(int argc, char **argv)
{
    (void)argc;
    test_need_postgres(argv);
    return hook_model_tests() + hook_request_tests() + hook_run_tests() + call_hooks_tests() +
           child_hooks_tests() + message_hooks_tests() + stop_hooks_tests();
}
