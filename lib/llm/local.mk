# lib/llm
