import type { ExecutionStatus } from "../api/wire";
import { text } from "../text";

/** Shape and colour show the status; the text is for screen readers. */
export function StatusDot({ status }: { status: ExecutionStatus }) {
    return (
        <span className={`dot dot-${status}`} title={text.status[status]}>
            <span className="visually-hidden">{text.status[status]}</span>
        </span>
    );
}
