/*
 * Reads a conversation's log by pages, along the path to its end: events of branches that were left are not shown.
 *
 * A step back is made here or elsewhere. Each snapshot of the socket is a sign that one may have been made; if the list
 * of branches differs then, the newest page is read again. The list is read before the page, so that a step back in
 * between is noticed the next time.
 */
import { fetchBranches } from "../api/branches";
import { fetchEventsBackwards } from "../api/conversations";
import { messageOf } from "../api/http";
import { reopened, settled, withFirstPage, withOlderPage } from "../model/log";
import { text } from "../text";
import type { SessionState } from "./session_state";

const PAGE_SIZE = 100;

export class LogReader {
    /** The branches of the page that is held. */
    private branches = "";
    /** Answers to requests that were made before the page was read again do not count. */
    private generation = 0;
    private newest: Promise<boolean> = Promise.resolve(true);
    private older: Promise<void> | null = null;
    private nChecks = 0;
    private isChecking = false;

    constructor(
        private readonly id: string,
        private readonly state: () => SessionState,
        private readonly change: (part: Partial<SessionState>) => void,
        /** Called after the newest page was read. */
        private readonly onRead: () => void,
    ) {}

    /**
     * False if the page was superseded by that of a later call, which is then held, too. Throws if the page, or the one
     * that superseded it, cannot be read.
     */
    readNewest(): Promise<boolean> {
        this.generation += 1;
        this.newest = this.readPage(this.generation);
        return this.newest;
    }

    /** Live events wait for the page. Throws if it cannot be read; the log is then as it was, and goes on. */
    async reread(): Promise<void> {
        this.change({ log: reopened(this.state().log) });
        try {
            await this.readNewest();
        } catch (cause) {
            this.change({ log: settled(this.state().log) });
            throw cause;
        }
    }

    /** Reads the page again if a step back was made. After a failure the next sign leads here again. */
    async check(): Promise<void> {
        this.nChecks += 1;
        if (this.isChecking) return;
        this.isChecking = true;
        let nSeen: number;
        do {
            nSeen = this.nChecks;
            await this.checkOnce().catch(() => undefined);
        } while (nSeen !== this.nChecks);
        this.isChecking = false;
    }

    loadOlder(): Promise<void> {
        this.older ??= this.readOlder().finally(() => { this.older = null; });
        return this.older;
    }

    /** The event before one that is held; null: it is the first. Throws if it cannot be read, or is not held. */
    async predecessorOf(eventId: string): Promise<string | null> {
        for (;;) {
            const { log } = this.state();
            const at = log.events.findIndex((event) => event.id === eventId);
            if (at < 0) throw new Error(text.edit.gone);
            const before = log.events[at - 1];
            if (before !== undefined) return before.id;
            if (log.olderPageId === null) return null;
            await this.readMore();
        }
    }

    /** Whether an event is on the path; it is held then. Throws if that cannot be read. */
    async find(eventId: string): Promise<boolean> {
        const { items } = await fetchEventsBackwards(this.id, 1, eventId);
        if (items[0]?.id !== eventId) return false;
        for (;;) {
            const { log } = this.state();
            if (log.events.some((event) => event.id === eventId)) return true;
            if (log.olderPageId === null) return false;
            await this.readMore();
        }
    }

    /** Throws if the older page cannot be read. */
    private async readMore(): Promise<void> {
        if (this.state().load !== "ready") throw new Error(text.conversation.olderFailed);
        await this.loadOlder();
        const { olderError } = this.state();
        if (olderError !== null) throw new Error(olderError);
    }

    private async readPage(mine: number): Promise<boolean> {
        try {
            const branches = await this.readBranches();
            const page = await fetchEventsBackwards(this.id, PAGE_SIZE, null);
            if (mine === this.generation) {
                this.branches = branches;
                this.change({ log: withFirstPage(this.state().log, page) });
                this.onRead();
                return true;
            }
        } catch (cause) {
            if (mine === this.generation) throw cause;
        }
        await this.newest;
        return false;
    }

    private async readBranches(): Promise<string> {
        const branches = await fetchBranches(this.id);
        /* Only the last one's first event is still to come. Of more than 1000 with the same parent, only these differ. */
        const firsts = branches.slice(0, -1).map((branch) => branch.first_event_id);
        return JSON.stringify([branches.map((branch) => branch.parent_event_id), firsts]);
    }

    private async checkOnce(): Promise<void> {
        if (this.state().load !== "ready") return;
        if ((await this.readBranches()) !== this.branches) await this.reread();
    }

    private async readOlder(): Promise<void> {
        const { log, load } = this.state();
        if (log.olderPageId === null || load !== "ready") return;
        const mine = this.generation;
        this.change({ isLoadingOlder: true, olderError: null });
        try {
            const page = await fetchEventsBackwards(this.id, PAGE_SIZE, log.olderPageId);
            if (mine === this.generation) this.change({ log: withOlderPage(this.state().log, page) });
        } catch (cause) {
            this.change({ olderError: messageOf(cause) });
        }
        this.change({ isLoadingOlder: false });
    }
}
