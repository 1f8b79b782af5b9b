from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient

from fitcarl.serve.static import StaticFiles
from tests.serve.conftest import Serve


@pytest.fixture
def web(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>explorer</title>")
    (folder / "assets" / "index-DEADBEEF.js").write_text("export {}")
    (folder / "NOTICES.txt").write_text("licences")
    (tmp_path / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def browser(serve: Serve, web: Path) -> TestClient:
    return serve(static=StaticFiles(web))


def test_files_have_media_types_and_hashed_names_are_immutable(browser: TestClient) -> None:
    page, script, notices = (browser.get(path) for path in ("/", "/assets/index-DEADBEEF.js", "/NOTICES.txt"))
    assert page.text == browser.get("/index.html").text == "<!doctype html><title>explorer</title>"
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-cache"
    assert script.headers["content-type"].startswith("text/javascript")
    assert "immutable" in script.headers["cache-control"]
    assert notices.headers["cache-control"] == "no-cache"


def test_known_etag_returns_304(browser: TestClient) -> None:
    tag = browser.get("/").headers["etag"]
    again = browser.get("/", headers={"if-none-match": f'"other", W/{tag}'})
    assert (again.status_code, again.content) == (304, b"")
    assert browser.get("/", headers={"if-none-match": '"other"'}).status_code == 200
    assert browser.head("/").content == b""


@pytest.mark.parametrize(
    "path", ["/../secret.txt", "/%2e%2e/secret.txt", "/assets/..%2f..%2fsecret.txt", "/assets", "/nothing"]
)
def test_files_outside_the_folder_are_not_served(browser: TestClient, path: str) -> None:
    answer = browser.get(path)
    assert answer.status_code == 404
    assert "secret" not in answer.text.replace("secret.txt", "")
    assert answer.json()["error"]["field"] is None


def test_placeholder_page_if_explorer_was_not_built(serve: Serve, tmp_path: Path) -> None:
    answer = serve(static=StaticFiles(tmp_path / "nothing")).get("/")
    assert answer.status_code == 200
    assert "make web" in answer.text


def test_content_security_policy_allows_own_scripts_only(browser: TestClient) -> None:
    policy = browser.get("/").headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "script-src" not in policy
    assert "frame-ancestors 'none'" in policy
