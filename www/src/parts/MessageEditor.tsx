import { useEffect, useId, useLayoutEffect, useRef, useState } from "react";
import type { Session } from "../state/session";
import type { SessionState } from "../state/session_state";
import { useStore } from "../state/store";
import type { Edit } from "../model/edit";
import { text } from "../text";
import { FilesChoice } from "./FilesChoice";
import { Icon } from "./Icon";
import { wantsSend } from "./send_key";

interface MessageEditorProps {
    session: Session;
    /** Called after the conversation stepped back. */
    onSent: () => void;
}

/** Edits a message in its place. */
export function MessageEditor({ session, onSent }: MessageEditorProps) {
    const state = useStore(session.store);
    if (state.edit === null) return null;
    return <OpenEditor session={session} state={state} edit={state.edit} onSent={onSent} />;
}

interface OpenEditorProps extends MessageEditorProps {
    state: SessionState;
    edit: Edit;
}

/** The button loses the focus when it is disabled. Whoever went elsewhere stays there. */
function takeFocusBack(box: HTMLTextAreaElement | null): void {
    const { activeElement: active, body } = document;
    if (active === null || active === body || box?.form?.contains(active) === true) box?.focus();
}

function OpenEditor({ session, state, edit, onSent }: OpenEditorProps) {
    const { editor } = session;
    /* The session's state is drawn a moment later, which fields must not wait for. */
    const [draft, setDraft] = useState(edit.draft);
    const [wantsFiles, setWantsFiles] = useState(edit.wantsFiles);
    const box = useRef<HTMLTextAreaElement>(null);
    const adviceId = useId();
    const isBlocked = state.status === "running" || state.link !== "open";

    useEffect(() => {
        const end = box.current?.value.length ?? 0;
        box.current?.focus();
        box.current?.setSelectionRange(end, end);
    }, [edit.nCalled]);

    useLayoutEffect(() => {
        if (box.current === null) return;
        box.current.style.height = "auto";
        box.current.style.height = `${box.current.scrollHeight}px`;
    }, [draft]);

    const send = async () => {
        if (isBlocked) return;
        if (await editor.send()) onSent();
        else takeFocusBack(box.current);
    };

    return (
        <form
            className="message message-user message-editor"
            data-testid="message-editor"
            onSubmit={(event) => {
                event.preventDefault();
                void send();
            }}
        >
            <textarea
                ref={box}
                className="editor-box"
                rows={1}
                value={draft}
                aria-label={text.edit.label}
                aria-describedby={adviceId}
                readOnly={edit.isSending}
                onChange={(event) => {
                    setDraft(event.target.value);
                    editor.setDraft(event.target.value);
                }}
                onKeyDown={(event) => {
                    /* Escape must not throw away what was typed. */
                    if (event.key === "Escape" && draft === edit.original) editor.cancel();
                    if (!wantsSend(event)) return;
                    event.preventDefault();
                    void send();
                }}
            />
            <p id={adviceId} className="files-hint">{text.edit.advice}</p>
            <FilesChoice
                answer={edit.files}
                isWanted={wantsFiles}
                isBusy={edit.isSending}
                hint={text.files.replaced}
                hintUnchanged={text.files.unchanged}
                onChange={(isWanted) => {
                    setWantsFiles(isWanted);
                    editor.wantFiles(isWanted);
                }}
            />
            {edit.error !== null && <p className="editor-error" role="alert">{text.edit.failed(edit.error)}</p>}
            <div className="editor-foot">
                {state.status === "running" && <Stop session={session} isAsked={state.asked === "interrupt"} />}
                <button type="button" className="button button-small" disabled={edit.isSending} onClick={() => { editor.cancel(); }}>
                    {text.actions.cancel}
                </button>
                <button
                    type="submit"
                    className="button button-small button-primary"
                    disabled={isBlocked || edit.isSending || draft.trim() === ""}
                >
                    {edit.isSending ? text.edit.sending : text.actions.send}
                    <Icon name="send" />
                </button>
            </div>
        </form>
    );
}

/** A conversation cannot step back while its agent works. */
function Stop({ session, isAsked }: { session: Session; isAsked: boolean }) {
    return (
        <>
            <p className="editor-note" role="status">{text.edit.working}</p>
            <button
                type="button"
                className="button button-small"
                disabled={isAsked}
                onClick={() => { void session.control("interrupt"); }}
            >
                <Icon name="stop" />
                {isAsked ? text.controls.stopping : text.controls.stop}
            </button>
        </>
    );
}
