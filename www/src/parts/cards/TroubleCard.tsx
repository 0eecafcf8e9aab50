import { createContext, useContext } from "react";
import type { TroubleItem } from "../../model/items";
import { troubleKind } from "../../model/trouble";
import { text } from "../../text";
import { Icon } from "../Icon";

/** True if the conversation chose its model itself. */
export const OwnModel = createContext(false);

/** The cause of a failed run, with advice. */
export function TroubleCard({ item }: { item: TroubleItem }) {
    const isOwn = useContext(OwnModel);
    const kind = troubleKind(item.code, item.detail);
    const words = text.troubles[kind];
    return (
        <section className="trouble">
            <h3>
                <Icon name="alert" /> {words.title}
            </h3>
            <p>{(isOwn ? words.adviceOwn : undefined) ?? words.advice}</p>
            {/* Where the page's words do not say all of it, the server's are the ones that help. */}
            {item.detail !== "" && (
                <details open={kind === "other" || kind === "requestRefused" || kind === "askedTooOften" || kind === "budget"}>
                    <summary>{text.troubleDetail}</summary>
                    <p className="trouble-detail">{item.detail}</p>
                    <p className="trouble-code">{item.code}</p>
                </details>
            )}
        </section>
    );
}
