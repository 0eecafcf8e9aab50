import { request } from "./http";
import type { Me } from "./wire";

export async function fetchMe(): Promise<Me> {
    return (await request("GET", "/api/v1/me")) as Me;
}

export async function signIn(token: string): Promise<void> {
    await request("POST", "/api/v1/sign-in", { token });
}

export async function signOut(): Promise<void> {
    await request("POST", "/api/v1/sign-out");
}
