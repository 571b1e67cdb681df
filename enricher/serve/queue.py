"""The queue: what waits for people."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from enricher.serve.site import render

router = APIRouter()
NAVIGATION = ("Queue", "/queue")


@router.get("/queue")
async def queue(request: Request) -> Response:
    """Show a page of the queue."""
    return render(request, "queue.html")
