import { useCallback, useEffect, useState } from "react";
import { messageOf } from "../api/http";
import {
    type Secret,
    type SecretRead,
    type SecretReadPage,
    fetchLatestReads,
    fetchSecretReads,
    fetchSecrets,
} from "../api/secrets";
import { fullTime } from "../model/time";
import { Banner } from "../parts/Banner";
import { Icon } from "../parts/Icon";
import { go } from "../state/route";
import { text } from "../text";

const PAGE_SIZE = 20;

interface Shown {
    secrets: readonly Secret[];
    latest: ReadonlyMap<string, SecretRead>;
    reads: SecretReadPage;
}

async function fetchShown(): Promise<Shown> {
    const [secrets, latest, reads] = await Promise.all([fetchSecrets(), fetchLatestReads(), fetchSecretReads(PAGE_SIZE, null)]);
    return { secrets, latest: new Map(latest.map((read) => [read.name, read])), reads };
}

function Time({ of }: { of: string }) {
    return <time dateTime={of}>{fullTime(of)}</time>;
}

function SecretRow({ secret, last }: { secret: Secret; last: SecretRead | undefined }) {
    return (
        <li className="record-row" data-testid="secret">
            <code>{secret.name}</code>
            {secret.description !== null && secret.description !== "" && <span>{secret.description}</span>}
            <span className="record-aside">
                {last === undefined ? (
                    text.secrets.neverRead
                ) : (
                    <>
                        {text.secrets.lastRead} <code>{last.sandbox_id}</code>, <Time of={last.read_at} />
                    </>
                )}
            </span>
        </li>
    );
}

function ReadList({ reads, error, isLoading, onMore }: {
    reads: SecretReadPage;
    error: string | null;
    isLoading: boolean;
    onMore: () => void;
}) {
    if (reads.items.length === 0) return <p className="record-words">{text.secrets.noReads}</p>;
    return (
        <>
            <ul className="record" aria-label={text.secrets.reads}>
                {reads.items.map((read) => (
                    <li key={read.id} className="record-row" data-testid="secret-read">
                        <code>{read.name}</code>
                        <span className="record-aside">
                            {text.secrets.readBy} <code>{read.sandbox_id}</code>, <Time of={read.read_at} />
                        </span>
                    </li>
                ))}
            </ul>
            {error !== null && <Banner tone="danger">{text.secrets.failed(error)}</Banner>}
            {reads.next_page_id !== null && (
                <button type="button" className="button button-small" disabled={isLoading} onClick={onMore}>
                    {isLoading ? text.loading : text.secrets.more}
                </button>
            )}
        </>
    );
}

function Content({ shown, onReads }: { shown: Shown; onReads: (reads: SecretReadPage) => void }) {
    const [isLoading, setIsLoading] = useState(false);
    const [error, setError] = useState<string | null>(null);
    const { secrets, latest, reads } = shown;

    const loadMore = async () => {
        setIsLoading(true);
        setError(null);
        try {
            const page = await fetchSecretReads(PAGE_SIZE, reads.next_page_id);
            onReads({ items: [...reads.items, ...page.items], next_page_id: page.next_page_id });
        } catch (cause) {
            setError(messageOf(cause));
        }
        setIsLoading(false);
    };

    return (
        <>
            {secrets.length === 0 && <p className="record-words">{text.secrets.none}</p>}
            {secrets.length > 0 && (
                <ul className="record" aria-label={text.secrets.title}>
                    {secrets.map((secret) => (
                        <SecretRow key={secret.name} secret={secret} last={latest.get(secret.name)} />
                    ))}
                </ul>
            )}
            <h2>{text.secrets.reads}</h2>
            <p className="record-words">{text.secrets.readsLead}</p>
            <ReadList reads={reads} error={error} isLoading={isLoading} onMore={() => { void loadMore(); }} />
        </>
    );
}

/** The stored secrets by name, and every reading of one by a sandbox. */
export function SecretsScreen() {
    const [shown, setShown] = useState<Shown | null>(null);
    const [error, setError] = useState<string | null>(null);

    const load = useCallback(() => {
        setError(null);
        fetchShown().then(setShown, (cause: unknown) => { setError(messageOf(cause)); });
    }, []);
    useEffect(load, [load]);
    useEffect(() => {
        document.title = `${text.secrets.title} · ${text.appName}`;
        return () => { document.title = text.appName; };
    }, []);

    return (
        <main className="settings" id="content" tabIndex={-1} data-testid="secrets-screen">
            <div className="settings-inner">
                <header className="settings-head">
                    <button
                        type="button"
                        className="icon-button only-narrow"
                        aria-label={text.conversation.back}
                        title={text.conversation.back}
                        onClick={() => { go("/"); }}
                    >
                        <Icon name="back" />
                    </button>
                    <h1>{text.secrets.title}</h1>
                </header>
                <p className="record-words">{text.secrets.lead}</p>
                {error !== null && (
                    <Banner
                        tone="danger"
                        action={
                            <button type="button" className="link-button" onClick={load}>
                                {text.actions.retry}
                            </button>
                        }
                    >
                        {text.secrets.failed(error)}
                    </Banner>
                )}
                {shown === null && error === null && <div className="skeleton" role="status" aria-label={text.loading} />}
                {shown !== null && <Content shown={shown} onReads={(reads) => { setShown({ ...shown, reads }); }} />}
            </div>
        </main>
    );
}
