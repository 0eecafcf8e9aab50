import { useEffect, useState } from "react";
import { fetchMe, signIn } from "../api/account";
import { ApiError, messageOf } from "../api/http";
import { loadAccount } from "../state/account";
import { replaceWith, returnPath } from "../state/route";
import { takeReturn } from "../state/storage";
import { Notice } from "../parts/Notice";
import { text } from "../text";

interface OtherUser {
    signed_in_as: string;
    link_for: string;
}

type Failure = { kind: "used" } | { kind: "limited" } | { kind: "other"; reason: string } | ({ kind: "somebody" } & OtherUser);

/** Links work once, so one page load tries each token once, however often the screen is drawn. */
const tried = new Map<string, Promise<void>>();

function tryOnce(token: string): Promise<void> {
    const attempt = tried.get(token) ?? signInOrStay(token);
    tried.set(token, attempt);
    return attempt;
}

function isRefusal(cause: unknown): boolean {
    return cause instanceof ApiError && cause.status >= 400 && cause.status < 500;
}

/** Too many links that are none came from this address, and this is another one: a good link is always taken. */
function isLimited(cause: unknown): boolean {
    return cause instanceof ApiError && cause.status === 429;
}

/** The server's answer to a link for another user than the one who is signed in. */
function otherUser(cause: unknown): OtherUser | null {
    return cause instanceof ApiError && cause.status === 409 ? (cause.body as OtherUser) : null;
}

function failureOf(cause: unknown): Failure {
    const other = otherUser(cause);
    if (other !== null) return { kind: "somebody", signed_in_as: other.signed_in_as, link_for: other.link_for };
    if (isLimited(cause)) return { kind: "limited" };
    return isRefusal(cause) ? { kind: "used" } : { kind: "other", reason: messageOf(cause) };
}

/** Where the user wanted to go before signing in. */
function goOn(): void {
    replaceWith(returnPath(takeReturn()));
    void loadAccount();
}

/** A used or incomplete link does not affect a user who is already signed in. */
async function signInOrStay(token: string): Promise<void> {
    if (token === "") {
        await fetchMe();
        return;
    }
    try {
        await signIn(token);
    } catch (cause) {
        if (!isRefusal(cause) || otherUser(cause) !== null) throw cause;
        await fetchMe().catch((reason: unknown) => {
            throw isLimited(cause) ? cause : reason;
        });
    }
}

export function SignInScreen({ token }: { token: string }) {
    const [failure, setFailure] = useState<Failure | null>(null);

    useEffect(() => {
        tryOnce(token).then(goOn, (cause: unknown) => {
            if (!isRefusal(cause)) tried.delete(token);
            setFailure(failureOf(cause));
        });
    }, [token]);

    const replace = () => {
        signIn(token, true).then(goOn, (cause: unknown) => { setFailure(failureOf(cause)); });
    };

    if (failure === null) return <Notice title={text.signIn.working} advice="" />;
    if (failure.kind === "somebody")
        return (
            <Notice title={text.signIn.otherTitle} advice={text.signIn.otherAdvice(failure.signed_in_as, failure.link_for)}>
                <button type="button" className="button" onClick={replace}>
                    {text.signIn.replace(failure.link_for)}
                </button>
                <button type="button" className="button" onClick={goOn}>
                    {text.signIn.stay(failure.signed_in_as)}
                </button>
            </Notice>
        );
    if (failure.kind === "used" && token === "")
        return <Notice title={text.signIn.outTitle} advice={text.signIn.outAdvice} command={text.signIn.command} />;
    if (failure.kind === "used")
        return <Notice title={text.signIn.badTitle} advice={text.signIn.badAdvice} command={text.signIn.command} />;
    return (
        <Notice
            title={failure.kind === "limited" ? text.signIn.limitedTitle : text.signIn.failedTitle}
            advice={failure.kind === "limited" ? text.signIn.limitedAdvice : failure.reason}
        >
            <button type="button" className="button" onClick={() => { window.location.reload(); }}>
                {text.actions.retry}
            </button>
        </Notice>
    );
}
