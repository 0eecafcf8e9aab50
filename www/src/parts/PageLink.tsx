import type { ReactNode } from "react";
import { go } from "../state/route";

interface PageLinkProps {
    path: string;
    className: string;
    /** True on the screen that it leads to. */
    isOpen: boolean;
    /** For a link without a text. */
    label?: string;
    testId?: string;
    children: ReactNode;
}

/** A link to another screen: it can be opened in a new tab, and otherwise needs no page load. */
export function PageLink({ path, className, isOpen, label, testId, children }: PageLinkProps) {
    return (
        <a
            className={className}
            href={path}
            aria-current={isOpen ? "page" : undefined}
            aria-label={label}
            title={label}
            data-testid={testId}
            onClick={(event) => {
                if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
                event.preventDefault();
                go(path);
            }}
        >
            {children}
        </a>
    );
}
