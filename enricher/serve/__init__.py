"""The web application of `enricher serve`: server-rendered pages that work without JavaScript, and faster with it.

How to add a page:

1.  Write `enricher/serve/NAME.py` with `router = APIRouter()` and, if it belongs in the header, a title and an address:
    `NAVIGATION = ("Nights", "/nights")`. Then name the module in `PAGES` of `enricher/serve/app.py`, in the order of
    the header. Nothing else has to be registered.
2.  A page is `async def nights(request: Request) -> Response` and ends in `return render(request, "nights.html", ...)`.
    `site_of(request)` gives the store, the settings and the courier of write-backs; `visitor_of(request)` tells who
    asks and whether they may decide; `is_fragment(request)` whether htmx wants a part of the page.
3.  Its template lies in `templates/`, begins with `{% extends "layout.html" %}` and fills the blocks `title` and
    `main`; scripts and styles are files of `static/`, linked in the blocks `scripts` and `styles` by
    `{{ static("nights.js") }}`. The content security policy refuses inline scripts, `style` attributes and every other
    host. Values travel to a script in `data-` attributes. Colours are the variables of `enricher.css`.
4.  Whatever is printed by `{{ ... }}` is escaped, and control characters are made visible: traces are hostile texts.
    Never use `|safe`. Put `dir="auto"` on elements that hold such texts.
5.  A form posts `{{ csrf_field() }}` with its fields, and the page reads them by `await form_of(request)`. A POST
    without the token, or by somebody who may only read, never reaches the page. Raise `Refused(404, "One sentence.")`
    for what can't be answered.
6.  Tests run it by `served(store)` of `tests/serve/conftest.py`, without a browser.

Every page but the login asks for a session where a token is set; health checks, figures and the intake have their own
rules.
"""
