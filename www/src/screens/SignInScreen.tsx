import { useEffect, useState } from "react";
import { fetchMe, signIn } from "../api/account";
import { ApiError, messageOf } from "../api/http";
import { loadAccount } from "../state/account";
import { replaceWith, returnPath } from "../state/route";
import { takeReturn } from "../state/storage";
import { Notice } from "../parts/Notice";
import { text } from "../text";

type Failure = { kind: "used" } | { kind: "other"; reason: string };

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

/** A link that was used before, or half of one, does no harm to whoever is signed in already. */
async function signInOrStay(token: string): Promise<void> {
    if (token === "") {
        await fetchMe();
        return;
    }
    try {
        await signIn(token);
    } catch (cause) {
        if (!isRefusal(cause)) throw cause;
        await fetchMe();
    }
}

export function SignInScreen({ token }: { token: string }) {
    const [failure, setFailure] = useState<Failure | null>(null);

    useEffect(() => {
        tryOnce(token).then(
            () => {
                replaceWith(returnPath(takeReturn()));
                void loadAccount();
            },
            (cause: unknown) => {
                if (!isRefusal(cause)) tried.delete(token);
                setFailure(isRefusal(cause) ? { kind: "used" } : { kind: "other", reason: messageOf(cause) });
            },
        );
    }, [token]);

    if (failure === null) return <Notice title={text.signIn.working} advice="" />;
    if (failure.kind === "used" && token === "")
        return <Notice title={text.signIn.outTitle} advice={text.signIn.outAdvice} command={text.signIn.command} />;
    if (failure.kind === "used")
        return <Notice title={text.signIn.badTitle} advice={text.signIn.badAdvice} command={text.signIn.command} />;
    return (
        <Notice title={text.signIn.failedTitle} advice={failure.reason}>
            <button type="button" className="button" onClick={() => { window.location.reload(); }}>
                {text.actions.retry}
            </button>
        </Notice>
    );
}
