import { text } from "../text";
import { Banner } from "./Banner";

/** The same in one line, for a conversation. */
export function ScriptedLine({ isServers }: { isServers: boolean }) {
    const [model, key] = text.scripted.settings;
    /* If the server has a real model, this conversation chose the scripted one itself. */
    if (!isServers) return <p className="scripted-line">{text.scripted.title}</p>;
    return (
        <p className="scripted-line">
            {text.scripted.title} {text.scripted.short} <code>{model}</code> {text.scripted.and} <code>{key}</code>.
        </p>
    );
}

/** Says that no real model is configured, and how to set one. */
export function ScriptedBanner() {
    const [model, key] = text.scripted.settings;
    return (
        <Banner tone="calm">
            <strong>{text.scripted.title}</strong> {text.scripted.body} <code>{model}</code> {text.scripted.and}{" "}
            <code>{key}</code> {text.scripted.tail} <code>{text.scripted.command}</code>.
        </Banner>
    );
}
