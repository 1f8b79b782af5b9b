"""The container image: how it is built, and a service in it where a container engine runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from fitcarl.training.api import train
from tests.small import SMALL, write_tiny

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_image_has_two_stages_of_a_pinned_base_and_no_root_user() -> None:
    assert re.search(r"^ARG PYTHON=python:3\.11\.\d+-slim-\w+$", TEXT, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", TEXT, re.MULTILINE) == ["${PYTHON}", "${PYTHON}"]
    user = re.findall(r"^USER (\d+):(\d+)$", TEXT, re.MULTILINE)
    assert user
    assert user[-1] != ("0", "0")


def test_image_installs_locked_files_only() -> None:
    installs = re.findall(r"pip install ([^&\n]+(?:\\\n[^&\n]+)*)", TEXT)
    assert len(installs) == 3
    assert all("--require-hashes" in install or "--no-deps" in install for install in installs)


def test_image_is_built_from_named_files_only() -> None:
    rules = (ROOT / ".dockerignore").read_text().splitlines()
    assert rules[1] == "*"
    allowed = {rule[1:].partition("/")[0] for rule in rules if rule.startswith("!")}
    copied = re.findall(r"^COPY (?!--from)(.+) \S+$", TEXT, re.MULTILINE)
    assert {name.partition("/")[0] for line in copied for name in line.split()} == allowed


def engine() -> str:
    """A container engine that runs here; skips otherwise."""
    for name in ("docker", "podman"):
        program = shutil.which(name)
        if program and subprocess.run([program, "info"], capture_output=True, timeout=60).returncode == 0:
            return program
    pytest.skip("no container engine runs here (docker info and podman info fail)")


@pytest.fixture(scope="module")
def image() -> Iterator[tuple[str, str]]:
    program = engine()
    subprocess.run([program, "build", "--tag", "fitcarl-test", str(ROOT)], check=True, timeout=3600)
    yield program, "fitcarl-test"
    subprocess.run([program, "image", "rm", "--force", "fitcarl-test"], capture_output=True, timeout=300)


@pytest.mark.slow
def test_service_in_a_read_only_container_is_healthy_and_predicts(image: tuple[str, str], tmp_path: Path) -> None:
    program, tag = image
    data = write_tiny(tmp_path / "tiny")
    run = tmp_path / "run"
    train(data, out=run, shots=2, episodes=1, settings=(*SMALL, "training.validate_every=1"))
    command = [program, "run", "--detach", "--read-only", "--cap-drop", "ALL", "--publish", "127.0.0.1::8000"]
    command += ["--env", "FITCARL_TOKEN=secret-of-the-test", "--volume", f"{run}:/model:ro", tag]
    container = subprocess.run(command, check=True, capture_output=True, text=True, timeout=300).stdout.strip()
    try:
        port = subprocess.run([program, "port", container, "8000"], check=True, capture_output=True, text=True).stdout
        address = f"http://{port.splitlines()[0].strip()}"
        wait_for(f"{address}/v1/health", 180)
        example = ask(f"{address}/v1/example")
        assert ask(f"{address}/v1/predict", example)["answers"]
        user = subprocess.run(
            [program, "exec", container, "id", "-u"], check=True, capture_output=True, text=True
        ).stdout
        assert user.strip() == "10001"
        subprocess.run([program, "stop", "--time", "60", container], check=True, timeout=120)
        format_ = "{{.State.ExitCode}}"
        code = subprocess.run([program, "inspect", "--format", format_, container], capture_output=True, text=True)
        assert code.stdout.strip() == "0"
    finally:
        subprocess.run([program, "rm", "--force", "--volumes", container], capture_output=True, timeout=120)


def wait_for(address: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            urllib.request.urlopen(address, timeout=5)
            return
        except OSError:
            assert time.monotonic() < end, f"{address} does not answer within {seconds} seconds"
            time.sleep(1)


def ask(address: str, body: object = None) -> dict[str, object]:
    headers = {"Authorization": "Bearer secret-of-the-test", "Content-Type": "application/json"}
    request = urllib.request.Request(address, None if body is None else json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: dict[str, object] = json.load(answer)
    return found
