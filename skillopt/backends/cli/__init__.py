"""Agent programs (Claude Code, Codex, Copilot) as backends: one program run is one attempt."""
