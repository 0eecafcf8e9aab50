import { useEffect, useState } from "react";
import { signIn } from "../api/account";
import { ApiError, messageOf } from "../api/http";
import { loadAccount } from "../state/account";
import { replaceWith } from "../state/route";
import { Notice } from "../parts/Notice";
import { text } from "../text";

type Failure = { kind: "used" } | { kind: "other"; reason: string };

/** Links work once, so one page load tries each token once, however often the screen is drawn. */
const tried = new Map<string, Promise<void>>();

function tryOnce(token: string): Promise<void> {
    const attempt = tried.get(token) ?? signIn(token);
    tried.set(token, attempt);
    return attempt;
}

export function SignInScreen({ token }: { token: string }) {
    const [failure, setFailure] = useState<Failure | null>(token === "" ? { kind: "used" } : null);

    useEffect(() => {
        if (token === "") return;
        tryOnce(token).then(
            () => {
                replaceWith("/");
                void loadAccount();
            },
            (cause: unknown) => {
                const isUsed = cause instanceof ApiError && cause.status >= 400 && cause.status < 500;
                if (!isUsed) tried.delete(token);
                setFailure(isUsed ? { kind: "used" } : { kind: "other", reason: messageOf(cause) });
            },
        );
    }, [token]);

    if (failure === null) return <Notice title={text.signIn.working} advice="" />;
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
