import type { TroubleItem } from "../../model/items";
import { text } from "../../text";
import { Icon } from "../Icon";

/** What ended the run, and what to do about it. */
export function TroubleCard({ item }: { item: TroubleItem }) {
    const known = text.troubles[item.code];
    const words = known ?? text.otherTrouble;
    return (
        <section className="trouble">
            <h3>
                <Icon name="alert" /> {words.title}
            </h3>
            <p>{words.advice}</p>
            {/* Where the page has no words of its own, the server's are the ones that help. */}
            {item.detail !== "" && (
                <details open={known === undefined}>
                    <summary>{text.troubleDetail}</summary>
                    <p className="trouble-detail">{item.detail}</p>
                    <p className="trouble-code">{item.code}</p>
                </details>
            )}
        </section>
    );
}
