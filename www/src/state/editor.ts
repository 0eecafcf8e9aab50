/*
 * Edits a message of the user's and sends it again: the log steps back to before it, and the new text follows there.
 *
 * The text is never lost. What is typed is stored in this browser; while the step back is on its way, the text is in
 * the outbox, too; and if another window leaves the branch of the message, it becomes a message that was not sent.
 */
import { fetchFilesAt, stepBack } from "../api/branches";
import { messageOf } from "../api/http";
import { type Edit, begunEdit, isHeld, newestMessageId, restoresFiles } from "../model/edit";
import { text } from "../text";
import type { LogReader } from "./log_reader";
import type { Sender } from "./sender";
import type { SessionState } from "./session_state";
import { type KeptEdit, loadEdit, saveEdit } from "./storage";

interface Parts {
    reader: LogReader;
    sender: Sender;
}

export class Editor {
    constructor(
        private readonly id: string,
        private readonly state: () => SessionState,
        private readonly change: (part: Partial<SessionState>) => void,
        private readonly parts: Parts,
    ) {}

    /** If another message is being edited or sent, that editor takes the focus: its text must not be lost. */
    begin(messageId: string): void {
        const { edit, log } = this.state();
        if (edit !== null && (edit.isSending || edit.draft !== edit.original)) {
            this.amend({ nCalled: edit.nCalled + 1 });
            return;
        }
        this.open(begunEdit(log.events, messageId, null));
    }

    setDraft(draft: string): void {
        const { edit } = this.state();
        if (edit === null) return;
        this.amend({ draft, isFound: false });
        saveEdit(this.id, draft === edit.original ? null : { messageId: edit.messageId, text: draft });
    }

    wantFiles(wantsFiles: boolean): void {
        this.amend({ wantsFiles });
    }

    cancel(): void {
        if (this.state().edit?.isSending !== true) this.close();
    }

    /** Resolves with true if the conversation stepped back; the text is a message on its way then. */
    async send(): Promise<boolean> {
        const { edit, log } = this.state();
        if (edit === null || edit.isSending || edit.draft.trim() === "") return false;
        const newestId = newestMessageId(log.events);
        if (newestId !== edit.newestId) {
            this.amend({ newestId, error: text.edit.otherMessage });
            return false;
        }
        const key = this.parts.sender.hold(edit.draft.trim());
        this.amend({ isSending: true, error: null });
        try {
            const parentId = await this.parts.reader.predecessorOf(edit.messageId);
            await stepBack(this.id, parentId, restoresFiles(edit.files, edit.wantsFiles));
        } catch (cause) {
            this.takeFailure(key, cause);
            return false;
        }
        /* For other windows: it was sent. */
        saveEdit(this.id, null);
        await this.follow(key);
        this.change({ edit: null });
        return true;
    }

    /** After a reload of the page: what was typed. */
    restore(): void {
        const kept = loadEdit(this.id);
        const { edit, log } = this.state();
        if (kept === null || edit !== null) return;
        if (log.olderPageId === null || isHeld(log, kept.messageId)) this.reopen(kept, null);
        else
            void this.find(kept.messageId).then((missing) => {
                if (this.state().edit !== null) this.parts.sender.keep(kept.text, text.edit.other);
                else this.reopen(kept, missing);
            });
    }

    /** After the newest page was read: the message may be on an older one, or have left the path. */
    takeLog(): void {
        const { edit, log } = this.state();
        if (edit === null || edit.isSending || isHeld(log, edit.messageId)) return;
        if (log.olderPageId === null) this.leave(edit, text.edit.gone);
        else
            void this.find(edit.messageId).then((missing) => {
                const now = this.state().edit;
                if (missing !== null && now?.messageId === edit.messageId && !now.isSending) this.leave(now, missing);
            });
    }

    /** Sends the text where the conversation stepped back to, which must be known by then: it might reject calls. */
    private async follow(key: string): Promise<void> {
        try {
            await this.parts.reader.reread();
            this.parts.sender.resend(key);
        } catch (cause) {
            this.parts.sender.fail(key, messageOf(cause));
        }
    }

    /** Null if the message is held now; else the reason why it is not. */
    private find(messageId: string): Promise<string | null> {
        return this.parts.reader.find(messageId).then((isFound) => (isFound ? null : text.edit.gone), messageOf);
    }

    /** Where its step back was not confirmed, the text is in the outbox, too. */
    private reopen(kept: KeptEdit, missing: string | null): void {
        const { log, outbox } = this.state();
        const edit = begunEdit(log.events, kept.messageId, kept.text);
        const copy = outbox.find((message) => message.state === "failed" && message.text === kept.text.trim());
        if (edit !== null) {
            if (copy !== undefined) this.parts.sender.discard(copy.key);
            this.open(edit);
        } else if (copy !== undefined) saveEdit(this.id, null);
        else this.giveUp(kept.text, missing ?? text.edit.gone);
    }

    private leave(edit: Edit, reason: string): void {
        const wasSentElsewhere = edit.isFound && loadEdit(this.id) === null;
        if (edit.draft === edit.original || wasSentElsewhere) this.close();
        else this.giveUp(edit.draft, reason);
    }

    private open(edit: Edit | null): void {
        if (edit === null) return;
        this.change({ edit });
        void this.askFiles(edit.messageId);
    }

    private amend(part: Partial<Edit>): void {
        const { edit } = this.state();
        if (edit !== null) this.change({ edit: { ...edit, ...part } });
    }

    private close(): void {
        this.change({ edit: null });
        saveEdit(this.id, null);
    }

    private giveUp(draft: string, reason: string): void {
        this.parts.sender.keep(draft, reason);
        this.close();
    }

    private takeFailure(key: string, cause: unknown): void {
        this.parts.sender.discard(key);
        this.amend({ isSending: false, error: messageOf(cause) });
        this.takeLog();
        const { edit } = this.state();
        if (edit !== null) void this.askFiles(edit.messageId);
    }

    private async askFiles(messageId: string): Promise<void> {
        const answer = await this.parts.reader
            .predecessorOf(messageId)
            .then((parentId) => fetchFilesAt(this.id, parentId))
            .catch((cause: unknown) => ({ state: "unknown" as const, reason: messageOf(cause) }));
        if (this.state().edit?.messageId === messageId) this.amend({ files: answer });
    }
}
