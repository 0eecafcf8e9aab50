import { Children, type ReactNode, useId, useState } from "react";
import type { Outcome, ToolItem } from "../../model/items";
import { text } from "../../text";
import { Icon, type IconName } from "../Icon";

export type Tone = "calm" | "good" | "bad" | "live";

export interface Badge {
    tone: Tone;
    words: string;
}

/** The text in the card's header for a call without a result to show. */
export function badgeOf(outcome: Outcome): Badge | null {
    switch (outcome.state) {
        case "running":
            return { tone: "live", words: text.cards.running };
        case "waiting":
            return { tone: "live", words: text.cards.waiting };
        case "open":
            return { tone: "calm", words: text.cards.open };
        case "failed":
            return { tone: "bad", words: text.cards.failed };
        case "stopped":
            return { tone: "calm", words: text.cards.stopped };
        case "rejected":
            return { tone: "calm", words: text.cards.rejected };
        case "done":
            return outcome.observation.is_error === true ? { tone: "bad", words: text.cards.failed } : null;
    }
}

interface CardProps {
    item: ToolItem;
    icon: IconName;
    title: ReactNode;
    badge: Badge | null;
    /** Cards of read-only calls begin closed. */
    isClosedAtFirst?: boolean;
    children?: ReactNode;
}

function Marks({ item, badge }: { item: ToolItem; badge: Badge | null }) {
    return (
        <>
            {item.risk !== null && <span className="badge badge-bad">{text.cards.risk[item.risk]}</span>}
            {badge !== null && <span className={`badge badge-${badge.tone}`}>{badge.words}</span>}
        </>
    );
}

/** The frame of all tool cards: the call, its outcome, and the details below. */
export function Card({ item, icon, title, badge, isClosedAtFirst = false, children }: CardProps) {
    const [isOpen, setIsOpen] = useState(!isClosedAtFirst);
    const bodyId = useId();
    const titleId = useId();
    const toggleId = useId();
    const hasBody = Children.toArray(children).length > 0;
    return (
        <section className={`card card-${badge?.tone ?? "calm"}`}>
            <header className="card-head">
                <Icon name={icon} />
                <div className="card-title">
                    {item.summary !== null && <span className="card-summary">{item.summary}</span>}
                    <span className="card-what" id={titleId}>{title}</span>
                </div>
                <Marks item={item} badge={badge} />
                {hasBody && (
                    <button
                        type="button"
                        id={toggleId}
                        className="icon-button card-toggle"
                        aria-expanded={isOpen}
                        aria-controls={bodyId}
                        aria-label={isOpen ? text.cards.hide : text.cards.show}
                        aria-labelledby={`${toggleId} ${titleId}`}
                        onClick={() => { setIsOpen(!isOpen); }}
                    >
                        <Icon name="chevron" />
                    </button>
                )}
            </header>
            {hasBody && (
                <div id={bodyId} className="card-body" hidden={!isOpen}>
                    {isOpen && children}
                </div>
            )}
        </section>
    );
}

/** The words of a call that brought no result: why it failed, or why it was refused. */
export function OutcomeWords({ outcome }: { outcome: Outcome }) {
    if (outcome.state === "failed") return <p className="card-words card-words-bad">{outcome.error}</p>;
    if (outcome.state === "rejected" && outcome.reason !== "")
        return <p className="card-words">{text.cards.rejectedBecause(outcome.reason)}</p>;
    return null;
}

export function hasWords(outcome: Outcome): boolean {
    return outcome.state === "failed" || (outcome.state === "rejected" && outcome.reason !== "");
}
