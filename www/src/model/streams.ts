/* Answers that the model is still writing. Each ends when its stored event comes, or when it is given up. */
import type { Frame } from "../api/wire";

export interface Stream {
    readonly id: string;
    readonly text: string;
    readonly thinking: string;
}

function without(streams: readonly Stream[], id: string): readonly Stream[] {
    return streams.some((stream) => stream.id === id) ? streams.filter((stream) => stream.id !== id) : streams;
}

function grown(streams: readonly Stream[], frame: Extract<Frame, { type: "delta" }>): readonly Stream[] {
    const held = streams.find((stream) => stream.id === frame.item_id) ?? { id: frame.item_id, text: "", thinking: "" };
    const next =
        frame.kind === "reasoning"
            ? { ...held, thinking: held.thinking + frame.content }
            : { ...held, text: held.text + frame.content };
    return [...without(streams, frame.item_id), next];
}

export function reduceStreams(streams: readonly Stream[], frame: Frame): readonly Stream[] {
    switch (frame.type) {
        case "item_started":
            /* A second attempt begins the same answer anew. */
            return [...without(streams, frame.item_id), { id: frame.item_id, text: "", thinking: "" }];
        case "delta":
            return grown(streams, frame);
        case "item_aborted":
            return without(streams, frame.item_id);
        case "durable":
            return without(streams, frame.event.id);
        case "sync":
            /* Pieces are not sent again after a break. */
            return streams.length === 0 ? streams : [];
        default:
            return streams;
    }
}
