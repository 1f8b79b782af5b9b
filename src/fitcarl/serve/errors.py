"""Error responses of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from starlette.responses import JSONResponse

from fitcarl.errors import FitcarlError
from fitcarl.serve.schemas import ErrorDetail, ErrorResponse

_RETRY_SECONDS = "1"


class ApiError(FitcarlError):
    """A request that fails with a status, a one-line message, the field it concerns, and suggested names."""

    def __init__(self, status: int, message: str, field: str | None = None, suggestions: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.field = field
        self.suggestions = tuple(suggestions)

    @property
    def headers(self) -> Mapping[str, str]:
        """Headers that the status requires: when to retry, or how to authenticate."""
        if self.status == 503:
            return {"Retry-After": _RETRY_SECONDS}
        if self.status == 401:
            return {"WWW-Authenticate": "Bearer"}
        return {}

    def response(self) -> JSONResponse:
        detail = ErrorDetail(message=self.message, field=self.field, suggestions=self.suggestions)
        return JSONResponse(ErrorResponse(error=detail).to_json(), self.status, dict(self.headers))
