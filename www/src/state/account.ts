/* The signed-in user of this page. */
import { fetchMe, signOut } from "../api/account";
import { ApiError, messageOf, onSignedOut } from "../api/http";
import type { Me } from "../api/wire";
import { replaceWith } from "./route";
import { Store } from "./store";

export type Account =
    | { state: "loading" }
    | { state: "signed-in"; me: Me }
    | { state: "signed-out" }
    | { state: "unreachable"; error: string };

export const account = new Store<Account>({ state: "loading" });

onSignedOut(() => { account.set({ state: "signed-out" }); });

export async function loadAccount(): Promise<void> {
    account.set({ state: "loading" });
    try {
        account.set({ state: "signed-in", me: await fetchMe() });
    } catch (cause) {
        if (cause instanceof ApiError && cause.status === 401) return;
        account.set({ state: "unreachable", error: messageOf(cause) });
    }
}

/** Throws when the server did not end the session. */
export async function leave(): Promise<void> {
    await signOut();
    /* The next user begins at the start screen. */
    replaceWith("/");
    account.set({ state: "signed-out" });
}
