#!/usr/bin/env python3
"""Runs every command of README.md as printed, and compares its output with the page.

    tests/readme.py           needs the release build and the JavaScript client (tests/run: steps build and client)
    tests/readme.py --list    lists the fences and how each is run

The first words of a fence say how it is run. All commands run in the root of the repository:

    sh terminal    in the background until the end, as in a first terminal; the next fence waits for a ready node
    sh             in one bash, as in a second terminal: fences share variables, and a failed command fails the test
    sh docker      the same, if Docker is available; otherwise skipped with a message
    sh no-run …    not run, with the reason in place of the dots
    js client      in the background in Node, with the tokens of the bash as `apiToken` and `userToken`
    json output, text output    each line is in the output of the `sh` fence above; `…` stands for anything
    json received  each line is a message that the `js client` fence receives
    mermaid        a picture

As root, the test uses its own network namespace, so that port 8080 is free. Otherwise the port must be free.
Standard library only.
"""

import contextlib
import ctypes
import dataclasses
import fcntl
import os
import pathlib
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "README.md"
PORT = 8080
KINDS = {
    "sh terminal", "sh", "sh docker", "js client", "json output", "text output", "json received", "mermaid",
}  # fmt: skip
NOT_RUN = re.compile(r"\w+ no-run \S.*")
STEP_SECONDS = 60.0
# `docker compose` builds the image first.
DOCKER_SECONDS = 1800.0
# The JavaScript of the page needs tokens, and a WebSocket, which Node 20 lacks. Messages are printed.
PRELUDE = """
import { createRequire } from "node:module";
const { WebSocket } = createRequire(process.env.CLIENT_PACKAGE)("ws");
globalThis.apiToken = process.env.API_TOKEN;
globalThis.userToken = process.env.USER_TOKEN;
globalThis.WebSocket = class extends WebSocket {
  constructor(...words) {
    super(...words);
    this.on("message", (data) => console.log(String(data)));
  }
};
"""


class Failure(Exception):
    """A failure, described for the person who runs the test."""


@dataclasses.dataclass
class Fence:
    """A fenced block of the page."""

    kind: str
    text: str
    line: int

    def __str__(self) -> str:
        return f"{PAGE.name}:{self.line} ({self.kind})"


def fences(page: str) -> list[Fence]:
    """All fenced blocks of a page in order. An unknown kind, or output without a command above it, is a failure."""
    found = []
    for block in re.finditer(r"^```([^\n]*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        fence = Fence(block[1].strip(), block[2], page.count("\n", 0, block.start()) + 1)
        if fence.kind not in KINDS and not NOT_RUN.fullmatch(fence.kind):
            raise Failure(f"{fence}: not a kind of fence. {sys.argv[0]} --help lists them")
        if fence.kind.endswith(" output") and not (found and found[-1].kind in ("sh", "sh docker")):
            raise Failure(f"{fence}: no `sh` fence directly above this output")
        if fence.kind == "json received" and not any(earlier.kind == "js client" for earlier in found):
            raise Failure(f"{fence}: no `js client` fence above it")
        found.append(fence)
    if page.count("\n```") != 2 * len(found):
        raise Failure(f"{PAGE.name}: a fence is not closed, is indented, or has more than three backticks")
    return found


def wait_until(what: str, check, seconds: float = STEP_SECONDS):
    """Waits until `check` returns a true value, and returns it."""
    end = time.monotonic() + seconds
    while not (value := check()):
        if time.monotonic() > end:
            raise Failure(f"not within {seconds:.0f} s: {what}")
        time.sleep(0.05)
    return value


def missing_lines(expected: str, output: str) -> list[str]:
    """The lines of `expected` that are not in `output`; `…` stands for anything within a line."""

    def is_there(line: str) -> bool:
        pattern = ".*".join(re.escape(part) for part in line.strip().split("…"))
        return re.search(pattern, output) is not None

    return [line for line in expected.splitlines() if not is_there(line)]


def own_network() -> bool:
    """Moves this process into a new network namespace with a loopback device. Returns false if not allowed."""
    new_network = 0x40000000
    if ctypes.CDLL(None, use_errno=True).unshare(new_network):
        return False
    set_flags, up = 0x8914, 0x1
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, set_flags, struct.pack("16sh14x", b"lo", up))
    return True


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def port_must_be_free() -> None:
    try:
        socket.create_server(("127.0.0.1", PORT)).close()
    except OSError as error:
        message = f"port {PORT} of the page is in use ({error}). Stop the other program, or run as root"
        raise Failure(message) from None


