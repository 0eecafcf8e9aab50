/* The address bar: three screens, and whatever else is a wrong address. */
import { Store } from "./store";

export type Route =
    | { screen: "home" }
    | { screen: "sign-in"; token: string }
    | { screen: "conversation"; id: string }
    | { screen: "unknown" };

const CONVERSATION_PATH = /^\/conversations\/([0-9a-fA-F-]{32,36})\/?$/;

export function routeOf(path: string, hash: string): Route {
    if (path === "/" || path === "") return { screen: "home" };
    if (path === "/sign-in" || path === "/sign-in/") return { screen: "sign-in", token: hash.replace(/^#/, "") };
    const id = CONVERSATION_PATH.exec(path)?.[1];
    return id === undefined ? { screen: "unknown" } : { screen: "conversation", id };
}

/** Where to go after signing in: a conversation of this page, whatever was kept; else the beginning. */
export function returnPath(kept: string | null): string {
    const found = routeOf(kept ?? "", "");
    return found.screen === "conversation" ? pathOf(found.id) : "/";
}

function here(): Route {
    return routeOf(window.location.pathname, window.location.hash);
}

export const route = new Store<Route>(here());

window.addEventListener("popstate", () => { route.set(here()); });

export function pathOf(id: string): string {
    return `/conversations/${id}`;
}

export function go(path: string): void {
    if (path !== window.location.pathname) window.history.pushState(null, "", path);
    route.set(here());
}

/** For addresses that must not be come back to, such as a used sign-in link. */
export function replaceWith(path: string): void {
    window.history.replaceState(null, "", path);
    route.set(here());
}
