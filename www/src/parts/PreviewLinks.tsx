import { useEffect, useState } from "react";
import { fetchPreviews, type Preview } from "../api/conversations";
import { text } from "../text";

interface PreviewLinksProps {
    id: string;
    /** Changes when a program may have been started or ended. */
    moment: string;
}

/** Links to the web servers in the sandbox; each opens in a new tab. */
export function PreviewLinks({ id, moment }: PreviewLinksProps) {
    const [previews, setPreviews] = useState<readonly Preview[]>([]);

    useEffect(() => {
        let isCurrent = true;
        fetchPreviews(id)
            .then((found) => { if (isCurrent) setPreviews(found); })
            .catch(() => { if (isCurrent) setPreviews([]); });
        return () => { isCurrent = false; };
    }, [id, moment]);

    if (previews.length === 0) return null;
    return (
        <nav className="preview-links" aria-label={text.conversation.previews}>
            <span className="preview-links-label">{text.conversation.previews}</span>
            {previews.map(({ port, url }) => (
                <a key={port} href={url} target="_blank" rel="noopener noreferrer" data-testid={`preview-${port}`}>
                    {text.conversation.preview(port)}
                </a>
            ))}
        </nav>
    );
}
