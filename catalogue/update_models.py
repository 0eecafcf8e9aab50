#!/usr/bin/env python3
"""Writes catalogue/models.tsv from the list of models that the PyPI package litellm ships.

Usage: catalogue/update_models.py VERSION [WHEEL]

VERSION is that of the package, which pip downloads unless WHEEL is a copy of it. Only facts are
taken over: names, prices, limits and features of the chat models of providers that deft can name
(lib/llm/route.c).
"""
import decimal
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

LIST = "litellm/model_prices_and_context_window_backup.json"
TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "models.tsv")
# The provider in the list, and in names for deft.
PROVIDERS = {
    "anthropic": "anthropic",
    "azure": "azure",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "cerebras": "cerebras",
    "deepseek": "deepseek",
    "fireworks_ai": "fireworks_ai",
    "gemini": "gemini",
    "groq": "groq",
    "minimax": "minimax",
    "mistral": "mistral",
    "moonshot": "moonshot",
    "nvidia_nim": "nvidia_nim",
    "ollama": "ollama",
    "openai": "openai",
    "openrouter": "openrouter",
    "perplexity": "perplexity",
    "sambanova": "sambanova",
    "together_ai": "together_ai",
    "vertex_ai": "vertex_ai",
    "vertex_ai-anthropic_models": "vertex_ai",
    "vertex_ai-language-models": "vertex_ai",
    "watsonx": "watsonx",
    "xai": "xai",
    "zai": "zai",
}
FORMATS = {"/v1/chat/completions": "chat", "/v1/responses": "responses", "/v1/messages": "messages"}
COLUMNS = ["name", "input", "output", "cache_read", "cache_write", "window", "max_output",
           "features", "formats"]
NAME = re.compile(r"[!-~]{1,200}")
# A price for a size or a region is not a model of its own.
NOT_A_MODEL = re.compile(r"fireworks-ai-.*(-to-|-above-|-up-to-)|together-ai-.*(b|-)$|/commitment/")


def read_list(version, wheel):
    """The list as the package has it."""
    with tempfile.TemporaryDirectory() as folder:
        if wheel is None:
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                            "--only-binary", ":all:", "--dest", folder, "litellm==" + version],
                           check=True)
            wheel = os.path.join(folder, os.listdir(folder)[0])
        with zipfile.ZipFile(wheel) as package:
            return json.loads(package.read(LIST), parse_float=decimal.Decimal)


def price(entry, name):
    """Dollars for a million tokens; "-" when the list does not say."""
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, decimal.Decimal)) or value < 0:
        return "-"
    text = format(decimal.Decimal(value) * 1000000, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def count(entry, *names):
    """A number of tokens; "-" when the list does not say."""
    for name in names:
        value = entry.get(name)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return str(value)
    return "-"


def features(entry):
    """What the model can do besides reading and writing text."""
    names = [name for name in ("vision", "reasoning") if entry.get("supports_" + name) is True]
    return ",".join(names) or "-"


def formats(entry):
    """The wire formats in which it can be called."""
    named = {FORMATS[end] for end in entry.get("supported_endpoints") or [] if end in FORMATS}
    return ",".join(sorted(named or {entry["mode"]}))


def full_name(key, provider):
    """provider/name: the list leaves some providers out."""
    prefix = provider + "/"
    return (key if key.startswith(prefix) else prefix + key).lower()


def row(key, entry):
    """The row of an entry; None for one that is no chat model of these providers."""
    provider = PROVIDERS.get(entry.get("litellm_provider"))
    if provider is None or entry.get("mode") not in ("chat", "responses"):
        return None
    name = full_name(key, provider)
    if not NAME.fullmatch(name) or NOT_A_MODEL.search(name):
        return None
    prices = [price(entry, "input_cost_per_token"), price(entry, "output_cost_per_token")]
    if "-" in prices:
        prices = ["-", "-"]
    # Tokens that are written to a cache were read as well: 0 means that there is no surcharge.
    written = price(entry, "cache_creation_input_token_cost")
    return [name, *prices, price(entry, "cache_read_input_token_cost"),
            "-" if written == "0" else written,
            count(entry, "max_input_tokens", "max_tokens"),
            count(entry, "max_output_tokens", "max_tokens"), features(entry), formats(entry)]


def main(version, wheel=None):
    """Replaces the table."""
    rows = {}
    for key, entry in sorted(read_list(version, wheel).items()):
        fields = row(key, entry) if key != "sample_spec" else None
        if fields is not None:
            rows.setdefault(fields[0], fields)
    with open(TABLE, "w", encoding="ascii") as table:
        table.write("# Generated by catalogue/update_models.py from litellm %s. Prices: US dollars per million\n"
                    "# tokens. -: unknown.\n" % version)
        table.write("#" + "\t".join(COLUMNS) + "\n")
        for name in sorted(rows):
            table.write("\t".join(rows[name]) + "\n")
    print("%s: %d models" % (TABLE, len(rows)))


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    main(*sys.argv[1:])
