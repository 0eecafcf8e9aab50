import type { Stream } from "../model/streams";
import { text } from "../text";
import { Markdown } from "./Markdown";

/** An answer while it is being written. */
export function StreamRow({ stream }: { stream: Stream }) {
    if (stream.text === "" && stream.thinking === "") return null;
    return (
        <li className="row knot-stream">
            <div className="row-body">
                {stream.text === "" && <p className="note">{text.cards.thinking}…</p>}
                {stream.text !== "" && (
                    <article className="message message-agent">
                        <Markdown source={stream.text} />
                    </article>
                )}
            </div>
        </li>
    );
}
