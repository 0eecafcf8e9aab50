"""Operations on a conversation besides messages."""

from openhands.sdk.event import Condensation, MessageEvent

from talk import of, status


def stored_ids(stage, conversation):
    return stage.ask("stored ids", conversation.id)


def forks(stage):
    conversation = stage.conversation("hello")
    conversation.send_message("Create hello.txt")
    conversation.run()
    begun = stored_ids(stage, conversation)
    fork = conversation.fork(title="The fork", tags={"team": "core"})
    info = fork.state.refresh_from_server()
    outcome = {
        "copied": len(stored_ids(stage, fork)) == len(begun),
        "title": info["title"],
        "tags": info["tags"],
        "cost": fork.conversation_stats.get_combined_metrics().accumulated_cost,
    }
    fork.send_message("And another way")
    fork.run()
    outcome |= {"end": status(fork), "untouched": stored_ids(stage, conversation) == begun}
    fork.close()
    message = of(conversation.state.events, MessageEvent)[0]
    part = conversation.fork(from_event_id=message.id)
    outcome["part"] = len(stored_ids(stage, part)) < len(begun) and len(of(part.state.events, MessageEvent)) == 1
    part.close()
    conversation.close()
    return outcome


def words_of(event):
    return "".join(part.text for part in event.llm_message.content)


def asks(stage):
    conversation = stage.conversation("text")
    conversation.send_message("go")
    conversation.run()
    answer = conversation.ask_agent("What are you doing?")
    conversation.state.events.reconcile()
    outcome = {"answer": answer, "messages": [words_of(event) for event in of(conversation.state.events, MessageEvent)]}
    conversation.close()
    return outcome


def condenses(stage):
    """The condenser of the default agent keeps the first events, so there must be more of them."""
    conversation = stage.conversation("long")
    for turn in range(4):
        conversation.send_message(f"turn {turn}")
        conversation.run()
    conversation.condense()
    conversation.send_message("one more")
    conversation.run()
    condensed = of(conversation.state.events, Condensation)[0]
    outcome = {"summary": condensed.summary, "forgotten": len(condensed.forgotten_event_ids), "end": status(conversation)}
    conversation.close()
    return outcome


def names(stage):
    conversation = stage.conversation("text")
    conversation.send_message("Create hello.txt")
    made = conversation.generate_title()
    conversation.set_title("By hand")
    outcome = {"made": made, "kept": stage.ask("info", conversation.id)["title"]}
    conversation.close()
    return outcome
