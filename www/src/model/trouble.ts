/*
 * The causes of failed runs that need different advice. The wire's code is coarse: an account
 * without credit and a rate limit have the same code, and so have a wrong host name and a provider that is down.
 */

export type TroubleKind =
    | "keyRefused"
    | "accountEmpty"
    | "askedTooOften"
    | "addressRefused"
    | "addressBad"
    | "apiUnsupported"
    | "requestRefused"
    | "modelUnknown"
    | "scriptUnknown"
    | "contextFull"
    | "contentRefused"
    | "historyRefused"
    | "nameUnknown"
    | "nothingListens"
    | "certificate"
    | "serverDown"
    | "timeout"
    | "noAnswer"
    | "webPage"
    | "priceUnknown"
    | "budget"
    | "iterations"
    | "other";

interface Row {
    readonly kind: TroubleKind;
    readonly code: string;
    /** The detail must match; without a pattern any detail does. */
    readonly detail?: RegExp;
}

const EMPTY_ACCOUNT =
    /insufficient_quota|usage_limit_reached|exceeded your current quota|insufficient balance|credit|billing|budget.?(has been )?exceeded|exceededbudget/i;

/** The first row that matches counts. */
const ROWS: readonly Row[] = [
    { kind: "accountEmpty", code: "LLMRateLimitError", detail: EMPTY_ACCOUNT },
    { kind: "accountEmpty", code: "LLMBadRequestError", detail: EMPTY_ACCOUNT },
    { kind: "accountEmpty", code: "APIError", detail: /error code: 402/ },
    { kind: "askedTooOften", code: "LLMRateLimitError" },
    { kind: "keyRefused", code: "LLMAuthenticationError" },
    { kind: "addressRefused", code: "LLMBadRequestError", detail: /base URL is refused/ },
    { kind: "addressBad", code: "LLMBadRequestError", detail: /base URL is not valid/ },
    { kind: "apiUnsupported", code: "LLMBadRequestError", detail: /Responses API/ },
    { kind: "modelUnknown", code: "LLMBadRequestError", detail: /model.*(not (found|exist)|unknown|invalid)|(unknown|invalid) model/i },
    { kind: "requestRefused", code: "LLMBadRequestError" },
    { kind: "scriptUnknown", code: "NotFoundError", detail: /no script/ },
    { kind: "modelUnknown", code: "NotFoundError" },
    { kind: "contextFull", code: "LLMContextWindowExceedError" },
    { kind: "contentRefused", code: "LLMContentPolicyViolationError" },
    { kind: "historyRefused", code: "LLMMalformedConversationHistoryError" },
    { kind: "nameUnknown", code: "LLMServiceUnavailableError", detail: /resolve/i },
    { kind: "certificate", code: "LLMServiceUnavailableError", detail: /certificate|SSL|TLS/ },
    { kind: "nothingListens", code: "LLMServiceUnavailableError", detail: /connection refused|couldn't connect|failed to connect|could not connect/i },
    { kind: "serverDown", code: "LLMServiceUnavailableError" },
    { kind: "serverDown", code: "BadGatewayError" },
    { kind: "timeout", code: "LLMTimeoutError" },
    { kind: "noAnswer", code: "LLMNoResponseError" },
    { kind: "webPage", code: "APIError", detail: /web page/ },
    { kind: "priceUnknown", code: "MaxBudgetReached", detail: /price of the model .* is unknown/ },
    { kind: "budget", code: "MaxBudgetReached" },
    { kind: "iterations", code: "MaxIterationsReached" },
];

export function troubleKind(code: string, detail: string): TroubleKind {
    return ROWS.find((row) => row.code === code && (row.detail?.test(detail) ?? true))?.kind ?? "other";
}

/** A model as a conversation names it. */
export interface ModelChoice {
    readonly model?: string;
    readonly api_key?: string | null;
    readonly input_cost_per_token?: number | null;
    readonly output_cost_per_token?: number | null;
}

export function isScripted(choice: ModelChoice | undefined): boolean {
    return (choice?.model ?? "").startsWith("scripted/");
}

/** True when the model is the server's own: named by its settings, and called with its key. */
export function isServersModel(choice: ModelChoice | undefined, serversModel: string): boolean {
    return choice?.model === serversModel && (choice.api_key ?? "") === "";
}
