"""Conversations of a user of the SDK."""

import time

from openhands.sdk import Conversation
from openhands.sdk.conversation.exceptions import ConversationRunError
from openhands.sdk.conversation.impl.remote_conversation import RemoteConversation
from openhands.sdk.event import ActionEvent, AgentErrorEvent, MessageEvent, ObservationEvent, UserRejectObservation
from openhands.sdk.security.confirmation_policy import AlwaysConfirm, ConfirmRisky, NeverConfirm
from openhands.sdk.security.llm_analyzer import LLMSecurityAnalyzer
from openhands.sdk.tool.client_tool import ClientToolSpec

from stage import Background, Heard


def is_call(tool):
    return lambda event: isinstance(event, ActionEvent) and event.tool_name == tool


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def status(conversation):
    return conversation.state.execution_status.value


def whole(stage):
    """As in every example: an agent, a conversation, a message, run."""
    conversation = Conversation(agent=stage.agent("hello"), workspace=stage.workspace())
    conversation.send_message("Create hello.txt with a greeting")
    conversation.run()
    events = list(conversation.state.events)
    results = {event.action_id: event.tool_name for event in of(events, ObservationEvent)}
    metrics = conversation.conversation_stats.get_combined_metrics()
    outcome = {
        "id": conversation.id,
        "status": status(conversation),
        "cost": metrics.accumulated_cost,
        "prompt_tokens": metrics.accumulated_token_usage.prompt_tokens,
        "calls": [event.tool_name for event in of(events, ActionEvent)],
        "results": [results.get(event.id) for event in of(events, ActionEvent)],
        "order": [event.timestamp for event in events] == sorted(event.timestamp for event in events),
    }
    conversation.send_message("And once more")
    conversation.run()
    outcome["calls_later"] = len(of(conversation.state.events, ActionEvent))
    conversation.close()
    return outcome


def stopped(stage, stop):
    """A conversation whose run was stopped from another thread while its command ran."""
    heard = Heard()
    conversation = stage.conversation("slow", callbacks=[heard])
    conversation.send_message("go")
    running = Background(conversation.run)
    heard.wait(is_call("terminal"), "the command")
    stop(conversation)
    running.result()
    return conversation


def pauses(stage):
    """A pause from another thread lets the command end; the next run() continues."""
    conversation = stopped(stage, lambda running: running.pause())
    paused = status(conversation)
    kinds = [type(event).__name__ for event in conversation.state.events]
    conversation.run()
    outcome = {"paused": paused, "kinds": kinds, "end": status(conversation)}
    conversation.close()
    return outcome


def interrupts(stage):
    """An interrupt ends the command; the agent sees it and continues with the next run()."""
    conversation = stopped(stage, lambda running: running.interrupt())
    interrupted = status(conversation)
    errors = [event.error for event in of(conversation.state.events, AgentErrorEvent)]
    conversation.run()
    outcome = {"interrupted": interrupted, "errors": errors, "end": status(conversation)}
    conversation.close()
    return outcome


def rests_first(stage):
    """Paused before the first message: the agent still has its prompt and tools."""
    conversation = stage.conversation("text")
    conversation.pause()
    conversation.send_message("go")
    conversation.run()
    outcome = {
        "kinds": [type(event).__name__ for event in conversation.state.events if event.source != "environment"],
        "end": status(conversation),
    }
    conversation.close()
    return outcome


def lends_tools(stage, scenario):
    """A client tool: its calls are in the events, in the client's model."""
    tool = ClientToolSpec(
        name="show_card", description="Shows a card.",
        parameters={"type": "object", "properties": {"title": {"type": "string"}, "n": {"type": "integer"}}, "required": ["title"]},
    )
    conversation = stage.conversation(scenario, client_tools=[tool], delete_on_close=False)
    conversation.send_message("go")
    conversation.run()
    conversation.close()
    again = RemoteConversation.attach(stage.workspace(), conversation.id, visualizer=None)
    calls = [event for event in of(again.state.events, ActionEvent) if event.tool_name == "show_card"]
    outcome = {
        "actions": [event.action and event.action.model_dump(exclude={"kind"}) for event in calls],
        "summaries": [event.summary for event in calls],
        "errors": [event.tool_name for event in of(again.state.events, AgentErrorEvent)],
        "end": status(again),
    }
    again.delete_on_close = True
    again.close()
    return outcome


