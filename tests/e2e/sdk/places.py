"""The workspace object: commands, files and git, in both kinds and with both addresses."""

import asyncio
import inspect
import os
import tempfile
import time
from pathlib import Path

from openhands.sdk import AsyncRemoteWorkspace, RemoteWorkspace

KINDS = {"sync": RemoteWorkspace, "async": AsyncRemoteWorkspace}


async def came(value):
    """The results of the calls of either kind of workspace."""
    return await value if inspect.isawaitable(value) else value


def shown(result):
    return [result.exit_code, result.stdout, result.stderr, result.timeout_occurred]


async def commands(workspace):
    started = await came(workspace.start_command("sleep 300", timeout=400))
    await came(workspace.stop_command(started))
    deadline = time.monotonic() + 60
    while (output := await came(workspace.get_command_output(started))) is None or output["exit_code"] is None:
        if time.monotonic() > deadline:
            raise AssertionError(f"the command was not stopped: {output}")
        await asyncio.sleep(0.1)
    await came(workspace.stop_command(started))
    await came(workspace.stop_command("0" * 32))
    return {
        "plain": shown(await came(workspace.execute_command("echo out; echo err >&2; exit 3"))),
        "where": shown(await came(workspace.execute_command("pwd", cwd=workspace.working_dir))),
        "late": (await came(workspace.execute_command("sleep 20", timeout=1))).exit_code,
        "stopped": output["exit_code"],
    }


async def files(workspace, folder):
    with tempfile.TemporaryDirectory() as here:
        source, target = Path(here, "source.bin"), Path(here, "target.bin")
        source.write_bytes(os.urandom(200_000))
        sent = await came(workspace.file_upload(source, f"{folder}/sent.bin"))
        memory = await came(workspace.file_upload("from memory: ü\n".encode(), f"{folder}/memory.txt"))
        back = await came(workspace.file_download(f"{folder}/sent.bin", target))
        missing = await came(workspace.file_download(f"{folder}/missing", Path(here, "missing")))
        return {
            "sent": [sent.success, sent.file_size],
            "memory": [memory.success, memory.file_size],
            "back": [back.success, back.file_size],
            "equal": source.read_bytes() == target.read_bytes(),
            "read": (await came(workspace.execute_command(f"cat {folder}/memory.txt"))).stdout,
            "missing": missing.success,
        }


async def git(workspace, folder):
    made = await came(workspace.execute_command(
        f"mkdir -p {folder}/repo && cd {folder}/repo && git init -q . && echo one > a.txt && echo was > c.txt && "
        "git add . && git -c user.name=n -c user.email=e@x.test commit -qm first && echo two > a.txt && echo new > b.txt && rm c.txt",
    ))
    changes = await came(workspace.git_changes(f"{folder}/repo"))
    diff = await came(workspace.git_diff(f"{folder}/repo/a.txt"))
    gone = await came(workspace.git_diff(f"{folder}/repo/c.txt"))
    return {
        "made": shown(made),
        "changes": sorted([change.status.value, str(change.path)] for change in changes),
        "diff": [diff.original, diff.modified],
        "gone": [gone.original, gone.modified],
    }


async def look_around(stage, kind, folder, conversation_id):
    address = {"runtime_conversation_id": conversation_id} if conversation_id else {}
    workspace = KINDS[kind](host=stage.host, api_key=stage.key, working_dir=folder, **address)
    info = await came(workspace.get_server_info())
    outcome = {"alive": workspace.alive, "title": info["title"], **await commands(workspace), **await files(workspace, folder)}
    await came(workspace.reset_client())
    return outcome


def work(stage, kind, folder, conversation_id=None):
    return asyncio.run(look_around(stage, kind, folder, conversation_id))


async def look_at_git(stage, kind, folder, conversation_id):
    address = {"runtime_conversation_id": conversation_id} if conversation_id else {}
    workspace = KINDS[kind](host=stage.host, api_key=stage.key, working_dir=folder, **address)
    outcome = await git(workspace, folder)
    await came(workspace.reset_client())
    return outcome


def changes(stage, kind, folder, conversation_id=None):
    return asyncio.run(look_at_git(stage, kind, folder, conversation_id))


async def lend(stage, kind, conversation_id):
    workspace = KINDS[kind](host=stage.host, api_key=stage.key, working_dir="/workspace/project", runtime_conversation_id=conversation_id)
    stage.ask("use the key", await came(workspace.get_runtime_session_key()))
    await came(workspace.release_runtime())
    await came(workspace.release_runtime())
    await came(workspace.reset_client())


def lends(stage, kind, conversation_id):
    """The key of a conversation's sandbox, and its release, twice."""
    asyncio.run(lend(stage, kind, conversation_id))
