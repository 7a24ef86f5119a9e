"""The dashboard's own files. The page itself holds no data, so it needs no token."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fastapi import FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

STATIC: Final = Path(__file__).parent / "static"


def install_pages(app: FastAPI) -> None:
    def index() -> FileResponse:
        return FileResponse(STATIC / "index.html", media_type="text/html")

    app.add_api_route("/", index, methods=["GET", "HEAD"], include_in_schema=False)
    app.mount("/static", StaticFiles(directory=STATIC))
