"""Make the connector of each connection: a new platform is one file in `connectors/` and one place here."""

from datetime import timedelta

from connectors.files import FilesConnector
from connectors.phoenix import PhoenixConnector
from enricher.errors import SetupError
from enricher.seams import Connector
from enricher.settings import Connection, FilesConnection, LangSmithConnection


def connector_of(name: str, section: Connection) -> Connector:
    """Make the connector of a connection.

    Raises:
        SetupError: it lacks what it needs, such as a key.
    """
    if isinstance(section, LangSmithConnection):
        if section.api_key is None:
            raise SetupError(f"connection {name}: set {section.api_key_env} to a LangSmith API key")
        # Importing the langsmith package takes a second of CPU; only those who use it should pay.
        from connectors.langsmith import LangSmithConnector

        return LangSmithConnector(
            name=name,
            base_url=section.base_url,
            api_key=section.api_key.get_secret_value(),
            workspace_id=section.workspace_id,
            timeout_s=section.timeout.total_seconds(),
            queries_per_s=section.queries_per_second,
            calls_per_s=section.calls_per_second,
            page_size=section.page_size,
            settle_s=section.settle.total_seconds(),
            open_run_s=section.open_run.total_seconds(),
            ingest_grace_s=section.ingest_grace.total_seconds(),
            extend_trace_retention=section.extend_trace_retention,
            max_value_bytes=section.max_value_bytes,
            review_queue=section.review_queue,
        )
    if isinstance(section, FilesConnection):
        return FilesConnector(
            name=name,
            paths=section.paths,
            output=section.output,
            project=section.project,
            settle_s=section.settle.total_seconds(),
            open_s=section.open_run.total_seconds(),
        )
    return PhoenixConnector(
        name=name,
        base_url=section.base_url,
        api_key=section.api_key.get_secret_value() if section.api_key else None,
        timeout_s=section.timeout.total_seconds(),
        page_size=section.page_size,
        settle_s=section.settle.total_seconds(),
        open_parent_s=section.open_parent.total_seconds(),
        report_lookback_days=section.report_look_back / timedelta(days=1),
        max_metadata_bytes=section.max_metadata_bytes,
    )
