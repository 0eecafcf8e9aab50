import { type ToolReport, shareOf } from "../model/tool_reports";
import { text } from "../text";
import { VisibleText } from "./VisibleText";

/** How far a running call is, in its tool's words. */
export function CallReport({ report }: { report: ToolReport }) {
    const share = shareOf(report);
    return (
        <p className="call-report" data-testid="tool-progress">
            {share !== null && <progress value={share} max={1} aria-label={text.cards.progress} />}
            <span>{share !== null && report.total !== null ? text.cards.doneOf(report.done, report.total) : text.cards.doneSoFar(report.done)}</span>
            {report.message !== "" && (
                <span className="call-report-message">
                    <VisibleText text={report.message} />
                </span>
            )}
        </p>
    );
}
