import type { Tagged } from "../../api/wire";
import { contentImages, contentText } from "../../model/content";
import type { ToolItem } from "../../model/items";
import { text } from "../../text";
import { Listing } from "../Listing";
import { Card, OutcomeWords, badgeOf, hasWords } from "./Card";

const SHOWN_LINES = 12;

/** The arguments without the `kind` tag. */
function argumentText(action: Tagged): string {
    const members = Object.fromEntries(Object.entries(action).filter(([name]) => name !== "kind"));
    return Object.keys(members).length === 0 ? "" : JSON.stringify(members, null, 2);
}

function Labelled({ words, label }: { words: string; label: string }) {
    if (words === "") return null;
    return (
        <>
            <p className="card-label">{label}</p>
            <Listing text={words} nShown={SHOWN_LINES} label={label} />
        </>
    );
}

/** Card for all other tools: arguments and result, unchanged. */
export function PlainToolCard({ item }: { item: ToolItem }) {
    const observation = item.outcome.state === "done" ? item.outcome.observation : null;
    const result = contentText(observation?.content).trim();
    return (
        <Card
            item={item}
            icon="tool"
            title={<code>{item.tool}</code>}
            badge={badgeOf(item.outcome)}
            isClosedAtFirst={item.outcome.state === "done"}
        >
            {item.action !== null && <Labelled words={argumentText(item.action)} label={text.cards.arguments} />}
            {item.action === null && item.rawArguments !== null && (
                <Labelled words={item.rawArguments} label={text.cards.unreadableCall} />
            )}
            <Labelled words={result} label={text.cards.result} />
            {contentImages(observation?.content).map((url) => (
                <img key={url} className="card-image" src={url} alt={text.cards.image} />
            ))}
            {hasWords(item.outcome) && <OutcomeWords outcome={item.outcome} />}
        </Card>
    );
}
