import assert from "node:assert/strict";
import { test } from "node:test";
import { renderToStaticMarkup } from "react-dom/server";
import { Markdown } from "./Markdown";

function html(source: string): string {
    return renderToStaticMarkup(<Markdown source={source} />);
}

test("HTML tags in a message are shown as text", () => {
    for (const source of ["<script>alert(1)</script>", "a <img src=x onerror=alert(1)> b", "<svg/onload=alert(1)>"]) {
        const drawn = html(source);
        assert.ok(!/<(script|img|svg)/i.test(drawn), drawn);
        assert.ok(drawn.includes("&lt;"), drawn);
    }
});

test("only safe addresses become links, and links send no referrer", () => {
    assert.match(html("[a](https://example.test/)"), /<a href="https:\/\/example.test\/" target="_blank" rel="noopener noreferrer nofollow">a<\/a>/);
    for (const source of ["[a](javascript:alert(1))", "[a](data:text/html,x)", "[a](JAVASCRIPT:x)", "[a](//example.test)"])
        assert.ok(!html(source).includes("<a "), source);
});

test("images are shown as links, so that reading fetches nothing", () => {
    const drawn = html("![a picture](https://example.test/x.png)");
    assert.ok(!drawn.includes("<img"));
    assert.ok(drawn.includes(">a picture</a>"));
});

test("common Markdown is rendered", () => {
    assert.match(html("# T\n\n- a\n- b\n\n1. c\n\n`x` **y** ~~z~~"), /<h3>T<\/h3>.*<ul>.*<ol start="1">.*<code>x<\/code>.*<strong>y<\/strong>.*<del>z<\/del>/s);
    assert.match(html("| a | b |\n|---|--:|\n| 1 | 2 |"), /<th scope="col">a<\/th>.*<td class="align-right">2<\/td>/s);
    assert.match(html("```c\nint x;\n```"), /<code>int x;<\/code>/);
    assert.match(html("one\ntwo"), /one<br\/>two/);
    assert.match(html("AT&amp;T < 3"), /AT&amp;T &lt; 3/);
});

test("a very long message is folded at first", () => {
    const drawn = html("word\n".repeat(10_000));
    assert.ok(drawn.length < 200_000);
    assert.match(drawn, /Show all/);
});
