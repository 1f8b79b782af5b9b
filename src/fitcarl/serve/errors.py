"""Why a request is not answered, in the one shape that every error has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import JSONResponse

from fitcarl.errors import FitcarlError

_RETRY_SECONDS = "1"


class ApiError(FitcarlError):
    """A request that is not answered: a status, one line, the field it is about, and names that were perhaps meant."""

    def __init__(self, status: int, message: str, field: str | None = None, suggestions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.field = field
        self.suggestions = tuple(suggestions)

    def to_json(self) -> dict[str, Any]:
        return {"error": {"message": self.message, "field": self.field, "suggestions": list(self.suggestions)}}

    @property
    def headers(self) -> Mapping[str, str]:
        """What a client needs besides the body: when to come again, or how to say who it is."""
        if self.status == 503:
            return {"Retry-After": _RETRY_SECONDS}
        if self.status == 401:
            return {"WWW-Authenticate": "Bearer"}
        return {}

    def response(self) -> JSONResponse:
        return JSONResponse(self.to_json(), self.status, dict(self.headers))
