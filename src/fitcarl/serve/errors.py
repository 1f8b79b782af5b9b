"""Error responses of the API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from starlette.responses import JSONResponse

from fitcarl.errors import FitcarlError
from fitcarl.serve.schemas import ErrorDetail, ErrorResponse

_RETRY_SECONDS = 1
_MAX_MESSAGE = 500
_MAX_FIELD = 100
_MAX_SHOWN = 80
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


class ApiError(FitcarlError):
    """A request that fails with a status, a one-line message, the field it concerns, and suggested names."""

    def __init__(
        self,
        status: int,
        message: str,
        field: str | None = None,
        suggestions: Sequence[str] = (),
        retry_seconds: int = _RETRY_SECONDS,
    ) -> None:
        """Creates an error.

        Args:
            status: HTTP status.
            message: What is wrong; cut after some hundred characters.
            field: Path of the field in the request.
            suggestions: Known names that are similar to an unknown one.
            retry_seconds: When to try again, for the statuses 429 and 503.
        """
        super().__init__(message)
        self.status = status
        self.message = _bounded(message, _MAX_MESSAGE)
        self.field = None if field is None else _bounded(field, _MAX_FIELD)
        self.suggestions = tuple(suggestions)
        self.retry_seconds = retry_seconds

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that the status requires: when to retry, or how to authenticate."""
        if self.status in (429, 503):
            return {"Retry-After": str(self.retry_seconds)}
        if self.status == 401:
            return {"WWW-Authenticate": "Bearer"}
        return {}

    def response(self) -> JSONResponse:
        detail = ErrorDetail(message=self.message, field=self.field, suggestions=self.suggestions)
        return JSONResponse(ErrorResponse(error=detail).to_json(), self.status, dict(self.headers))


def shortened(text: str) -> str:
    """A text of a request for a message: quoted, without control characters, and not too long."""
    return repr(text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 3] + "...")


def _bounded(text: str, limit: int) -> str:
    line = _CONTROL.sub(" ", text)
    return line if len(line) <= limit else line[: limit - 3] + "..."
