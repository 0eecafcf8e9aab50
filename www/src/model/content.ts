/* Text and images out of the content lists of messages and observations. */
import type { Content } from "../api/wire";

function isContentList(value: unknown): value is Content[] {
    return Array.isArray(value);
}

export function contentText(content: unknown): string {
    if (typeof content === "string") return content;
    if (!isContentList(content)) return "";
    return content
        .map((part) => (part.type === "text" ? part.text : ""))
        .filter((part) => part !== "")
        .join("\n");
}

/** Only images that are part of the event itself: the page asks no other host for anything. */
export function contentImages(content: unknown): string[] {
    if (!isContentList(content)) return [];
    return content
        .flatMap((part) => (part.type === "image" ? part.image_urls : []))
        .filter((url) => /^data:image\/(png|jpeg|gif|webp);/.test(url));
}
