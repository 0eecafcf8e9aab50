/* One way to call the server: JSON in, JSON out, every failure an ApiError that can be shown. */
import { text } from "../text";

export type Method = "GET" | "POST" | "PATCH" | "DELETE";

/** Pausing waits for the step in flight, which the server bounds at 30 s. */
const REQUEST_TIMEOUT_MS = 45_000;

/** status 0: no answer came. */
export class ApiError extends Error {
    constructor(
        readonly status: number,
        message: string,
        readonly body: unknown = null,
    ) {
        super(message);
        this.name = "ApiError";
    }

    get isNotFound(): boolean {
        return this.status === 404 || this.status === 422;
    }
}

type Listener = () => void;
const signedOutListeners = new Set<Listener>();

/** Called whenever an answer says that the session is over. Returns the way to stop listening. */
export function onSignedOut(listener: Listener): () => void {
    signedOutListeners.add(listener);
    return () => signedOutListeners.delete(listener);
}

/** The message of an error body: `detail` is a text, or a list of validation errors. */
export function errorText(status: number, body: unknown): string {
    const detail = typeof body === "object" && body !== null ? (body as { detail?: unknown }).detail : undefined;
    if (typeof detail === "string" && detail !== "") return detail;
    if (Array.isArray(detail)) {
        const complaints = detail
            .map((entry: unknown) => (entry as { msg?: unknown } | null)?.msg)
            .filter((message): message is string => typeof message === "string");
        if (complaints.length > 0) return complaints.join("; ");
    }
    return text.errors.status(status);
}

async function readJson(response: Response): Promise<unknown> {
    try {
        return (await response.json()) as unknown;
    } catch {
        return null;
    }
}

/** The caller casts the result to the type that the server's contract guarantees. */
export async function request(method: Method, path: string, body?: unknown): Promise<unknown> {
    let response: Response;
    try {
        response = await fetch(path, {
            method,
            credentials: "same-origin",
            headers: body === undefined ? {} : { "Content-Type": "application/json" },
            body: body === undefined ? null : JSON.stringify(body),
            signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
        });
    } catch (cause) {
        const isTimeout = cause instanceof DOMException && cause.name === "TimeoutError";
        throw new ApiError(0, isTimeout ? text.errors.timeout : text.errors.unreachable);
    }
    const answer = await readJson(response);
    if (response.ok) return answer;
    if (response.status === 401) signedOutListeners.forEach((listener) => { listener(); });
    throw new ApiError(response.status, errorText(response.status, answer), answer);
}

export function messageOf(cause: unknown): string {
    return cause instanceof Error ? cause.message : String(cause);
}
