import type { ReactNode } from "react";
import { Wordmark } from "./Wordmark";

interface NoticeProps {
    title: string;
    advice: string;
    /** A command to be typed where deft runs. */
    command?: string;
    children?: ReactNode;
}

/** A whole screen that has one thing to say. */
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
