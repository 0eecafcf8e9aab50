import assert from "node:assert/strict";
import { test } from "node:test";
import { isServersModel, troubleKind } from "./trouble";

const CASES: readonly (readonly [string, string, string])[] = [
    ["LLMRateLimitError", "The model's server refused the call: x (error code: 429, insufficient_quota)", "accountEmpty"],
    ["LLMRateLimitError", "… You exceeded your current quota, please check your plan (error code: 429)", "accountEmpty"],
    ["LLMRateLimitError", "… slow down (error code: 429) The server asks to wait 1200 seconds.", "askedTooOften"],
    ["LLMAuthenticationError", "Your LLM API key appears to be invalid or has expired.", "keyRefused"],
    ["NotFoundError", "… The model `x` does not exist (error code: 404)", "modelUnknown"],
    ["NotFoundError", 'There is no script "x".', "scriptUnknown"],
    ["LLMBadRequestError", "… The model x does not exist: model not found (error code: 400)", "modelUnknown"],
    ["LLMBadRequestError", "… what? (error code: 400)", "requestRefused"],
    ["LLMBadRequestError", "The model's base URL is refused: 10.0.0.1 is a private address", "addressRefused"],
    ["LLMContextWindowExceedError", "… (error code: 400, context_length_exceeded)", "contextFull"],
    ["LLMContentPolicyViolationError", "…", "contentRefused"],
    ["LLMTimeoutError", "The model did not answer in time (timeout): …", "timeout"],
    ["LLMServiceUnavailableError", "Connection error: …: Could not resolve host: nosuch.example", "nameUnknown"],
    ["LLMServiceUnavailableError", "Connection error: …: connect: Connection refused", "nothingListens"],
    ["LLMServiceUnavailableError", "… boom (error code: 500)", "serverDown"],
    ["BadGatewayError", "… (error code: 502)", "serverDown"],
    ["MaxBudgetReached", "The price of the model openai/x is unknown, so the budget of $1.0000 cannot be kept; …", "priceUnknown"],
    ["MaxBudgetReached", "The agent reached the budget of $1.0000: the conversation has cost $1.0200. …", "budget"],
    ["SomethingNew", "…", "other"],
];

test("the advice depends on the cause, not only on the code", () => {
    for (const [code, detail, kind] of CASES) assert.equal(troubleKind(code, detail), kind, `${code} ${detail}`);
});

test("a model that the conversation chose is not the server's", () => {
    assert.equal(isServersModel({ model: "openai/a", api_key: null }, "openai/a"), true);
    assert.equal(isServersModel({ model: "openai/a", api_key: "**********" }, "openai/a"), false);
    assert.equal(isServersModel({ model: "openai/b" }, "openai/a"), false);
    assert.equal(isServersModel(undefined, "openai/a"), false);
});
