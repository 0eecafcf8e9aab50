/* The address bar: four screens; any other address is unknown. */
import { Store } from "./store";

export type Route =
    | { screen: "home" }
    | { screen: "sign-in"; token: string }
    | { screen: "conversation"; id: string }
    | { screen: "secrets" }
    | { screen: "unknown" };

const CONVERSATION_PATH = /^\/conversations\/([0-9a-fA-F-]{32,36})\/?$/;

export const SECRETS_PATH = "/secrets";

export function routeOf(path: string, hash: string): Route {
    if (path === "/" || path === "") return { screen: "home" };
    if (path === "/sign-in" || path === "/sign-in/") return { screen: "sign-in", token: hash.replace(/^#/, "") };
    if (path === SECRETS_PATH || path === `${SECRETS_PATH}/`) return { screen: "secrets" };
    const id = CONVERSATION_PATH.exec(path)?.[1];
    return id === undefined ? { screen: "unknown" } : { screen: "conversation", id };
}

/** The address of a screen to return to after signing in; "" for the others. */
export function placeOf(where: Route): string {
    if (where.screen === "conversation") return pathOf(where.id);
    return where.screen === "secrets" ? SECRETS_PATH : "";
}

/** Where to go after signing in: the stored path if it is one of this page, otherwise the start screen. */
export function returnPath(kept: string | null): string {
    return placeOf(routeOf(kept ?? "", "")) || "/";
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
