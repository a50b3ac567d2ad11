#!/usr/bin/env python3
"""Writes the tools that the reference MCP servers list, one JSON file a server: list.py FOLDER

Installs the servers of servers.json into FOLDER with npm, starts each, asks it for its tools page by page, and ends it.
`ISOLANE_CATALOGUES=FOLDER/catalogues cargo test --test it catalogues` compiles what is rendered from them.
"""

import json
import os
import subprocess
import sys
from pathlib import Path


def main() -> None:
    folder = Path(sys.argv[1]).absolute()
    servers = json.loads(Path(__file__).with_name("servers.json").read_text())
    packages = [f"@modelcontextprotocol/{name}@{server['version']}" for name, server in servers.items()]
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit", "--prefix", folder, *packages], check=True)
    (folder / "catalogues").mkdir(exist_ok=True)
    for name, server in servers.items():
        command = [folder / "node_modules/.bin" / server["command"], *server["arguments"]]
        tools = ask(command, folder)
        (folder / "catalogues" / f"{name}.json").write_text(json.dumps(tools, indent=1))
        print(f"{name}: {len(tools)} tools")


def ask(command: list, folder: Path) -> list:
    """The tools of one server."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "MEMORY_FILE_PATH": str(folder / "memory.json")}
    with subprocess.Popen(command, cwd=folder, env=environment, text=True, bufsize=1,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            client = {"name": "isolane-tests", "version": "1"}
            call(process, 0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
            send(process, {"method": "notifications/initialized"})
            tools, cursor, number = [], {}, 1
            while True:
                page = call(process, number, "tools/list", cursor)
                tools += page["tools"]
                if "nextCursor" not in page:
                    return tools
                cursor, number = {"cursor": page["nextCursor"]}, number + 1
        finally:
            process.kill()


def send(process: subprocess.Popen, message: dict) -> None:
    process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")


def call(process: subprocess.Popen, number: int, method: str, params: dict) -> dict:
    """The result of one request; what else the server says is passed over."""
    send(process, {"id": number, "method": method, "params": params})
    for line in process.stdout:
        message = json.loads(line)
        if message.get("id") == number and "method" not in message:
            return message["result"]
    raise SystemExit(f"{process.args[0]} ended before it answered {method}")


main()
