"""What acceptance tests get: a user in an empty folder who can call the command."""

from collections.abc import Iterator

import pytest

from tests.acceptance.command import User


@pytest.fixture
def user(starter, tmp_path) -> Iterator[User]:
    user = User(tmp_path, starter)
    yield user
    user.close()
