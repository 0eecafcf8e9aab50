/* The agent API on the page's own origin, where the session cookie is valid. */
import { request } from "./http";
import type { ConversationInfo, ConversationPage, EventPage } from "./wire";

const BASE = "/agent/api/conversations";
const TOOLS = ["terminal", "file_editor", "task_tracker"];
const WORKING_DIR = "/workspace/project";
/** The agent reads what the project and the user keep for it. */
const CONTEXT = { load_project_skills: true, load_user_skills: true, load_memory: true };

function userMessage(message: string) {
    return { role: "user", content: [{ type: "text", text: message }], run: true };
}

export interface NewConversation {
    /** Chosen by the page, so that a repeated request finds the conversation of the first one. */
    id: string;
    model: string;
    message: string;
}

export async function createConversation(wanted: NewConversation): Promise<ConversationInfo> {
    return (await request("POST", BASE, {
        conversation_id: wanted.id,
        conversation_runtime: "docker",
        agent: {
            kind: "Agent",
            llm: { model: wanted.model, usage_id: "agent" },
            tools: TOOLS.map((name) => ({ name })),
            agent_context: CONTEXT,
        },
        workspace: { kind: "LocalWorkspace", working_dir: WORKING_DIR },
        initial_message: userMessage(wanted.message),
    })) as ConversationInfo;
}

export async function fetchConversation(id: string): Promise<ConversationInfo> {
    return (await request("GET", `${BASE}/${encodeURIComponent(id)}`)) as ConversationInfo;
}

export async function searchConversations(limit: number, pageId: string | null): Promise<ConversationPage> {
    const query = new URLSearchParams({ limit: String(limit), sort_order: "UPDATED_AT_DESC" });
    if (pageId !== null) query.set("page_id", pageId);
    return (await request("GET", `${BASE}/search?${query.toString()}`)) as ConversationPage;
}

export async function renameConversation(id: string, title: string): Promise<void> {
    await request("PATCH", `${BASE}/${encodeURIComponent(id)}`, { title });
}

export async function deleteConversation(id: string): Promise<void> {
    await request("DELETE", `${BASE}/${encodeURIComponent(id)}`);
}

export interface Preview {
    name: string;
    url: string;
    port: number;
}

/** The sandbox's listening ports. */
export async function fetchPreviews(id: string): Promise<Preview[]> {
    const found = (await request("GET", `${BASE}/${encodeURIComponent(id)}/previews`)) as {
        exposed_urls: Preview[] | null;
        listening: number[];
    };
    return (found.exposed_urls ?? []).filter(({ port }) => found.listening.includes(port));
}

/** A refused connection of the sandbox. */
export interface Refusal {
    host: string;
    port: number | null;
    protocol: string;
    reason: string;
    count: number;
}

/** The latest first. */
export async function fetchRefusals(id: string): Promise<Refusal[]> {
    const found = (await request("GET", `${BASE}/${encodeURIComponent(id)}/egress_refusals`)) as { refusals: Refusal[] };
    return found.refusals;
}

/** An MCP server that a file of the workspace names. */
export interface WorkspaceServer {
    name: string;
    digest: string;
    source: string;
    url?: string;
    /** The program and its arguments. */
    command?: string[];
    /** Names only, as below. */
    env: string[];
    headers: string[];
    /** Secrets of the conversation that it gets. */
    secrets: string[];
    is_consented: boolean;
}

export async function fetchWorkspaceServers(id: string): Promise<WorkspaceServer[]> {
    const found = (await request("GET", `${BASE}/${encodeURIComponent(id)}/project_mcp_servers`)) as {
        project_mcp_servers: WorkspaceServer[];
    };
    return found.project_mcp_servers;
}

/** For exactly this server: if the file has changed by now, the request is refused (409). */
export async function allowServer(id: string, { name, digest }: WorkspaceServer): Promise<void> {
    await request("POST", `${BASE}/${encodeURIComponent(id)}/project_mcp_servers/consent`, { name, digest });
}

export type Control = "run" | "pause" | "interrupt";

/** The waiting calls that the user saw: the server refuses a run request (409) if others wait by now. */
type SeenCalls = readonly string[];

export async function controlConversation(id: string, control: Control, seen: SeenCalls): Promise<void> {
    const body = control === "run" ? { action_ids: seen } : {};
    await request("POST", `${BASE}/${encodeURIComponent(id)}/${control}`, body);
}

export async function sendMessage(id: string, message: string, seen: SeenCalls): Promise<void> {
    await request("POST", `${BASE}/${encodeURIComponent(id)}/events`, { ...userMessage(message), action_ids: seen });
}

/** Applies to exactly these calls: if another one waits, or none, the server refuses it (409). */
export async function approveCalls(id: string, calls: SeenCalls): Promise<void> {
    await request("POST", `${BASE}/${encodeURIComponent(id)}/events/respond_to_confirmation`, {
        accept: true,
        action_ids: calls,
    });
}

/** With a reason the agent continues at once and reads it; without one it waits for a message. */
export async function rejectCalls(id: string, calls: SeenCalls, reason: string | null): Promise<void> {
    await request("POST", `${BASE}/${encodeURIComponent(id)}/events/respond_to_confirmation`, {
        accept: false,
        action_ids: calls,
        ...(reason === null ? {} : { reason, run: true }),
    });
}

/** Those on the path to the end, newest first; `pageId` is the id of the first event wanted, null for the newest page. */
export async function fetchEventsBackwards(id: string, limit: number, pageId: string | null): Promise<EventPage> {
    const query = new URLSearchParams({ limit: String(limit), sort_order: "TIMESTAMP_DESC", on_path: "true" });
    if (pageId !== null) query.set("page_id", pageId);
    return (await request("GET", `${BASE}/${encodeURIComponent(id)}/events/search?${query.toString()}`)) as EventPage;
}
