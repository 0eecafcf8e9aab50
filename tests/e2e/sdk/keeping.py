"""A user's stored objects, read by the workspace object."""

from openhands.sdk import RemoteWorkspace
from openhands.sdk.settings import ConversationSettings, OpenHandsAgentSettings
from stage import WORKING_DIR


def reads(stage, key):
    with RemoteWorkspace(host=stage.host, api_key=key, working_dir=WORKING_DIR) as workspace:
        llm = workspace.get_llm()
        secrets = workspace.get_secrets()
        servers = workspace.get_mcp_config()
        return {
            "model": llm.model,
            "key": llm.api_key.get_secret_value(),
            "secrets": {name: [source.description, source.get_value()] for name, source in secrets.items()},
            "servers": {name: [server.url, server.headers["Authorization"].get_secret_value()] for name, server in servers.items()},
        }


def members(stage, agent_settings, conversation_settings):
    """Members that only the SDK's models or only the server's answers have."""
    agent = OpenHandsAgentSettings.model_validate(agent_settings).model_dump(mode="json")
    conversation = ConversationSettings.model_validate(conversation_settings).model_dump(mode="json")
    return sorted({*agent} ^ {*agent_settings}) + sorted({*conversation} ^ {*conversation_settings})
