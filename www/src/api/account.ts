import { request } from "./http";
import type { Me } from "./wire";

export async function fetchMe(): Promise<Me> {
    return (await request("GET", "/api/v1/me")) as Me;
}

/** replace: also if another user is signed in, which is otherwise a 409. */
export async function signIn(token: string, replace = false): Promise<void> {
    await request("POST", "/api/v1/sign-in", replace ? { token, replace } : { token });
}

export async function signOut(): Promise<void> {
    await request("POST", "/api/v1/sign-out");
}
