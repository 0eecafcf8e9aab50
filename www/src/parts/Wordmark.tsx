import { text } from "../text";

/** A needle and its thread, and the name. */
export function Wordmark() {
    return (
        <span className="wordmark">
            <svg className="wordmark-sign" viewBox="1 4 30 26" aria-hidden="true">
                <path className="wordmark-thread" d="M2 26c5-6 7 3 11-1s1-10 7-13c2.4-1.2 4.2-1.6 5.5-1.5" />
                <path
                    className="wordmark-needle"
                    d="M9 29 24.9 8.200c1.4-1.8 3.1-2.7 4.3-1.8 1.1.9.7 2.8-.7 4.500z"
                />
            </svg>
            {text.appName}
        </span>
    );
}
