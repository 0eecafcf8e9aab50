"""Attaching to an existing conversation."""

import importlib
import uuid

from openhands.sdk.conversation.impl.remote_conversation import RemoteConversation


def stored_ids(stage, conversation):
    """Ids of the server's events and of the client's. Only the client has snapshots."""
    kept = set(stage.ask("stored ids", conversation.id))
    return [event.id for event in conversation.state.events if event.id in kept]


def again(stage):
    """By its id: the history is there, and it continues."""
    first = stage.conversation("hello", delete_on_close=False)
    first.send_message("Create hello.txt")
    first.run()
    begun = stored_ids(stage, first)
    first.close()
    second = stage.conversation("hello", conversation_id=first.id, delete_on_close=False)
    outcome = {"history": stored_ids(stage, second) == begun}
    second.send_message("And once more")
    second.run()
    ended = stored_ids(stage, second)
    second.close()
    third = RemoteConversation.attach(stage.workspace(), first.id, visualizer=None)
    outcome |= {
        "more": ended[: len(begun)] == begun and len(ended) > len(begun),
        "attached": stored_ids(stage, third) == ended == stage.ask("stored ids", first.id),
        "agent": type(third.agent).__name__,
        "end": third.state.execution_status.value,
    }
    third.delete_on_close = True
    third.close()
    return outcome


def with_words_as_secrets(stage, secrets):
    """Values that are words of the contract: stored events can be read again."""
    first = stage.conversation("words", secrets=secrets, delete_on_close=False)
    first.send_message("go")
    first.run()
    begun = stored_ids(stage, first)
    first.close()
    again = RemoteConversation.attach(stage.workspace(), first.id, visualizer=None)
    outcome = {
        "same": stored_ids(stage, again) == begun == stage.ask("stored ids", first.id),
        "kinds": [type(event).__name__ for event in again.state.events if event.id in set(begun)],
        "said": [event.llm_message.content[0].text for event in again.state.events if type(event).__name__ == "MessageEvent" and event.source == "agent"],
        "shown": [event.observation.text for event in again.state.events if type(event).__name__ == "ObservationEvent"],
        "end": again.state.execution_status.value,
    }
    again.delete_on_close = True
    again.close()
    return outcome


def new_by_id(stage):
    """An unknown id becomes that of a new conversation."""
    wanted = uuid.uuid4()
    conversation = stage.conversation("text", conversation_id=wanted)
    conversation.send_message("hello")
    conversation.run()
    outcome = {"same": conversation.id == wanted, "end": conversation.state.execution_status.value}
    conversation.close()
    return outcome


def by_request(stage):
    """RemoteConversation.create: a start request with every option, read back from the reply."""
    from openhands.sdk.conversation.request import StartConversationRequest
    from openhands.sdk.workspace import LocalWorkspace

    request = StartConversationRequest(
        agent=stage.agent("text"), workspace=LocalWorkspace(working_dir="/workspace/project"), max_iterations=7,
        tags={"team": "core"}, autotitle=False,
    )
    conversation = RemoteConversation.create(stage.workspace(), request, visualizer=None)
    conversation.send_message("hello")
    conversation.run()
    outcome = {
        "max_iterations": conversation.max_iteration_per_run,
        "tags": stage.ask("info", conversation.id)["tags"],
        "end": conversation.state.execution_status.value,
    }
    conversation.delete_on_close = True
    conversation.close()
    return outcome


def unprepared(stage, conversation_id):
    """A process that has imported no tool attaches to a conversation with tools."""
    conversation = RemoteConversation.attach(stage.workspace(), uuid.UUID(conversation_id), visualizer=None)
    outcome = {
        "kinds": [type(event).__name__ for event in conversation.state.events],
        "tools": [tool.name for tool in conversation.agent.tools],
    }
    conversation.close()
    return outcome


def importable(stage, modules):
    """The modules that can be imported here."""
    return [module for module in modules if importlib.import_module(module)]
