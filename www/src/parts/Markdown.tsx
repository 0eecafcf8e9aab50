/*
 * Markdown as React elements. No HTML is ever parsed or inserted: tags in the text are shown as text, links go to
 * http, https and mail addresses only, and images are links, so that reading a message asks no host for anything.
 */
import { type Token, type Tokens, lexer } from "marked";
import { Fragment, type ReactNode, memo, useMemo, useState } from "react";
import { safeLink } from "../model/safe_link";
import { text } from "../text";
import { CopyButton } from "./CopyButton";

/** Longer texts begin folded, so that one message cannot hold up the page. */
const FOLD_ABOVE_CHARS = 20_000;

function Link({ href, children }: { href: string; children: ReactNode }) {
    const address = safeLink(href);
    if (address === null) return <>{children}</>;
    return (
        <a href={address} target="_blank" rel="noopener noreferrer nofollow">
            {children}
        </a>
    );
}

function Code({ token }: { token: Tokens.Code }) {
    return (
        <div className="code">
            <div className="code-head">
                <span>{token.lang ?? ""}</span>
                <CopyButton value={token.text} label={text.code.copyLabel} />
            </div>
            <pre tabIndex={0}>
                <code>{token.text}</code>
            </pre>
        </div>
    );
}

function Table({ token }: { token: Tokens.Table }) {
    return (
        <div className="table-scroll" tabIndex={0}>
            <table>
                <thead>
                    <tr>
                        {token.header.map((cell, i) => (
                            <th key={i} scope="col" className={cell.align === null ? undefined : `align-${cell.align}`}>
                                <Inline tokens={cell.tokens} />
                            </th>
                        ))}
                    </tr>
                </thead>
                <tbody>
                    {token.rows.map((row, i) => (
                        <tr key={i}>
                            {row.map((cell, j) => (
                                <td key={j} className={cell.align === null ? undefined : `align-${cell.align}`}>
                                    <Inline tokens={cell.tokens} />
                                </td>
                            ))}
                        </tr>
                    ))}
                </tbody>
            </table>
        </div>
    );
}

function List({ token }: { token: Tokens.List }) {
    const items = token.items.map((item, i) => (
        <li key={i} className={item.task ? "task" : undefined}>
            {item.task && <input type="checkbox" checked={item.checked === true} readOnly disabled />}
            <Blocks tokens={item.tokens} />
        </li>
    ));
    if (!token.ordered) return <ul>{items}</ul>;
    return <ol start={token.start === "" ? 1 : token.start}>{items}</ol>;
}

/* Headings of a message are one level below those of the page. */
const HEADINGS = ["h3", "h4", "h5", "h6", "h6", "h6"] as const;

type Renderer = (token: Token) => ReactNode;

/** marked's token types are a union open at its end; each entry names the one it is for. */
const BLOCKS: Readonly<Record<string, Renderer>> = {
    space: () => null,
    def: () => null,
    hr: () => <hr />,
    code: (token) => <Code token={token as Tokens.Code} />,
    table: (token) => <Table token={token as Tokens.Table} />,
    list: (token) => <List token={token as Tokens.List} />,
    heading: (token) => {
        const heading = token as Tokens.Heading;
        const Tag = HEADINGS[heading.depth - 1] ?? "h6";
        return <Tag><Inline tokens={heading.tokens} /></Tag>;
    },
    blockquote: (token) => <blockquote><Blocks tokens={(token as Tokens.Blockquote).tokens} /></blockquote>,
    paragraph: (token) => <p><Inline tokens={(token as Tokens.Paragraph).tokens} /></p>,
    text: (token) => {
        const plain = token as Tokens.Text;
        return plain.tokens === undefined ? plain.text : <Inline tokens={plain.tokens} />;
    },
    html: (token) => <p className="raw">{(token as Tokens.HTML).text}</p>,
};

const NAMED_ENTITIES: Readonly<Record<string, string>> = {
    "&amp;": "&", "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&nbsp;": "\u00a0",
};

function unescaped(plain: string): string {
    return plain.replace(/&(?:amp|lt|gt|quot|#39|nbsp);/g, (entity) => NAMED_ENTITIES[entity] ?? entity);
}

const INLINES: Readonly<Record<string, Renderer>> = {
    br: () => <br />,
    codespan: (token) => <code>{(token as Tokens.Codespan).text}</code>,
    strong: (token) => <strong><Inline tokens={(token as Tokens.Strong).tokens} /></strong>,
    em: (token) => <em><Inline tokens={(token as Tokens.Em).tokens} /></em>,
    del: (token) => <del><Inline tokens={(token as Tokens.Del).tokens} /></del>,
    escape: (token) => (token as Tokens.Escape).text,
    html: (token) => (token as Tokens.Tag).text,
    link: (token) => {
        const link = token as Tokens.Link;
        return <Link href={link.href}><Inline tokens={link.tokens} /></Link>;
    },
    image: (token) => {
        const image = token as Tokens.Image;
        return <Link href={image.href}>{image.text === "" ? image.href : image.text}</Link>;
    },
    text: (token) => {
        const plain = token as Tokens.Text;
        return plain.tokens === undefined ? unescaped(plain.text) : <Inline tokens={plain.tokens} />;
    },
};

function render(renderers: Readonly<Record<string, Renderer>>, tokens: readonly Token[]): ReactNode {
    return tokens.map((token, i) => <Fragment key={i}>{renderers[token.type]?.(token) ?? token.raw}</Fragment>);
}

function Inline({ tokens }: { tokens: readonly Token[] }) {
    return render(INLINES, tokens);
}

function Blocks({ tokens }: { tokens: readonly Token[] }) {
    return render(BLOCKS, tokens);
}

function tokensOf(source: string): Token[] | null {
    try {
        return lexer(source, { gfm: true, breaks: true });
    } catch {
        return null;
    }
}

export const Markdown = memo(function Markdown({ source }: { source: string }) {
    const [isUnfolded, setIsUnfolded] = useState(false);
    const isFolded = source.length > FOLD_ABOVE_CHARS && !isUnfolded;
    const shown = isFolded ? source.slice(0, FOLD_ABOVE_CHARS) : source;
    const tokens = useMemo(() => tokensOf(shown), [shown]);
    return (
        <div className="prose">
            {tokens === null ? <p className="raw">{shown}</p> : <Blocks tokens={tokens} />}
            {isFolded && (
                <button type="button" className="link-button" onClick={() => { setIsUnfolded(true); }}>
                    {text.cards.showAll(source.split("\n").length)}
                </button>
            )}
        </div>
    );
});
