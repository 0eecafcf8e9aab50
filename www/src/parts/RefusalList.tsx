import { useEffect, useState } from "react";
import { fetchRefusals, type Refusal } from "../api/conversations";
import { text } from "../text";

const SHOWN = 3;

interface RefusalListProps {
    id: string;
    /** Changes when a program may have been started or ended. */
    moment: string;
}

function placeOf({ host, port, protocol }: Refusal) {
    return port === null ? `${host}, ${protocol}` : `${host}:${port}`;
}

/** Refused connections of the sandbox: often the reason why a command failed. */
export function RefusalList({ id, moment }: RefusalListProps) {
    const [refusals, setRefusals] = useState<readonly Refusal[]>([]);

    useEffect(() => {
        let isCurrent = true;
        fetchRefusals(id)
            .then((found) => { if (isCurrent) setRefusals(found); })
            .catch(() => { if (isCurrent) setRefusals([]); });
        return () => { isCurrent = false; };
    }, [id, moment]);

    if (refusals.length === 0) return null;
    return (
        <p className="preview-links" data-testid="refusals">
            <span className="preview-links-label">{text.conversation.refusals}</span>
            {refusals.slice(0, SHOWN).map((refusal) => (
                <span key={`${refusal.reason} ${refusal.protocol} ${placeOf(refusal)}`} title={refusal.reason}>
                    {text.conversation.refusal(placeOf(refusal), refusal.count)}
                </span>
            ))}
            {refusals.length > SHOWN && <span>…</span>}
        </p>
    );
}
