import { useMemo } from "react";
import type { Control } from "../api/conversations";
import type { ExecutionStatus } from "../api/wire";
import { waitingCalls } from "../model/open_calls";
import { formatCost, formatTokens, totalsOf } from "../model/stats";
import type { Session } from "../state/session";
import type { SessionState } from "../state/session_state";
import { text } from "../text";
import { Icon, type IconName } from "./Icon";
import { StatusDot } from "./StatusDot";

interface Offer {
    control: Control;
    icon: IconName;
    words: string;
    busy: string;
}

const STOP: Offer = { control: "interrupt", icon: "stop", words: text.controls.stop, busy: text.controls.stopping };
const PAUSE: Offer = { control: "pause", icon: "pause", words: text.controls.pause, busy: text.controls.pausing };

function runOffer(words: string): Offer {
    return { control: "run", icon: "play", words, busy: text.controls.starting };
}

const OFFERS: Readonly<Record<ExecutionStatus, readonly Offer[]>> = {
    running: [PAUSE, STOP],
    paused: [runOffer(text.controls.resume)],
    /* Approve and reject are next to the calls: see ConfirmationPanel. */
    waiting_for_confirmation: [],
    error: [runOffer(text.controls.retry)],
    stuck: [runOffer(text.controls.retry)],
    idle: [],
    finished: [],
    deleting: [],
};

function Usage({ state }: { state: SessionState }) {
    const totals = totalsOf(state.stats, state.model);
    if (totals.tokens === 0) return null;
    return (
        <span className="usage">
            <span title={text.conversation.cost}>{formatCost(totals)}</span>
            <span className="usage-tokens">{text.conversation.tokens(formatTokens(totals.tokens))}</span>
        </span>
    );
}

function Buttons({ session, state }: { session: Session; state: SessionState }) {
    const { asked, log, status, decided } = state;
    const mustDecide = useMemo(() => waitingCalls(log.events, status, decided).length > 0, [log.events, status, decided]);
    return OFFERS[status].filter(({ control }) => control !== "run" || !mustDecide).map((offer) => {
        /* A pause can take a while; Stop stays enabled until then. */
        const isBlocked = asked !== null && !(asked === "pause" && offer.control === "interrupt");
        return (
            <button
                key={offer.control}
                type="button"
                className={`button button-small control-${offer.control}`}
                data-testid={offer.control === "interrupt" ? "stop-button" : `${offer.control}-button`}
                disabled={isBlocked}
                onClick={() => { void session.control(offer.control); }}
            >
                <Icon name={offer.icon} />
                {asked === offer.control ? offer.busy : offer.words}
            </button>
        );
    });
}

/** One line: the status, the cost, and the buttons of the run. */
export function RunControls({ session, state }: { session: Session; state: SessionState }) {
    const isLinked = state.link === "open";
    const hint = text.statusHint[state.status];
    return (
        <div className="run-controls" role="group" aria-label={text.controls.label}>
            <p className="run-status" role="status" data-testid="status" data-status={isLinked ? state.status : state.link}>
                {isLinked && (
                    <>
                        <StatusDot status={state.status} />
                        <span aria-hidden="true">{text.status[state.status]}</span>
                        {hint !== "" && <span className="run-hint">{hint}</span>}
                    </>
                )}
                {!isLinked && (
                    <>
                        <span className="dot dot-unlinked" aria-hidden="true" />
                        {state.link === "waiting" ? text.link.waiting : text.link.connecting}
                        {state.link === "waiting" && (
                            <button type="button" className="link-button" onClick={() => { session.reconnect(); }}>
                                {text.link.reconnect}
                            </button>
                        )}
                    </>
                )}
            </p>
            <Usage state={state} />
            <span className="run-buttons">
                <Buttons session={session} state={state} />
            </span>
        </div>
    );
}
