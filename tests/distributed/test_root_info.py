"""Where the ranks of a root info meet."""

import socket

import pytest
from torch_aclnn.host.collectives import connect


def test_root_info_of_a_process_that_has_ended_is_refused_at_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    message = f"nothing listens on 127.0.0.1, port {port}: the process that made the root info has ended"
    with pytest.raises(RuntimeError, match=f"{message}.*TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"):
        connect(f"127.0.0.1 {port} key", "name", rank=1, size=2, connect_timeout=3600, timeout=3600)
