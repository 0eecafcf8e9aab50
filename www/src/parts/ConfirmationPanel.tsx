import { useEffect, useMemo, useState } from "react";
import type { ActionEvent, Tagged } from "../api/wire";
import { type GuardWords, analysisOf, guardsOf } from "../model/analysis";
import { waitingCalls } from "../model/open_calls";
import type { Session } from "../state/session";
import type { SessionState } from "../state/session_state";
import { text } from "../text";
import { Icon } from "./Icon";
import { VisibleText } from "./VisibleText";

/** The second click of a double click must not decide about the next calls. */
const DOUBLE_CLICK_MS = 600;

function asText(value: unknown): string {
    return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}

/** False for the tag of the shape and for empty members. */
function isSaid([name, value]: [string, unknown]): boolean {
    return name !== "kind" && value !== null && value !== undefined && value !== false && value !== "";
}

function Argument({ tool, name, value }: { tool: string; name: string; value: unknown }) {
    return (
        <>
            {name !== "command" && <p className="card-label">{name}</p>}
            <pre className="waiting-text" tabIndex={0} aria-label={`${tool}: ${name}`}>
                <code>
                    <VisibleText text={asText(value)} />
                </code>
            </pre>
        </>
    );
}

/** One call, with all that would be executed: nothing is folded away or cut off. */
function WaitingCall({ call, found }: { call: ActionEvent; found: string | undefined }) {
    const members = Object.entries((call.action ?? {}) as Tagged).filter(isSaid);
    const stated = found ?? call.security_risk;
    const risk = stated === undefined ? undefined : text.cards.risk[stated];
    return (
        <li className="waiting-call" data-testid="waiting-action" data-action-id={call.id}>
            <p className="waiting-head">
                <code><VisibleText text={call.tool_name} /></code>
                {risk !== undefined && <span className="badge badge-bad">{risk}</span>}
            </p>
            {members.map(([name, value]) => (
                <Argument key={name} tool={call.tool_name} name={name} value={value} />
            ))}
        </li>
    );
}

/** What an analyzer's model says of the calls, or why it says nothing. It may repeat hostile text. */
function Guard({ words }: { words: GuardWords }) {
    return (
        <div className="waiting-guard" data-testid="guard">
            <p className="card-label">{text.confirmation.guard}: <VisibleText text={words.model} /></p>
            <pre className="waiting-text" tabIndex={0} aria-label={text.confirmation.guard}>
                <VisibleText text={words.error !== "" ? words.error : words.answer} />
            </pre>
        </div>
    );
}

/** False for a moment after a decision. */
function useIsArmed(session: Session): boolean {
    const [isArmed, setIsArmed] = useState(() => Date.now() - session.decidedAt > DOUBLE_CLICK_MS);
    useEffect(() => {
        const timer = window.setTimeout(() => { setIsArmed(true); }, DOUBLE_CLICK_MS);
        return () => { window.clearTimeout(timer); };
    }, []);
    return isArmed;
}

function Panel({ session, state, calls }: { session: Session; state: SessionState; calls: readonly ActionEvent[] }) {
    const isArmed = useIsArmed(session);
    const analysis = useMemo(() => analysisOf(state.log.events, calls), [state.log.events, calls]);
    const ids = calls.map((call) => call.id);
    const isBlocked = state.asked !== null || !isArmed;
    return (
        <section className="waiting" aria-label={text.confirmation.label} data-testid="confirmation">
            <div className="waiting-title">
                <h2 role="status">
                    <Icon name="alert" /> {text.confirmation.title(calls.length)}
                </h2>
                <span className="run-buttons">
                    <button
                        type="button"
                        className="button button-small"
                        data-testid="reject-button"
                        disabled={isBlocked}
                        onClick={() => { void session.decide("reject", ids); }}
                    >
                        {text.confirmation.reject}
                    </button>
                    <button
                        type="button"
                        className="button button-small control-run"
                        data-testid="approve-button"
                        disabled={isBlocked}
                        onClick={() => { void session.decide("approve", ids); }}
                    >
                        {text.confirmation.approve}
                    </button>
                </span>
            </div>
            {analysis !== null && guardsOf(analysis).map((words, i) => <Guard key={i} words={words} />)}
            <ol className="waiting-calls" tabIndex={0} aria-label={text.confirmation.label}>
                {calls.map((call) => (
                    <WaitingCall key={call.id} call={call} found={analysis?.risks[call.id]} />
                ))}
            </ol>
        </section>
    );
}

/** The calls that wait for approval, each shown completely, with the buttons to approve and reject. */
export function ConfirmationPanel({ session, state }: { session: Session; state: SessionState }) {
    const { log, status, decided } = state;
    const calls = useMemo(() => waitingCalls(log.events, status, decided), [log.events, status, decided]);
    if (calls.length === 0) return null;
    return <Panel key={calls.map((call) => call.id).join()} session={session} state={state} calls={calls} />;
}
