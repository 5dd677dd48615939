#!/usr/bin/env python3
"""Runs the Autobahn test suite against an echo server.

    tests/autobahn/run.py --venv DIR --port PORT

`kosoku` runs the case files of Autobahn on Python 3. It is installed into the virtual environment DIR if it is missing.
The server must echo text and binary messages of up to 16 MiB and name no subprotocol. The compression cases (12 and 13)
are excluded, because the server declines extensions. Takes about 10 s. --outdir gets the full report, a page per case.

Prints `N passed, M failed`, and exits with 0 only if nothing failed. A case fails if it is FAILED, if its connection is
not closed correctly, if it is NON-STRICT without a reason in ALLOWED, or if it is missing.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import venv

KOSOKU = "kosoku==0.1.0"
# Compression is an extension that the server declines.
EXCLUDED = ["12.*", "13.*"]
# The number of other cases. If there are fewer, the server has stopped.
CASES = 301
# A case waits at most 100 s for an answer.
DEADLINE_SECONDS = 900

# Cases that may be NON-STRICT, with the reason.
ALLOWED: dict[str, str] = {}

GOOD_CLOSINGS = {"OK", "INFORMATIONAL"}


def install(folder: pathlib.Path) -> pathlib.Path:
    """Creates the virtual environment if it is missing. Returns the path of the program."""
    program = folder / "bin" / "kosoku"
    if not program.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "--quiet", KOSOKU], check=True)
    return program


def run_cases(program: pathlib.Path, arguments: argparse.Namespace) -> dict:
    """Runs the suite. Returns the verdicts by case id."""
    command = [str(program), "-m", "fuzzingclient", "-o", str(arguments.outdir), "-p", str(arguments.parallelism)]
    for case in EXCLUDED:
        command += ["-x", case]
    for case in arguments.include:
        command += ["-i", case]
    index = arguments.outdir / "index.json"
    index.unlink(missing_ok=True)
    # The exit code only reflects FAILED. The report has all verdicts.
    address = f"{arguments.host}:{arguments.port}"
    outcome = subprocess.run(command + [address], capture_output=True, text=True, timeout=DEADLINE_SECONDS)
    if not index.exists():
        sys.exit(f"kosoku wrote no report:\n{outcome.stdout}{outcome.stderr}")
    agents = json.loads(index.read_text())
    return {case: verdict for verdicts in agents.values() for case, verdict in verdicts.items()}


def fault(case: str, verdict: dict) -> str | None:
    """The fault of a case, if any."""
    behavior, closing = verdict["behavior"], verdict["behaviorClose"]
    if closing not in GOOD_CLOSINGS:
        return f"{behavior}, closing {closing} (code {verdict['remoteCloseCode']})"
    if behavior in ("OK", "INFORMATIONAL") or (behavior == "NON-STRICT" and case in ALLOWED):
        return None
    return behavior


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", type=pathlib.Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--outdir", type=pathlib.Path, help="folder of the report (default: DIR/report)")
    parser.add_argument("--parallelism", type=int, default=4, help="number of parallel cases")
    parser.add_argument("--include", action="append", default=[], help="run only this case or glob (repeatable)")
    arguments = parser.parse_args()
    arguments.outdir = arguments.outdir or arguments.venv / "report"

    verdicts = run_cases(install(arguments.venv), arguments)
    faults = {case: why for case, verdict in verdicts.items() if (why := fault(case, verdict))}
    for case, why in faults.items():
        print(f"case {case}: {why} ({arguments.outdir / verdicts[case]['reportfile']})")
    for case in sorted(ALLOWED):
        if case in verdicts and verdicts[case]["behavior"] != "NON-STRICT":
            faults[case] = "allowed"
            print(f"case {case}: is now {verdicts[case]['behavior']}: remove it from ALLOWED")
    missing = 0 if arguments.include else CASES - len(verdicts)
    if missing:
        print(f"{missing} cases are missing from the report")
    failed = len(faults) + max(missing, 0)
    print(f"{len(verdicts) - len(faults)} passed, {failed} failed")
    sys.exit(1 if failed or not verdicts else 0)


if __name__ == "__main__":
    main()
