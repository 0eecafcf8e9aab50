/* The page's state of an open conversation. */
import type { Control } from "../api/conversations";
import type { Link } from "../api/session_socket";
import type { ExecutionStatus, Stats } from "../api/wire";
import type { Edit } from "../model/edit";
import { EMPTY_LOG, type EventLog } from "../model/log";
import type { Outbox } from "../model/outbox";
import type { Stream } from "../model/streams";
import { NO_REPORTS, type ToolReports } from "../model/tool_reports";
import type { ModelChoice } from "../model/trouble";
import type { Retry } from "../model/waiting_model";

export type Decision = "approve" | "reject";

export interface SessionState {
    readonly load: "loading" | "ready" | "failed" | "gone";
    readonly loadError: string | null;
    readonly title: string | null;
    readonly status: ExecutionStatus;
    readonly stats: Stats | undefined;
    readonly log: EventLog;
    readonly streams: readonly Stream[];
    readonly reports: ToolReports;
    readonly outbox: Outbox;
    /** The message that is being edited. */
    readonly edit: Edit | null;
    /** The failed attempt at the answer that is waited for; null when none failed. */
    readonly retry: Retry | null;
    /** When the server was last heard of; milliseconds since the epoch. */
    readonly heardAt: number;
    /** Its model, as far as it is known. */
    readonly model: ModelChoice | undefined;
    readonly link: Link;
    readonly isLoadingOlder: boolean;
    readonly olderError: string | null;
    /** The calls that were decided on this page: they do not ask again while the answer is on its way. */
    readonly decided: ReadonlySet<string>;
    /** The control that was asked for and not yet answered. */
    readonly asked: Control | Decision | null;
    readonly controlError: string | null;
}

export const INITIAL_STATE: SessionState = {
    load: "loading",
    loadError: null,
    title: null,
    status: "idle",
    stats: undefined,
    log: EMPTY_LOG,
    streams: [],
    reports: NO_REPORTS,
    outbox: [],
    edit: null,
    retry: null,
    heardAt: 0,
    model: undefined,
    link: "connecting",
    isLoadingOlder: false,
    olderError: null,
    decided: new Set(),
    asked: null,
    controlError: null,
};
