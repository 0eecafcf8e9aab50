/* Every sentence the page says, in one place. */
import type { ExecutionStatus } from "./api/wire";
import type { TroubleKind } from "./model/trouble";

function count(n: number, one: string, many: string): string {
    return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}

const STATUS_WORDS: Readonly<Record<number, string>> = {
    400: "The server could not make sense of this request.",
    403: "You may not do this.",
    404: "This is not there, or not any more.",
    409: "Something else got there first. Try again.",
    413: "This is too large for the server.",
    429: "The server has too much to do right now. Try again in a moment.",
    502: "A part of deft is not answering. Try again in a moment.",
    503: "A part of deft is not answering. Try again in a moment.",
    504: "The server took too long. Try again in a moment.",
};

export interface TroubleWords {
    title: string;
    advice: string;
    /** Where the conversation chose its model itself, so that deft's settings are not what is wrong. */
    adviceOwn?: string;
}

const RESTART = "restart deft, then try again.";
const OWN_MODEL = "This conversation brought its own model.";

const TROUBLES: Readonly<Record<TroubleKind, TroubleWords>> = {
    keyRefused: {
        title: "The model refused the API key",
        advice: `Check LLM_API_KEY in deft's settings (and LLM_MODEL, which says whose key it is), ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Give it a key that is valid, or choose another model or profile for it.`,
    },
    accountEmpty: {
        title: "The account at the model's provider has run out",
        advice: "Waiting does not help. Add credit or raise the limit at the provider, then try again; or use another model.",
    },
    askedTooOften: {
        title: "The model is asked too often",
        advice: "The provider limits how much it answers in a time. Wait a little, or as long as it says below, then try again.",
    },
    addressRefused: {
        title: "deft may not call the model's address",
        advice: `Private addresses are for deft's own settings only. Check LLM_BASE_URL, ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Its base URL leads to an address that conversations may not reach: use a public one.`,
    },
    addressBad: {
        title: "The model's address is no URL",
        advice: `Check LLM_BASE_URL in deft's settings, ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Correct its base URL.`,
    },
    apiUnsupported: {
        title: "deft does not speak this model's API",
        advice: "It speaks the Chat Completions API, not the Responses API: set api_mode to auto or chat.",
    },
    requestRefused: {
        title: "The model did not accept the request",
        advice: "The provider says why below. Asking again without a change brings the same answer.",
    },
    modelUnknown: {
        title: "The provider does not know this model",
        advice: `Check the name in LLM_MODEL, and LLM_BASE_URL where it is set, ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Check its name, its base URL, and whether its key may use it.`,
    },
    scriptUnknown: {
        title: "There is no such scripted model",
        advice: "scripted/hello is one that there is.",
    },
    contextFull: {
        title: "The conversation has outgrown the model",
        advice: "It no longer fits into the model's context window. Start a new conversation and say where to go on.",
    },
    contentRefused: {
        title: "The model's provider refused the content",
        advice: "Its rules do not allow what was asked or read. Say it in another way, or start a new conversation.",
    },
    historyRefused: {
        title: "The model did not accept the history",
        advice: "Start a new conversation and say where to go on.",
    },
    nameUnknown: {
        title: "The model's host name is not known",
        advice: `Check the spelling in LLM_BASE_URL and the name server of deft's machine, ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Check the spelling of its base URL, then the name server of deft's machine.`,
    },
    nothingListens: {
        title: "Nothing answers at the model's address",
        advice: "Start the model's server, or check host and port in LLM_BASE_URL; then try again.",
        adviceOwn: `${OWN_MODEL} Start its server, or correct host and port of its base URL.`,
    },
    certificate: {
        title: "The connection to the model is not secure",
        advice: "Its certificate is not one that deft's machine trusts. The reason stands below.",
    },
    serverDown: {
        title: "The model's server has a fault",
        advice: "The provider is down or overloaded, or the network broke off. Nothing is lost; try again later.",
    },
    timeout: {
        title: "The model took too long",
        advice: "Nothing is lost; try again. A model that always needs longer needs a longer timeout.",
    },
    noAnswer: { title: "The model answered with nothing", advice: "Nothing is lost; try again." },
    webPage: {
        title: "The model's address answers with a web page",
        advice: `It is probably not the API's. Check LLM_BASE_URL in deft's settings, ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Its base URL is probably not the API's: correct it.`,
    },
    iterations: {
        title: "The agent used up its steps",
        advice: "It was told to stop after a number of steps. Send a message to let it go on.",
    },
    budget: {
        title: "The budget is used up",
        advice: "This conversation has cost as much as it may.",
    },
    other: {
        title: "The run ended in an error",
        advice: "What happened before is kept. Try again, or send a message.",
    },
};

