"""Sandboxes that the workspace starts with the Runtime API."""

from openhands.sdk import Conversation
from openhands.sdk.event import ActionEvent
from openhands.workspace import APIRemoteWorkspace

from stage import WORKING_DIR


def sandbox(url, key, image, **more):
    return APIRemoteWorkspace(
        runtime_api_url=url, runtime_api_key=key, server_image=image, **{"working_dir": WORKING_DIR, **more}
    )


def works(stage, url, key, image):
    """A conversation in one, as in its documentation."""
    with sandbox(url, key, image) as workspace:
        conversation = Conversation(agent=stage.scripted_agent(), workspace=workspace, visualizer=None)
        conversation.send_message("Create hello.txt with a greeting")
        conversation.run()
        outcome = {
            "sum": workspace.execute_command("echo $((6 * 7))").stdout,
            "status": conversation.state.execution_status.value,
            "calls": [event.tool_name for event in conversation.state.events if isinstance(event, ActionEvent)],
            "file": workspace.execute_command(f"cat {WORKING_DIR}/greeting-*/greet.py").exit_code,
            "meanwhile": stage.ask("runtimes"),
        }
        conversation.close()
    return {**outcome, "afterwards": stage.ask("runtimes")}


def rests(stage, url, key, image):
    """One that is paused, resumed, detached, and attached again by another workspace."""
    first = sandbox(url, key, image, session_id="kept", keep_alive=True)
    first.execute_command("echo kept > /workspace/file")
    first.pause()
    paused = stage.ask("runtimes")
    first.resume()
    here = first.execute_command("cat /workspace/file").stdout
    first.cleanup()
    with sandbox(url, key, image, session_id="kept") as second:
        again = second.execute_command("cat /workspace/file").stdout
    return {"paused": paused, "here": here, "again": again, "afterwards": stage.ask("runtimes")}


def waits(stage, url, key, image):
    """One that another client has paused: attaching resumes it."""
    first = sandbox(url, key, image, session_id="waits", pause_on_close=True)
    first.cleanup()
    paused = stage.ask("runtimes")
    with sandbox(url, key, image, session_id="waits") as second:
        return {"paused": paused, "works": second.execute_command("true").exit_code}
