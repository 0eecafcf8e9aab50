import { type ReactNode, useId, useLayoutEffect, useRef } from "react";

interface DialogProps {
    title: string;
    children: ReactNode;
    onClose: () => void;
}

/** The browser's own modal dialog: it keeps the focus inside, closes on Escape and gives the focus back. */
export function Dialog({ title, children, onClose }: DialogProps) {
    const element = useRef<HTMLDialogElement>(null);
    const titleId = useId();
    /* Closed while it is still in the page, which is when the browser gives the focus back. */
    useLayoutEffect(() => {
        const dialog = element.current;
        dialog?.showModal();
        return () => { dialog?.close(); };
    }, []);
    return (
        <dialog
            ref={element}
            className="dialog"
            aria-labelledby={titleId}
            onCancel={(event) => {
                event.preventDefault();
                onClose();
            }}
            onClick={(event) => {
                if (event.target === element.current) onClose();
            }}
        >
            <div className="dialog-body">
                <h2 id={titleId}>{title}</h2>
                {children}
            </div>
        </dialog>
    );
}
