import { useId } from "react";
import { type FilesAnswer, restoresFiles } from "../model/edit";
import { text } from "../text";

interface FilesChoiceProps {
    answer: FilesAnswer;
    isWanted: boolean;
    isBusy: boolean;
    /** Said if the files can be restored. */
    hint: string;
    /** Said if they are as they were; without it the hint is. */
    hintUnchanged?: string;
    onChange: (isWanted: boolean) => void;
}

function hintOf({ answer, hint, hintUnchanged }: FilesChoiceProps): string {
    switch (answer?.state) {
        case undefined:
            return text.files.asking;
        case "stored":
            return hint;
        case "unchanged":
            return hintUnchanged ?? hint;
        case "missing":
            return text.files.missing(answer.reason);
        case "unknown":
            return text.files.unknown(answer.reason);
    }
}

/** Whether the workspace's files are to be as they were, and what that means. */
export function FilesChoice(props: FilesChoiceProps) {
    const { answer, isWanted, isBusy, onChange } = props;
    const hintId = useId();
    return (
        <div className="files-choice" data-state={answer?.state ?? "asking"}>
            <label>
                <input
                    type="checkbox"
                    checked={restoresFiles(answer, isWanted)}
                    disabled={isBusy || answer?.state === "missing"}
                    aria-describedby={hintId}
                    onChange={(event) => { onChange(event.target.checked); }}
                />
                {text.files.restore}
            </label>
            <p id={hintId} className="files-hint">{hintOf(props)}</p>
        </div>
    );
}
