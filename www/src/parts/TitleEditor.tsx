import { useRef, useState } from "react";
import { text } from "../text";
import { Icon } from "./Icon";

/** The server's own limit. */
const TITLE_MAX_CHARS = 200;

interface TitleEditorProps {
    title: string;
    onRename: (title: string) => void;
}

/** Enter and leaving the field keep the new title, Escape and an empty field the old one. */
export function TitleEditor({ title, onRename }: TitleEditorProps) {
    const [draft, setDraft] = useState<string | null>(null);
    const opener = useRef<HTMLButtonElement>(null);

    const finish = (next: string | null) => {
        setDraft(null);
        const wanted = next?.trim() ?? "";
        if (wanted !== "" && wanted !== title) onRename(wanted);
    };

    if (draft === null)
        return (
            <h1 className="title">
                <button
                    ref={opener}
                    type="button"
                    className="title-button"
                    title={text.actions.rename}
                    onClick={() => { setDraft(title); }}
                >
                    <span className="title-text">{title}</span>
                    <Icon name="pencil" />
                    <span className="visually-hidden">{text.actions.rename}</span>
                </button>
            </h1>
        );
    return (
        <input
            className="title-input"
            aria-label={text.conversation.titleLabel}
            value={draft}
            maxLength={TITLE_MAX_CHARS}
            autoFocus
            onFocus={(event) => { event.target.select(); }}
            onChange={(event) => { setDraft(event.target.value); }}
            onBlur={() => { finish(draft); }}
            onKeyDown={(event) => {
                if (event.nativeEvent.isComposing) return;
                if (event.key !== "Enter" && event.key !== "Escape") return;
                event.preventDefault();
                finish(event.key === "Enter" ? draft : null);
                requestAnimationFrame(() => opener.current?.focus());
            }}
        />
    );
}
