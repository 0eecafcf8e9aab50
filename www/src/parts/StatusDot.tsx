import type { ExecutionStatus } from "../api/wire";
import { text } from "../text";

/** Shape and colour both tell the status; the words are there for whoever sees neither. */
export function StatusDot({ status }: { status: ExecutionStatus }) {
    return (
        <span className={`dot dot-${status}`} title={text.status[status]}>
            <span className="visually-hidden">{text.status[status]}</span>
        </span>
    );
}