export const text = {
    appName: "deft",
    skipToContent: "Skip to content",

    actions: {
        cancel: "Cancel",
        copied: "Copied",
        delete: "Delete",
        dismiss: "Dismiss",
        newConversation: "New conversation",
        retry: "Try again",
        rename: "Rename",
        send: "Send",
        signOut: "Sign out",
    },

    errors: {
        status: (status: number) => STATUS_WORDS[status] ?? `The server failed (status ${status}). Try again.`,
        timeout: "The server did not answer in time.",
        unreachable: "The server cannot be reached.",
        crashTitle: "This page tripped over itself",
        crashAdvice: "Nothing on the server is affected. Load the page again to go on.",
        reload: "Load again",
    },

    signIn: {
        working: "Signing you in…",
        badTitle: "This link no longer works",
        badAdvice: "Sign-in links work once, and not for long. Make a new one on the machine deft runs on:",
        limitedTitle: "Too many wrong sign-in links",
        limitedAdvice:
            "Your network's address sent too many links that do not work, this one among them. Wait a minute and try " +
            "again, or open a new link: one that works is always taken.",
        failedTitle: "Signing in failed",
        otherTitle: "Another user is signed in",
        otherAdvice: (present: string, owner: string) =>
            `This browser is signed in as ${present}, and the link is for ${owner}. Open it only if you asked for it: whatever you do next is done as ${owner}.`,
        replace: (owner: string) => `Sign in as ${owner}`,
        stay: (present: string) => `Stay ${present}`,
        outTitle: "You are signed out",
        outAdvice: "deft signs you in by a link. Make one on the machine it runs on, then open it here:",
        command: "./deft link",
        unreachableTitle: "deft cannot be reached",
        unreachableAdvice: "Is it running? On its machine, this starts it:",
        upCommand: "./deft up",
    },

    loading: "Loading…",

    home: {
        heading: "What shall be done?",
        lead: "An agent takes the task into a sandbox of its own and works on it. You watch, and step in when you like.",
        placeholder: "Describe a task",
        label: "Task for the agent",
        starting: "Starting…",
        failed: (reason: string) => `The conversation was not started. ${reason}`,
        model: "Model",
        examplesLabel: "Some first tasks",
        examples: [
            "Write a small Python program that prints the first twenty primes, and run it",
            "Show me what tools this sandbox has: compilers, interpreters, versions",
            "Make a static web page about tea in /workspace/project, with some taste",
        ],
        keysHint: "Enter sends, Shift+Enter makes a new line",
    },

    scripted: {
        title: "A scripted model is playing.",
        body: "No language model is set up, so every conversation plays the same small real task. To bring a real one, set",
        and: "and",
        short: "A real one comes with",
        settings: ["LLM_MODEL", "LLM_API_KEY"],
        tail: "in deft's environment and run",
        command: "./deft up",
    },

    secrets: {
        title: "Secrets",
        lead: "Values that are stored for you, by their names. Sandboxes that you asked for by the app API may read them with their own keys; each reading is on record here.",
        none: "No secrets are stored. A client stores them: Agent Canvas under its settings, or PUT /api/settings/secrets of the agent API.",
        neverRead: "No sandbox has read it.",
        lastRead: "Last read by sandbox",
        reads: "Read by sandboxes",
        readsLead: "The latest first. The record stays when a secret or a sandbox is deleted.",
        noReads: "No sandbox has read a secret.",
        readBy: "by sandbox",
        more: "Show earlier",
        failed: (reason: string) => `The record could not be loaded. ${reason}`,
    },

    list: {
        label: "Conversations",
        empty: "No conversations yet. The first one begins with a task.",
        failed: "The list could not be loaded.",
        stale: "The list could not be refreshed.",
        more: "Show more",
        untitled: "Untitled",
        ages: { today: "Today", yesterday: "Yesterday", week: "This week", older: "Earlier" },
    },

    status: {
        idle: "Ready",
        running: "Working",
        paused: "Paused",
        waiting_for_confirmation: "Waiting for you",
        finished: "Finished",
        error: "Stopped by an error",
        stuck: "Stuck",
        deleting: "Being deleted",
    } satisfies Record<ExecutionStatus, string>,

    statusHint: {
        idle: "",
        running: "",
        paused: "The agent rests. Resume it, or send a message.",
        waiting_for_confirmation: "Approve, or reject. What you write rejects, too, and is read.",
        finished: "",
        error: "The cause stands above. Try again, or send a message.",
        stuck: "The agent repeats itself. A message from you may get it going.",
        deleting: "",
    } satisfies Record<ExecutionStatus, string>,

    controls: {
        label: "Control of the run",
        pause: "Pause",
        pausing: "Pausing after this step…",
        stop: "Stop",
        stopping: "Stopping…",
        resume: "Resume",
        retry: "Try again",
        starting: "Starting…",
        failed: (reason: string) => `That did not work. ${reason}`,
    },

    link: {
        connecting: "Connecting…",
        waiting: "No connection. Trying again…",
        reconnect: "Connect now",
    },

    conversation: {
        loading: "Loading the conversation…",
        goneTitle: "No such conversation",
        goneAdvice: "It was deleted, or the address is wrong.",
        failedTitle: "The conversation could not be loaded",
        home: "To the start",
        back: "Back to all conversations",
        empty: "Nothing has happened yet.",
        older: "Load earlier",
        loadingOlder: "Loading earlier events…",
        olderFailed: "Earlier events could not be loaded.",
        beginning: "The beginning",
        toEnd: "To the end",
        timeline: "Timeline",
        composer: "Message to the agent",
        placeholder: "Say something to the agent",
        placeholderRunning: "Say something for its next step",
        titleLabel: "Title",
        renameFailed: (reason: string) => `The title was not changed. ${reason}`,
        previews: "Served in the sandbox",
        preview: (port: number) => `Port ${port}`,
        refusals: "Refused on the network",
        refusal: (place: string, count: number) => (count === 1 ? place : `${place} (${count} times)`),
        cost: "Cost so far",
        costAtLeast: (cost: string) => `at least ${cost}`,
        costTiny: "less than $0.0001",
        costUnknown: "cost unknown",
        costNone: "no cost",
        tokens: (n: string) => `${n} tokens`,
    },

    remove: {
        title: "Delete this conversation?",
        body: (title: string) => `“${title}”, its history and its sandbox with all files in it will be gone.`,
        failed: (reason: string) => `It was not deleted. ${reason}`,
        working: "Deleting…",
    },

    confirmation: {
        label: "Actions that wait for your decision",
        title: (n: number) => (n === 1 ? "The agent wants to do this" : `The agent wants to do these ${n} things`),
        approve: "Approve",
        reject: "Reject",
        placeholder: "Why not, or what to do instead",
        send: "Reject with this reason",
        unseen: "A character that does not show, by its code point",
    },

    outbox: {
        sending: "Sending…",
        sent: "Sent. It will show here once the connection is back.",
        failed: (reason: string) => `Not sent. ${reason}`,
        unconfirmed: "The page was left before the server confirmed it.",
        discard: "Discard",
        resend: "Send again",
        resendAsReason: "Reject with this",
    },

    cards: {
        you: "You",
        agent: "Agent",
        environment: "deft, to the agent",
        thinking: "Thinking",
        finished: "Done",
        running: "running",
        waiting: "waiting for you",
        open: "not run",
        failed: "failed",
        stopped: "stopped by you",
        rejected: "rejected",
        rejectedBecause: (reason: string) => `Rejected: ${reason}`,
        ok: "done",
        exit: (code: number) => `exit ${code}`,
        stillRunning: "still running",
        timedOut: "timed out",
        noOutput: "no output",
        showAll: (nLines: number) => `Show all ${count(nLines, "line", "lines")}`,
        showMore: (n: number, nAll: number) => `Show ${n.toLocaleString()} more of ${count(nAll, "line", "lines")}`,
        showLess: "Show less",
        show: "Show",
        hide: "Hide",
        input: "input",
        resetShell: "Restart the shell",
        shell: "Shell command",
        hiddenLines: (n: number) => count(n, "unchanged line", "unchanged lines"),
        risk: { MEDIUM: "medium risk", HIGH: "high risk" } as Readonly<Record<string, string>>,
        noChange: "The file is as it was.",
        unreadableCall: "The agent's call could not be read:",
        arguments: "Asked",
        result: "Result",
        image: "Image from the conversation",
        added: (n: number) => `${n} added`,
        removed: (n: number) => `${n} removed`,
        unknown: "Event of a kind this page does not know",
    },

    fileVerbs: {
        view: "Read",
        create: "Wrote",
        str_replace: "Edited",
        insert: "Edited",
        undo_edit: "Undid an edit of",
    } as Readonly<Record<string, string>>,
    fileVerbsOpen: {
        view: "Reads",
        create: "Writes",
        str_replace: "Edits",
        insert: "Edits",
        undo_edit: "Undoes an edit of",
    } as Readonly<Record<string, string>>,
    fileFallback: "File",

    tasks: {
        planned: "Plan",
        empty: "The plan is empty.",
        progress: (nDone: number, nAll: number) => `${nDone} of ${nAll} done`,
        states: { todo: "to do", in_progress: "in progress", done: "done" } as Readonly<Record<string, string>>,
    },

    notes: {
        paused: "Paused by you",
        stopped: "Stopped by you",
        condensed: "Earlier history was condensed for the model",
    },

    troubles: TROUBLES,
    modelWait: {
        failed: "The model did not answer.",
        tryingAt: (time: string, attempt: number, attempts: number) => `Next attempt at ${time} (${attempt} of ${attempts}).`,
        tryingNow: (attempt: number, attempts: number) => `Trying again now (${attempt} of ${attempts}).`,
        silent: (seconds: number) => `No word from the model for more than ${seconds} seconds. Still waiting; Stop ends the wait.`,
    },
    troubleDetail: "What the server says",

    theme: {
        label: (theme: string) => `Colours: ${theme}. Change`,
        system: "as the system",
        light: "light",
        dark: "dark",
    } as const,

    unknownPage: {
        title: "There is nothing here",
        advice: "The address does not belong to deft.",
    },

    code: { copyLabel: "Copy this code" },
} as const;
