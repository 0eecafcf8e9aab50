import type { Ref } from "react";
import { text } from "../text";
import { Icon } from "./Icon";

interface MessageToolsProps {
    /** Null: the message cannot be edited by its kind. */
    edit: { isPossible: boolean; onEdit: () => void; ref: Ref<HTMLButtonElement> } | null;
    onBranch: () => void;
}

/** Shown while the pointer or the focus is on the message, always on touch screens. */
export function MessageTools({ edit, onBranch }: MessageToolsProps) {
    return (
        <div className="message-tools">
            {edit !== null && (
                <button
                    ref={edit.ref}
                    type="button"
                    className="tool-button"
                    aria-label={text.edit.openLabel}
                    title={edit.isPossible ? text.edit.openLabel : text.edit.noImages}
                    disabled={!edit.isPossible}
                    data-testid="edit-button"
                    onClick={edit.onEdit}
                >
                    <Icon name="pencil" />
                    {text.edit.open}
                </button>
            )}
            <button type="button" className="tool-button" data-testid="branch-button" onClick={onBranch}>
                <Icon name="branch" />
                {text.branch.open}
            </button>
        </div>
    );
}