def confirms(stage):
    """With AlwaysConfirm each step waits: the first is rejected, the others are run."""
    conversation = stage.conversation("confirm")
    conversation.set_confirmation_policy(AlwaysConfirm())
    conversation.send_message("Create hello.txt")
    conversation.run()
    waiting = status(conversation)
    conversation.reject_pending_actions("not that file")
    conversation.state.events.reconcile()
    rejected = [event.rejection_reason for event in of(conversation.state.events, UserRejectObservation)]
    conversation.state.refresh_from_server()
    after_rejection = status(conversation)
    steps = 0
    conversation.run()
    while status(conversation) == "waiting_for_confirmation" and steps < 10:
        steps += 1
        conversation.run()
    outcome = {
        "waiting": waiting,
        "rejected": rejected,
        "after_rejection": after_rejection,
        "steps": steps,
        "end": status(conversation),
        "policy": type(conversation.state.confirmation_policy).__name__,
    }
    conversation.set_confirmation_policy(NeverConfirm())
    conversation.state.refresh_from_server()
    outcome["policy_later"] = type(conversation.state.confirmation_policy).__name__
    conversation.close()
    return outcome


def weighs(stage):
    """ConfirmRisky with the model's own assessment: LOW runs, HIGH waits."""
    conversation = stage.conversation("risks")
    conversation.set_security_analyzer(LLMSecurityAnalyzer())
    conversation.set_confirmation_policy(ConfirmRisky())
    conversation.send_message("go")
    conversation.run()
    events = list(conversation.state.events)
    outcome = {
        "status": status(conversation),
        "risks": [event.security_risk.value for event in of(events, ActionEvent)],
        "n_results": len(of(events, ObservationEvent)),
        "analyzer": type(conversation.state.security_analyzer).__name__,
    }
    conversation.run()
    outcome["end"] = status(conversation)
    conversation.close()
    return outcome


def fails(stage, scenario):
    """run() raises the server's message about a failed run."""
    conversation = stage.conversation(scenario)
    conversation.send_message("go")
    began = time.monotonic()
    try:
        conversation.run()
    except ConversationRunError as problem:
        return {"text": str(problem), "status": status(conversation), "took_s": time.monotonic() - began}
    finally:
        conversation.close()
    raise AssertionError("run() did not raise")


def streams(stage):
    """Token callbacks get the words of an answer one by one."""
    pieces = []
    conversation = stage.conversation(
        "drip-5", agent=stage.agent("drip-5", stream=True),
        token_callbacks=[lambda chunk: pieces.append(chunk.choices[0].delta.content)],
    )
    conversation.send_message("go")
    conversation.run()
    said = [event.llm_message.content[0].text for event in of(conversation.state.events, MessageEvent) if event.source == "agent"]
    outcome = {"said": said, "pieces": [piece for piece in pieces if piece]}
    conversation.close()
    return outcome


def keeps_secrets(stage):
    """A secret of the conversation is in the shell's environment, and masked in all output."""
    conversation = stage.conversation("secrets", secrets={"FIRST_TOKEN": "value-of-the-first"})
    conversation.update_secrets({"SECOND_TOKEN": lambda: "value-of-the-second"})
    conversation.send_message("Show both")
    conversation.run()
    outcome = {
        "shown": [event.observation.text for event in of(conversation.state.events, ObservationEvent)],
        "registered": sorted(conversation.state.secret_registry.secret_sources),
        "all": "".join(event.model_dump_json() for event in conversation.state.events),
    }
    conversation.close()
    return outcome


def reconnects(stage):
    """The socket breaks during a run, and no event is missed in the end."""
    heard = Heard()
    conversation = stage.conversation("slow", callbacks=[heard])
    conversation.send_message("go")
    running = Background(conversation.run)
    heard.wait(is_call("terminal"), "the command")
    stage.ask("break the sockets")
    running.result()
    ids = [event.id for event in conversation.state.events]
    stored = stage.ask("stored ids", conversation.id)
    told = [event.id for event in heard.events if event.id in set(stored)]
    outcome = {"status": status(conversation), "ids": ids, "told": told, "stored": stored}
    conversation.close()
    return outcome


def survives(stage, folder):
    """All processes but the database are killed during a command; run() succeeds."""
    heard = Heard()
    conversation = stage.conversation("crash", callbacks=[heard], workspace=stage.workspace(working_dir=folder))
    conversation.send_message("go")
    running = Background(conversation.run)
    heard.wait(is_call("terminal"), "the command")
    stage.ask("kill everything")
    running.result()
    events = list(conversation.state.events)
    outcome = {
        "status": status(conversation),
        "calls": [event.tool_name for event in of(events, ActionEvent)],
        "errors": [event.error for event in of(events, AgentErrorEvent)],
        "results": [event.observation.text for event in of(events, ObservationEvent)],
        "file": conversation.workspace.execute_command(f"cat {folder}/f").stdout,
    }
    conversation.send_message("And once more")
    conversation.run()
    outcome["end"] = status(conversation)
    conversation.close()
    return outcome
