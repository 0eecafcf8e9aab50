import type { Link } from "../api/session_socket";
import type { OutgoingMessage } from "../model/outbox";
import { text } from "../text";

interface OutgoingRowProps {
    message: OutgoingMessage;
    link: Link;
    /** True when sending it again would reject the waiting calls. */
    rejects: boolean;
    onResend: (key: string) => void;
    onDiscard: (key: string) => void;
}

/** A message of the user's that the log does not have yet. */
export function OutgoingRow({ message, link, rejects, onResend, onDiscard }: OutgoingRowProps) {
    return (
        <li className="row knot-user">
            <div className="row-body">
                <article className={`message message-user outgoing outgoing-${message.state}`}>
                    <h3 className="message-author">{text.cards.you}</h3>
                    <p className="outgoing-text">{message.text}</p>
                    {(message.state === "held" || message.state === "sending") && <p className="outgoing-state">{text.outbox.sending}</p>}
                    {message.state === "sent" && link !== "open" && (
                        <p className="outgoing-state">{text.outbox.sent}</p>
                    )}
                    {message.state === "failed" && (
                        <div className="outgoing-state" role="alert">
                            <span>{text.outbox.failed(message.error ?? "")}</span>
                            <button type="button" className="link-button" onClick={() => { onResend(message.key); }}>
                                {rejects ? text.outbox.resendAsReason : text.outbox.resend}
                            </button>
                            <button type="button" className="link-button" onClick={() => { onDiscard(message.key); }}>
                                {text.outbox.discard}
                            </button>
                        </div>
                    )}
                </article>
            </div>
        </li>
    );
}
