/* All texts of the page. */
import type { ExecutionStatus } from "./api/wire";
import type { TroubleKind } from "./model/trouble";

function count(n: number, one: string, many: string): string {
    return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}

/** A number that a tool reports may have any size. */
function amount(n: number): string {
    return Math.abs(n) < 1e15 ? n.toLocaleString(undefined, { maximumFractionDigits: 2 }) : n.toPrecision(3);
}

const STATUS_WORDS: Readonly<Record<number, string>> = {
    400: "The server did not understand the request.",
    403: "You do not have permission to do this.",
    404: "Not found. It may have been deleted.",
    409: "The request conflicts with another change. Try again.",
    413: "The request is too large.",
    429: "Too many requests. Try again in a moment.",
    502: "A part of deft is not answering. Try again in a moment.",
    503: "A part of deft is not answering. Try again in a moment.",
    504: "The server took too long to answer. Try again in a moment.",
};

export interface TroubleWords {
    title: string;
    advice: string;
    /** Used when the conversation chose its own model, so that deft's settings are not the cause. */
    adviceOwn?: string;
}

const RESTART = "restart deft, then try again.";
const OWN_MODEL = "This conversation uses its own model.";

const TROUBLES: Readonly<Record<TroubleKind, TroubleWords>> = {
    keyRefused: {
        title: "The model's provider rejected the API key",
        advice: `Check LLM_API_KEY in deft's settings (and LLM_MODEL, which selects the provider), ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Set a valid API key for it, or choose another model or profile.`,
    },
    accountEmpty: {
        title: "The account at the model's provider has no credit left",
        advice: "Waiting does not help. Add credit or raise the limit at the provider and try again, or use another model.",
    },
    askedTooOften: {
        title: "The model's provider limits the request rate",
        advice: "Wait a moment, or as long as the message below says, then try again.",
    },
    addressRefused: {
        title: "deft is not allowed to call the model's address",
        advice: `Private addresses are allowed in deft's own settings only. Check LLM_BASE_URL, ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Its base URL leads to a private address: use a public one.`,
    },
    addressBad: {
        title: "The model's base URL is invalid",
        advice: `Check LLM_BASE_URL in deft's settings, ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Correct its base URL.`,
    },
    apiUnsupported: {
        title: "deft does not support this model's API",
        advice: "deft supports the Chat Completions API, not the Responses API: set api_mode to auto or chat.",
    },
    requestRefused: {
        title: "The model's provider rejected the request",
        advice: "See the provider's message below. The same request would be rejected again.",
    },
    modelUnknown: {
        title: "The provider does not know this model",
        advice: `Check LLM_MODEL, and LLM_BASE_URL if it is set, ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Check its name, its base URL, and whether its API key has access to it.`,
    },
    scriptUnknown: {
        title: "This scripted model does not exist",
        advice: "Use another one, such as scripted/hello.",
    },
    contextFull: {
        title: "The conversation is too long for the model",
        advice: "It exceeds the model's context window. Start a new conversation and describe where to continue.",
    },
    contentRefused: {
        title: "The model's provider refused the content",
        advice: "The provider's content policy was violated. Rephrase the message, or start a new conversation.",
    },
    historyRefused: {
        title: "The model's provider rejected the history",
        advice: "Start a new conversation and describe where to continue.",
    },
    nameUnknown: {
        title: "The model's host name cannot be resolved",
        advice: `Check LLM_BASE_URL and the DNS settings of deft's host, ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Check its base URL, then the DNS settings of deft's host.`,
    },
    nothingListens: {
        title: "deft cannot connect to the model's server",
        advice: "Start the model's server, or correct the host and port in LLM_BASE_URL, then try again.",
        adviceOwn: `${OWN_MODEL} Start its server, or correct the host and port in its base URL.`,
    },
    certificate: {
        title: "The model's certificate is not trusted",
        advice: "deft's host does not trust the certificate. See the message below.",
    },
    serverDown: {
        title: "The model's server failed",
        advice: "The provider is down or overloaded, or the connection was lost. No work is lost; try again later.",
    },
    timeout: {
        title: "The model took too long",
        advice: "No work is lost; try again. If this happens regularly, set a longer timeout for the model.",
    },
    noAnswer: { title: "The model's answer was empty", advice: "No work is lost; try again." },
    webPage: {
        title: "The model's address returned a web page",
        advice: `The base URL is probably not that of an API. Check LLM_BASE_URL in deft's settings, ${RESTART}`,
        adviceOwn: `${OWN_MODEL} Its base URL is probably not that of an API: correct it.`,
    },
    iterations: {
        title: "The agent reached its step limit",
        advice: "Send a message to let it continue.",
    },
    priceUnknown: {
        title: "The cost of the model is unknown",
        advice: "This conversation has a budget, which cannot be kept without the model's price. Give the model its prices per token, or remove the budget.",
    },
    budget: {
        title: "The budget is used up",
        advice: "This conversation has reached its cost limit. Raise its budget through the API and run it again to let the agent continue.",
    },
    other: {
        title: "The run failed",
        advice: "All results so far are stored. Try again, or send a message.",
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
        unreachable: "The server is not reachable.",
        crashTitle: "The page has failed",
        crashAdvice: "The server is not affected. Reload the page to continue.",
        reload: "Reload",
    },

    signIn: {
        working: "Signing you in…",
        badTitle: "This sign-in link is not valid",
        badAdvice: "A sign-in link can be used once, within a day. Create a new one on deft's host:",
        limitedTitle: "Too many invalid sign-in links",
        limitedAdvice:
            "Too many invalid links were opened from your network address, including this one. Wait a minute and try " +
            "again, or open a new link: a valid link always works.",
        failedTitle: "Sign-in failed",
        otherTitle: "Another user is signed in",
        otherAdvice: (present: string, owner: string) =>
            `This browser is signed in as ${present}, and the link is for ${owner}. Continue only if you requested this link: all further actions are done as ${owner}.`,
        replace: (owner: string) => `Sign in as ${owner}`,
        stay: (present: string) => `Stay signed in as ${present}`,
        outTitle: "You are signed out",
        outAdvice: "You sign in with a link. Create one on deft's host, then open it in this browser:",
        command: "./deft link",
        unreachableTitle: "deft is not reachable",
        unreachableAdvice: "If it is not running, start it on its host:",
        upCommand: "./deft up",
    },

    loading: "Loading…",

    home: {
        heading: "What should deft work on?",
        lead: "An agent works on your task in its own sandbox. You see every step and can intervene at any time.",
        placeholder: "Describe a task",
        label: "Task for the agent",
        starting: "Starting…",
        failed: (reason: string) => `The conversation was not started. ${reason}`,
        model: "Model",
        examplesLabel: "Example tasks",
        examples: [
            "Write a small Python program that prints the first twenty primes, and run it",
            "List the compilers and interpreters of this sandbox, with versions",
            "Create a well-designed static web page about tea in /workspace/project",
        ],
        keysHint: "Enter to send, Shift+Enter for a new line",
    },

    scripted: {
        title: "A scripted model is in use.",
        body: "No language model is configured, so every conversation performs the same small task. To use a real model, set",
        and: "and",
        short: "To use a real model, set",
        settings: ["LLM_MODEL", "LLM_API_KEY"],
        tail: "in deft's environment and run",
        command: "./deft up",
    },

    secrets: {
        title: "Secrets",
        lead: "The secrets stored for you, by name. Sandboxes that you created with the app API can read them with their own keys; every read is logged below.",
        none: "No secrets are stored. Add them with a client: in the settings of Agent Canvas, or with PUT /api/settings/secrets of the agent API.",
        neverRead: "Never read by a sandbox",
        lastRead: "Last read by sandbox",
        reads: "Access log",
        readsLead: "Newest first. Entries are kept when a secret or a sandbox is deleted.",
        noReads: "No sandbox has read a secret.",
        readBy: "by sandbox",
        more: "Show older",
        failed: (reason: string) => `The access log could not be loaded. ${reason}`,
    },

    list: {
        label: "Conversations",
        empty: "No conversations yet. Describe a task to start one.",
        failed: "The list could not be loaded.",
        stale: "The list could not be refreshed.",
        more: "Show more",
        untitled: "Untitled",
        ages: { today: "Today", yesterday: "Yesterday", week: "This week", older: "Older" },
    },

    status: {
        idle: "Ready",
        running: "Working",
        paused: "Paused",
        waiting_for_confirmation: "Waiting for you",
        finished: "Finished",
        error: "Failed",
        stuck: "Stuck",
        deleting: "Deleting",
    } satisfies Record<ExecutionStatus, string>,

    statusHint: {
        idle: "",
        running: "",
        paused: "Resume the agent, or send a message.",
        waiting_for_confirmation: "Approve or reject. A message rejects the actions and tells the agent why.",
        finished: "",
        error: "See the cause above. Try again, or send a message.",
        stuck: "The agent is repeating itself. A message from you may help.",
        deleting: "",
    } satisfies Record<ExecutionStatus, string>,

    controls: {
        label: "Run controls",
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
        waiting: "Disconnected. Reconnecting…",
        reconnect: "Reconnect now",
    },

    conversation: {
        loading: "Loading the conversation…",
        goneTitle: "Conversation not found",
        goneAdvice: "It was deleted, or the address is wrong.",
        failedTitle: "The conversation could not be loaded",
        home: "Go to the start page",
        back: "Back to all conversations",
        empty: "No events yet.",
        older: "Load older events",
        loadingOlder: "Loading older events…",
        olderFailed: "Older events could not be loaded.",
        beginning: "Start of the conversation",
        toEnd: "Jump to the end",
        timeline: "Timeline",
        composer: "Message to the agent",
        placeholder: "Send a message to the agent",
        placeholderRunning: "Message for the next step",
        titleLabel: "Title",
        renameFailed: (reason: string) => `The title was not changed. ${reason}`,
        previews: "Previews",
        preview: (port: number) => `Port ${port}`,
        refusals: "Refused connections",
        refusal: (place: string, count: number) => (count === 1 ? place : `${place} (${count} times)`),
        workspaceServers: "The workspace names MCP servers, which the agent does not use yet",
        serverGets: (names: string) => `It gets values for ${names}`,
        serverSecrets: (names: string) => `It gets your secrets ${names}`,
        allowServer: "Let the agent use it",
        notNow: "Not now",
        allowFailed: (reason: string) => `The server was not allowed. ${reason}`,
        cost: "Cost so far",
        costAtLeast: (cost: string) => `at least ${cost}`,
        costTiny: "less than $0.0001",
        costUnknown: "cost unknown",
        costNone: "no cost",
        tokens: (n: string) => `${n} tokens`,
    },

    remove: {
        title: "Delete this conversation?",
        body: (title: string) => `“${title}”, its history, and its sandbox with all files will be deleted.`,
        failed: (reason: string) => `The conversation was not deleted. ${reason}`,
        working: "Deleting…",
    },

    confirmation: {
        label: "Actions waiting for approval",
        title: (n: number) => (n === 1 ? "The agent asks to run this action" : `The agent asks to run these ${n} actions`),
        approve: "Approve",
        reject: "Reject",
        placeholder: "Reason, or what to do instead",
        send: "Reject with this reason",
        guard: "Security analyzer",
        unseen: "Invisible character, shown by its code point",
    },

    outbox: {
        sending: "Sending…",
        sent: "Sent. It will appear when the connection is back.",
        failed: (reason: string) => `Not sent. ${reason}`,
        unconfirmed: "The page was closed before the server confirmed the message.",
        discard: "Discard",
        resend: "Send again",
        resendAsReason: "Send as rejection",
    },

    edit: {
        open: "Edit",
        openLabel: "Edit this message",
        noImages: "Messages with images cannot be edited",
        label: "Edited message",
        advice: "The conversation continues from here; what followed is left out.",
        working: "The agent is working. Stop it to send this.",
        sending: "Sending…",
        otherMessage: "Another message arrived while you were editing. It will be left out if you send this. Send again to do so.",
        gone: "The message that you edited is no longer part of the conversation.",
        other: "You began to edit another message.",
        failed: (reason: string) => `Not sent. ${reason}`,
    },

    branch: {
        open: "Branch from here",
        title: "Branch from here",
        body: "A new conversation begins with a copy of everything up to here. This one stays as it is.",
        named: (title: string) => `${title} (branch)`,
        make: "Create branch",
        working: "Creating…",
        failed: (reason: string) => `The branch was not created. ${reason}`,
    },

    files: {
        restore: "Restore the files of that time",
        asking: "Looking for the files of that time…",
        replaced: "Later changes to files are undone before the agent continues. Other conversations in the same sandbox see that, too.",
        unchanged: "No files have changed since then.",
        copied: "The branch gets a sandbox of its own with these files. Otherwise it shares this sandbox, or starts without files if this conversation has one of its own.",
        missing: (reason: string | null) => `The files of that time cannot be restored${reason === null ? "" : `: ${reason}`}.`,
        unknown: (reason: string) => `Whether they can be restored is not known. ${reason}`,
    },

    cards: {
        you: "You",
        agent: "Agent",
        environment: "deft to the agent",
        thinking: "Thinking",
        finished: "Done",
        running: "running",
        progress: "Progress of the call",
        doneOf: (done: number, total: number) => `${amount(done)} of ${amount(total)}`,
        doneSoFar: (done: number) => `${amount(done)} so far`,
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
        noChange: "The file is unchanged.",
        unreadableCall: "The agent's tool call could not be parsed:",
        arguments: "Arguments",
        result: "Result",
        image: "Image from the conversation",
        added: (n: number) => `${n} added`,
        removed: (n: number) => `${n} removed`,
        unknown: "Unknown event type",
    },

    fileVerbs: {
        view: "Read",
        create: "Wrote",
        str_replace: "Edited",
        insert: "Edited",
        undo_edit: "Undid an edit of",
    } as Readonly<Record<string, string>>,
    fileVerbsOpen: {
        view: "Reading",
        create: "Writing",
        str_replace: "Editing",
        insert: "Editing",
        undo_edit: "Undoing an edit of",
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
        condensed: "Earlier history was summarized for the model",
        hookBlocked: "Blocked by a hook",
        hookFailed: "A hook failed",
        hookAdded: "A hook added text for the model",
        guardFailed: "The security analyzer could not tell the risk",
    },

    troubles: TROUBLES,
    modelWait: {
        failed: "The model did not answer.",
        outage: "The model's server is out of order.",
        askingAt: (time: string, until: string) => `The run waits: next attempt at ${time}, last one at ${until}. A message asks it at once.`,
        askingNow: (until: string) => `Trying again now; last attempt at ${until}.`,
        tryingAt: (time: string, attempt: number, attempts: number) => `Next attempt at ${time} (${attempt} of ${attempts}).`,
        tryingNow: (attempt: number, attempts: number) => `Trying again now (${attempt} of ${attempts}).`,
        silent: (seconds: number) => `No response from the model for more than ${seconds} seconds. Select Stop to end the run.`,
    },
    troubleDetail: "Error message",

    theme: {
        label: (theme: string) => `Theme: ${theme}. Change`,
        system: "system",
        light: "light",
        dark: "dark",
    } as const,

    unknownPage: {
        title: "Page not found",
        advice: "deft has no page at this address.",
    },

    code: { copyLabel: "Copy this code" },
} as const;
