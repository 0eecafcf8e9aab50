import { type RefObject, useRef, useState } from "react";
import { createConversation } from "../api/conversations";
import { messageOf } from "../api/http";
import type { Me } from "../api/wire";
import { Banner } from "../parts/Banner";
import { Composer, type ComposerHandle } from "../parts/Composer";
import { ScriptedBanner } from "../parts/ScriptedBanner";
import { refreshConversations } from "../state/conversation_list";
import { newId } from "../state/ids";
import { go, pathOf } from "../state/route";
import { NEW_CONVERSATION, saveDraft } from "../state/storage";
import { text } from "../text";

interface HomeScreenProps {
    me: Me;
    composer: RefObject<ComposerHandle | null>;
}

export function HomeScreen({ me, composer }: HomeScreenProps) {
    const [isStarting, setIsStarting] = useState(false);
    const [error, setError] = useState<string | null>(null);
    /* Kept over failed attempts: if the first one did arrive, the next one finds its conversation. */
    const wantedId = useRef<{ id: string; message: string } | null>(null);

    const start = async (message: string): Promise<boolean> => {
        if (wantedId.current?.message !== message) wantedId.current = { id: newId(), message };
        setIsStarting(true);
        setError(null);
        try {
            const info = await createConversation({ id: wantedId.current.id, model: me.model, message });
            saveDraft(NEW_CONVERSATION, "");
            void refreshConversations();
            go(pathOf(info.id));
            return true;
        } catch (cause) {
            setError(messageOf(cause));
            setIsStarting(false);
            return false;
        }
    };

    return (
        <main className="home" id="content" tabIndex={-1} data-testid="home-screen">
            <div className="home-inner">
                <h1 className="home-heading">{text.home.heading}</h1>
                <p className="home-lead">{text.home.lead}</p>
                {me.scripted && <ScriptedBanner />}
                {error !== null && <Banner tone="danger">{text.home.failed(error)}</Banner>}
                <Composer
                    ref={composer}
                    draftKey={NEW_CONVERSATION}
                    label={text.home.label}
                    placeholder={text.home.placeholder}
                    isBusy={isStarting}
                    busyLabel={text.home.starting}
                    onSend={start}
                    footer={
                        <span className="model" title={text.home.model}>
                            {me.model}
                        </span>
                    }
                />
                <ul className="examples" aria-label={text.home.examplesLabel}>
                    {text.home.examples.map((example) => (
                        <li key={example}>
                            <button type="button" className="example" onClick={() => composer.current?.fill(example)}>
                                {example}
                            </button>
                        </li>
                    ))}
                </ul>
            </div>
        </main>
    );
}
