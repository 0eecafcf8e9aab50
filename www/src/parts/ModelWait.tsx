import { useEffect, useState } from "react";
import { clockTimeOf } from "../model/time";
import { type Retry, SILENT_AFTER_MS, asksModel } from "../model/waiting_model";
import type { SessionState } from "../state/session_state";
import { text } from "../text";
import { Icon } from "./Icon";

function words(retry: Retry, now: number): string {
    if (retry.givesUpAt !== null) {
        const until = clockTimeOf(retry.givesUpAt);
        return now >= retry.nextAt ? text.modelWait.askingNow(until) : text.modelWait.askingAt(clockTimeOf(retry.nextAt), until);
    }
    if (now >= retry.nextAt) return text.modelWait.tryingNow(retry.attempt, retry.attempts);
    return text.modelWait.tryingAt(clockTimeOf(retry.nextAt), retry.attempt, retry.attempts);
}

function RetryNote({ retry, now }: { retry: Retry; now: number }) {
    return (
        <div className="model-wait" role="status" data-testid="model-retry">
            <Icon name="alert" />
            <p>
                <strong>{retry.givesUpAt === null ? text.modelWait.failed : text.modelWait.outage}</strong> {words(retry, now)}
                <span className="model-wait-reason">{retry.reason}</span>
            </p>
        </div>
    );
}

/** The time, again when `at` has come; nothing is drawn in between. */
function useNowAt(at: number | null): number {
    const [now, setNow] = useState(() => Date.now());
    useEffect(() => {
        setNow(Date.now());
        if (at === null) return undefined;
        const timer = window.setTimeout(() => { setNow(Date.now()); }, Math.max(0, at - Date.now()) + 1);
        return () => { window.clearTimeout(timer); };
    }, [at]);
    return now;
}

/** Says why the model's answer takes long: failed attempts at once, silence after a while. */
export function ModelWait({ state }: { state: SessionState }) {
    const { retry, heardAt, log, status } = state;
    const isAsking = asksModel(log.events, status);
    const silentAt = heardAt + SILENT_AFTER_MS;
    const now = useNowAt(isAsking ? (retry?.nextAt ?? silentAt) : null);
    if (!isAsking) return null;
    if (retry !== null) return <RetryNote retry={retry} now={now} />;
    if (now < silentAt) return null;
    return (
        <p className="model-wait" role="status" data-testid="model-silent">
            <Icon name="alert" /> {text.modelWait.silent(SILENT_AFTER_MS / 1000)}
        </p>
    );
}
