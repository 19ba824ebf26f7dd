"""How Sphinx builds the site: `python -m sphinx -W --keep-going -b html docs build/docs`. It needs no network."""

import sys
from pathlib import Path

import torch_aclnn
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "torch_aclnn"
author = "the torch_aclnn authors"
copyright = f"2026, {author}"
version = release = torch_aclnn.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinxcontrib.mermaid",
    "engine_coverage",
    "repository_links",
]
nitpicky = True
# torch's own names are written as references, for help() and editors; an inventory of its site would have to be fetched.
nitpick_ignore_regex = [
    ("py:.*", r"Tensor|(torch|collections|types|pathlib)\..*"),
    ("py:.*", r".*\._Module"),
    ("py:.*", r"(list|dict)\[.*"),  # of a type whose default is made by a function
    ("py:.*", r"patch|Patch(\.changed)?"),  # documented below the module that defines it
]

myst_heading_anchors = 3
myst_fence_as_directive = ["mermaid"]
mermaid_fullscreen = False

autodoc_default_options = {"members": True, "imported-members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100
napoleon_numpy_docstring = False
napoleon_use_ivar = True
default_role = "code"

copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True

html_theme = "furo"
html_title = f"torch_aclnn {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False  # the pages are read with other links than their files have


def _signature(app: Sphinx, what: str, name: str, *_: object) -> tuple[str, str | None] | None:
    """Leave out the (*args, **kwargs) of torch.autograd.Function, which is never called as a class."""
    return ("", None) if what == "class" and name.startswith("torch_aclnn.autograd.") else None


def setup(app: Sphinx) -> None:
    """Register with Sphinx."""
    app.connect("autodoc-process-signature", _signature)
