import { useEffect, useState } from "react";
import { allowServer, fetchWorkspaceServers, type WorkspaceServer } from "../api/conversations";
import { messageOf } from "../api/http";
import { text } from "../text";
import { Banner } from "./Banner";
import { Icon } from "./Icon";
import { VisibleText } from "./VisibleText";

interface WorkspaceServersProps {
    id: string;
    /** Changes when the agent may have read the workspace. */
    moment: string;
}

/** What would be called or started, complete, as the workspace says it. */
function targetOf({ url, command }: WorkspaceServer): string {
    return url ?? (command ?? []).map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : JSON.stringify(word))).join(" ");
}

function Question({ server, onAllow }: { server: WorkspaceServer; onAllow: () => void }) {
    const [isAsked, setIsAsked] = useState(false);
    const given = [...server.env, ...server.headers];
    return (
        <li data-testid="workspace-server">
            <p className="waiting-head">
                <code><VisibleText text={server.name} /></code>
                <button
                    type="button"
                    className="button button-small"
                    data-testid="allow-server"
                    disabled={isAsked}
                    onClick={() => {
                        setIsAsked(true);
                        onAllow();
                    }}
                >
                    {text.conversation.allowServer}
                </button>
            </p>
            <pre className="waiting-text" tabIndex={0} aria-label={server.name}>
                <code><VisibleText text={targetOf(server)} /></code>
            </pre>
            {given.length > 0 && <p className="card-label">{text.conversation.serverGets(given.join(", "))}</p>}
            {server.secrets.length > 0 && <p className="card-label">{text.conversation.serverSecrets(server.secrets.join(", "))}</p>}
        </li>
    );
}

/** The MCP servers that files of the workspace name and that the agent may not use yet. */
export function WorkspaceServers({ id, moment }: WorkspaceServersProps) {
    const [servers, setServers] = useState<readonly WorkspaceServer[]>([]);
    const [error, setError] = useState<string | null>(null);
    const [nAnswers, setNAnswers] = useState(0);
    const [hidden, setHidden] = useState("");
    const asked = servers.filter((server) => !server.is_consented);
    const digests = asked.map(({ digest }) => digest).join();

    useEffect(() => {
        let isCurrent = true;
        fetchWorkspaceServers(id)
            .then((found) => { if (isCurrent) setServers(found); })
            .catch(() => { if (isCurrent) setServers([]); });
        return () => { isCurrent = false; };
    }, [id, moment, nAnswers]);

    const allow = (server: WorkspaceServer) => {
        setError(null);
        allowServer(id, server)
            .catch((cause: unknown) => { setError(text.conversation.allowFailed(messageOf(cause))); })
            .finally(() => { setNAnswers((n) => n + 1); });
    };

    return (
        <>
            {error !== null && <Banner tone="danger">{error}</Banner>}
            {asked.length > 0 && digests !== hidden && (
                <section className="waiting waiting-servers" aria-label={text.conversation.workspaceServers} data-testid="workspace-servers">
                    <div className="waiting-title">
                        <h2 role="status">
                            <Icon name="alert" /> {text.conversation.workspaceServers}
                        </h2>
                        <button type="button" className="button button-small" data-testid="hide-servers" onClick={() => { setHidden(digests); }}>
                            {text.conversation.notNow}
                        </button>
                    </div>
                    <ol className="waiting-calls" tabIndex={0} aria-label={text.conversation.workspaceServers}>
                        {asked.map((server) => (
                            <Question key={`${server.digest} ${String(nAnswers)}`} server={server} onAllow={() => { allow(server); }} />
                        ))}
                    </ol>
                </section>
            )}
        </>
    );
}
