"""The directive `bare-operators`: an entry for each operator in `torch.ops.torch_aclnn`, made from the schemas that are registered."""

from typing import Any

import torch
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from torch_aclnn._operators import OPERATORS, Operator


def _entry(operator: Operator) -> list[str]:
    packet = getattr(torch.ops.torch_aclnn, operator.backward)
    # A schema names the out argument after a `*`, as Python does, and aliases as `Tensor(a!)`, which Python does not.
    parameters = str(packet.default._schema).partition("(")[2].rpartition(") -> ")[0]
    python = ", ".join(part.split(" ", 1)[-1] for part in _split(parameters))
    schemas = [f"   - ``{getattr(packet, overload)._schema}``" for overload in ("default", "out")]
    return [
        f".. py:function:: torch.ops.torch_aclnn.{operator.backward}({python}) -> Tensor",
        "",
        f"   The gradient that ``torch_aclnn.functional.{operator.function}`` takes, by ``{operator.entry_point}``.",
        f"   :doc:`/operators/{operator.family}` has its contract. The overloads are:",
        "",
        *schemas,
        "",
    ]


def _split(parameters: str) -> list[str]:
    """Return the parameters of a schema; a comma within brackets separates none."""
    parts, depth = [""], 0
    for character in parameters:
        depth += (character in "[(") - (character in "])")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


class BareOperators(SphinxDirective):
    """An entry for each operator of the table."""

    def run(self) -> list[nodes.Node]:
        """Return the entries."""
        return self.parse_text_to_nodes("\n".join(line for operator in OPERATORS for line in _entry(operator)))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.add_directive("bare-operators", BareOperators)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
