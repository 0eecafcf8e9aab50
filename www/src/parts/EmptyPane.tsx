import type { ReactNode } from "react";

/** Placeholder for a screen without content. */
export function EmptyPane({ title, advice, children }: { title: string; advice?: string; children?: ReactNode }) {
    return (
        <main className="empty-pane" id="content" tabIndex={-1}>
            <h1>{title}</h1>
            {advice !== undefined && <p>{advice}</p>}
            {children}
        </main>
    );
}
