/* The names of stored secrets, and which of them sandboxes read. Values are never asked for. */
import { request } from "./http";

export interface Secret {
    name: string;
    description: string | null;
}

/** A stored secret that was read with a sandbox's own key. */
export interface SecretRead {
    name: string;
    sandbox_id: string;
    read_at: string;
}

export interface SecretReadPage {
    items: (SecretRead & { id: number })[];
    next_page_id: string | null;
}

export async function fetchSecrets(): Promise<Secret[]> {
    return ((await request("GET", "/api/settings/secrets")) as { secrets: Secret[] }).secrets;
}

/** The last reading of each secret that was read, deleted ones included. */
export async function fetchLatestReads(): Promise<SecretRead[]> {
    return ((await request("GET", "/api/v1/secret-reads/latest")) as { items: SecretRead[] }).items;
}

/** The latest first, over all sandboxes, deleted ones included. */
export async function fetchSecretReads(limit: number, pageId: string | null): Promise<SecretReadPage> {
    const query = new URLSearchParams({ limit: String(limit) });
    if (pageId !== null) query.set("page_id", pageId);
    return (await request("GET", `/api/v1/secret-reads/search?${query.toString()}`)) as SecretReadPage;
}
