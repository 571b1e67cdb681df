"""Run the stand-in: `python -m tests.servers.langsmith [--port N] [--switch name=json ...]`."""

import argparse
import json
import threading

from tests.servers.langsmith.server import StandIn


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers.langsmith", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument(
        "--switch", action="append", default=[], metavar="NAME=JSON", help="for example ingest_delay_s=5"
    )
    options = parser.parse_args()
    switches = {name: json.loads(value) for name, _, value in (one.partition("=") for one in options.switch)}
    with StandIn(port=options.port, **switches) as service:
        print(f"LANGSMITH_ENDPOINT={service.url}\nLANGSMITH_API_KEY={service.key}", flush=True)
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            print("stopped")


if __name__ == "__main__":
    main()
