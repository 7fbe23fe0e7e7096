"""What a checker says that refuses."""


def assert_refused(verdict, reason):
    """Require that a verdict refuses, in one line that begins with a reason."""
    assert not verdict
    assert verdict.reason.startswith(reason), verdict
    assert "\n" not in verdict.reason
