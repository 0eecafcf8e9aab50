import assert from "node:assert/strict";
import { test } from "node:test";
import { backoffMs } from "./backoff";
import { branchTitle } from "./branch_title";
import { contentImages, contentText } from "./content";
import { plainWords } from "./plain_words";
import { shortened } from "./shortened";
import { safeLink } from "./safe_link";
import { formatCost, formatTokens, totalsOf } from "./stats";
import { cleanTerminalText } from "./terminal_text";
import { ageOf, clockTime, isSameMinute, parseServerTime } from "./time";

test("back-off doubles, has a ceiling, and spreads", () => {
    assert.deepEqual([0, 1, 2, 20].map((attempt) => backoffMs(attempt, 0)), [500, 1000, 2000, 30_000]);
    assert.equal(backoffMs(1, 0.5), 900);
});

test("content is a text, a list of parts, or nothing", () => {
    assert.equal(contentText("plain"), "plain");
    assert.equal(contentText([{ type: "text", text: "a" }, { type: "image", image_urls: [] }, { type: "text", text: "b" }]), "a\nb");
    assert.equal(contentText(undefined), "");
});

test("only images inside the event are shown", () => {
    const urls = ["data:image/png;base64,AA==", "https://example.test/x.png", "data:image/svg+xml,<svg/>"];
    assert.deepEqual(contentImages([{ type: "image", image_urls: urls }]), [urls[0]]);
});

test("links that run something are not links", () => {
    assert.equal(safeLink("https://example.test/a"), "https://example.test/a");
    for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "/relative", ""])
        assert.equal(safeLink(bad), null, bad);
});

test("usage is the sum over all models", () => {
    const totals = totalsOf({
        usage_to_metrics: {
            agent: { accumulated_cost: 0.5, accumulated_token_usage: { prompt_tokens: 900, completion_tokens: 100 } },
            condenser: { accumulated_cost: 0.25, accumulated_token_usage: null },
        },
    });
    assert.deepEqual(totals, { costUsd: 0.75, tokens: 1000, hasUnknown: false });
    assert.deepEqual(totalsOf(undefined), { costUsd: 0, tokens: 0, hasUnknown: false });
    const cost = (costUsd: number, hasUnknown = false) => formatCost({ costUsd, hasUnknown });
    assert.deepEqual([cost(0.00314), cost(12.345), cost(0.00001)], ["$0.0031", "$12.35", "less than $0.0001"]);
    assert.deepEqual([cost(0, true), cost(0.5, true), cost(0)], ["cost unknown", "at least $0.5000", "no cost"]);
    assert.deepEqual([999, 1500, 25_400, 2_500_000].map(formatTokens), ["999", "1.5k", "25k", "2.5M"]);
});

test("a price is unknown if tokens cost nothing, unless the conversation specifies prices", () => {
    const used = (model_name: string, accumulated_cost = 0) => ({
        usage_to_metrics: { agent: { model_name, accumulated_cost, accumulated_token_usage: { prompt_tokens: 9 } } },
    });
    assert.equal(totalsOf(used("openai/new")).hasUnknown, true);
    assert.equal(totalsOf(used("openai/new", 0.1)).hasUnknown, false);
    assert.equal(totalsOf(used("openai/local"), { input_cost_per_token: 0, output_cost_per_token: 0 }).hasUnknown, false);
    assert.equal(totalsOf(used("openai/new"), { input_cost_per_token: null }).hasUnknown, true);
    assert.equal(totalsOf(used("scripted/hello")).hasUnknown, false);
});

test("plain words contain no Markdown, but all words", () => {
    const plain = (source: string) => shortened(plainWords(source), 100);
    assert.equal(plain("## **Write** a `small` _program_ that [prints](http://x.test)"), "Write a small program that prints");
    assert.equal(plain("- one\n- **two**\n\n> three\n\n1. four"), "one two three four");
    assert.equal(plain("```py\nprint(1)\n```"), "print(1)");
    assert.equal(plain("~~no~~ ![a picture](http://x.test/p.png) a_b_c 2 * 3 * 4"), "no a picture a_b_c 2 * 3 * 4");
    assert.equal(plain("first\nsecond"), "first second");
    assert.equal(plain(""), "");
});

test("a conversation's first words are cut between words", () => {
    assert.equal(shortened("one two three", 9), "one two…");
    assert.equal(shortened("one two", 9), "one two");
    assert.equal(shortened("🙂🙂🙂🙂", 3), "🙂🙂🙂…");
});

test("terminal output loses colours and keeps the last state of a line", () => {
    assert.equal(cleanTerminalText("\u001b[1;32mok\u001b[0m\r\n"), "ok\n");
    assert.equal(cleanTerminalText("10%\r50%\r100%\nend"), "100%\nend");
    assert.equal(cleanTerminalText("\u001b]0;title\u0007x\u0008"), "x");
});

test("event times without a zone are UTC", () => {
    assert.equal(parseServerTime("2026-01-15T10:30:00.000000"), Date.parse("2026-01-15T10:30:00Z"));
    assert.equal(parseServerTime("2026-01-15T10:30:00.000000Z"), Date.parse("2026-01-15T10:30:00Z"));
});

test("times of the same minute are recognized, and formatted alike", () => {
    assert.equal(isSameMinute("2026-01-15T10:30:00.000000", "2026-01-15T10:30:59.999999"), true);
    assert.equal(isSameMinute("2026-01-15T10:30:59.999999", "2026-01-15T10:31:00.000000"), false);
    assert.equal(isSameMinute("2026-01-15T10:30:00.000000", "2026-01-16T10:30:00.000000"), false);
    const local = new Date(2026, 0, 15, 9, 5).toISOString();
    assert.equal(clockTime(local), "09:05");
    assert.equal(clockTime("nonsense"), "");
});

test("the list is divided by age", () => {
    const now = new Date(2026, 0, 15, 12).getTime();
    const daysAgo = (n: number) => ageOf(new Date(2026, 0, 15 - n, 11).toISOString(), now);
    assert.deepEqual([0, 1, 2, 6, 7].map(daysAgo), ["today", "yesterday", "week", "week", "older"]);
});

test("the title of a branch names it as one, within the server's limit and without half a character", () => {
    assert.equal(branchTitle("Lines"), "Lines (branch)");
    const long = branchTitle("🙂".repeat(200));
    assert.match(long, /^(🙂)+… \(branch\)$/u);
    assert.equal(Array.from(long).length, 200);
    assert.ok(Array.from(branchTitle("word ".repeat(40))).length <= 200);
});
