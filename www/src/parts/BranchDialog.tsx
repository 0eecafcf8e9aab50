import { useEffect, useRef, useState } from "react";
import { fetchFilesAt } from "../api/branches";
import { messageOf } from "../api/http";
import { branchTitle } from "../model/branch_title";
import { type FilesAnswer, restoresFiles } from "../model/edit";
import { branchOff } from "../state/forks";
import { newId } from "../state/ids";
import { text } from "../text";
import { Dialog } from "./Dialog";
import { FilesChoice } from "./FilesChoice";

interface BranchDialogProps {
    conversationId: string;
    /** Of the conversation; null if it has none. */
    title: string | null;
    eventId: string;
    onClose: () => void;
}

function useFilesAt(conversationId: string, eventId: string): FilesAnswer {
    const [answer, setAnswer] = useState<FilesAnswer>(null);
    useEffect(() => {
        let isCurrent = true;
        fetchFilesAt(conversationId, eventId)
            .catch((cause: unknown) => ({ state: "unknown" as const, reason: messageOf(cause) }))
            .then((found) => { if (isCurrent) setAnswer(found); }, () => undefined);
        return () => { isCurrent = false; };
    }, [conversationId, eventId]);
    return answer;
}

export function BranchDialog({ conversationId, title, eventId, onClose }: BranchDialogProps) {
    const [id] = useState(newId);
    const [wantsFiles, setWantsFiles] = useState(true);
    const [isWorking, setIsWorking] = useState(false);
    const [error, setError] = useState<string | null>(null);
    const answer = useFilesAt(conversationId, eventId);

    /* Whoever closed the dialog reads or writes elsewhere; the branch is in the list. */
    const isOpen = useRef(true);
    useEffect(() => {
        isOpen.current = true;
        return () => { isOpen.current = false; };
    }, []);

    const make = async () => {
        setIsWorking(true);
        setError(null);
        try {
            await branchOff(conversationId, {
                id,
                from_event_id: eventId,
                title: title === null ? null : branchTitle(title),
                restore_files: restoresFiles(answer, wantsFiles),
            }, () => isOpen.current);
        } catch (cause) {
            setError(messageOf(cause));
            setIsWorking(false);
        }
    };

    return (
        <Dialog title={text.branch.title} onClose={onClose}>
            <p>{text.branch.body}</p>
            <FilesChoice answer={answer} isWanted={wantsFiles} isBusy={isWorking} hint={text.files.copied} onChange={setWantsFiles} />
            {error !== null && <p className="dialog-error" role="alert">{text.branch.failed(error)}</p>}
            <div className="dialog-buttons">
                <button type="button" className="button" onClick={onClose}>
                    {text.actions.cancel}
                </button>
                <button
                    type="button"
                    className="button button-primary"
                    data-testid="confirm-button"
                    disabled={isWorking}
                    onClick={() => { void make(); }}
                >
                    {isWorking ? text.branch.working : text.branch.make}
                </button>
            </div>
        </Dialog>
    );
}
