import { useEffect, useState } from "react";
import { text } from "../text";
import { Icon } from "./Icon";

const SHOWN_MS = 1500;

export function CopyButton({ value, label }: { value: string; label: string }) {
    const [isCopied, setIsCopied] = useState(false);
    useEffect(() => {
        if (!isCopied) return undefined;
        const timer = window.setTimeout(() => { setIsCopied(false); }, SHOWN_MS);
        return () => { window.clearTimeout(timer); };
    }, [isCopied]);

    /* The clipboard exists on secure origins and on localhost only. */
    if (!globalThis.isSecureContext) return null;
    return (
        <button
            type="button"
            className="icon-button copy-button"
            aria-label={isCopied ? text.actions.copied : label}
            title={isCopied ? text.actions.copied : label}
            onClick={() => {
                void navigator.clipboard.writeText(value).then(() => { setIsCopied(true); });
            }}
        >
            <Icon name={isCopied ? "check" : "copy"} />
        </button>
    );
}
