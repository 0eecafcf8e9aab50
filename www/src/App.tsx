import { useCallback, useEffect, useRef } from "react";
import type { Me } from "./api/wire";
import type { ComposerHandle } from "./parts/Composer";
import { EmptyPane } from "./parts/EmptyPane";
import { Notice } from "./parts/Notice";
import { Shell } from "./parts/Shell";
import { ConversationScreen } from "./screens/ConversationScreen";
import { HomeScreen } from "./screens/HomeScreen";
import { SecretsScreen } from "./screens/SecretsScreen";
import { SignInScreen } from "./screens/SignInScreen";
import { account, loadAccount } from "./state/account";
import { type Route, go, placeOf, route } from "./state/route";
import { saveReturn } from "./state/storage";
import { useStore } from "./state/store";
import { text } from "./text";

export function App() {
    const where = useStore(route);
    if (where.screen === "sign-in") return <SignInScreen token={where.token} />;
    return <SignedInOnly where={where} />;
}

function SignedInOnly({ where }: { where: Exclude<Route, { screen: "sign-in" }> }) {
    const who = useStore(account);
    useEffect(() => {
        if (account.get().state !== "signed-in") void loadAccount();
    }, []);
    const place = who.state === "signed-out" ? placeOf(where) : "";
    useEffect(() => {
        if (place !== "") saveReturn(place);
    }, [place]);
    switch (who.state) {
        case "loading":
            return <div className="booting" role="status" aria-label={text.loading} />;
        case "signed-out":
            return <Notice title={text.signIn.outTitle} advice={text.signIn.outAdvice} command={text.signIn.command} />;
        case "unreachable":
            return (
                <Notice
                    title={text.signIn.unreachableTitle}
                    advice={`${who.error} ${text.signIn.unreachableAdvice}`}
                    command={text.signIn.upCommand}
                >
                    <button type="button" className="button" onClick={() => { void loadAccount(); }}>
                        {text.actions.retry}
                    </button>
                </Notice>
            );
        case "signed-in":
            return <Workplace where={where} me={who.me} />;
    }
}

/** Ctrl+K or Cmd+K, from anywhere but inside a dialog. */
function useNewShortcut(onNew: () => void): void {
    useEffect(() => {
        const onKey = (event: KeyboardEvent) => {
            const isShortcut = event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey);
            if (!isShortcut || event.repeat || event.altKey || event.shiftKey) return;
            if (document.querySelector("dialog[open]") !== null) return;
            event.preventDefault();
            onNew();
        };
        window.addEventListener("keydown", onKey);
        return () => { window.removeEventListener("keydown", onKey); };
    }, [onNew]);
}

function Workplace({ where, me }: { where: Exclude<Route, { screen: "sign-in" }>; me: Me }) {
    const composer = useRef<ComposerHandle>(null);
    const openId = where.screen === "conversation" ? where.id : null;

    const startNew = useCallback(() => {
        go("/");
        requestAnimationFrame(() => composer.current?.focus());
    }, []);
    useNewShortcut(startNew);

    return (
        <Shell screen={where.screen} openId={openId} onNew={startNew}>
            {where.screen === "home" && <HomeScreen me={me} composer={composer} />}
            {where.screen === "conversation" && <ConversationScreen id={where.id} me={me} composer={composer} />}
            {where.screen === "secrets" && <SecretsScreen />}
            {where.screen === "unknown" && (
                <EmptyPane title={text.unknownPage.title} advice={text.unknownPage.advice}>
                    <button type="button" className="button" onClick={() => { go("/"); }}>
                        {text.conversation.home}
                    </button>
                </EmptyPane>
            )}
        </Shell>
    );
}
