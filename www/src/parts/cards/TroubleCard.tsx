import type { TroubleItem } from "../../model/items";
import { text } from "../../text";
import { Icon } from "../Icon";

/** What ended the run, and what to do about it. */
export function TroubleCard({ item }: { item: TroubleItem }) {
    const words = text.trouble(item.code);
    return (
        <section className="trouble">
            <h3>
                <Icon name="alert" /> {words.title}
            </h3>
            <p>{words.advice}</p>
            {item.detail !== "" && (
                <details>
                    <summary>{text.troubleDetail}</summary>
                    <p className="trouble-detail">{item.detail}</p>
                    <p className="trouble-code">{item.code}</p>
                </details>
            )}
        </section>
    );
}
