"""A task's tool as a command of the working folder: asks the broker, prints its answer.

Run by path, with nothing but the standard library:

    python -I -S tool_command.py SOCKET NAME [argument ...]

One argument that is a JSON object is taken as the arguments; anything else is sent as a list.
"""

from __future__ import annotations

import json
import socket
import sys


def _arguments(words: list[str]) -> str:
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        try:
            return json.dumps(json.loads(words[0]), sort_keys=True)
        except ValueError:
            pass  # a text that only looks like an object
    return json.dumps({"argv": words} if words else {})


def main(arguments: list[str]) -> int:
    path, name, *words = arguments
    try:
        with socket.socket(socket.AF_UNIX) as broker, broker:
            broker.connect(path)
            stream = broker.makefile("rw", encoding="utf-8")
            nonce = stream.readline().strip()
            call = {"nonce": nonce, "tool": name, "arguments": _arguments(words)}
            stream.write(json.dumps(call) + "\n")
            stream.flush()
            answer = json.loads(stream.readline())
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{name}: the tool cannot be reached ({error})\n")
        return 1
    if "error" in answer:
        sys.stderr.write(f"{name}: {answer['error']}\n")
        return 1
    sys.stdout.write(answer["result"] + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