def is_ready() -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/readyz", timeout=1) as answer:
            return answer.status == 200
    except (urllib.error.URLError, OSError):
        return False


def environment(folder: pathlib.Path, docker_port: int) -> dict[str, str]:
    """The environment of every command: the built program first in PATH, a data folder of its own, no other setting."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("CARILLON_")}
    build = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    (folder / ".curlrc").write_text("fail-with-body\nshow-error\nmax-time = 30\n")
    return kept | {
        "PATH": f"{build}{os.pathsep}{os.environ['PATH']}",
        "CARILLON__DATA__DIR": str(folder / "data"),
        "CARGO_NET_OFFLINE": "true",
        "CURL_HOME": str(folder),
        "COMPOSE_PROJECT_NAME": "carillon-readme-test",
        "CARILLON_PORT": str(docker_port),
    }


class Reader:
    """Runs the page from top to bottom, as a reader would type it."""

    def __init__(self, folder: pathlib.Path, variables: dict[str, str]):
        self.folder = folder
        self.environment = variables
        self.processes: list[subprocess.Popen] = []
        self.last_output = ""
        self.messages: pathlib.Path | None = None
        self.used_docker = False
        self.done, done = os.pipe()
        bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
        self.shell = self.start(bash, "bash", stdin=subprocess.PIPE, pass_fds=[done])
        self.done_in_shell = done
        os.close(done)

    def start(self, command: list[str], name: str, **options) -> subprocess.Popen:
        """Starts a process in its own group. Its output goes to the file `name`.log."""
        with open(self.folder / f"{name}.log", "wb") as log:
            options = {"stdin": subprocess.DEVNULL, "env": self.environment} | options
            process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True, **options)
        self.processes.append(process)
        return process

    def read(self, fence: Fence) -> None:
        """Runs a fence as its kind says, or compares it."""
        language, _, kind = fence.kind.partition(" ")
        if NOT_RUN.fullmatch(fence.kind) or language == "mermaid":
            return
        if kind == "docker" and subprocess.run(["docker", "info"], capture_output=True).returncode:
            print(f"SKIPPED: {fence}: Docker does not answer here", flush=True)
            return
        print(f"{fence}: {fence.text.splitlines()[0]}", flush=True)
        match kind:
            case "terminal":
                self.run_in_first_terminal(fence)
            case "" | "docker":
                self.run_in_second_terminal(fence)
            case "client":
                self.run_in_node(fence)
            case "output":
                if missing := missing_lines(fence.text, self.last_output):
                    lines = "\n".join(missing)
                    raise Failure(f"{fence}: not in the output:\n{lines}\nThe output:\n{self.last_output}")
            case "received":
                self.compare_received(fence)

    def run_in_first_terminal(self, fence: Fence) -> None:
        process = self.start(["bash", "-ec", fence.text], f"terminal-{fence.line}")
        wait_until(f"{fence}: a ready node on port {PORT}", lambda: is_ready() or process.poll() is not None)
        if process.poll() is not None:
            raise Failure(f"{fence}: ended with {process.returncode}")

    def run_in_second_terminal(self, fence: Fence) -> None:
        script, output = (self.folder / f"fence-{fence.line}.{end}" for end in ("sh", "output"))
        script.write_text(fence.text)
        seconds = DOCKER_SECONDS if fence.kind == "sh docker" else STEP_SECONDS
        self.used_docker |= fence.kind == "sh docker"
        self.type_line(f"source '{script}' >'{output}' 2>&1 </dev/null")
        succeeded = self.is_done_within(seconds)
        self.last_output = output.read_text(errors="replace") if output.exists() else ""
        if not succeeded:
            raise Failure(f"{fence}: failed, or took longer than {seconds:.0f} s. The output:\n{self.last_output}")

    def type_line(self, line: str) -> None:
        """Types a line, and one that reports its success through the pipe. With `set -e`, bash exits on failure."""
        self.shell.stdin.write(f"{line}\necho done >&{self.done_in_shell}\n".encode())
        self.shell.stdin.flush()

    def is_done_within(self, seconds: float) -> bool:
        readable, _, _ = select.select([self.done], [], [], seconds)
        return bool(readable) and bool(os.read(self.done, 64))

    def variable(self, name: str) -> str:
        """The value of a variable of the second terminal."""
        file = self.folder / name
        self.type_line(f"printf %s \"${{{name}:?is not set}}\" >'{file}'")
        if not self.is_done_within(STEP_SECONDS):
            raise Failure(f"no command of the page sets {name}")
        return file.read_text()

    def run_in_node(self, fence: Fence) -> None:
        package = ROOT / "clients" / "js"
        if not (package / "dist").exists():
            raise Failure("clients/js is not built: tests/run --only client")
        modules = self.folder / "node_modules" / "@carillon"
        modules.mkdir(parents=True, exist_ok=True)
        (modules / "client").symlink_to(package)
        (self.folder / "prelude.mjs").write_text(PRELUDE)
        program = self.folder / f"fence-{fence.line}.mjs"
        program.write_text(fence.text)
        tokens = {name: self.variable(name) for name in ("API_TOKEN", "USER_TOKEN")}
        variables = self.environment | tokens | {"CLIENT_PACKAGE": str(package / "package.json")}
        command = ["node", "--import", str(self.folder / "prelude.mjs"), str(program)]
        process = self.start(command, f"client-{fence.line}", env=variables)
        self.messages = self.folder / f"client-{fence.line}.log"
        is_registered = lambda: '"type":"REGISTER"' in self.messages.read_text() or process.poll() is not None
        wait_until(f"{fence}: an answer to REGISTER", is_registered)
        if process.poll() is not None:
            raise Failure(f"{fence}: ended with {process.returncode}")

    def compare_received(self, fence: Fence) -> None:
        wait_until(
            f"{fence}: these messages at the client", lambda: not missing_lines(fence.text, self.messages.read_text())
        )

    def leave(self) -> None:
        """Stops all processes that the page started."""
        if self.used_docker:
            subprocess.run(["docker", "compose", "down", "--volumes"], cwd=ROOT, env=self.environment, check=True)
        for process in reversed(self.processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self.processes:
            try:
                process.wait(STEP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def show_logs(self) -> None:
        for log in sorted(self.folder.glob("*.log")):
            if text := log.read_text(errors="replace").strip():
                print(f"--- {log.stem}\n{text}", file=sys.stderr)


def run(page: list[Fence]) -> None:
    docker_port = free_port()
    if not own_network():
        port_must_be_free()
    with tempfile.TemporaryDirectory(prefix="carillon-readme-") as name:
        folder = pathlib.Path(name)
        reader = Reader(folder, environment(folder, docker_port))
        try:
            for fence in page:
                reader.read(fence)
        except Failure:
            reader.show_logs()
            raise
        finally:
            reader.leave()


def main() -> int:
    try:
        page = fences(PAGE.read_text())
        if sys.argv[1:] == ["--list"]:
            print(*page, sep="\n")
            return 0
        if sys.argv[1:]:
            print(__doc__)
            return 2
        for program in ("cargo", "curl", "node"):
            if not shutil.which(program):
                raise Failure(f"{program} is not installed")
        run(page)
    except Failure as failure:
        print(f"FAILED: {failure}", file=sys.stderr)
        return 1
    print(f"{len(page)} fences of {PAGE.name}: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
