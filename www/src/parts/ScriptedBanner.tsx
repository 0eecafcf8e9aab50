import { text } from "../text";
import { Banner } from "./Banner";

/** Says that no real model is configured, and how to bring one. */
export function ScriptedBanner() {
    const [model, key] = text.scripted.settings;
    return (
        <Banner tone="calm">
            <strong>{text.scripted.title}</strong> {text.scripted.body} <code>{model}</code> {text.scripted.and}{" "}
            <code>{key}</code> {text.scripted.tail} <code>{text.scripted.command}</code>.
        </Banner>
    );
}
