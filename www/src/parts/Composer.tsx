import { type Ref, type ReactNode, useEffect, useImperativeHandle, useLayoutEffect, useRef, useState } from "react";
import { loadDraft, saveDraft } from "../state/storage";
import { text } from "../text";
import { Icon } from "./Icon";
import { isTouchOnly, wantsSend } from "./send_key";

export interface ComposerHandle {
    focus(): void;
    /** Puts a text in, to be edited or sent. */
    fill(text: string): void;
}

interface ComposerProps {
    /** The conversation of the draft. */
    draftKey: string;
    label: string;
    placeholder: string;
    isBusy?: boolean;
    /** The send button's text, if sending does something else. */
    sendLabel?: string;
    /** The send button's text while busy. */
    busyLabel?: string;
    /** True when the message was taken; the box is emptied then. */
    onSend: (message: string) => boolean | Promise<boolean>;
    footer?: ReactNode;
    ref?: Ref<ComposerHandle>;
}

export function Composer(props: ComposerProps) {
    const { draftKey, label, placeholder, isBusy = false, sendLabel, busyLabel, onSend, footer, ref } = props;
    const [draft, setDraft] = useState(() => loadDraft(draftKey));
    const box = useRef<HTMLTextAreaElement>(null);

    const change = (next: string) => {
        setDraft(next);
        saveDraft(draftKey, next);
    };

    useImperativeHandle(ref, () => ({
        focus: () => { box.current?.focus(); },
        fill: (next: string) => {
            setDraft(next);
            saveDraft(draftKey, next);
            box.current?.focus();
        },
    }), [draftKey]);

    /* The box is as high as its text; its style sheet sets the bounds. */
    useLayoutEffect(() => {
        if (box.current === null) return;
        box.current.style.height = "auto";
        box.current.style.height = `${box.current.scrollHeight}px`;
    }, [draft]);

    /* With a hardware keyboard typing can begin at once; an on-screen keyboard would cover half the screen. */
    useEffect(() => {
        if (!isTouchOnly()) box.current?.focus({ preventScroll: true });
    }, []);

    const send = async () => {
        const message = draft.trim();
        if (message === "" || isBusy) return;
        if (await onSend(message)) change("");
        box.current?.focus();
    };

    return (
        <form
            className="composer"
            onSubmit={(event) => {
                event.preventDefault();
                void send();
            }}
        >
            <textarea
                ref={box}
                className="composer-box"
                rows={1}
                value={draft}
                placeholder={placeholder}
                aria-label={label}
                readOnly={isBusy}
                onChange={(event) => { change(event.target.value); }}
                onKeyDown={(event) => {
                    if (!wantsSend(event)) return;
                    event.preventDefault();
                    void send();
                }}
            />
            <div className="composer-foot">
                <div className="composer-extra">{footer}</div>
                <button type="submit" className="button button-primary" disabled={isBusy || draft.trim() === ""}>
                    {isBusy && busyLabel !== undefined ? busyLabel : (sendLabel ?? text.actions.send)}
                    <Icon name="send" />
                </button>
            </div>
        </form>
    );
}
