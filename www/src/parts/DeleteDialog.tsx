import { useState } from "react";
import { messageOf } from "../api/http";
import { text } from "../text";
import { Dialog } from "./Dialog";

interface DeleteDialogProps {
    title: string;
    /** Rejects with the reason when it could not be done. */
    onDelete: () => Promise<void>;
    onClose: () => void;
}

export function DeleteDialog({ title, onDelete, onClose }: DeleteDialogProps) {
    const [isWorking, setIsWorking] = useState(false);
    const [error, setError] = useState<string | null>(null);

    const confirm = async () => {
        setIsWorking(true);
        setError(null);
        try {
            await onDelete();
        } catch (cause) {
            setError(messageOf(cause));
            setIsWorking(false);
        }
    };

    return (
        <Dialog title={text.remove.title} onClose={onClose}>
            <p>{text.remove.body(title)}</p>
            {error !== null && <p className="dialog-error" role="alert">{text.remove.failed(error)}</p>}
            <div className="dialog-buttons">
                <button type="button" className="button" onClick={onClose}>
                    {text.actions.cancel}
                </button>
                <button
                    type="button"
                    className="button button-danger"
                    data-testid="confirm-button"
                    disabled={isWorking}
                    onClick={() => { void confirm(); }}
                >
                    {isWorking ? text.remove.working : text.actions.delete}
                </button>
            </div>
        </Dialog>
    );
}
