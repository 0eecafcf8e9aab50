import type { ReactNode } from "react";

/** What stands in place of a screen's content when there is none. */
export function EmptyPane({ title, advice, children }: { title: string; advice?: string; children?: ReactNode }) {
    return (
        <main className="empty-pane" id="content" tabIndex={-1}>
            <h1>{title}</h1>
            {advice !== undefined && <p>{advice}</p>}
            {children}
        </main>
    );
}
