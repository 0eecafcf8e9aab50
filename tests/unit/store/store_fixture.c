#include "store/store_fixture.h"

#include <jansson.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/secret.h"
#include "model/conversation.h"
#include "model/event.h"
#include "store/db.h"
#include "support/pg.h"

enum { CONNECTIONS = 8 };

static const char ROOT[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

int store_set_up(void **state)
{
    struct store_fixture *fixture = NEW(struct store_fixture);

    json_setup();
    fixture->db = test_db_open(CONNECTIONS);
    fixture->user_id = test_user(fixture->db);
    fixture->scope.user_id = fixture->user_id;
    *state = fixture;
    return 0;
}

int store_tear_down(void **state)
{
    struct store_fixture *fixture = *state;

    db_free(fixture->db);
    mem_free(fixture);
    return 0;
}

void assert_done(int rc, const struct error *err)
{
    if (rc < 0)
        fail_msg("%s: %s", err->where, err->message);
}

struct conversation store_new_conversation(const struct store_fixture *fixture)
{
    struct conversation conversation = CONVERSATION_INIT;

    conversation.id = uuid_random();
    conversation.user_id = fixture->user_id;
    conversation.runtime_session = mem_dup_text("u-test");
    conversation.spec = json_object();
    return conversation;
}

static struct conversation create(const struct store_fixture *fixture,
                                  const struct conversation_write *write)
{
    struct conversation conversation = store_new_conversation(fixture);
    struct event_list none = EVENT_LIST_INIT;
    struct error err = ERROR_INIT;
    bool was_there = true;

    assert_done(
        conversation_store_create(fixture->db, &conversation, &none, write, &was_there, &err),
        &err);
    assert_false(was_there);
    return conversation;
}

struct conversation store_create(const struct store_fixture *fixture)
{
    struct conversation_write write = {.guard = GUARD_NONE};

    return create(fixture, &write);
}

struct conversation store_create_wanted(const struct store_fixture *fixture)
{
    struct conversation_write write = {.guard = GUARD_NONE, .want_run = true, .status = "running"};

    return create(fixture, &write);
}

void store_open_shelf(const struct store_fixture *fixture, struct test_shelf *shelf_out)
{
    CLEANUP(secret_done) struct secret root = SECRET_INIT;
    struct error err = ERROR_INIT;

    secret_set(&root, ROOT);
    assert_done(keyring_init(&shelf_out->keyring, &root, &err), &err);
    shelf_out->shelf = (struct shelf){fixture->db, &shelf_out->keyring, test_user(fixture->db)};
}
