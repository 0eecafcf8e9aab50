import type { ReactNode } from "react";
import { Wordmark } from "./Wordmark";

interface NoticeProps {
    title: string;
    advice: string;
    /** A command to run on deft's host. */
    command?: string;
    children?: ReactNode;
}

/** A screen with a single message. */
export function Notice({ title, advice, command, children }: NoticeProps) {
    return (
        <main className="notice" id="content" tabIndex={-1}>
            <Wordmark />
            <h1>{title}</h1>
            <p>{advice}</p>
            {command !== undefined && (
                <pre className="notice-command">
                    <code>{command}</code>
                </pre>
            )}
            {children}
        </main>
    );
}
